/* worlds.c - worlds of a config, for callers who step them. */
#include <math.h>
#include <string.h>

#include "api/config.h"
#include "base/error.h"
#include "env/worlds.h"
#include "train/train.h"

enum { MOST_WORLDS = 4096 };

struct fans_worlds {
    handle handle;
    fans_config *config;
    source from;
    int n;
    const char **names; /* [factors] */
    pool *pool;
    worlds *worlds;
    world_buffers now;
    float *action;
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int declare(fans_worlds *w)
{
    const fans_env_info *info = &w->from.task->info;
    int rc = 0;
    TRY(arena_new(&w->memory));
    TRY(world_buffers_declare(&w->now, w->memory, w->from.task, w->n, false));
    TRY(arena_declare(w->memory, &w->action,
                      (size_t)w->n * (size_t)info->act_dim * sizeof *w->action));
    TRY(arena_declare(w->memory, &w->names, (size_t)info->factor_count * sizeof *w->names));
    TRY(arena_commit(w->memory));
    w->now.action = w->action;
    for (int k = 0; k < info->factor_count; k++) w->names[k] = info->factors[k].name;
out:
    return rc;
}

static int make(fans_worlds *w, int threads)
{
    int rc = 0;
    TRY(config_read(w->config, &w->from));
    TRY(source_check(&w->from));
    TRY(declare(w));
    TRY(pool_new(&w->pool, threads));
    TRY(worlds_new(&w->worlds, (const task *const *)&w->from.task, w->pool,
                   &(uint64_t){(uint64_t)w->from.options.seed}, 1, w->n));
    TRY(worlds_start(w->worlds, &w->now));
out:
    return rc;
}

int fans_worlds_open(fans_worlds **out, const fans_config *c, int n, int threads)
{
    int rc = 0;
    fans_worlds *w = NULL;
    TRY(CHECK_POINTER(out));
    if (n < 1 || n > MOST_WORLDS)
        TRY(fans_fail(FANS_EINVAL, "fans_worlds_open: n = %d: not from 1 to %d", n, MOST_WORLDS));
    TRY((w = mem_alloc(sizeof *w)) ? 0 : FANS_ENOMEM);
    w->n = n;
    TRY(handle_begin(&w->handle, HANDLE_WORLDS));
    TRY(config_keep(&w->config, c, __func__));
    TRY(make(w, threads));
    *out = w;
    return 0;
out:
    fans_worlds_free(w);
    return rc;
}

void fans_worlds_free(fans_worlds *w)
{
    if (!w || !handle_end(w, HANDLE_WORLDS)) return;
    worlds_free(w->worlds);
    pool_free(w->pool);
    arena_free(w->memory);
    source_free(&w->from);
    fans_config_free(w->config);
    mem_free(w);
}

/* ---- looking --------------------------------------------------------------------------------- */

int fans_worlds_task(const fans_worlds *w, fans_task *out)
{
    int rc = 0;
    TRY(CHECK(w, HANDLE_WORLDS));
    TRY(CHECK_SIZE(out, UP_TO(fans_task, names)));
    const fans_env_info *info = &w->from.task->info;
    fans_task all = {.obs = info->obs_dim,
                     .act = info->act_dim,
                     .horizon = info->horizon,
                     .worlds = w->n,
                     .factors = info->factor_count,
                     .names = w->names};
    copy_known(out, &all, UP_TO(fans_task, names));
out:
    return rc;
}

int fans_worlds_view(const fans_worlds *w, fans_view *out)
{
    int rc = 0;
    TRY(CHECK(w, HANDLE_WORLDS));
    TRY(CHECK_SIZE(out, UP_TO(fans_view, success)));
    const world_buffers *b = &w->now;
    fans_view all = {.action = w->action,
                     .obs = b->obs,
                     .final_obs = b->final_obs,
                     .reward = b->reward,
                     .factors = b->factors,
                     .segment = b->segment,
                     .change = b->change,
                     .terminated = b->terminated,
                     .truncated = b->truncated,
                     .success = b->success};
    copy_known(out, &all, UP_TO(fans_view, success));
out:
    return rc;
}

/* Between which values the schedule moves it. */
static int find_movement(const task *t, int k, fans_factor_info *out)
{
    int n = train_movements(t, NULL);
    fans_moving *list = mem_alloc((size_t)n * sizeof *list);
    if (!list) return FANS_ENOMEM;
    train_movements(t, list);
    for (int i = 0; i < n; i++)
        if (list[i].factor == k) {
            out->from = list[i].low;
            out->to = list[i].high;
            out->moves = true;
        }
    mem_free(list);
    return 0;
}

int fans_worlds_factor(const fans_worlds *w, int k, fans_factor_info *out)
{
    int rc = 0;
    TRY(CHECK(w, HANDLE_WORLDS));
    TRY(CHECK_SIZE(out, UP_TO(fans_factor_info, moves)));
    TRY(check_index(k, 0, w->from.task->info.factor_count, __func__));
    const fans_factor *f = &w->from.task->info.factors[k];
    fans_factor_info all = {.name = f->name,
                            .help = f->help,
                            .low = f->low,
                            .high = f->high,
                            .initial = f->initial,
                            .from = f->initial,
                            .to = f->initial};
    TRY(find_movement(w->from.task, k, &all));
    copy_known(out, &all, UP_TO(fans_factor_info, moves));
out:
    return rc;
}

int fans_worlds_picture(fans_worlds *w, int i, int width, int height, uint8_t *rgb)
{
    enum { MOST = 8192 };
    int rc = ENTER(w, HANDLE_WORLDS);
    if (rc < 0) return rc;
    TRY(check_index(i, 0, w->n, __func__));
    TRY(CHECK_POINTER(rgb));
    if (width < 1 || height < 1 || width > MOST || height > MOST)
        TRY(fans_fail(FANS_EINVAL, "%s: %d × %d: not from 1 × 1 to %d × %d", __func__, width,
                      height, MOST, MOST));
    TRY(world_picture(worlds_at(w->worlds, i), width, height, rgb));
out:
    return handle_leave(w, rc);
}

int fans_worlds_draws(const fans_worlds *w)
{
    int rc = CHECK(w, HANDLE_WORLDS);
    return rc < 0 ? rc : w->from.task->def->picture != NULL;
}

/* ---- living ---------------------------------------------------------------------------------- */

static int check_started(const fans_worlds *w, int first, int end)
{
    for (int i = first; i < end; i++)
        if (!world_is_started(worlds_at(w->worlds, i)))
            return fans_fail(FANS_EINVAL, "world %d has failed: fans_worlds_start it again", i);
    return 0;
}

int fans_worlds_step(fans_worlds *w)
{
    int rc = ENTER(w, HANDLE_WORLDS);
    if (rc < 0) return rc;
    TRY(check_started(w, 0, w->n));
    TRY(worlds_step(w->worlds, &w->now));
out:
    return handle_leave(w, rc);
}

int fans_worlds_start(fans_worlds *w, int i, uint64_t seed)
{
    int rc = ENTER(w, HANDLE_WORLDS);
    if (rc < 0) return rc;
    TRY(check_index(i, -1, w->n, __func__));
    for (int k = 0; i < 0 && k < w->n; k++)
        world_rename(worlds_at(w->worlds, k), seed, (uint32_t)k);
    if (i >= 0) world_rename(worlds_at(w->worlds, i), seed, 0);
    TRY(i < 0 ? worlds_start(w->worlds, &w->now)
              : world_start(worlds_at(w->worlds, i), &w->now, i));
out:
    return handle_leave(w, rc);
}

int fans_worlds_reset(fans_worlds *w, int i)
{
    int rc = ENTER(w, HANDLE_WORLDS);
    if (rc < 0) return rc;
    TRY(check_index(i, -1, w->n, __func__));
    int first = i < 0 ? 0 : i, end = i < 0 ? w->n : i + 1;
    TRY(check_started(w, first, end));
    for (int k = first; k < end; k++) TRY(world_give_up(worlds_at(w->worlds, k), &w->now, k));
out:
    return handle_leave(w, rc);
}

static int find_factor(const fans_worlds *w, const char *name, int *out)
{
    const fans_env_info *info = &w->from.task->info;
    nearest near = {.word = name};
    for (*out = 0; *out < info->factor_count; ++*out) {
        if (!strcmp(info->factors[*out].name, name)) return 0;
        nearest_offer(&near, info->factors[*out].name);
    }
    return fans_fail(FANS_EINVAL, "%s has no factor '%s'%s", w->from.task->def->name, name,
                     nearest_hint(&near));
}

int fans_worlds_hold(fans_worlds *w, int i, const char *factor, double value)
{
    int rc = ENTER(w, HANDLE_WORLDS), which;
    if (rc < 0) return rc;
    TRY(check_index(i, 0, w->n, __func__));
    TRY(CHECK_POINTER(factor));
    TRY(find_factor(w, factor, &which));
    TRY(world_hold(worlds_at(w->worlds, i), which, value, &w->now, i));
out:
    return handle_leave(w, rc);
}

/* ---- saving ---------------------------------------------------------------------------------- */

int64_t fans_worlds_bytes(const fans_worlds *w)
{
    int rc = CHECK(w, HANDLE_WORLDS);
    return rc < 0 ? rc : (int64_t)world_state_bytes(worlds_at(w->worlds, 0));
}

static int check_state(const fans_worlds *w, int i, const void *state, size_t bytes,
                       const char *function)
{
    int rc = 0;
    TRY(check_index(i, 0, w->n, function));
    TRY(check_pointer(state, "state", function));
    size_t own = world_state_bytes(worlds_at(w->worlds, i));
    if (bytes != own)
        TRY(fans_fail(FANS_EINVAL, "%s: a state of this task has %zu bytes, not %zu", function, own,
                      bytes));
out:
    return rc;
}

int fans_worlds_save(const fans_worlds *w, int i, void *state, size_t bytes)
{
    int rc = 0;
    TRY(CHECK(w, HANDLE_WORLDS));
    TRY(check_state(w, i, state, bytes, __func__));
    TRY(check_started(w, i, i + 1));
    world_save(worlds_at(w->worlds, i), state);
out:
    return rc;
}

int fans_worlds_restore(fans_worlds *w, int i, const void *state, size_t bytes)
{
    int rc = ENTER(w, HANDLE_WORLDS);
    if (rc < 0) return rc;
    TRY(check_state(w, i, state, bytes, __func__));
    TRY(world_restore(worlds_at(w->worlds, i), state, &w->now, i));
out:
    return handle_leave(w, rc);
}
