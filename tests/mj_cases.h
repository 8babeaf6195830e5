/* mj_cases.h - what every MuJoCo environment must do, called by the test of each. */
#ifndef TESTS_MJ_CASES_H
#define TESTS_MJ_CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/mj.h"
#include "fans/env.h"

enum { CASE_OBS = 64, CASE_ACT = 16, CASE_OPTIONS = 8 };

/* An environment under test, opened with its default options. */
typedef struct world {
    const fans_env_def *def;
    void *env;
    sim *s;
    fans_env_info info;
    rng r;
    float obs[CASE_OBS], action[CASE_ACT];
    fans_env_result result;
} world;

static inline world world_open_with(const fans_env_def *def, const double *options)
{
    world w = {.def = def, .r = rng_stream(7, "test", 0)};
    if (def->open(&w.env, &w.info, options, 1) < 0) fail_msg("%s", fans_error());
    w.s = *(sim **)w.env;
    return w;
}

static inline world world_open(const fans_env_def *def)
{
    double options[CASE_OPTIONS] = {0};
    for (int i = 0; i < def->option_count; i++) options[i] = def->options[i].initial;
    return world_open_with(def, options);
}

static inline void world_close(world *w)
{
    w->def->close(w->env);
}

static inline void world_reset(world *w)
{
    if (w->def->reset(w->env, &w->r, w->obs) < 0) fail_msg("%s", fans_error());
}

static inline void world_step(world *w)
{
    if (w->def->step(w->env, &w->r, w->action, w->obs, &w->result) < 0)
        fail_msg("%s", fans_error());
}

static inline int world_factor(const world *w, const char *name)
{
    for (int i = 0; i < w->info.factor_count; i++)
        if (!strcmp(w->info.factors[i].name, name)) return i;
    fail_msg("no factor %s", name);
    return -1;
}

static inline void world_set(world *w, const char *name, double value)
{
    if (w->def->set_factor(w->env, world_factor(w, name), value) < 0) fail_msg("%s", fans_error());
}

/* Actions that depend on the step alone. */
static inline void world_drive(world *w, int step)
{
    for (int i = 0; i < w->info.act_dim; i++) w->action[i] = (float)sin(0.37 * step + 1.7 * i);
    world_step(w);
}

/* Every factor moves within the middle of its range. */
static inline void world_change(world *w, int step)
{
    for (int i = 0; i < w->info.factor_count; i++) {
        const fans_factor *f = &w->info.factors[i];
        double x = 0.5 + 0.25 * sin(0.1 * step + i);
        if (w->def->set_factor(w->env, i, f->low + x * (f->high - f->low)) < 0)
            fail_msg("%s", fans_error());
    }
}

/* Saved in mid-episode while everything changes, restored into an instance with another past:
 * 1,000 further steps, zero differing bytes. */
static inline void case_restore_is_exact(const fans_env_def *def)
{
    world a = world_open(def), b = world_open(def);
    size_t n = def->state_bytes(a.env);
    char *x = mem_alloc(n), *y = mem_alloc(n);
    world_reset(&a);
    world_reset(&b);
    for (int i = 0; i < 37; i++) {
        world_change(&a, i);
        world_drive(&a, i);
        if (i < 11) world_drive(&b, 5 * i);
    }
    def->save(a.env, x);
    def->restore(b.env, x);
    b.r = a.r;
    for (int i = 37; i < 1037; i++) {
        if (i % 50 == 0) {
            world_reset(&a);
            world_reset(&b);
        }
        if (i % 3 == 0) {
            world_change(&a, i);
            world_change(&b, i);
        }
        world_drive(&a, i);
        world_drive(&b, i);
        def->save(a.env, x);
        def->save(b.env, y);
        assert_memory_equal(x, y, n);
        assert_memory_equal(a.obs, b.obs, sizeof *a.obs * (size_t)a.info.obs_dim);
        assert_memory_equal(&a.result.reward, &b.result.reward, sizeof a.result.reward);
    }
    mem_free(x);
    mem_free(y);
    world_close(&a);
    world_close(&b);
}

/* The error names the environment, comes at once, and a reset repairs the instance. */
static inline void case_nan_is_an_error(const fans_env_def *def)
{
    world w = world_open(def);
    for (int round = 0; round < 3; round++) {
        world_reset(&w);
        world_drive(&w, 0);
        if (round == 0) w.s->d->qvel[0] = NAN;
        if (round == 1) w.s->d->qpos[2] = NAN;
        if (round == 2) w.action[0] = NAN;
        assert_int_equal(def->step(w.env, &w.r, w.action, w.obs, &w.result), FANS_ENUMERIC);
        assert_non_null(strstr(fans_error(), def->name));
    }
    world_reset(&w);
    world_drive(&w, 0);
    world_close(&w);
}

static inline void case_stepping_allocates_nothing(const fans_env_def *def)
{
    uint64_t held = mem_held();
    world w = world_open(def);
    uint64_t before = mem_count();
    for (int i = 0; i < 100; i++) {
        if (i % 25 == 0) world_reset(&w);
        world_change(&w, i);
        world_drive(&w, i);
    }
    assert_int_equal(mem_count(), before);
    world_close(&w);
    assert_int_equal(mem_held(), held);
}

static inline void case_failed_allocations_are_reported(const fans_env_def *def)
{
    double options[CASE_OPTIONS] = {0};
    uint64_t held = mem_held();
    for (int i = 0; i < def->option_count; i++) options[i] = def->options[i].initial;
    for (uint64_t n = 1;; n++) {
        void *env = NULL;
        fans_env_info info;
        mem_fail_at(n);
        int rc = def->open(&env, &info, options, 1);
        mem_fail_at(0);
        if (rc == 0) {
            def->close(env);
            break;
        }
        assert_int_equal(rc, FANS_ENOMEM);
        assert_int_equal(mem_held(), held);
    }
}

#endif
