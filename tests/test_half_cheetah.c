/* test_half_cheetah.c - the cheetah's body, and what each of its factors does to it. */
#include "mj_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"

extern const fans_env_def env_half_cheetah;
static const fans_env_def *const def = &env_half_cheetah;

static double close_to(double a, double b)
{
    return fabs(a - b) / fmax(1, fabs(b));
}

/* Puts the cheetah at rest, `height` above its usual place. */
static void put_at_rest(world *w, double height)
{
    world_reset(w);
    mju_zero(w->s->d->qpos, 9);
    mju_zero(w->s->d->qvel, 9);
    w->s->d->qpos[1] = height;
    memset(w->action, 0, sizeof w->action);
}

/* Velocity of the centre of mass. */
static const double *centre_velocity(world *w)
{
    mj_forward(w->s->m, w->s->d);
    mj_subtreeVel(w->s->m, w->s->d);
    return w->s->d->subtree_linvel;
}

/* ---- the body -------------------------------------------------------------------------------- */

static void masses_and_inertias_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double mass, iyy;
    } want[] = {
        {"torso", 6.25021, 0.8971},  {"bthigh", 1.54351, 0.01684}, {"bshin", 1.58745, 0.01827},
        {"bfoot", 1.09540, 0.00635}, {"fthigh", 1.43808, 0.01374}, {"fshin", 1.20084, 0.00822},
        {"ffoot", 0.88452, 0.00353},
    };
    world w = world_open(def);
    const mjModel *m = w.s->m;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int b = sim_find(w.s, mjOBJ_BODY, want[i].name);
        assert_true(fabs(m->body_mass[b] - want[i].mass) < 6e-6);
        /* the inertia about y, turned from the principal axes into the body's frame */
        double r[9], iyy = 0;
        mju_quat2Mat(r, m->body_iquat + 4 * b);
        for (int k = 0; k < 3; k++) iyy += r[3 + k] * r[3 + k] * m->body_inertia[3 * b + k];
        assert_true(fabs(iyy - want[i].iyy) < 6e-5);
    }
    assert_true(fabs(mj_getTotalmass(m) - 14) < 1e-12);
    int torso = sim_find(w.s, mjOBJ_BODY, "torso");
    assert_true(fabs(m->body_ipos[3 * torso] - 0.1524) < 6e-5);
    assert_true(fabs(m->body_ipos[3 * torso + 2] - 0.0254) < 6e-5);
    world_close(&w);
}

static void an_episode_starts_with_noise(void **state)
{
    (void)state;
    enum { N = 4000 };
    world w = world_open(def);
    assert_int_equal(w.info.obs_dim, 17);
    assert_int_equal(w.info.act_dim, 6);
    assert_int_equal(w.info.horizon, 50);
    double largest = 0, square = 0;
    for (int n = 0; n < N; n++) {
        world_reset(&w);
        for (int i = 0; i < 8; i++) largest = fmax(largest, fabs((double)w.obs[i]));
        for (int i = 8; i < 17; i++) square += (double)w.obs[i] * (double)w.obs[i] / (9 * N);
        /* the layout of the observation */
        for (int i = 0; i < 8; i++) assert_true(w.obs[i] == (float)w.s->d->qpos[1 + i]);
        for (int i = 0; i < 9; i++) assert_true(w.obs[8 + i] == (float)w.s->d->qvel[i]);
    }
    assert_true(largest < 0.1 && largest > 0.0999);
    assert_true(fabs(square - 0.01) < 5 * 0.01 * sqrt(2.0 / (9 * N)));
    world_close(&w);
}

static void the_reward_is_the_formula(void **state)
{
    (void)state;
    world w = world_open(def);
    world_reset(&w);
    const float given[6] = {0.5f, -0.25f, 3.0f, -7.0f, 0, 1};
    const double cost = 0.05 * (0.25 + 0.0625 + 1 + 1 + 0 + 1);
    memcpy(w.action, given, sizeof given);
    world_step(&w);
    assert_true(fabs(w.result.reward - (-fabs(w.s->d->qvel[0] - 1.5) - cost)) < 1e-15);
    world_set(&w, "speed", -2);
    world_step(&w);
    assert_true(fabs(w.result.reward - (-fabs(w.s->d->qvel[0] + 2) - cost)) < 1e-15);
    assert_false(w.result.terminated);
    assert_true(isnan(w.result.success));
    world_close(&w);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* In the air, the forces on the whole body are the wind and its weight. Very short sub-steps, so
 * that the integrator's error vanishes. */
static void wind_and_gravity_accelerate_the_centre_of_mass(void **state)
{
    (void)state;
    static const double winds[] = {-50, -3, 0, 10, 20}, gravities[] = {0, 6.5, 9.81, 12.75};
    world w = world_open(def);
    w.s->m->opt.timestep = 1e-6;
    for (size_t i = 0; i < sizeof winds / sizeof *winds; i++) {
        for (size_t k = 0; k < sizeof gravities / sizeof *gravities; k++) {
            world_set(&w, "wind", winds[i]);
            world_set(&w, "gravity", gravities[k]);
            put_at_rest(&w, 2);
            world_step(&w);
            const double *v = centre_velocity(&w);
            assert_true(fabs(v[0] / 5e-6 - winds[i] / 14) < 1e-6);
            assert_true(fabs(v[2] / 5e-6 + gravities[k]) < 1e-6);
        }
    }
    world_close(&w);
}

/* The wind blows through all five sub-steps of the usual length, too. */
static void wind_blows_through_the_whole_step(void **state)
{
    (void)state;
    world w = world_open(def);
    world_set(&w, "wind", 10);
    world_set(&w, "gravity", 0);
    put_at_rest(&w, 2);
    for (int i = 1; i <= 20; i++) {
        world_step(&w);
        assert_true(fabs(centre_velocity(&w)[0] / (0.05 * i) - 10.0 / 14) < 2e-3);
    }
    world_close(&w);
}

/* Our MJCF with `from` replaced by `to`, compiled. */
static sim *compiled_with(const char *from, const char *to)
{
    char path[1024], copy[] = P_tmpdir "/fans-XXXXXX.xml";
    void *bytes;
    size_t n;
    sim *s = NULL;
    assert_int_equal(sim_asset(path, sizeof path, "half_cheetah.xml"), 0);
    assert_int_equal(os_read_file(&bytes, &n, path), 0);
    char *at = strstr(bytes, from);
    assert_non_null(at);
    int fd = mkstemps(copy, 4);
    assert_true(fd >= 0);
    dprintf(fd, "%.*s%s%s", (int)(at - (char *)bytes), (char *)bytes, to, at + strlen(from));
    close(fd);
    if (sim_new(&s, "compiled", copy) < 0) fail_msg("%s", fans_error());
    remove(copy);
    mem_free(bytes);
    return s;
}

/* Runs the world and a bare model side by side and returns the largest difference. */
static double difference_along(world *w, sim *s)
{
    double worst = 0;
    world_reset(w);
    sim_reset(s);
    mju_copy(s->d->qpos, w->s->d->qpos, 9);
    mju_copy(s->d->qvel, w->s->d->qvel, 9);
    for (int i = 0; i < 50; i++) {
        world_drive(w, i);
        for (int k = 0; k < 6; k++) s->d->ctrl[k] = (double)w->action[k];
        assert_int_equal(sim_step(s, 5), 0);
        for (int k = 0; k < 9; k++) worst = fmax(worst, close_to(w->s->d->qpos[k], s->d->qpos[k]));
    }
    return worst;
}

#define compare(field, n) compare_named(#field, &a->field, &b->field, n)
static void compare_named(const char *name, const void *a, const void *b, long n)
{
    const mjtNum *x = a, *y = b;
    for (long i = 0; i < n; i++)
        if (!(close_to(x[i], y[i]) < 1e-12))
            fail_msg("%s[%ld] is %.17g, not %.17g", name, i, x[i], y[i]);
}

static void a_mass_change_leaves_no_stale_constant(void **state)
{
    (void)state;
    static const struct {
        double scale;
        const char *total;
    } cases[] = {{1.7, "settotalmass=\"23.8\""}, {0.25, "settotalmass=\"3.5\""}};
    world w = world_open(def);
    for (size_t i = 0; i < 2; i++) {
        sim *s = compiled_with("settotalmass=\"14\"", cases[i].total);
        world_set(&w, "mass", cases[i].scale);
        const mjModel *a = w.s->m, *b = s->m;
        compare(body_mass[0], b->nbody);
        compare(body_inertia[0], 3 * b->nbody);
        compare(body_subtreemass[0], b->nbody);
        compare(body_invweight0[0], 2 * b->nbody);
        compare(dof_invweight0[0], b->nv);
        compare(dof_M0[0], b->nv);
        compare(actuator_acc0[0], b->nu);

        compare(stat.meanmass, 1);
        compare(stat.meaninertia, 1);
        assert_true(difference_along(&w, s) < 1e-6);
        sim_free(s);
    }
    world_close(&w);
}

static void a_gravity_change_equals_a_compiled_one(void **state)
{
    (void)state;
    world w = world_open(def);
    sim *s = compiled_with("gravity=\"0 0 -9.81\"", "gravity=\"0 0 -4.5\"");
    assert_true(difference_along(&w, s) > 1e-3);
    world_set(&w, "gravity", 4.5);
    assert_true(difference_along(&w, s) == 0);
    sim_free(s);
    world_close(&w);
}

/* Two worlds from the same start, under two actions; the largest difference of observations. */
static double difference_between(world *a, const float *action_a, world *b, const float *action_b)
{
    double worst = 0;
    b->r = a->r;
    world_reset(a);
    world_reset(b);
    memcpy(a->action, action_a, 6 * sizeof(float));
    memcpy(b->action, action_b, 6 * sizeof(float));
    for (int i = 0; i < 20; i++) {
        world_step(a);
        world_step(b);
        for (int k = 0; k < 17; k++)
            worst = fmax(worst, fabs((double)a->obs[k] - (double)b->obs[k]));
    }
    return worst;
}

static void a_disabled_joint_has_no_torque(void **state)
{
    (void)state;
    const float full[6] = {0.9f, -0.8f, 0.7f, -0.6f, 0.5f, 0.4f};
    world a = world_open(def), b = world_open(def);
    for (int joint = 1; joint <= 6; joint++) {
        float without[6];
        memcpy(without, full, sizeof full);
        without[joint - 1] = 0;
        world_set(&a, "joint", 0);
        assert_true(difference_between(&a, full, &b, without) > 1e-3);
        world_set(&a, "joint", joint);
        assert_true(difference_between(&a, full, &b, without) == 0);
        for (int k = 0; k < 6; k++)
            assert_true((a.s->d->qfrc_actuator[3 + k] == 0) == (k == joint - 1));
    }
    world_close(&a);
    world_close(&b);
}

static void the_motor_gain_multiplies_torques(void **state)
{
    (void)state;
    const float plus[6] = {0.9f, -0.8f, 0.7f, -0.6f, 0.5f, 0.4f};
    float minus[6], half[6], none[6] = {0};
    for (int i = 0; i < 6; i++) {
        minus[i] = -plus[i];
        half[i] = 0.5f * plus[i];
    }
    world a = world_open(def), b = world_open(def);
    world_set(&a, "motor", -1);
    assert_true(difference_between(&a, plus, &b, minus) == 0);
    world_set(&a, "motor", 0.5);
    assert_true(difference_between(&a, plus, &b, half) == 0);
    world_set(&a, "motor", 0);
    assert_true(difference_between(&a, plus, &b, none) == 0);
    /* above 1 the torque grows, not the range of the control; a disabled joint stays disabled */
    world_set(&a, "joint", 2);
    world_set(&a, "motor", 2);
    world_reset(&a);
    memcpy(a.action, plus, sizeof plus);
    world_step(&a);
    assert_true(fabs(a.s->d->qfrc_actuator[3] - 2 * 120 * (double)plus[0]) < 1e-9);
    assert_true(a.s->d->qfrc_actuator[4] == 0);
    world_close(&a);
    world_close(&b);
}

/* How far the cheetah slides on its feet when it comes down at 3 m/s. */
static double slide(world *w, double friction)
{
    world_set(w, "friction", friction);
    put_at_rest(w, 0);
    for (int i = 0; i < 20; i++) world_step(w);
    assert_true(w->s->d->ncon > 0);
    for (int i = 0; i < w->s->d->ncon; i++)
        assert_true(close_to(w->s->d->contact[i].friction[0], fmax(0.4 * friction, 1e-5)) < 1e-12);
    double start = w->s->d->qpos[0];
    w->s->d->qvel[0] = 3;
    for (int i = 0; i < 20; i++) world_step(w);
    return w->s->d->qpos[0] - start;
}

static void friction_changes_the_contact(void **state)
{
    (void)state;
    world w = world_open(def);
    double icy = slide(&w, 0.1), usual = slide(&w, 1), rough = slide(&w, 1.9);
    print_message("slides %.2f m on ice, %.2f m as usual, %.2f m on rubber\n", icy, usual, rough);
    assert_true(icy > usual + 0.2 && usual > rough + 0.02);
    world_close(&w);
}

/* ---- what all MuJoCo environments do --------------------------------------------------------- */

static void a_restored_episode_goes_on_exactly(void **state)
{
    (void)state;
    case_restore_is_exact(def);
}

static void a_nan_is_an_error(void **state)
{
    (void)state;
    case_nan_is_an_error(def);
}

static void stepping_allocates_nothing(void **state)
{
    (void)state;
    case_stepping_allocates_nothing(def);
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    case_failed_allocations_are_reported(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_and_inertias_are_the_published_ones),
        cmocka_unit_test(an_episode_starts_with_noise),
        cmocka_unit_test(the_reward_is_the_formula),
        cmocka_unit_test(wind_and_gravity_accelerate_the_centre_of_mass),
        cmocka_unit_test(wind_blows_through_the_whole_step),
        cmocka_unit_test(a_mass_change_leaves_no_stale_constant),
        cmocka_unit_test(a_gravity_change_equals_a_compiled_one),
        cmocka_unit_test(a_disabled_joint_has_no_torque),
        cmocka_unit_test(the_motor_gain_multiplies_torques),
        cmocka_unit_test(friction_changes_the_contact),
        cmocka_unit_test(a_restored_episode_goes_on_exactly),
        cmocka_unit_test(a_nan_is_an_error),
        cmocka_unit_test(stepping_allocates_nothing),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
