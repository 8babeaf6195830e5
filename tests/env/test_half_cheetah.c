/* test_half_cheetah.c - the cheetah's body, and what each of its factors does to it. */
#include "mj_cases.h"

extern const fans_env_def env_half_cheetah;
static const fans_env_def *const def = &env_half_cheetah;

/* Puts the cheetah at rest, `height` above its usual place. */
static void put_at_rest(trial *t, double height)
{
    trial_reset(t);
    mju_zero(t->s->d->qpos, 9);
    mju_zero(t->s->d->qvel, 9);
    t->s->d->qpos[1] = height;
    memset(t->action, 0, sizeof t->action);
}

/* Velocity of the centre of mass. */
static const double *centre_velocity(trial *t)
{
    mj_forward(t->s->m, t->s->d);
    mj_subtreeVel(t->s->m, t->s->d);
    return t->s->d->subtree_linvel;
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
    trial t = trial_open(def);
    const mjModel *m = t.s->m;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int b = sim_find(t.s, mjOBJ_BODY, want[i].name);
        assert_true(fabs(m->body_mass[b] - want[i].mass) < 6e-6);
        /* the inertia about y, turned from the principal axes into the body's frame */
        double r[9], iyy = 0;
        mju_quat2Mat(r, m->body_iquat + 4 * b);
        for (int k = 0; k < 3; k++) iyy += r[3 + k] * r[3 + k] * m->body_inertia[3 * b + k];
        assert_true(fabs(iyy - want[i].iyy) < 6e-5);
    }
    assert_true(fabs(mj_getTotalmass(m) - 14) < 1e-12);
    int torso = sim_find(t.s, mjOBJ_BODY, "torso");
    assert_true(fabs(m->body_ipos[3 * torso] - 0.1524) < 6e-5);
    assert_true(fabs(m->body_ipos[3 * torso + 2] - 0.0254) < 6e-5);
    trial_close(&t);
}

static void an_episode_starts_with_noise(void **state)
{
    (void)state;
    enum { N = 4000 };
    trial t = trial_open(def);
    assert_int_equal(t.info.obs_dim, 17);
    assert_int_equal(t.info.act_dim, 6);
    assert_int_equal(t.info.horizon, 50);
    double largest = 0, square = 0;
    for (int n = 0; n < N; n++) {
        trial_reset(&t);
        for (int i = 0; i < 8; i++) largest = fmax(largest, fabs((double)t.obs[i]));
        for (int i = 8; i < 17; i++) square += (double)t.obs[i] * (double)t.obs[i] / (9 * N);
        /* the layout of the observation */
        for (int i = 0; i < 8; i++) assert_true(t.obs[i] == (float)t.s->d->qpos[1 + i]);
        for (int i = 0; i < 9; i++) assert_true(t.obs[8 + i] == (float)t.s->d->qvel[i]);
    }
    assert_true(largest < 0.1 && largest > 0.0999);
    assert_true(fabs(square - 0.01) < 5 * 0.01 * sqrt(2.0 / (9 * N)));
    trial_close(&t);
}

static void the_reward_is_the_formula(void **state)
{
    (void)state;
    trial t = trial_open(def);
    trial_reset(&t);
    const float given[6] = {0.5f, -0.25f, 3.0f, -7.0f, 0, 1};
    const double cost = 0.05 * (0.25 + 0.0625 + 1 + 1 + 0 + 1);
    memcpy(t.action, given, sizeof given);
    trial_step(&t);
    assert_true(fabs(t.result.reward - (-fabs(t.s->d->qvel[0] - 1.5) - cost)) < 1e-15);
    trial_set(&t, "speed", -2);
    trial_step(&t);
    assert_true(fabs(t.result.reward - (-fabs(t.s->d->qvel[0] + 2) - cost)) < 1e-15);
    assert_false(t.result.terminated);
    assert_true(isnan(t.result.success));
    trial_close(&t);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* In the air, the forces on the whole body are the wind and its weight. Very short sub-steps, so
 * that the integrator's error vanishes. */
static void wind_and_gravity_accelerate_the_centre_of_mass(void **state)
{
    (void)state;
    static const double winds[] = {-50, -3, 0, 10, 20}, gravities[] = {0, 6.5, 9.81, 12.75};
    trial t = trial_open(def);
    t.s->m->opt.timestep = 1e-6;
    for (size_t i = 0; i < sizeof winds / sizeof *winds; i++) {
        for (size_t k = 0; k < sizeof gravities / sizeof *gravities; k++) {
            trial_set(&t, "wind", winds[i]);
            trial_set(&t, "gravity", gravities[k]);
            put_at_rest(&t, 2);
            trial_step(&t);
            const double *v = centre_velocity(&t);
            assert_true(fabs(v[0] / 5e-6 - winds[i] / 14) < 1e-6);
            assert_true(fabs(v[2] / 5e-6 + gravities[k]) < 1e-6);
        }
    }
    trial_close(&t);
}

/* The wind blows through all five sub-steps of the usual length, too. */
static void wind_blows_through_the_whole_step(void **state)
{
    (void)state;
    trial t = trial_open(def);
    trial_set(&t, "wind", 10);
    trial_set(&t, "gravity", 0);
    put_at_rest(&t, 2);
    for (int i = 1; i <= 20; i++) {
        trial_step(&t);
        assert_true(fabs(centre_velocity(&t)[0] / (0.05 * i) - 10.0 / 14) < 2e-3);
    }
    trial_close(&t);
}

/* Runs the environment and a bare model side by side and returns the largest difference. */
static double difference_along(trial *t, sim *s)
{
    double worst = 0;
    trial_reset(t);
    sim_reset(s);
    mju_copy(s->d->qpos, t->s->d->qpos, 9);
    mju_copy(s->d->qvel, t->s->d->qvel, 9);
    for (int i = 0; i < 50; i++) {
        trial_drive(t, i);
        for (int k = 0; k < 6; k++) s->d->ctrl[k] = (double)t->action[k];
        assert_int_equal(sim_step(s, 5), 0);
        for (int k = 0; k < 9; k++)
            worst = fmax(worst, difference(t->s->d->qpos[k], s->d->qpos[k]));
    }
    return worst;
}

static void a_mass_change_leaves_no_stale_constant(void **state)
{
    (void)state;
    static const struct {
        double scale;
        const char *total;
    } cases[] = {{1.7, "settotalmass=\"23.8\""}, {0.25, "settotalmass=\"3.5\""}};
    trial t = trial_open(def);
    for (size_t i = 0; i < 2; i++) {
        sim *s = compiled_with("half_cheetah.xml", "settotalmass=\"14\"", cases[i].total, NULL);
        trial_set(&t, "mass", cases[i].scale);
        compare_constants(t.s->m, s->m);
        assert_true(difference_along(&t, s) < 1e-6);
        sim_free(s);
    }
    trial_close(&t);
}

static void a_gravity_change_equals_a_compiled_one(void **state)
{
    (void)state;
    trial t = trial_open(def);
    sim *s =
        compiled_with("half_cheetah.xml", "gravity=\"0 0 -9.81\"", "gravity=\"0 0 -4.5\"", NULL);
    assert_true(difference_along(&t, s) > 1e-3);
    trial_set(&t, "gravity", 4.5);
    assert_true(difference_along(&t, s) == 0);
    sim_free(s);
    trial_close(&t);
}

/* Two trials from the same start, under two actions; the largest difference of observations. */
static double difference_between(trial *a, const float *action_a, trial *b, const float *action_b)
{
    double worst = 0;
    b->r = a->r;
    trial_reset(a);
    trial_reset(b);
    memcpy(a->action, action_a, 6 * sizeof(float));
    memcpy(b->action, action_b, 6 * sizeof(float));
    for (int i = 0; i < 20; i++) {
        trial_step(a);
        trial_step(b);
        for (int k = 0; k < 17; k++)
            worst = fmax(worst, fabs((double)a->obs[k] - (double)b->obs[k]));
    }
    return worst;
}

static void a_disabled_joint_has_no_torque(void **state)
{
    (void)state;
    const float full[6] = {0.9f, -0.8f, 0.7f, -0.6f, 0.5f, 0.4f};
    trial a = trial_open(def), b = trial_open(def);
    for (int joint = 1; joint <= 6; joint++) {
        float without[6];
        memcpy(without, full, sizeof full);
        without[joint - 1] = 0;
        trial_set(&a, "joint", 0);
        assert_true(difference_between(&a, full, &b, without) > 1e-3);
        trial_set(&a, "joint", joint);
        assert_true(difference_between(&a, full, &b, without) == 0);
        for (int k = 0; k < 6; k++)
            assert_true((a.s->d->qfrc_actuator[3 + k] == 0) == (k == joint - 1));
    }
    trial_close(&a);
    trial_close(&b);
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
    trial a = trial_open(def), b = trial_open(def);
    trial_set(&a, "motor", -1);
    assert_true(difference_between(&a, plus, &b, minus) == 0);
    trial_set(&a, "motor", 0.5);
    assert_true(difference_between(&a, plus, &b, half) == 0);
    trial_set(&a, "motor", 0);
    assert_true(difference_between(&a, plus, &b, none) == 0);
    /* above 1 the torque grows, not the range of the control; a disabled joint stays disabled */
    trial_set(&a, "joint", 2);
    trial_set(&a, "motor", 2);
    trial_reset(&a);
    memcpy(a.action, plus, sizeof plus);
    trial_step(&a);
    assert_true(fabs(a.s->d->qfrc_actuator[3] - 2 * 120 * (double)plus[0]) < 1e-9);
    assert_true(a.s->d->qfrc_actuator[4] == 0);
    trial_close(&a);
    trial_close(&b);
}

/* How far the cheetah slides on its feet when it comes down at 3 m/s. */
static double slide(trial *t, double friction)
{
    trial_set(t, "friction", friction);
    put_at_rest(t, 0);
    for (int i = 0; i < 20; i++) trial_step(t);
    assert_true(t->s->d->ncon > 0);
    for (int i = 0; i < t->s->d->ncon; i++)
        assert_true(difference(t->s->d->contact[i].friction[0], fmax(0.4 * friction, 1e-5)) <
                    1e-12);
    double start = t->s->d->qpos[0];
    t->s->d->qvel[0] = 3;
    for (int i = 0; i < 20; i++) trial_step(t);
    return t->s->d->qpos[0] - start;
}

static void friction_changes_the_contact(void **state)
{
    (void)state;
    trial t = trial_open(def);
    double icy = slide(&t, 0.1), usual = slide(&t, 1), rough = slide(&t, 1.9);
    print_message("slides %.2f m on ice, %.2f m as usual, %.2f m on rubber\n", icy, usual, rough);
    assert_true(icy > usual + 0.2 && usual > rough + 0.02);
    trial_close(&t);
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

static void the_checker_passes(void **state)
{
    (void)state;
    case_the_checker_passes(def);
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    case_failed_allocations_are_reported(def);
}

/* The names follow the model's joints: rear_shin is bshin. */
static void observations_are_named(void **state)
{
    (void)state;
    trial t = trial_open(def);
    for (int i = 0; i < 6; i++) {
        const char *joint = mj_id2name(t.s->m, mjOBJ_JOINT, 3 + i), *name = t.info.act_names[i];
        char angle[TEXT_NAME], rate[TEXT_NAME];
        snprintf(angle, sizeof angle, "%s_%s", *joint == 'b' ? "rear" : "front", joint + 1);
        snprintf(rate, sizeof rate, "%s_rate", angle);
        assert_string_equal(name, angle);
        assert_string_equal(t.info.obs_names[2 + i], angle);
        assert_string_equal(t.info.obs_names[11 + i], rate);
    }
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_and_inertias_are_the_published_ones),
        cmocka_unit_test(an_episode_starts_with_noise),
        cmocka_unit_test(observations_are_named),
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
        cmocka_unit_test(the_checker_passes),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
