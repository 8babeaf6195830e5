/* replay.h - the last steps of several lifetimes, kept in order.
 *
 * A lane is one lifetime: one environment of one replica. Rows of a lane stand in a ring in the
 * order they were lived. A row has the observation, and, unless it is the last of an episode, the
 * action taken there, its reward and how the step ended; the successor of a step is simply the row
 * behind it, so every observation is stored once. Extra numbers ride along with each row: the true
 * factors for the oracle, a belief for an agent. */
#ifndef DATA_REPLAY_H
#define DATA_REPLAY_H

#include "base/rng.h"
#include "data/state.h"

typedef struct replay_shape {
    int lanes;
    int steps;   /* kept per lane */
    int horizon; /* longest episode: how many rows more are needed for the last observations */
    int obs, act, extra;
} replay_shape;

typedef struct replay replay;
int replay_new(replay **out, replay_shape shape);
void replay_free(replay *r);

/* One step of a lane: where it began (obs, extra), what was done, what came of it. `next` and
 * `next_extra` are kept only when the episode ends. */
typedef struct replay_step {
    const float *obs, *extra, *action, *next, *next_extra;
    float reward;
    bool terminated, ended;
    int64_t segment;
} replay_step;

/* Returns how many rows were written, one or two, and their places in the lane. */
int replay_add(replay *r, int lane, const replay_step *s, int places[2]);

/* The memory itself: [lanes][capacity] rows of `width` numbers, the observation first, then the
 * action, the reward, and 1 where the step ended in a terminal state; and rows of `extra` numbers
 * beside them. */
typedef struct replay_memory {
    float *steps, *extra;
    int capacity, width;
} replay_memory;
replay_memory replay_memory_of(replay *r);

/* Draws n steps uniformly from the lanes [first, first + lanes): the rows where they begin and
 * those of their successors, counted from the first lane's first row. There must be some. */
void replay_draw(const replay *r, int first, int lanes, rng *stream, int n, int32_t *at,
                 int32_t *next);

/* For each of n rows, numbered as replay_draw does: the row itself, but for one of the first
 * `steps` of its segment the row behind them, or the last so far of the segment. What is believed
 * there is about the same factors, and no longer a guess. */
void replay_settled(const replay *r, int first, int n, const int32_t *at, int steps, int32_t *to);

/* The rows of a lane from the oldest (0) on: for windows over the lifetime. */
int replay_rows(const replay *r, int lane);
int replay_capacity(const replay *r); /* most rows of a lane */
typedef struct replay_row {
    const float *obs, *action;
    float *extra;
    float reward;
    bool last, terminated; /* last: only the observation counts */
    int64_t segment;
    int place; /* in the lane's memory */
} replay_row;
replay_row replay_at(replay *r, int lane, int i);

/* Stretches of a lane's memory that hold the rows from the `seen`-th ever written on: how many, at
 * most two, as the ring has a seam. Moves `seen` to the newest. */
typedef struct replay_stretch {
    int first, count;
} replay_stretch;
int replay_news(const replay *r, int lane, int64_t *seen, replay_stretch out[2]);

void replay_state(replay *r, int lane, const char *prefix, state_list *s);

#endif
