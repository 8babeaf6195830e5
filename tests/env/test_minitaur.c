/* test_minitaur.c - the robot's body, motors, latencies and factors; and it walks. */
#include "mj_cases.h"

extern const fans_env_def env_minitaur;
static const fans_env_def *const def = &env_minitaur;

enum { MOTORS = 8 };

/* The options of the environment: terminate, noise. */
static trial quiet_trial(double terminate)
{
    const double options[] = {terminate, 0};
    trial t = trial_open_with(def, options);
    trial_reset(&t);
    return t;
}

static double *motor_angle(trial *t, int i)
{
    return t->s->d->qpos + t->s->m->jnt_qposadr[t->s->m->actuator_trnid[2 * i]];
}

static double *motor_rate(trial *t, int i)
{
    return t->s->d->qvel + t->s->m->jnt_dofadr[t->s->m->actuator_trnid[2 * i]];
}

/* Turns the base about x by an angle. */
static void roll_to(trial *t, double angle)
{
    const double x[3] = {1, 0, 0};
    mju_axisAngle2Quat(t->s->d->qpos + 3, x, angle);
}

/* ---- the body -------------------------------------------------------------------------------- */

static void masses_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double mass;
    } want[] = {{"base", 3.353},    {"left", 1.32},      {"right", 1.32},
                {"bl_long", 0.086}, {"fr_short", 0.072}, {"br_rear", 0.072 + 0.034}};
    trial t = quiet_trial(1);
    assert_int_equal(t.info.obs_dim, 20);
    assert_int_equal(t.info.act_dim, 8);
    assert_int_equal(t.info.horizon, 100);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_true(t.s->m->body_mass[sim_find(t.s, mjOBJ_BODY, want[i].name)] == want[i].mass);
    assert_true(fabs(mj_getTotalmass(t.s->m) - 7.473) < 1e-12);
    trial_close(&t);
}

/* Sum of the forces with which the ground pushes. */
static double support(const trial *t)
{
    double sum = 0, force[6];
    for (int i = 0; i < t->s->d->ncon; i++) {
        mj_contactForce(t->s->m, t->s->d, i, force);
        sum += force[0];
    }
    return sum;
}

/* Stands for an episode under the same action for all legs. */
static void stand(trial *t, double mass, float swing)
{
    trial_set(t, "mass", mass);
    trial_reset(t);
    for (int i = 0; i < MOTORS; i++) t->action[i] = i < 4 ? swing : 0;
    for (int i = 0; i < 100; i++) {
        trial_step(t);
        assert_false(t->result.terminated);
    }
    assert_true(fabs(t->s->d->qpos[0]) < 0.05 && fabs(t->s->d->qpos[1]) < 0.01);
    assert_true(t->s->d->qpos[2] > 0.24 && t->s->d->qpos[2] < 0.28);
    assert_true(difference(support(t), 10 * (5.993 * mass + 1.48)) < 0.01);
}

/* A quarter to one and a half times the mass stands in the neutral pose. At 1.75, where the tasks'
 * sine ends, the motors are near their limit: it must put its feet under its hips. */
static void it_stands(void **state)
{
    (void)state;
    trial t = quiet_trial(1);
    for (double mass = 0.25; mass <= 1.5; mass += 0.25) stand(&t, mass, 0);
    stand(&t, 1.75, -0.2f);
    trial_close(&t);
}

static void a_mass_change_leaves_no_stale_constant(void **state)
{
    (void)state;
    trial t = quiet_trial(1);
    sim *s =
        compiled_with("minitaur.xml", "mass=\"3.353\" diaginertia=\"0.006837 0.027262 0.02987\"",
                      "mass=\"5.0295\" diaginertia=\"0.0102555 0.040893 0.044805\"",
                      "mass=\"1.32\" diaginertia=\"0.004147 0.040913 0.04184\"",
                      "mass=\"1.98\" diaginertia=\"0.0062205 0.0613695 0.06276\"", NULL);
    trial_set(&t, "mass", 1.5);
    compare_constants(t.s->m, s->m);
    sim_free(s);
    trial_close(&t);
}

/* ---- sensors and motors ---------------------------------------------------------------------- */

static void observations_are_one_step_late(void **state)
{
    (void)state;
    trial t = quiet_trial(0);
    for (int step = 0; step < 50; step++) {
        double angle[MOTORS], rates[2] = {t.s->d->qvel[3], t.s->d->qvel[4]};
        for (int i = 0; i < MOTORS; i++) angle[i] = *motor_angle(&t, i);
        trial_drive(&t, step);
        assert_true(t.obs[2] == (float)rates[0] && t.obs[3] == (float)rates[1]);
        for (int i = 0; i < MOTORS; i++) assert_true(t.obs[4 + i] == (float)angle[i]);
        for (int i = 0; i < 4; i++) {
            double side = i < 2 ? 1 : -1;
            double swing = side * 0.5 * (angle[2 * i + 1] - angle[2 * i]);
            double extension = 0.5 * (angle[2 * i + 1] + angle[2 * i]);
            assert_true(t.obs[12 + i] == (float)swing && t.obs[16 + i] == (float)extension);
        }
    }
    trial_close(&t);
}

/* Sub-steps so short that nothing moves: torques then follow from the state that is set here. */
static trial frozen_trial(void)
{
    trial t = quiet_trial(0);
    t.s->m->opt.timestep = 1e-9;
    return t;
}

static void motors_follow_the_current_table(void **state)
{
    (void)state;
    static const struct {
        double error, rate, torque;
    } want[] = {
        {0, 0, 0},
        {0.1, 0, 0.86021505},   /* 1.6 V, 8.602 A */
        {-0.1, 0, -0.86021505}, /* the same backwards */
        {0, 10, -1.7229032},    /* damping -2.4 V and back-EMF -0.954 V: -18.032 A */
        {0.3, -5, 2.7152419},   /* 6.0 + 0.477 V: 34.823 A */
        {0.4, 20, -0.16559140}, /* 1.6 - 1.908 V: -1.656 A */
        {1.5, 0, 3.5},          /* pulse width saturates: 86 A */
    };
    trial t = frozen_trial();
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        trial_reset(&t);
        for (int i = 0; i < MOTORS; i++) {
            *motor_angle(&t, i) = 2 - want[k].error;
            *motor_rate(&t, i) = want[k].rate;
        }
        trial_step(&t);
        for (int i = 0; i < MOTORS; i++)
            if (fabs(t.s->d->ctrl[i] - want[k].torque) > 1e-4)
                fail_msg("case %zu: %.8f, not %.8f", k, t.s->d->ctrl[i], want[k].torque);
    }
    trial_close(&t);
}

/* Swing goes forward and extension down on every leg. */
static void legs_move_as_told(void **state)
{
    (void)state;
    static const char *const legs[] = {"fl_long", "bl_long", "fr_long", "br_long"};
    trial t = quiet_trial(0);
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < 2; kind++) {
            int body = sim_find(t.s, mjOBJ_BODY, legs[i]);
            double toe[3], before[3];
            const double local[3] = {0, 0, 0.24};
            for (int moved = 0; moved < 2; moved++) {
                trial_reset(&t);
                t.s->m->opt.gravity[2] = 0;
                t.s->d->qpos[2] += 1;
                memset(t.action, 0, sizeof t.action);
                if (moved) t.action[i + 4 * kind] = 0.5f;
                for (int k = 0; k < 10; k++) trial_step(&t);
                assert_int_equal(sim_pose(t.s), 0);
                double world[3];
                mju_mulMatVec(world, t.s->d->xmat + 9 * body, local, 3, 3);
                mju_addTo(world, t.s->d->xpos + 3 * body, 3);
                mju_subFrom(world, t.s->d->xpos + 3, 3);
                mju_copy(moved ? toe : before, world, 3);
            }
            /* 0.25 rad of swing on a leg of 0.25 m; the knees' geometry for the extension */
            if (kind == 0) assert_true(toe[0] - before[0] > 0.04 && toe[0] - before[0] < 0.08);
            if (kind == 1) assert_true(toe[2] - before[2] < -0.015 && toe[2] - before[2] > -0.05);
        }
    }
    trial_close(&t);
}

/* Above 2.45 N m for one second, 50 control steps: off, until the next episode. */
static void a_hot_motor_switches_off(void **state)
{
    (void)state;
    trial t = frozen_trial();
    for (int i = 0; i < MOTORS; i++) t.action[i] = i < 4 ? 0 : 1;
    *motor_angle(&t, 0) = 2.4; /* this one has little to do */
    for (int episode = 0; episode < 2; episode++) {
        for (int step = 1; step <= 60; step++) {
            trial_step(&t);
            for (int i = 1; i < MOTORS; i++)
                assert_true(step <= 50 ? t.s->d->ctrl[i] > 2.45 : t.s->d->ctrl[i] == 0);
            assert_true(t.s->d->ctrl[0] > 0.8 && t.s->d->ctrl[0] < 0.9);
        }
        trial_reset(&t);
        *motor_angle(&t, 0) = 2.4;
    }
    trial_close(&t);
}

/* ---- reward and end -------------------------------------------------------------------------- */

static void the_reward_is_the_formula(void **state)
{
    (void)state;
    trial t = quiet_trial(0);
    double past[2][MOTORS] = {{0}};
    for (int step = 0; step < 30; step++) {
        double target = step < 15 ? 0.3 : -0.1, x = t.s->d->qpos[0], jerk = 0;
        trial_set(&t, "speed", target);
        trial_drive(&t, step);
        for (int i = 0; i < MOTORS; i++) {
            double a = 0.5 * (double)t.action[i];
            jerk += fabs(a - 2 * past[0][i] + past[1][i]) / MOTORS;
            past[1][i] = past[0][i];
            past[0][i] = a;
        }
        double v = fmin(fmax((t.s->d->qpos[0] - x) / 0.02, -0.8), 0.8);
        assert_true(fabs(t.result.reward - (target - fabs(target - v) - 0.01 * jerk)) < 1e-12);
        assert_true(isnan(t.result.success));
    }
    trial_close(&t);
}

static void an_episode_ends_when_it_tips(void **state)
{
    (void)state;
    for (int terminate = 0; terminate < 2; terminate++) {
        trial t = quiet_trial(terminate);
        trial_step(&t);
        assert_false(t.result.terminated);
        roll_to(&t, 0.4);
        trial_step(&t);
        assert_int_equal(t.result.terminated, terminate);
        trial_close(&t);
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

/* A trot by hand: diagonal legs swing together and lift while they swing forward. */
static void trot(float *action, int step)
{
    const double frequency = 2, swing = 0.8, lift = 0.6; /* Hz, parts of 0.5 rad */
    for (int i = 0; i < 4; i++) {
        double phase = 2 * M_PI * frequency * 0.02 * step + (i == 0 || i == 3 ? 0 : M_PI);
        action[i] = (float)(swing * sin(phase));
        action[4 + i] = (float)(-lift * fmax(0, cos(phase)));
    }
}

static void a_trot_walks(void **state)
{
    (void)state;
    trial t = trial_open(def);
    for (int episode = 0; episode < 5; episode++) {
        double total = 0;
        trial_reset(&t);
        for (int step = 0; step < 100; step++) {
            trot(t.action, step);
            trial_step(&t);
            total += t.result.reward;
            assert_false(t.result.terminated);
        }
        const double *at = t.s->d->qpos;
        print_message("trot: %.2f m forward and %.2f m sideways in 2 s, return %.1f\n", at[0],
                      at[1], total);
        assert_true(at[0] > 0.3 && fabs(at[1]) < 0.2 && at[2] > 0.2);
        assert_true(total > 10);
    }
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

/* The motors' names are those of the model, in its order. */
static void observations_are_named(void **state)
{
    (void)state;
    trial t = trial_open(def);
    for (int i = 0; i < 8; i++)
        assert_string_equal(t.info.obs_names[4 + i], mj_id2name(t.s->m, mjOBJ_ACTUATOR, i));
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_are_the_published_ones),
        cmocka_unit_test(it_stands),
        cmocka_unit_test(observations_are_named),
        cmocka_unit_test(a_mass_change_leaves_no_stale_constant),
        cmocka_unit_test(observations_are_one_step_late),
        cmocka_unit_test(motors_follow_the_current_table),
        cmocka_unit_test(legs_move_as_told),
        cmocka_unit_test(a_hot_motor_switches_off),
        cmocka_unit_test(the_reward_is_the_formula),
        cmocka_unit_test(an_episode_ends_when_it_tips),
        cmocka_unit_test(a_trot_walks),
        cmocka_unit_test(a_restored_episode_goes_on_exactly),
        cmocka_unit_test(a_nan_is_an_error),
        cmocka_unit_test(stepping_allocates_nothing),
        cmocka_unit_test(the_checker_passes),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
