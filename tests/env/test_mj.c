/* test_mj.c - the MuJoCo glue: loading, errors, exact states, mass changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "env/mj.h"
#include "env_life.h"

static sim *cheetah(void)
{
    sim *s = NULL;
    if (sim_new(&s, "cheetah", "half_cheetah.xml") < 0) fail_msg("%s", fans_error());
    return s;
}

static void a_missing_model_is_named(void **state)
{
    (void)state;
    sim *s = NULL;
    assert_int_equal(sim_new(&s, "cheetah", "nowhere.xml"), FANS_EIO);
    assert_non_null(strstr(fans_error(), "cheetah: nowhere.xml"));
    assert_int_equal(setenv("FANS_ASSETS", SOURCE_DIR "/src", 1), 0);
    assert_int_equal(sim_new(&s, "cheetah", "half_cheetah.xml"), FANS_EIO);
    assert_non_null(strstr(fans_error(), "FANS_ASSETS"));
    unsetenv("FANS_ASSETS");
    /* not a model at all */
    assert_int_equal(sim_new(&s, "cheetah", SOURCE_DIR "/CMakeLists.txt"), FANS_EFORMAT);
    assert_non_null(strstr(fans_error(), "CMakeLists.txt"));
    assert_null(s);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    uint64_t held = mem_held();
    for (uint64_t n = 1; n <= 4; n++) {
        sim *s = NULL;
        mem_fail_at(n);
        assert_int_equal(sim_new(&s, "cheetah", "half_cheetah.xml"), FANS_ENOMEM);
        assert_null(s);
    }
    mem_fail_at(0);
    assert_int_equal(mem_held(), held);
}

static void names_are_found(void **state)
{
    (void)state;
    sim *s = cheetah();
    assert_int_equal(sim_find(s, mjOBJ_BODY, "torso"), 1);
    assert_int_equal(sim_find(s, mjOBJ_BODY, "tail"), FANS_EFORMAT);
    assert_string_equal(fans_error(), "cheetah: the model has no 'tail'");
    sim_free(s);
}

/* A NaN must neither be repaired nor wait for a key, wherever it stands. */
static void a_nan_is_an_error(void **state)
{
    (void)state;
    sim *s = cheetah();
    double *const places[] = {s->d->qpos, s->d->qvel, s->d->ctrl, s->d->qfrc_applied};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_int_equal(sim_reset(s), 0);
        assert_int_equal(sim_step(s, 5), 0);
        places[i][0] = NAN;
        assert_int_equal(sim_step(s, 5), FANS_ENUMERIC);
        assert_non_null(strstr(fans_error(), "cheetah: "));
        /* it stays broken until it is reset */
        places[i][0] = 0;
        assert_int_equal(sim_step(s, 5), FANS_ENUMERIC);
    }
    /* a NaN that only the last sub-step makes */
    assert_int_equal(sim_reset(s), 0);
    s->d->qvel[0] = 1e300;
    assert_int_equal(sim_step(s, 1), FANS_ENUMERIC);
    sim_free(s);
}

static void raise_error(void *arg)
{
    mju_error(arg);
}

static void guard_inside(void *arg)
{
    assert_int_equal(sim_guard(arg, raise_error, "inner"), FANS_ENUMERIC);
    assert_string_equal(fans_error(), "cheetah: MuJoCo: inner");
    mju_error("outer");
}

static void a_fatal_error_comes_back(void **state)
{
    (void)state;
    sim *s = cheetah();
    assert_int_equal(sim_guard(s, raise_error, "it broke"), FANS_ENUMERIC);
    assert_string_equal(fans_error(), "cheetah: MuJoCo: it broke");
    /* guards nest, and the sim can be used again */
    assert_int_equal(sim_guard(s, guard_inside, s), FANS_ENUMERIC);
    assert_string_equal(fans_error(), "cheetah: MuJoCo: outer");
    assert_int_equal(sim_reset(s), 0);
    assert_int_equal(sim_step(s, 5), 0);
    sim_free(s);
}

/* Fixed pseudo-random controls, so that two sims can be driven alike. */
static void drive(sim *s, int step)
{
    for (int i = 0; i < s->m->nu; i++) s->d->ctrl[i] = sin(0.37 * step + 1.7 * i);
    if (sim_step(s, 5) < 0) fail_msg("%s", fans_error());
}

static void a_restored_state_goes_on_exactly(void **state)
{
    (void)state;
    sim *a = cheetah(), *b = cheetah();
    size_t n = sim_state_bytes(a);
    char *x = mem_alloc(n), *y = mem_alloc(n);
    for (int i = 0; i < 123; i++) drive(a, i);
    for (int i = 0; i < 77; i++) drive(b, 3 * i); /* b comes from elsewhere */
    sim_save(a, x);
    sim_restore(b, x);
    uint64_t before = mem_count();
    for (int i = 0; i < 1000; i++) {
        drive(a, i);
        drive(b, i);
        sim_pose(i % 7 ? a : b); /* looking changes nothing */
        sim_save(a, x);
        sim_save(b, y);
        assert_memory_equal(x, y, n);
    }
    assert_int_equal(mem_count(), before);
    mem_free(x);
    mem_free(y);
    sim_free(a);
    sim_free(b);
}

static void poses_follow_qpos(void **state)
{
    (void)state;
    sim *s = cheetah();
    int torso = sim_find(s, mjOBJ_BODY, "torso");
    s->d->qpos[0] = 3.25;
    assert_int_equal(sim_pose(s), 0);
    assert_true(s->d->xpos[3 * torso] == 3.25);
    sim_free(s);
}

/* Scaling there and back leaves the compiled model, and the state is not touched on the way. */
static void masses_scale_without_a_trace(void **state)
{
    (void)state;
    sim *a = cheetah(), *b = cheetah();
    size_t n = sim_state_bytes(a);
    char *x = mem_alloc(n), *y = mem_alloc(n);
    for (int i = 0; i < 50; i++) drive(a, i);
    sim_save(a, x);
    assert_int_equal(sim_scale_mass(a, 1, (int)a->m->nbody - 1, 1.7), 0);
    assert_true(fabs(mj_getTotalmass(a->m) - 1.7 * 14) < 1e-9);
    assert_true(a->m->body_subtreemass[0] > 1.6 * 14);
    assert_int_equal(sim_scale_mass(a, 1, (int)a->m->nbody - 1, 1), 0);
    sim_save(a, y);
    assert_memory_equal(x, y, n);
    sim_restore(b, x);
    for (int i = 0; i < 100; i++) {
        drive(a, i);
        drive(b, i);
        for (int k = 0; k < a->m->nq; k++) assert_true(fabs(a->d->qpos[k] - b->d->qpos[k]) < 1e-7);
    }
    mem_free(x);
    mem_free(y);
    sim_free(a);
    sim_free(b);
}

/* Loads a sim, breaks it, mends it, and leaves the state after some steps in its slot. */
enum { SIMS = 6, STATE = 4096 };

static void live(void *arg, int item)
{
    char *slot = (char *)arg + (size_t)item * STATE;
    sim *s = cheetah();
    assert_true(sim_state_bytes(s) <= STATE);
    s->d->qpos[1] = NAN;
    assert_int_equal(sim_step(s, 1), FANS_ENUMERIC);
    assert_int_equal(sim_guard(s, raise_error, "alone"), FANS_ENUMERIC);
    assert_int_equal(sim_reset(s), 0);
    sim_scale_mass(s, 1, 1, 1 + item);
    for (int i = 0; i < 40; i++) drive(s, i);
    sim_save(s, slot);
    sim_free(s);
}

static void sims_share_nothing(void **state)
{
    (void)state;
    static char alone[SIMS][STATE], together[SIMS][STATE];
    pool *p;
    for (int i = 0; i < SIMS; i++) live(alone, i);
    assert_int_equal(pool_new(&p, 3), 0);
    pool_run(p, SIMS, live, together);
    pool_free(p);
    assert_memory_equal(alone, together, sizeof alone);
    assert_memory_not_equal(alone[0], alone[1], STATE);
}

/* In a world, the error also names the episode and the step. */
static void a_nan_in_a_world_names_the_step(void **state)
{
    (void)state;
    env_life l;
    if (env_life_begin(&l, "[env]\nname = half_cheetah\n", NULL, 1, 1) < 0)
        fail_msg("%s", fans_error());
    for (int i = 0; i < 53; i++) assert_int_equal(env_life_step(&l), 0);
    l.action[2] = NAN;
    assert_int_equal(worlds_step(l.worlds, &l.b), FANS_ENUMERIC);
    if (!strstr(fans_error(), "half_cheetah, episode 1, step 3: ")) fail_msg("%s", fans_error());
    env_life_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_model_is_named),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(a_nan_is_an_error),
        cmocka_unit_test(a_fatal_error_comes_back),
        cmocka_unit_test(a_restored_state_goes_on_exactly),
        cmocka_unit_test(poses_follow_qpos),
        cmocka_unit_test(masses_scale_without_a_trace),
        cmocka_unit_test(sims_share_nothing),
        cmocka_unit_test(a_nan_in_a_world_names_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
