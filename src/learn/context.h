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
#include "learn/tick.h"

/* (x + shift) · scale for each of some numbers. */
typedef struct units {
    float *shift, *scale;
} units;

/* A batch as networks read it: B rows, or B windows of T rows in sequence. */
typedef struct context_batch {
    stage *inputs; /* for inputs of one's own */
    const replay *replay;
    int T, B, worlds;
    nn_var at, next;     /* its rows and their successors: (T, B, 1) */
    nn_var seen;         /* from pixels: what critics read of them (T, B, features); or NN_NONE */
    nn_var shift, scale; /* units of an observation: (1, 1, obs) */
    double bound;        /* of normalised ones; 0: none */
} context_batch;

/* Raw observations in the units that the networks see, the same in acting and learning. */
nn_var context_obs(const context_batch *b, nn_var raw);

/* What policy and critics read beside an observation: (T, B, width) each. */
typedef struct context_numbers {
    nn_var policy, critic;
} context_numbers;

/* From pixels: what stands for the observation in all functions below and in the replay, `width`
 * numbers (0: nothing does), and how they follow from frames as convolutions read them (nn_frames):
 * see learn/sight.h. */
struct pixels;
typedef struct sight_encoder {
    void *self;
    int width;
    nn_var (*encode)(void *self, const struct pixels *eyes, nn_var frames);
} sight_encoder;

typedef struct context {
    void *self;
    int width;   /* numbers added to the state */
    bool stored; /* stored with every row, in the replay's column 0; batches read them there … */
    int hindsight; /* stored: first steps of a segment where critics see the later numbers */

    int64_t hold; /* steps of a seed before which actions are random and SAC does not learn … */
    const char *held_by; /* … and the option that says so */

    sight_encoder sight;

    relabel *relabel; /* stored: learns a share of each batch under other numbers; NULL: none */

    void (*free)(void *self);

    /* ---- online, one row per world ---- */

    /* `numbers` (rows, width) are those of the coming step. The agent keeps them: what a function
     * does not write stays. A new lifetime starts with zeros. */

    void (*start)(void *self); /* new lifetimes start */

    /* What it takes for the moment, if it knows segments that nobody told it of. Valid until the
     * step is made. */
    const fans_moment *(*moment)(void *self, const fans_moment *told);

    /* Before each step. */
    int (*look)(void *self, const fans_moment *now, float *numbers);

    /* After a step of all worlds; `numbers` are now those of the next one. `ends` starts as those
     * of this step; where an episode ended, write those of its last observation there. `learn` is
     * false in evaluation. */
    int (*note)(void *self, const fans_moment *before, const float *action,
                const fans_outcome *outcome, bool learn, float *numbers, float *ends);

    /* Stored with each row as a column of its own, which SAC does not read: `kept` numbers.
     * `keep` writes those of the coming step of all rows, (rows, kept). */
    int kept;
    void (*keep)(const void *self, float *numbers);

    /* If SAC learns with other numbers than those acted on: writes those of the step just made,
     * (rows, width), to be stored. In learning only. */
    void (*label)(void *self, const fans_moment *before, float *numbers);

    /* The same as a recording, for export: look and note in one tick (learn/tick.h). Sets `numbers`
     * and the tick's belief. `b` has the units of observations. Without it, an agent with a context
     * cannot be exported. */
    int (*tick)(void *self, const context_batch *b, tick *t, nn_var *numbers);

    /* ---- in batches ---- */

    /* Record its own networks, before the batch; plan them, after everything is recorded; start,
     * after the commit. */
    int (*record)(void *self, nn_graph *g, replay *r);
    int (*plan)(void *self, sac_also *also);
    int (*ready)(void *self);

    /* … unless this records the numbers of a batch's rows, and then those of their successors,
     * from staged inputs. Before each update `fill` prepares these for one replica, on any thread.
     */
    context_numbers (*numbers)(void *self, const context_batch *b, bool next);
    void (*fill)(void *self, int replica, const int32_t *at, const int32_t *next);

    /* With `window` > 0 a batch has `windows` windows of so many rows, and `draw` replaces the
     * agent's choice of rows: (window, windows) rows, their successors, and how much each counts.
     * It comes before `fill`. */
    int window, windows;
    void (*draw)(void *self, int replica, rng *stream, int32_t *at, int32_t *next, float *weight);

    sac_front front; /* how policy and critics read observation and numbers together */

    /* Changes the units in which SAC sees a row. On entry, those of the observation are as
     * normalisation set them, those of the context are shift 0 and scale 1. Called again after
     * agent_units_changed. */
    void (*units)(const void *self, int replica, units obs, units context);

    /* What SAC reads instead of the numbers (1, ·, width), in their units. */
    nn_var (*project)(void *self, nn_var numbers);

    /* ---- learning ---- */

    /* Its own updates, before SAC's of the same step. */
    int (*update)(void *self);

    /* What is learned; and what is carried along a lifetime, which evaluation sets aside. */
    void (*state)(void *self, int replica, state_list *s);
    void (*carried)(void *self, int replica, state_list *s);
    void (*scalars)(void *self, int replica, fans_scalar_fn *emit, void *user);
} context;

#endif
