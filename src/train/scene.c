/* scene.c - worlds and their buffers. */
#include "train/scene.h"

#include <string.h>

#include "base/error.h"

static int declare(scene *s, const task *t)
{
    size_t rows = (size_t)s->rows, d = (size_t)s->info->obs_dim, m = (size_t)s->info->act_dim;
    size_t factors = (size_t)s->info->factor_count;
    int rc = 0;
    TRY(arena_new(&s->memory));
    TRY(world_buffers_declare(&s->now, s->memory, t, s->rows, false));
    TRY(arena_declare(s->memory, &s->action, rows * m * sizeof(float)));
    TRY(arena_declare(s->memory, &s->before.obs, rows * d * sizeof(float)));
    TRY(arena_declare(s->memory, &s->before.factors, rows * factors * sizeof(double)));
    TRY(arena_declare(s->memory, &s->before.segment, rows * sizeof(int64_t)));
    TRY(arena_declare(s->memory, &s->before.change, rows));
    TRY(arena_commit(s->memory));
    s->now.action = s->action;
out:
    return rc;
}

int scene_new(scene *s, const task *const *tasks, pool *p, const uint64_t *seeds, int count,
              int each)
{
    int rc = 0;
    *s = (scene){.rows = count * each, .info = &tasks[0]->info};
    TRY(declare(s, tasks[0]));
    TRY(worlds_new(&s->worlds, tasks, p, seeds, count, each));
out:
    if (rc < 0) scene_free(s);
    return rc;
}

int scene_start(scene *s)
{
    return worlds_start(s->worlds, &s->now);
}

void scene_free(scene *s)
{
    worlds_free(s->worlds);
    arena_free(s->memory);
    *s = (scene){0};
}

const fans_moment *scene_moment(scene *s)
{
    size_t n = (size_t)s->rows, d = (size_t)s->info->obs_dim;
    size_t factors = (size_t)s->info->factor_count;
    memcpy((float *)s->before.obs, s->now.obs, n * d * sizeof(float));
    memcpy((double *)s->before.factors, s->now.factors, n * factors * sizeof(double));
    memcpy((int64_t *)s->before.segment, s->now.segment, n * sizeof(int64_t));
    memcpy((uint8_t *)s->before.change, s->now.change, n);
    return &s->before;
}

int scene_step(scene *s)
{
    return worlds_step(s->worlds, &s->now);
}

fans_outcome scene_outcome(const scene *s)
{
    return (fans_outcome){s->now.reward, s->now.terminated, s->now.truncated, s->now.final_obs};
}
