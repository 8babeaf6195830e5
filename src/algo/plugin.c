/* plugin.c - what algorithms call, including those in shared libraries. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/state.h"

void *fans_options(const fans_algo_setup *setup, const char *section)
{
    for (const fans_taken *t = setup->taken; t && t->group; t++)
        if (!strcmp(t->group->section, section)) return t->options;
    return NULL;
}

void fans_state_add(state_list *s, const char *name, fans_type type, int rank, const int64_t *shape,
                    void *data)
{
    state_add(s, name, type, rank, shape, data);
    state_any(s); /* what it may hold, only the algorithm knows */
}

int fans_rng_new(fans_rng **out, uint64_t seed, const char *purpose)
{
    *out = mem_alloc(sizeof **out);
    if (!*out) return FANS_ENOMEM;
    **out = rng_stream(seed, purpose, 0);
    return 0;
}

void fans_rng_free(fans_rng *r)
{
    mem_free(r);
}

void fans_rng_state(fans_rng *r, state_list *s, const char *name)
{
    state_add_number(s, name, FANS_U64, &r->drawn); /* seed and purpose follow from the run */
}
