/* online.h - a recurrent network on the steps that worlds live: recorded for one step of every
 * world, and what it carries from step to step.
 *
 * There is one input and one output tensor for all worlds of all replicas: on a GPU every transfer
 * costs time, and this happens at every step. */
#ifndef LEARN_ONLINE_H
#define LEARN_ONLINE_H

#include "data/replay.h"
#include "learn/staged.h"

typedef struct online {
    nn_graph *g;
    int rows, d, m; /* worlds of all replicas; numbers of an observation and an action */
    int state;      /* numbers of the recurrent state */
    int width;      /* numbers of the output */
    staged seen;    /* (1, worlds · each, [obs | action | reward | next_obs | change | state]) */
    nn_var out;     /* (1, worlds, [… | state]) */
    nn_plan *step;
    float *carried; /* [row][width]: the last output */
    bool pending;   /* a queued step is not in `carried` yet */
} online;

/* A step and the state before it, (1, worlds, ·) each. */
typedef struct online_step {
    nn_var obs, action, reward, next_obs, change, state;
} online_step;

/* Records the input, `each` rows for every world; then record a network on it, and give its output,
 * which ends with the state.
 */
int online_record(online *x, arena *memory, nn_graph *g, const replay *r, int each, int state,
                  online_step *to);
int online_give(online *x, arena *memory, nn_var out, int width);
int online_plan(online *x);

/* Rows are worlds: replica · worlds + world; or (replica · worlds + world) · each + i. Note the
 * step of each, then run all at once. On an asynchronous backend, `begin` only queues it;
 * online_finish waits for it. */
void online_note(online *x, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change);
void online_note_all(online *x, const fans_moment *before, const float *action,
                     const fans_outcome *o);
int online_begin(online *x);
void online_finish(online *x);

float *online_of(const online *x, int row);         /* what a row carries */
const float *online_seen(const online *x, int row); /* its noted step: [obs | action | …] */
void online_reset(online *x, int row);              /* zeros */

/* Lists what is carried by the worlds of a replica. */
void online_carried(online *x, int replica, const char *name, state_list *s);

#endif
