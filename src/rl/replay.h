/* replay.h - the last steps of several lifetimes, kept in order.
 *
 * A lane is one lifetime: one environment of one replica. Rows of a lane stand in a ring in the
 * order they were lived. A row has the observation, and, unless it is the last of an episode, the
 * action taken there, its reward and how the step ended; the successor of a step is simply the row
 * behind it, so every observation is stored once. Extra numbers ride along with each row: the true
 * factors for the oracle, a belief for an agent. */
#ifndef RL_REPLAY_H
#define RL_REPLAY_H

#include "base/rng.h"
#include "rl/state.h"

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
void replay_add(replay *r, int lane, const replay_step *s);

/* Steps in a lane that can be drawn: those whose successor is there too. */
int replay_count(const replay *r, int lane);

/* Draws n steps uniformly from the lanes [first, first + lanes), into arrays of n rows each; any
 * may be NULL. Fails when there are none. */
typedef struct replay_batch {
    float *obs, *extra, *action, *reward, *terminated, *next, *next_extra;
} replay_batch;
void replay_sample(const replay *r, int first, int lanes, rng *stream, int n,
                   const replay_batch *out);

/* The rows of a lane from the oldest (0) on: for windows over the lifetime. */
int replay_rows(const replay *r, int lane);
int replay_capacity(const replay *r); /* most rows of a lane */
typedef struct replay_row {
    const float *obs, *action;
    float *extra;
    float reward;
    bool last, terminated; /* last: only the observation counts */
    int64_t segment;
} replay_row;
replay_row replay_at(replay *r, int lane, int i);

void replay_state(replay *r, int lane, const char *prefix, state_list *s);

#endif
