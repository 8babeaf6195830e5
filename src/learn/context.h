/* context.h - turns the past into numbers that policy and critics read with the state.
 *
 * A policy that sees the state alone cannot tell a strong wind from a weak one. A context adds
 * `width` numbers to what policy and critics read: the true factors (oracle), a belief about them
 * (fansrl), the last steps themselves (stack). It does so in two places, which must agree:
 *
 *  - **online**, for the coming step of every world: `look`, then `note` its outcome;
 *  - **in batches** of replay rows: either stored with the rows, or recorded from other rows of the
 *    replay (`numbers`), if need be through its own networks.
 *
 * All functions are optional. */
#ifndef LEARN_CONTEXT_H
#define LEARN_CONTEXT_H

#include "data/replay.h"
#include "learn/relabel.h"
#include "learn/sac.h"
#include "learn/staged.h"

/* (x + shift) · scale for each of some numbers. */
typedef struct units {
    float *shift, *scale;
} units;

typedef struct context {
    void *self;
    int width;     /* numbers added to the state */
    bool stored;   /* stored with every row, in the replay's column 0 */
    int hindsight; /* stored: first steps of a segment where critics see the later numbers */

    int64_t hold; /* steps of a seed before which actions are random and SAC does not learn … */
    const char *held_by; /* … and the option that says so */

    relabel *relabel; /* stored: learns a share of each batch under other numbers; NULL: none */

    void (*free)(void *self);

    /* ---- online, one row per world ---- */

    /* `numbers` (rows, width) are those of the coming step. The agent keeps them: what a function
     * does not write stays. A new lifetime starts with zeros. */

    void (*start)(void *self); /* new lifetimes start */

    /* Before each step. */
    int (*look)(void *self, const fans_moment *now, float *numbers);

    /* After a step of all worlds; `numbers` are now those of the next one. `ends` starts as those
     * of this step; where an episode ended, write those of its last observation there. `learn` is
     * false in evaluation. */
    int (*note)(void *self, const fans_moment *before, const float *action,
                const fans_outcome *outcome, bool learn, float *numbers, float *ends);

    /* ---- in batches ---- */

    /* Record its own networks, before the batch; plan them, after everything is recorded; start,
     * after the commit. */
    int (*record)(void *self, nn_graph *g, replay *r);
    int (*plan)(void *self, sac_also *also);
    int (*ready)(void *self);

    /* If not stored: records the numbers (1, batch, width) of a batch's rows, or of their
     * successors, from staged inputs. Before each update `fill` prepares these for one replica, on
     * any thread. */
    nn_var (*numbers)(void *self, stage *t, const replay *r, int batch, bool next);
    void (*fill)(void *self, int replica, const int32_t *at, const int32_t *next);

    /* Changes the units in which SAC sees a row. On entry, those of the observation are as
     * normalisation set them, those of the context are shift 0 and scale 1. Called again after
     * agent_units_changed. */
    void (*units)(const void *self, int replica, units obs, units context);

    /* ---- learning ---- */

    /* Its own updates, before SAC's of the same step. */
    int (*update)(void *self);

    /* What is learned; and what is carried along a lifetime, which evaluation sets aside. */
    void (*state)(void *self, int replica, state_list *s);
    void (*carried)(void *self, int replica, state_list *s);
    void (*scalars)(void *self, int replica, fans_scalar_fn *emit, void *user);
} context;

#endif
