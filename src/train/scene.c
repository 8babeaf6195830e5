/* scene.c - worlds and their buffers. */
#include "train/scene.h"

#include <string.h>

#include "base/error.h"

static int declare(scene *s, const task *t)
{
    size_t rows = (size_t)s->rows, d = (size_t)s->info->obs_dim, m = (size_t)s->info->act_dim;
    size_t factors = (size_t)s->info->factor_count;
    bool pixels = t->options->pixels;
    int rc = 0;
    TRY(arena_new(&s->memory));
    TRY(world_buffers_declare(&s->now, s->memory, t, s->rows, pixels));
    TRY(arena_declare(s->memory, &s->action, rows * m * sizeof(float)));
    TRY(arena_declare(s->memory, &s->before.obs, rows * d * sizeof(float)));
    TRY(arena_declare(s->memory, &s->before.factors, rows * factors * sizeof(double)));
    TRY(arena_declare(s->memory, &s->before.segment, rows * sizeof(int64_t)));
    TRY(arena_declare(s->memory, &s->before.change, rows));
    TRY(arena_declare(s->memory, &s->told.segment, rows * sizeof(int64_t)));
    TRY(arena_declare(s->memory, &s->told.change, rows));
    if (pixels) TRY(arena_declare(s->memory, &s->before.pixels, rows * task_pixels(t)));
    TRY(arena_commit(s->memory));
    s->now.action = s->action;
out:
    return rc;
}

int scene_new(scene *s, const task *const *tasks, pool *p, const uint64_t *seeds, int count,
              int each)
{
    int rc = 0;
    *s = (scene){.rows = count * each, .info = &tasks[0]->info, .pixels = task_pixels(tasks[0])};
    TRY(declare(s, tasks[0]));
    if (seeds) TRY(worlds_new(&s->worlds, tasks, p, seeds, count, each));
out:
    if (rc < 0) scene_free(s);
    return rc;
}

int scene_start(scene *s)
{
    return s->worlds ? worlds_start(s->worlds, &s->now) : 0;
}

void scene_free(scene *s)
{
    worlds_free(s->worlds);
    arena_free(s->memory);
    *s = (scene){0};
}

/* The only place where segments are kept from agents. A caller's own worlds have episodes for
 * segments already: see train_outside.c. */
static void tell(scene *s)
{
    size_t n = (size_t)s->rows;
    int64_t *segment = (int64_t *)s->told.segment;
    uint8_t *change = (uint8_t *)s->told.change;
    s->told.obs = s->before.obs;
    s->told.factors = s->before.factors;
    s->told.pixels = s->before.pixels;
    memcpy(segment, s->before.segment, n * sizeof *segment);
    memcpy(change, s->before.change, n);
    for (int i = 0; s->tells == FANS_TELLS_EPISODES && s->worlds && i < s->rows; i++) {
        sched_time now = world_time(worlds_at(s->worlds, i));
        segment[i] = now.episode;
        change[i] = now.tau == 0 && now.t > 0;
    }
    if (s->tells != FANS_TELLS_NOTHING) return;
    memset(segment, 0, n * sizeof *segment);
    memset(change, 0, n);
}

const fans_moment *scene_moment(scene *s)
{
    size_t n = (size_t)s->rows, d = (size_t)s->info->obs_dim;
    size_t factors = (size_t)s->info->factor_count;
    memcpy((float *)s->before.obs, s->now.obs, n * d * sizeof(float));
    memcpy((double *)s->before.factors, s->now.factors, n * factors * sizeof(double));
    memcpy((int64_t *)s->before.segment, s->now.segment, n * sizeof(int64_t));
    memcpy((uint8_t *)s->before.change, s->now.change, n);
    if (s->now.pixels) memcpy((uint8_t *)s->before.pixels, s->now.pixels, n * s->pixels);
    tell(s);
    return &s->told;
}

int scene_step(scene *s)
{
    return worlds_step(s->worlds, &s->now);
}

fans_outcome scene_outcome(const scene *s)
{
    return (fans_outcome){s->now.reward, s->now.terminated, s->now.truncated, s->now.final_obs,
                          s->now.final_pixels};
}
