/* mj_cases.h - what every MuJoCo environment must do, called by the test of each. */
#ifndef TESTS_MJ_CASES_H
#define TESTS_MJ_CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/rng.h"
#include "base/text.h"
#include "env/check.h"
#include "env/mj.h"
#include "fans/env.h"

enum { CASE_OBS = 64, CASE_ACT = 16, CASE_OPTIONS = 8 };

/* An environment under test, opened with its default options. */
typedef struct trial {
    const fans_env_def *def;
    void *env;
    sim *s;
    fans_env_info info;
    rng r;
    float obs[CASE_OBS], action[CASE_ACT];
    fans_env_result result;
} trial;

static inline trial trial_open_with(const fans_env_def *def, const double *options)
{
    trial t = {.def = def, .r = rng_stream(7, "test", 0)};
    if (def->open(&t.env, &t.info, options, 1) < 0) fail_msg("%s", fans_error());
    t.s = *(sim **)t.env;
    return t;
}

static inline trial trial_open(const fans_env_def *def)
{
    double options[CASE_OPTIONS] = {0};
    for (int i = 0; i < def->option_count; i++) options[i] = def->options[i].initial;
    return trial_open_with(def, options);
}

static inline void trial_close(trial *t)
{
    t->def->close(t->env);
}

static inline void trial_reset(trial *t)
{
    if (t->def->reset(t->env, &t->r, t->obs) < 0) fail_msg("%s", fans_error());
}

static inline void trial_step(trial *t)
{
    if (t->def->step(t->env, &t->r, t->action, t->obs, &t->result) < 0)
        fail_msg("%s", fans_error());
}

static inline int trial_factor(const trial *t, const char *name)
{
    for (int i = 0; i < t->info.factor_count; i++)
        if (!strcmp(t->info.factors[i].name, name)) return i;
    fail_msg("no factor %s", name);
    return -1;
}

static inline void trial_set(trial *t, const char *name, double value)
{
    if (t->def->set_factor(t->env, trial_factor(t, name), value) < 0) fail_msg("%s", fans_error());
}

/* Actions that depend on the step alone. */
static inline void trial_drive(trial *t, int step)
{
    for (int i = 0; i < t->info.act_dim; i++) t->action[i] = (float)sin(0.37 * step + 1.7 * i);
    trial_step(t);
}

/* Every factor moves within the middle of its range. */
static inline void trial_change(trial *t, int step)
{
    for (int i = 0; i < t->info.factor_count; i++) {
        const fans_factor *f = &t->info.factors[i];
        double x = 0.5 + 0.25 * sin(0.1 * step + i);
        if (t->def->set_factor(t->env, i, f->low + x * (f->high - f->low)) < 0)
            fail_msg("%s", fans_error());
    }
}

/* ---- models compiled otherwise --------------------------------------------------------------- */

static inline double difference(double a, double b)
{
    return fabs(a - b) / fmax(1, fabs(b));
}

/* Appends `from` to `to` with every `old` replaced by `new`. */
static inline void replace(text *to, const char *from, const char *old, const char *new)
{
    const char *at;
    assert_non_null(strstr(from, old));
    while ((at = strstr(from, old))) {
        text_add(to, "%.*s%s", (int)(at - from), from, new);
        from = at + strlen(old);
    }
    text_add(to, "%s", from);
}

/* Our MJCF with pieces of its text replaced (pairs of old and new, then NULL), compiled. */
static inline sim *compiled_with(const char *asset, ...)
{
    char path[1024], copy[] = P_tmpdir "/fans-XXXXXX.xml";
    void *bytes;
    size_t n;
    text mjcf = {0};
    sim *s = NULL;
    if (sim_asset(path, sizeof path, asset) < 0 || os_read_file(&bytes, &n, path) < 0)
        fail_msg("%s", fans_error());
    text_add(&mjcf, "%s", (char *)bytes);
    mem_free(bytes);
    va_list pairs;
    va_start(pairs, asset);
    for (const char *old; (old = va_arg(pairs, const char *));) {
        text changed = {0};
        replace(&changed, mjcf.s, old, va_arg(pairs, const char *));
        text_free(&mjcf);
        mjcf = changed;
    }
    va_end(pairs);
    int fd = mkstemps(copy, 4);
    assert_true(fd >= 0 && write(fd, mjcf.s, mjcf.length) == (ssize_t)mjcf.length);
    close(fd);
    if (sim_new(&s, "compiled", copy) < 0) fail_msg("%s", fans_error());
    remove(copy);
    text_free(&mjcf);
    return s;
}

static inline void compare_numbers(const char *name, const mjtNum *a, const mjtNum *b, long n)
{
    for (long i = 0; i < n; i++)
        if (!(difference(a[i], b[i]) < 1e-12))
            fail_msg("%s[%ld] is %.17g, not %.17g", name, i, a[i], b[i]);
}

/* Everything in a model that follows from masses and inertias. */
static inline void compare_constants(const mjModel *a, const mjModel *b)
{
#define COMPARE(field, n) compare_numbers(#field, &a->field, &b->field, n)
    COMPARE(body_mass[0], b->nbody);
    COMPARE(body_inertia[0], 3 * b->nbody);
    COMPARE(body_subtreemass[0], b->nbody);
    COMPARE(body_invweight0[0], 2 * b->nbody);
    COMPARE(dof_invweight0[0], b->nv);
    COMPARE(dof_M0[0], b->nv);
    COMPARE(actuator_acc0[0], b->nu);
    COMPARE(stat.meanmass, 1);
    COMPARE(stat.meaninertia, 1);
#undef COMPARE
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Saved in mid-episode while everything changes, restored into an instance with another past:
 * 1,000 further steps, zero differing bytes. */
static inline void case_restore_is_exact(const fans_env_def *def)
{
    trial a = trial_open(def), b = trial_open(def);
    size_t n = def->state_bytes(a.env);
    char *x = mem_alloc(n), *y = mem_alloc(n);
    trial_reset(&a);
    trial_reset(&b);
    for (int i = 0; i < 37; i++) {
        trial_change(&a, i);
        trial_drive(&a, i);
        if (i < 11) trial_drive(&b, 5 * i);
    }
    def->save(a.env, x);
    def->restore(b.env, x);
    b.r = a.r;
    for (int i = 37; i < 1037; i++) {
        if (i % 50 == 0) {
            trial_reset(&a);
            trial_reset(&b);
        }
        if (i % 3 == 0) {
            trial_change(&a, i);
            trial_change(&b, i);
        }
        trial_drive(&a, i);
        trial_drive(&b, i);
        def->save(a.env, x);
        def->save(b.env, y);
        assert_memory_equal(x, y, n);
        assert_memory_equal(a.obs, b.obs, sizeof *a.obs * (size_t)a.info.obs_dim);
        assert_memory_equal(&a.result.reward, &b.result.reward, sizeof a.result.reward);
    }
    mem_free(x);
    mem_free(y);
    trial_close(&a);
    trial_close(&b);
}

/* The error names the environment, comes at once, and a reset repairs the instance. */
static inline void case_nan_is_an_error(const fans_env_def *def)
{
    trial t = trial_open(def);
    for (int round = 0; round < 3; round++) {
        trial_reset(&t);
        trial_drive(&t, 0);
        if (round == 0) t.s->d->qvel[0] = NAN;
        if (round == 1) t.s->d->qpos[2] = NAN;
        if (round == 2) t.action[0] = NAN;
        assert_int_equal(def->step(t.env, &t.r, t.action, t.obs, &t.result), FANS_ENUMERIC);
        assert_non_null(strstr(fans_error(), def->name));
    }
    trial_reset(&t);
    trial_drive(&t, 0);
    trial_close(&t);
}

static inline void case_stepping_allocates_nothing(const fans_env_def *def)
{
    uint64_t held = mem_held();
    trial t = trial_open(def);
    uint64_t before = mem_count();
    for (int i = 0; i < 100; i++) {
        if (i % 25 == 0) trial_reset(&t);
        trial_change(&t, i);
        trial_drive(&t, i);
    }
    assert_int_equal(mem_count(), before);
    trial_close(&t);
    assert_int_equal(mem_held(), held);
}

static inline void note_check(void *user, const char *check, check_event event, const char *detail)
{
    (void)user;
    if (event == CHECK_FAILED) print_message("%s: %s\n", check, detail);
}

static inline void case_the_checker_passes(const fans_env_def *def)
{
    int failed = env_check(def->name, NULL, 0, note_check, NULL);
    if (failed < 0) fail_msg("%s", fans_error());
    assert_int_equal(failed, 0);
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
