/* sac.c - soft actor-critic that knows nothing of change: the lower bound. */
#include "algo/registry.h"
#include "learn/agent.h"
#include "learn/pixels.h"

static int open_sac(void **out, const fans_algo_setup *setup)
{
    return agent_new((agent **)out, setup, NULL);
}

static fans_option_group_fn *const groups[] = {sac_option_group, pixels_option_group,
                                               replay_option_group, NULL};

/* Of SAC under all methods. */
static const fans_preset presets[] = {
    {"paper", ""},
    {"standard", ""},
    {"small", "[sac]\nupdate_every = 5\ntau = 0.05\n"},
    /* plain SAC, as the paper and version 0.1 have it */
    {"classic", "[sac]\nlr = 3e-4\ntau = 0.005\ndiscount = 0.99\npersist = false\n"
                "[replay]\nnormalize = false\n"},
    /* from pixels: as DrQ-v2, on half its batch */
    {"pixels", "[sac]\nlr = 1e-4\ntau = 0.01\nbatch = 128\nn_step = 3\nupdate_every = 2\n"},
    {0}};

const fans_algo_def algo_sac = {.abi = FANS_ALGO_ABI,
                                .name = "sac",
                                .help = "soft actor-critic that knows nothing of change",
                                .told = FANS_TOLD_NOTHING,
                                .wants_pixels = true,
                                .groups = groups,
                                .presets = presets,
                                .open = open_sac,
                                AGENT_FUNCTIONS};
