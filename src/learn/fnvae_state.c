/* fnvae_state.c - parameters, moments, statistics and counters, by name. */
#include "learn/fnvae_state.h"

#include <stdio.h>

/* On a backend that works beside the host: wait for it, and see that all is well. */
static int settle(void *arg)
{
    const fnvae *f = arg;
    return nn_graph_check(f->g);
}

static int set_masks(void *arg)
{
    fnvae_set_masks(arg);
    return 0;
}

static void list_scale(fnvae_scale *x, const char *name, state_list *s)
{
    char full[64];
    snprintf(full, sizeof full, "scale.%s/count", name);
    state_add_number(s, full, STATE_F64, x->count);
    snprintf(full, sizeof full, "scale.%s/mean", name);
    state_add(s, full, STATE_F64, 1, (int64_t[]){x->n}, x->mean);
    snprintf(full, sizeof full, "scale.%s/m2", name);
    state_add(s, full, STATE_F64, 1, (int64_t[]){x->n}, x->m2);
}

void fnvae_state(fnvae *f, int replica, state_list *s)
{
    static const char *const names[FNVAE_SCALES] = {"s", "ds", "r", "theta_s", "theta_r"};
    char steps[64];
    int n;
    state_on_save(s, settle, f);
    state_on_load(s, set_masks, f);
    for (int i = 0; i < FNVAE_GROUPS; i++) {
        nn_group *g = f->group[i];
        state_add_group(s, nn_group_name(g), g, replica);
        snprintf(steps, sizeof steps, "fnvae/%s_steps", nn_group_name(g));
        state_add_number(s, steps, STATE_U64, nn_group_steps(g));
    }
    for (int i = 0; i < FNVAE_SCALES; i++)
        list_scale(&f->scales[replica * FNVAE_SCALES + i], names[i], s);
    uint64_t *counters = nn_graph_counters(f->g, &n);
    state_add(s, "fnvae/counters", STATE_U64, 1, (int64_t[]){n}, counters);
    state_add_number(s, "fnvae/update", STATE_I64, &f->update);
}

static int settle_belief(void *b)
{
    belief_settle(b);
    return 0;
}

void belief_state(belief *b, int replica, state_list *s)
{
    belief_part parts[BELIEF_PARTS];
    char name[64];
    state_on_save(s, settle_belief, b);
    belief_parts(b, replica, parts);
    for (int i = 0; i < BELIEF_PARTS; i++) {
        snprintf(name, sizeof name, "belief/%s", parts[i].name);
        state_add(s, name, STATE_F32, 2, (int64_t[]){parts[i].rows, parts[i].width}, parts[i].data);
    }
}
