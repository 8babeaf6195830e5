/* causal_pair.c - compares two graphs. */
#include "learn/causal_pair.h"

#include <string.h>

#include "base/error.h"

bool causal_pairs(int mask)
{
    return mask == CAUSAL_C_ss || mask == CAUSAL_C_as || mask == CAUSAL_c_sr || mask == CAUSAL_c_ar;
}

/* Of the same task, as far as their nodes say. */
static int check(const causal_graph *a, const causal_graph *b)
{
    char one[TEXT_NAME], two[TEXT_NAME];
    if (a->z.d != b->z.d || a->z.m != b->z.m)
        return fans_fail(FANS_EINVAL,
                         "the graphs are of different tasks: %d states and %d actions, %d and %d",
                         a->z.d, a->z.m, b->z.d, b->z.m);
    for (int i = 0; i < a->z.d + a->z.m; i++) {
        bool state = i < a->z.d;
        const char *x = state ? causal_state(a, i, one) : causal_action(a, i - a->z.d, one);
        const char *y = state ? causal_state(b, i, two) : causal_action(b, i - a->z.d, two);
        if (strcmp(x, y))
            return fans_fail(FANS_EINVAL, "the graphs are of different tasks: '%s', '%s'", x, y);
    }
    return 0;
}

static causal_score count_of(int there, int found)
{
    return causal_count(there && found, !there && found, there && !found);
}

static bool touches(const causal_graph *g, int state)
{
    bool any = false;
    for (int j = 0; j < g->z.p; j++) any = any || causal_edge(g, CAUSAL_C_ts, state, j);
    return any;
}

int causal_pair_of(causal_pair *out, const causal_graph *a, const causal_graph *b)
{
    int rc = check(a, b);
    if (rc < 0) return rc;
    *out = (causal_pair){.touched = causal_count(0, 0, 0), .all = causal_count(0, 0, 0)};
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        out->mask[k] = causal_count(0, 0, 0);
        for (int i = 0; causal_pairs(k) && i < a->effects[k]; i++)
            for (int j = 0; j < a->causes[k]; j++)
                out->mask[k] = causal_sum(
                    out->mask[k], count_of(causal_edge(a, k, i, j), causal_edge(b, k, i, j)));
        out->all = causal_sum(out->all, out->mask[k]);
    }
    for (int i = 0; i < a->z.d; i++)
        out->touched = causal_sum(out->touched, count_of(touches(a, i), touches(b, i)));
    out->all = causal_sum(out->all, out->touched);
    return 0;
}

void causal_pair_edges(const causal_graph *a, const causal_graph *b, causal_edge_fn *fn, void *user)
{
    char from[TEXT_NAME], to[TEXT_NAME];
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        for (int i = 0; causal_pairs(k) && i < a->effects[k]; i++)
            for (int j = 0; j < a->causes[k]; j++) {
                bool action = k == CAUSAL_C_as || k == CAUSAL_c_ar, extra = causal_edge(b, k, i, j);
                if (causal_edge(a, k, i, j) == extra) continue;
                fn(user, action ? causal_action(a, j, from) : causal_state(a, j, from),
                   a->effects[k] == 1 ? "r" : causal_state(a, i, to), extra);
            }
    for (int i = 0; i < a->z.d; i++)
        if (touches(a, i) != touches(b, i))
            fn(user, "theta_s", causal_state(a, i, to), touches(b, i));
}
