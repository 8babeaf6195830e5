/* context.h - what turns a past into numbers beside the state.
 *
 * A policy that sees the state alone cannot tell a strong wind from a weak one. A context adds
 * `width` numbers to what policy and critics read: the true factors (oracle), a belief about them
 * (fansrl), the last steps themselves (stack). It does so in two places, which must agree:
 *
 *  - **online**, for the step to come of every world: `look`, then `note` what came of it;
 *  - **in batches** of remembered rows: as they were stored with the rows, or recorded from other
 *    rows of the replay (`numbers`), through networks of its own if it has any.
 *
 * The agent calls what is there; every function but `look` is optional. */
#ifndef LEARN_CONTEXT_H
#define LEARN_CONTEXT_H

#include "data/replay.h"
#include "learn/sac.h"

/* (x + shift) · scale for each of some numbers. */
typedef struct units {
    float *shift, *scale;
} units;

typedef struct context {
    void *self;
    int width;     /* numbers beside the state */
    bool stored;   /* kept with every row, in the replay's column 0, as `look` gave them */
    int hindsight; /* stored: first steps of a segment where critics see the later numbers */

    int64_t hold; /* acts at random, and SAC does not learn, before so many steps of a seed … */
    const char *held_by; /* … as this option says */

    void (*free)(void *self);

    /* ---- online, one row a world ---- */

    void (*start)(void *self); /* new lifetimes begin */

    /* The numbers (rows, width) for the step to come. */
    int (*look)(void *self, const fans_moment *now, float *numbers);

    /* A step of all worlds. `ends` (rows, width) has the numbers that `look` gave; where an episode
     * ended, those beside its last observation may be written there. `learn` is false in
     * evaluation. */
    int (*note)(void *self, const fans_moment *before, const float *action,
                const fans_outcome *outcome, bool learn, float *ends);

    /* ---- in batches ---- */

    /* Records its own networks; after SAC's were recorded, all is planned, then committed. */
    int (*record)(void *self, nn_graph *g, replay *r);
    int (*plan)(void *self, sac_also *also);
    int (*ready)(void *self);

    /* Not stored: the numbers (1, batch, width) of the batch's rows, or of their successors. Before
     * each update `fill` prepares what they are recorded from, for one replica on any thread; then
     * `send` sends it. */
    nn_var (*numbers)(void *self, nn_graph *g, const replay *r, int batch, bool next);
    void (*fill)(void *self, int replica, const int32_t *at, const int32_t *next);
    void (*send)(void *self);

    /* The units in which SAC sees a row: those of the observation as normalisation left them, those
     * of the context at 0 and 1. Asked anew after agent_units_changed. */
    void (*units)(const void *self, int replica, units obs, units context);

    /* ---- learning ---- */

    /* Its own updates and refreshes, before SAC's of the same step. */
    int (*update)(void *self);

    /* What is learned; and what is carried along a lifetime, which evaluation puts aside. */
    void (*state)(void *self, int replica, state_list *s);
    void (*carried)(void *self, int replica, state_list *s);
    void (*scalars)(void *self, int replica, fans_scalar_fn *emit, void *user);
} context;

#endif
