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
 * The agent calls the functions that there are; all are optional. */
#ifndef LEARN_CONTEXT_H
#define LEARN_CONTEXT_H

#include "data/replay.h"
#include "learn/sac.h"
#include "learn/staged.h"

/* (x + shift) · scale for each of some numbers. */
typedef struct units {
    float *shift, *scale;
} units;

typedef struct context {
    void *self;
    int width;     /* numbers beside the state */
    bool stored;   /* kept with every row as they were then, in the replay's column 0 */
    int hindsight; /* stored: first steps of a segment where critics see the later numbers */

    int64_t hold; /* acts at random, and SAC does not learn, before so many steps of a seed … */
    const char *held_by; /* … as this option says */

    void (*free)(void *self);

    /* ---- online, one row a world ---- */

    /* `numbers` (rows, width) are those of the step to come. The agent keeps them along the
     * lifetimes: what a function does not write stays as it was; a new life begins with zeros. */

    void (*start)(void *self); /* new lifetimes begin */

    /* Just before a step. */
    int (*look)(void *self, const fans_moment *now, float *numbers);

    /* After a step of all worlds: `numbers` are now for the next one. `ends` has those of this
     * step; where an episode ended, those beside its last observation may be written there. `learn`
     * is false in evaluation. */
    int (*note)(void *self, const fans_moment *before, const float *action,
                const fans_outcome *outcome, bool learn, float *numbers, float *ends);

    /* ---- in batches ---- */

    /* Records its own networks; then all is planned and committed, and it is made ready. */
    int (*record)(void *self, nn_graph *g, replay *r);
    int (*plan)(void *self, sac_also *also);
    int (*ready)(void *self);

    /* Not stored: the numbers (1, batch, width) of the batch's rows, or of their successors. What
     * they are recorded from is staged; before each update `fill` prepares it for one replica, on
     * any thread. */
    nn_var (*numbers)(void *self, stage *t, const replay *r, int batch, bool next);
    void (*fill)(void *self, int replica, const int32_t *at, const int32_t *next);

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
