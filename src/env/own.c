/* own.c - the worlds of another program, which steps them itself and lets FANS learn from them. In
 * a config they have dimensions and nothing else: whoever reads the run's config.ini can make the
 * agent again, but no world. Their factors are the config's [change.FACTOR] sections (task.c). */
#include <math.h>

#include "base/error.h"
#include "env/registry.h"

static const fans_env_option options[] = {
    {"obs", 1, 1, 1000000, "numbers of an observation"},
    {"act", 1, 1, 1000000, "numbers of an action"},
};

static int open_own(void **env, fans_env_info *info, const double *values, uint64_t seed)
{
    static char nothing;
    (void)seed;
    if (values[0] != floor(values[0]) || values[1] != floor(values[1]))
        return fans_fail(FANS_EINVAL, "obs = %g, act = %g: not whole numbers", values[0],
                         values[1]);
    *env = &nothing;
    *info = (fans_env_info){.obs_dim = (int)values[0], .act_dim = (int)values[1], .horizon = 1000};
    return 0;
}

static void close_own(void *env)
{
    (void)env;
}

static int refuse(void)
{
    return fans_fail(FANS_ENOSUP, "these worlds are another program's, which alone can step them");
}

static int reset(void *env, fans_rng *r, float *obs)
{
    (void)env, (void)r, (void)obs;
    return refuse();
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    (void)env, (void)r, (void)action, (void)obs, (void)result;
    return refuse();
}

static int set_factor(void *env, int factor, double value)
{
    (void)env, (void)factor, (void)value;
    return refuse();
}

static size_t state_bytes(const void *env)
{
    (void)env;
    return 0;
}

static void save(const void *env, void *bytes)
{
    (void)env, (void)bytes;
}

static void restore(void *env, const void *bytes)
{
    (void)env, (void)bytes;
}

const fans_env_def env_own = {.abi = FANS_ENV_ABI,
                              .name = "own",
                              .help = "worlds of another program",
                              .options = options,
                              .option_count = sizeof options / sizeof *options,
                              .open = open_own,
                              .close = close_own,
                              .reset = reset,
                              .step = step,
                              .set_factor = set_factor,
                              .state_bytes = state_bytes,
                              .save = save,
                              .restore = restore};
