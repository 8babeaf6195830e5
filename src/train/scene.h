/* scene.h - the worlds of an agent, and what passes between them: the moment before a step, the
 * action, the outcome. A training has one scene; every evaluation has its own. */
#ifndef TRAIN_SCENE_H
#define TRAIN_SCENE_H

#include "env/worlds.h"
#include "fans/algo.h"

typedef struct scene {
    worlds *worlds;
    world_buffers now;
    float *action;
    fans_moment before; /* copies of what `now` had before the step … */
    fans_moment told;   /* … and what agents are told of it */
    fans_tells tells;
    int rows;
    size_t pixels; /* bytes of what the cameras of a world see */
    const fans_env_info *info;
    arena *memory;
} scene;

/* `each` worlds for each of `count` seeds and tasks; then start their lifetimes. `seeds` NULL: the
 * worlds are the caller's, who writes to `now` what they do. */
int scene_new(scene *s, const task *const *tasks, pool *p, const uint64_t *seeds, int count,
              int each);
int scene_start(scene *s);
void scene_free(scene *s);

/* The moment before the next action, as agents are told of it. It is kept as `told`, and the truth
 * as `before`; both stay valid after the step. */
const fans_moment *scene_moment(scene *s);

/* All worlds take their actions. */
int scene_step(scene *s);
fans_outcome scene_outcome(const scene *s);

static inline bool scene_ended(const scene *s, int row)
{
    return s->now.terminated[row] || s->now.truncated[row];
}

#endif
