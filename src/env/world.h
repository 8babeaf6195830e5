/* world.h - a world: an environment, the schedule that changes it, its clocks and random streams.
 *
 * Buffers belong to the caller: contiguous arrays for n worlds, of which world i writes slice i.
 * They hold two groups of things, and the difference matters:
 *
 *  - **now**: the moment in which the next action will be taken. Its observation, the factors, the
 *    segment index and the change flag that hold *during the next step*. Only the oracle may
 *    look at the factors; what others are told of segments is up to the trainer (train/scene.c).
 *  - **outcome**: what the last step led to.
 *
 * A transition is therefore: `now` copied before the step, the action, and `outcome` after it.
 *
 * Episodes follow each other automatically, in the same step (Gymnasium's SAME_STEP): when
 * `terminated` or `truncated` is set, `obs` already belongs to the next episode, and `final_obs`
 * has the last observation of the old one. final_obs is written at every step, so it is always the
 * successor state of a transition. Truncation happens at the horizon and is not termination. */
#ifndef ENV_WORLD_H
#define ENV_WORLD_H

#include "base/mem.h"
#include "env/task.h"

typedef struct world_buffers {
    const float *action; /* (n, act_dim), read */

    /* now */
    float *obs;       /* (n, obs_dim) */
    double *factors;  /* (n, factor_count) */
    int64_t *segment; /* (n), from 0 */
    uint8_t *change;  /* (n), 1 where the next step is the first of a new segment */
    uint8_t *pixels;  /* (n, views, height, width, 3), or NULL: not wanted */

    /* outcome */
    float *reward;         /* (n) */
    float *success;        /* (n), 0 or 1, NaN where the task has no such notion */
    uint8_t *terminated;   /* (n) */
    uint8_t *truncated;    /* (n) */
    float *final_obs;      /* (n, obs_dim) */
    uint8_t *final_pixels; /* as pixels, or NULL */
} world_buffers;

/* Declares all arrays but `action` in an arena; `pixels` only where asked for. */
int world_buffers_declare(world_buffers *b, arena *a, const task *t, int n, bool pixels);

typedef struct world world;

/* `seed` and `index` name the lifetime; worlds of one run differ in `index`. The task must outlive
 * the world. */
int world_new(world **out, const task *t, uint64_t seed, uint32_t index);
void world_free(world *w);

/* A prelude of so many steps, before the world is started: until the first episode that starts
 * after them, every factor that moves is drawn afresh in each episode. Then the schedule begins,
 * with its clocks at 0. */
void world_set_prelude(world *w, int64_t steps);
bool world_was_in_prelude(const world *w); /* when it made its last step */

/* Restarts the lifetime and fills slice i of the `now` group. */
int world_start(world *w, const world_buffers *b, int i);

/* Names the lifetime that the next world_start starts. */
void world_rename(world *w, uint64_t seed, uint32_t index);

/* False before the first start, and after a failure. */
bool world_is_started(const world *w);

/* One step. Allocates nothing. An error names the environment, the episode and the step; the world
 * must then be started again. */
int world_step(world *w, const world_buffers *b, int i);

/* Gives the episode up: the clocks move as if a step had truncated it, and the next one begins. An
 * episode without a step yet stays as it is. */
int world_give_up(world *w, const world_buffers *b, int i);

/* Holds a factor at a value within its range, whatever the schedule says, from the next step or
 * start on; NaN lets it go. Segments stay the schedule's. A saved world does not remember it. */
int world_hold(world *w, int factor, double value, const world_buffers *b, int i);

/* The complete state as bytes; restoring also fills slice i of the `now` group again. */
size_t world_state_bytes(const world *w);
void world_save(const world *w, void *bytes);
int world_restore(world *w, const void *bytes, const world_buffers *b, int i);

sched_time world_time(const world *w);

/* A picture for people (RGB, top row first); FANS_ENOSUP where the environment has none. */
int world_picture(world *w, int width, int height, uint8_t *rgb);

#endif
