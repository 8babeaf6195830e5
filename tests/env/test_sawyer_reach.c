/* test_sawyer_reach.c - the reaching arm: where it starts, how it moves, what its target does. */
#include "mj_cases.h"

extern const fans_env_def env_sawyer_reach;
static const fans_env_def *const def = &env_sawyer_reach;

static const double centre[3] = {0, 0.75, 0.2};

static void act(trial *w, float x, float y, float z, float grip)
{
    memcpy(w->action, (float[4]){x, y, z, grip}, 4 * sizeof(float));
    trial_step(w);
}

static void hand_of(const trial *w, double hand[3])
{
    for (int i = 0; i < 3; i++) hand[i] = (double)w->obs[i] + centre[i];
}

/* The option of the environment: noise. */
static trial quiet_trial(void)
{
    const double options[] = {0};
    return trial_open_with(def, options);
}

static void it_starts_at_rest_in_its_place(void **state)
{
    (void)state;
    trial w = quiet_trial();
    assert_int_equal(w.info.obs_dim, 3);
    assert_int_equal(w.info.act_dim, 4);
    assert_int_equal(w.info.horizon, 150);
    trial_reset(&w);
    double hand[3];
    hand_of(&w, hand);
    assert_true(fabs(hand[0]) < 1e-5 && fabs(hand[1] - 0.6) < 1e-5 && fabs(hand[2] - 0.2) < 1e-5);
    for (int i = 0; i < 100; i++) act(&w, 0, 0, 0, 0);
    hand_of(&w, hand);
    assert_true(fabs(hand[0]) < 1e-4 && fabs(hand[1] - 0.6) < 1e-4 && fabs(hand[2] - 0.2) < 1e-4);
    /* the hand points down */
    const double *mat = w.s->d->xmat + 9 * sim_find(w.s, mjOBJ_BODY, "hand");
    assert_true(mat[8] < -0.9999);
    trial_close(&w);
}

static void noise_moves_the_start(void **state)
{
    (void)state;
    trial w = trial_open(def);
    double most = 0;
    for (int i = 0; i < 50; i++) {
        trial_reset(&w);
        double hand[3], start[3] = {0, 0.6, 0.2};
        hand_of(&w, hand);
        for (int k = 0; k < 3; k++) most = fmax(most, fabs(hand[k] - start[k]));
        act(&w, 0, 0, 0, 0);
        double next[3];
        hand_of(&w, next);
        assert_true(mju_dist3(hand, next) < 3e-4); /* it has come to rest */
    }
    print_message("the start varies by up to %.2f mm\n", 1e3 * most);
    assert_true(most > 0.003 && most < 0.0055);
    trial_close(&w);
}

static void the_observation_is_the_same_at_resets_and_in_steps(void **state)
{
    (void)state;
    trial w = quiet_trial();
    float first[3];
    trial_reset(&w);
    memcpy(first, w.obs, sizeof first);
    assert_true(fabsf(first[1] + 0.15f) < 1e-4f);
    act(&w, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++) assert_true(fabsf(w.obs[i] - first[i]) < 1e-4f);
    trial_close(&w);
}

static void the_reward_is_minus_the_distance(void **state)
{
    (void)state;
    trial w = trial_open(def);
    double target[3] = {0.1, 0.8, 0.3};
    trial_set(&w, "target_x", target[0]);
    trial_set(&w, "target_y", target[1]);
    trial_set(&w, "target_z", target[2]);
    trial_reset(&w);
    for (int i = 0; i < 50; i++) {
        trial_drive(&w, i);
        double hand[3];
        hand_of(&w, hand);
        assert_true(fabs(w.result.reward + mju_dist3(hand, target)) < 1e-6);
        assert_false(w.result.terminated);
    }
    trial_close(&w);
}

/* A centimetre per full action, once the hand has caught up. */
static void the_hand_follows_the_action(void **state)
{
    (void)state;
    trial w = quiet_trial();
    double hand[3];
    trial_reset(&w);
    for (int i = 0; i < 10; i++) act(&w, 1, 0.5f, -0.5f, 0);
    for (int i = 0; i < 100; i++) act(&w, 0, 0, 0, 0);
    hand_of(&w, hand);
    assert_true(fabs(hand[0] - 0.10) < 1e-3);
    assert_true(fabs(hand[1] - 0.65) < 1e-3);
    assert_true(fabs(hand[2] - 0.15) < 1e-3);
    trial_close(&w);
}

static void actions_and_the_box_are_limits(void **state)
{
    (void)state;
    static const double low[3] = {-0.5, 0.4, 0.05}, high[3] = {0.5, 1, 0.5};
    trial w = quiet_trial();
    trial_reset(&w);
    act(&w, 5, 0, 0, 0); /* clipped to 1 */
    assert_true(fabs(w.s->d->mocap_pos[0] - 0.01) < 1e-12);
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            trial_reset(&w);
            float push = side ? 1 : -1;
            for (int i = 0; i < 120; i++)
                act(&w, axis == 0 ? push : 0, axis == 1 ? push : 0, axis == 2 ? push : 0, 0);
            double want = side ? high[axis] : low[axis], hand[3];
            assert_true(w.s->d->mocap_pos[axis] == want);
            hand_of(&w, hand);
            /* the weld is soft, and the arm's reach ends near the far corners */
            print_message("axis %d at %+.2f: the hand is %.1f mm away\n", axis, want,
                          1e3 * fabs(hand[axis] - want));
            assert_true(fabs(hand[axis] - want) < 0.01);
        }
    trial_close(&w);
}

static void the_target_moves_the_reward_and_nothing_else(void **state)
{
    (void)state;
    trial a = trial_open(def), b = trial_open(def);
    trial_set(&b, "target_x", 0.4);
    trial_set(&b, "target_z", 0.4);
    trial_reset(&a);
    trial_reset(&b);
    for (int i = 0; i < 100; i++) {
        trial_drive(&a, i);
        trial_drive(&b, i);
        assert_memory_equal(a.obs, b.obs, 3 * sizeof(float));
        assert_true(a.result.reward != b.result.reward);
    }
    assert_int_equal(def->set_factor(a.env, 0, 0.6), FANS_EINVAL);
    trial_close(&a);
    trial_close(&b);
}

static void the_gripper_opens_and_closes(void **state)
{
    (void)state;
    trial w = trial_open(def);
    trial_reset(&w);
    for (int i = 0; i < 60; i++) act(&w, 0, 0, 0, -1);
    assert_true(w.s->d->qpos[7] > 0.015 && w.s->d->qpos[8] > 0.015);
    for (int i = 0; i < 60; i++) act(&w, 0, 0, 0, 1);
    assert_true(w.s->d->qpos[7] < -0.025 && w.s->d->qpos[8] < -0.025);
    trial_close(&w);
}

/* Straight to the paper's target of each episode: the best return that can be had is near the sum
 * of the distances on the way. */
static void a_straight_line_reaches_every_target(void **state)
{
    (void)state;
    trial w = trial_open(def);
    double worst = 0, total = 0;
    for (int episode = 0; episode < 20; episode++) {
        double target[3] = {0.1 * fabs(cos(0.2 * episode)), 0.75 + 0.1 * sin(0.5 * episode), 0.2};
        trial_set(&w, "target_x", target[0]);
        trial_set(&w, "target_y", target[1]);
        trial_set(&w, "target_z", target[2]);
        trial_reset(&w);
        for (int i = 0; i < w.info.horizon; i++) {
            double go[3];
            for (int k = 0; k < 3; k++) go[k] = (target[k] - w.s->d->mocap_pos[k]) / 0.01;
            act(&w, (float)go[0], (float)go[1], (float)go[2], 0);
            total += w.result.reward / 20;
        }
        worst = fmax(worst, -w.result.reward);
    }
    print_message("straight lines: mean return %.2f, worst final distance %.2g m\n", total, worst);
    assert_true(worst < 2e-3);
    trial_close(&w);
}

static void common_cases(void **state)
{
    (void)state;
    case_restore_is_exact(def);
    case_nan_is_an_error(def);
    case_stepping_allocates_nothing(def);
    case_failed_allocations_are_reported(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_at_rest_in_its_place),
        cmocka_unit_test(noise_moves_the_start),
        cmocka_unit_test(the_observation_is_the_same_at_resets_and_in_steps),
        cmocka_unit_test(the_reward_is_minus_the_distance),
        cmocka_unit_test(the_hand_follows_the_action),
        cmocka_unit_test(actions_and_the_box_are_limits),
        cmocka_unit_test(the_target_moves_the_reward_and_nothing_else),
        cmocka_unit_test(the_gripper_opens_and_closes),
        cmocka_unit_test(a_straight_line_reaches_every_target),
        cmocka_unit_test(common_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
