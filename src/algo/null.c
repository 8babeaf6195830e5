/* null.c - does nothing: the return without any action. */
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"

static int open_agent(void **agent, const fans_algo_setup *setup)
{
    size_t *n = mem_alloc(sizeof *n);
    if (!n) return FANS_ENOMEM;
    *n = (size_t)setup->replicas * (size_t)setup->worlds * (size_t)setup->info->act_dim;
    *agent = n;
    return 0;
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    (void)now, (void)explore;
    memset(action, 0, *(size_t *)agent * sizeof *action);
    return 0;
}

const fans_algo_def algo_null = {.abi = FANS_ALGO_ABI,
                                 .name = "null",
                                 .help = "no action at all",
                                 .wants_pixels = true, /* which it ignores, as all else */
                                 .open = open_agent,
                                 .close = mem_free,
                                 .act = act};
