/* tick.c - the inputs of a tick, and what is carried. */
#include "learn/tick.h"

#include <assert.h>

#define X(name, help) {#name, help},
const tick_name tick_inputs[TICK_IN] = {TICK_INPUTS(X)};
const tick_name tick_outputs[TICK_OUT] = {TICK_OUTPUTS(X)};
#undef X

void tick_begin(tick *t, nn_graph *g, int d, int m)
{
    const int widths[TICK_IN] = {[TICK_obs] = d, [TICK_last_action] = m};
    *t = (tick){.g = g};
    nn_sketch_begin(g);
    for (int i = 0; i < TICK_factors; i++)
        t->in[i] = nn_input(g, tick_inputs[i].name, 1, 1, widths[i] > 0 ? widths[i] : 1);
    t->measured = nn_input(g, "measured", 1, 1, 1);
    t->in[TICK_factors] = NN_NONE;
    for (int i = 0; i < TICK_OUT; i++) t->out[i] = NN_NONE;
}

tick_slot *tick_carry(tick *t, const char *name, int width)
{
    assert(t->slot_count < TICK_SLOTS);
    tick_slot *s = &t->slots[t->slot_count++];
    s->before = nn_input(t->g, name, 1, 1, width);
    s->after = NN_NONE;
    return s;
}

nn_var tick_inverse(tick *t, nn_var x)
{
    assert(t->inverse_count < TICK_INVERSES);
    nn_var is = nn_input(t->g, "inverse", 1, 1, nn_shape_of(x).D);
    t->inverses[t->inverse_count++] = (tick_inverted){x, is};
    return is;
}

nn_var tick_choose(nn_var when, nn_var yes, nn_var no)
{
    return nn_add(nn_mul(yes, when), nn_mul(no, tick_not(when)));
}
