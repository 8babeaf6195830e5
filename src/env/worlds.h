/* worlds.h - many worlds stepped together over a thread pool, each with its own environment.
 *
 * There are `each` worlds for every seed; world s·each + i is the lifetime (seeds[s], i) of
 * tasks[s], whatever the number of threads. Nothing is shared between worlds but tasks, which are
 * constant; the tasks of one set agree in the dimensions of `info`. */
#ifndef ENV_WORLDS_H
#define ENV_WORLDS_H

#include "base/pool.h"
#include "env/world.h"

typedef struct worlds worlds;

/* `p` may be NULL: the caller's thread does it all. Tasks and pool must outlive the worlds. */
int worlds_new(worlds **out, const task *const *tasks, pool *p, const uint64_t *seeds,
               int seed_count, int each);
void worlds_free(worlds *ws);

/* Each has a prelude of so many steps: see world.h. Before they are started. */
void worlds_set_prelude(worlds *ws, int64_t steps);

/* All n worlds; buffers as in world.h. The first world (by index) that fails names the error. */
int worlds_start(worlds *ws, const world_buffers *b);
int worlds_step(worlds *ws, const world_buffers *b);

/* One world of them, for saving and pictures. */
world *worlds_at(worlds *ws, int i);

#endif
