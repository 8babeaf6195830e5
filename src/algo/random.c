/* random.c - uniform random actions: the return of pure chance. */
#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/state.h"

typedef struct chance {
    int replicas;
    size_t each; /* numbers per replica */
    rng streams[];
} chance;

static int open_agent(void **agent, const fans_algo_setup *setup)
{
    chance *c = mem_alloc(sizeof *c + (size_t)setup->replicas * sizeof *c->streams);
    if (!c) return FANS_ENOMEM;
    c->replicas = setup->replicas;
    c->each = (size_t)setup->worlds * (size_t)setup->info->act_dim;
    for (int r = 0; r < c->replicas; r++)
        c->streams[r] = rng_stream(setup->seeds[r], "random actions", 0);
    *agent = c;
    return 0;
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    chance *c = agent;
    (void)now, (void)explore;
    for (int r = 0; r < c->replicas; r++)
        for (size_t i = 0; i < c->each; i++)
            action[(size_t)r * c->each + i] = (float)rng_between(&c->streams[r], -1, 1);
    return 0;
}

static void list_state(void *agent, int replica, state_list *s)
{
    state_add_number(s, "random/drawn", FANS_U64, &((chance *)agent)->streams[replica].drawn);
}

const fans_algo_def algo_random = {.abi = FANS_ALGO_ABI,
                                   .name = "random",
                                   .help = "uniform random actions",
                                   .wants_pixels = true, /* which it ignores, as all else */
                                   .open = open_agent,
                                   .close = mem_free,
                                   .act = act,
                                   .carried = list_state};
