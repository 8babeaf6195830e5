/* test_latent.c - methods with a latent per segment: what is inferred step by step equals what is
 * inferred again from the replay; labels are read only to learn; Gaussian processes foresee what
 * can be foreseen. It includes the files themselves, because contexts are private. */
#include "algo/varibad.c" // NOLINT: on purpose

#include "learn/gp.h"
#include "train/train_parts.h"
#include "train_rig.h"

#define CHANGES                                                                   \
    "[train]\nepisodes = 2\n[env]\nname = pendulum\nhorizon = 25\n"               \
    "[change.gravity]\nclock = block\nlength = 7\nfunction = sine\noffset = 10\n" \
    "amplitude = 5\nfrequency = 0.5\n"

static void beliefs_step_by_step_equal_those_of_windows(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    rig_folder(folder, sizeof folder);
    if (rig_open(&t, CHANGES "[varibad]\ninitial = 1000\nupdates = 0\n", "varibad", folder, 1, 1,
                 1) < 0 ||
        training_run(t.training, NULL, NULL) < 0)
        fail_msg("%s", fans_error());
    varibad *v = agent_context(t.training->agent);
    int n = 2 * v->n, rows = replay_rows(v->replay, 0);
    float before[64][16];
    assert_true(rows <= 64 && n <= 16);
    for (int i = 0; i < rows; i++)
        memcpy(before[i], replay_beside(v->replay, 0, i, 0), (size_t)n * sizeof(float));
    assert_true(before[3][0] != before[4][0]);
    for (int i = 1; i < rows; i++) /* so that what is not inferred again shows */
        memset(replay_beside(v->replay, 0, i, 0), 0, (size_t)n * sizeof(float));
    assert_int_equal(refresh(v), 0);
    for (int i = 0; i < rows; i++) {
        const float *after = replay_beside(v->replay, 0, i, 0);
        for (int k = 0; k < n; k++) assert_float_equal(after[k], before[i][k], 1e-5);
    }
    rig_close(&t);
    rig_remove(folder);
}

/* Looks and lives one step without the truth. */
static void live_untold(void *who, const fans_algo_def *trio)
{
    float obs[3] = {1, 0, 0}, next[3] = {0, 1, 0}, action[1], reward[1] = {-1};
    int64_t segment[1] = {9};
    uint8_t change[1] = {1}, ended[1] = {0};
    fans_moment now = {obs, NULL, segment, change};
    fans_outcome o = {reward, ended, ended, next};
    assert_int_equal(trio->act(who, &now, false, action), 0);
    assert_int_equal(trio->observe(who, &now, action, &o, false), 0);
    assert_int_equal(trio->act(who, &now, true, action), 0);
    assert_int_equal(trio->update(who), 0);
}

static void trio_reads_factors_only_to_label_steps(void **state)
{
    (void)state;
    char folder[64];
    const fans_algo_def *trio;
    rig t;
    rig_folder(folder, sizeof folder);
    assert_int_equal(algo_find(&trio, "trio"), 0);
    if (rig_open(&t, CHANGES, "trio", folder, 1, 1, 1) < 0 ||
        training_run(t.training, NULL, NULL) < 0)
        fail_msg("%s", fans_error());
    for (int i = 0; i < 5; i++) live_untold(t.training->agent, trio);
    rig_close(&t);
    rig_remove(folder);
}

static void what_moves_at_every_step_is_refused(void **state)
{
    (void)state;
    static const char *const algos[] = {"varibad", "trio"};
    for (int i = 0; i < 2; i++) {
        rig t;
        int rc = rig_open(&t,
                          "[env]\nname = pendulum\n[change.gravity]\nclock = step\nfunction = "
                          "sine\noffset = 10\namplitude = 5\n",
                          algos[i], NULL, 1, 1, 1);
        assert_int_equal(rc, FANS_ENOSUP);
        assert_non_null(strstr(fans_error(), "moves gravity at every step"));
    }
}

static void a_wave_is_foreseen_and_chance_is_not(void **state)
{
    (void)state;
    static gp_scratch x;
    double wave[GP_MOST], chance[GP_MOST];
    rng r = rng_stream(1, "test", 0);
    for (int i = 0; i < GP_MOST; i++) {
        wave[i] = sin(0.3 * i);
        chance[i] = rng_between(&r, -1, 1);
    }
    gp_answer a = gp_next(&x, gp_fit(&x, wave, GP_MOST), wave, GP_MOST);
    assert_float_equal(a.mean, sin(0.3 * GP_MOST), 0.15); /* its noise has a spread of 0.1 */
    assert_true(a.sd < 0.2);
    a = gp_next(&x, gp_fit(&x, chance, GP_MOST), chance, GP_MOST);
    assert_true(fabs(a.mean) < 0.3 && a.sd > 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beliefs_step_by_step_equal_those_of_windows),
        cmocka_unit_test(trio_reads_factors_only_to_label_steps),
        cmocka_unit_test(what_moves_at_every_step_is_refused),
        cmocka_unit_test(a_wave_is_foreseen_and_chance_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
