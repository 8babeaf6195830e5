/* tick.h - one step of a life as a recording: what is known when an agent acts, what it carries
 * from step to step, and the action that follows.
 *
 * It is sketched in the agent's own graph (nn/sketch.h) by the functions that record what the agent
 * runs, and translated by src/deploy. A tick comes in this order, which is that of acting and
 * observing:
 *
 *     the last step's outcome is taken in, unless `seen` is 0
 *     a segment begins, if `change` is 1
 *     the policy acts
 *
 * The last observation of an episode has a tick of its own, whose action nobody makes; the first
 * tick of the next episode has `seen` = 0. */
#ifndef LEARN_TICK_H
#define LEARN_TICK_H

#include "nn/nn.h"

/* X(name, what it is): the inputs. The oracle makes `factors` itself. */
#define TICK_INPUTS(X)                                                                   \
    X(obs, "the observation")                                                            \
    X(last_action, "what was done in the last step, in [-1, 1]")                         \
    X(reward, "of the last step; NaN: not measured")                                     \
    X(terminated, "1: the last step ended its episode, and not for lack of time")        \
    X(change, "1: the coming step is the first of a segment")                            \
    X(seen, "1: obs is what the last step led to; 0: there was none, an episode begins") \
    X(factors, "the true factors as an oracle sees them: in [-1, 1] by their range, or one-hot")

/* … and the outputs. */
#define TICK_OUTPUTS(X)                                                        \
    X(actions, "in [-1, 1]: tanh(mean)")                                       \
    X(belief, "about the hidden factors: means, then log standard deviations") \
    X(mean, "of the Gaussian whose tanh is the action")                        \
    X(log_std, "of the same")

enum {
#define X(name, help) TICK_##name,
    TICK_INPUTS(X)
#undef X
        TICK_IN
};
enum {
#define X(name, help) TICK_##name,
    TICK_OUTPUTS(X)
#undef X
        TICK_OUT
};
typedef struct tick_name {
    const char *name, *help;
} tick_name;
extern const tick_name tick_inputs[TICK_IN], tick_outputs[TICK_OUT];

/* Something carried from tick to tick: zeros at first. */
typedef struct tick_slot {
    nn_var before, after;
} tick_slot;

/* 1/x of a tensor, as another one. */
typedef struct tick_inverted {
    nn_var of, is;
} tick_inverted;

enum { TICK_SLOTS = 8, TICK_INVERSES = 2 };
typedef struct tick {
    nn_graph *g;
    nn_var in[TICK_IN];   /* (1, 1, ·); the reward is 0 where it was not measured, … */
    nn_var measured;      /* … which is told by this: 1 or 0 */
    nn_var out[TICK_OUT]; /* NN_NONE: there is none */
    tick_slot slots[TICK_SLOTS];
    int slot_count;
    tick_inverted inverses[TICK_INVERSES];
    int inverse_count;
} tick;

/* Begins the sketch, for observations of d and actions of m numbers. End it with nn_sketch_end. */
void tick_begin(tick *t, nn_graph *g, int d, int m);

/* A slot; and what it holds after this tick. */
tick_slot *tick_carry(tick *t, const char *name, int width);

/* 1/x, for x that is never 0: an operation that programs have and graphs do not. */
nn_var tick_inverse(tick *t, nn_var x);

/* `yes` if `when` (1, 1, 1) is 1, `no` if it is 0. */
nn_var tick_choose(nn_var when, nn_var yes, nn_var no);

static inline nn_var tick_not(nn_var flag)
{
    return nn_affine(flag, -1, 1);
}

#endif
