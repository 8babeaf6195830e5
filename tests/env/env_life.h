/* env_life.h - for tests: worlds from an INI text, with buffers and random actions. */
#ifndef TESTS_ENV_LIFE_H
#define TESTS_ENV_LIFE_H

#include "base/error.h"
#include "base/rng.h"
#include "env/worlds.h"

typedef struct env_life {
    task *task;
    worlds *worlds;
    world_buffers b;
    float *action;
    arena *arena;
    rng actions;
    int n;
} env_life;

/* A task from INI text; an error stays in fans_error(). */
static inline int env_task(task **out, const char *ini)
{
    config *c = NULL;
    int rc = 0;
    TRY(config_new(&c));
    TRY(config_add_text(c, "test", ini));
    TRY(task_load(out, c));
    if ((rc = config_check_taken(c)) < 0) {
        task_free(*out);
        *out = NULL;
    }
out:
    config_free(c);
    return rc;
}

static inline void env_life_end(env_life *l)
{
    worlds_free(l->worlds);
    task_free(l->task);
    arena_free(l->arena);
    *l = (env_life){0};
}

static inline int env_life_begin(env_life *l, const char *ini, pool *p, int n, uint64_t seed)
{
    int rc = 0;
    *l = (env_life){.n = n, .actions = rng_stream(11, "test actions", 0)};
    TRY(env_task(&l->task, ini));
    TRY(arena_new(&l->arena));
    TRY(world_buffers_declare(&l->b, l->arena, l->task, n, true));
    TRY(arena_declare(l->arena, &l->action,
                      (size_t)(n * l->task->info.act_dim) * sizeof *l->action));
    TRY(arena_commit(l->arena));
    l->b.action = l->action;
    TRY(worlds_new(&l->worlds, &(const task *){l->task}, p, &seed, 1, n));
    TRY(worlds_start(l->worlds, &l->b));
out:
    if (rc < 0) env_life_end(l);
    return rc;
}

/* One step of all worlds under uniform actions. */
static inline int env_life_step(env_life *l)
{
    for (int i = 0; i < l->n * l->task->info.act_dim; i++)
        l->action[i] = (float)rng_between(&l->actions, -1, 1);
    return worlds_step(l->worlds, &l->b);
}

#endif
