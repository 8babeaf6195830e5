/* test_evals.c - evaluations on the way: each value has its episodes, they do not touch the
 * training, and a resumed training writes the same. */
#include "base/evals.h"
#include "train_rig.h"

#define TASK                                                                                  \
    "[train]\nepisodes = 12\ncheckpoint_every = 33\n%s[env]\nname = pendulum\nhorizon = 10\n" \
    "[change.torque]\nclock = episode\nfunction = choice\nvalues = -1, 0, 1\n"                \
    "[sac]\nbatch = 4\nwidth = 8\nrandom_steps = 10\n"
#define EVALS "eval_every = 30\neval_episodes = 2\neval_reach = -4\n"

enum { SEEDS = 2, VALUES = 3 };

static void open_rig(rig *t, const char *wants, const char *folder, int seed, int seeds)
{
    char ini[1024];
    snprintf(ini, sizeof ini, TASK, wants);
    if (rig_open(t, ini, "sac", folder, seed, seeds, 1) < 0) fail_msg("%s", fans_error());
}

static void run_through(rig *t, const char *wants, const char *folder, int seed, int seeds)
{
    open_rig(t, wants, folder, seed, seeds);
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

static void read_evals(evals *e, const char *folder)
{
    char path[RUN_PATH];
    snprintf(path, sizeof path, "%s/evals.csv", folder);
    if (evals_read(e, path) < 0) fail_msg("%s", fans_error());
}

/* At 30, 60, 90 and 120 steps; a return is between those of the worst and the best reward. */
static void every_value_has_its_episodes(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    evals e;
    run_through(&t, EVALS, rig_folder(folder, sizeof folder), 1, SEEDS);
    for (int r = 0; r < SEEDS; r++) {
        read_evals(&e, t.folders[r]);
        assert_int_equal(e.values, VALUES);
        assert_int_equal(e.count, 4);
        for (int k = 0; k < e.count; k++)
            for (int i = 0; i < VALUES; i++) {
                double reached = evals_at(&e, k, i, EVALS_reached);
                assert_true(evals_at(&e, k, i, EVALS_step) == 30 * (k + 1));
                assert_true(evals_at(&e, k, i, EVALS_value) == i - 1);
                assert_true(evals_at(&e, k, i, EVALS_episodes) == 2);
                assert_in_range(-evals_at(&e, k, i, EVALS_return), 0, 170);
                assert_true(reached == 0 || reached == 0.5 || reached == 1);
                assert_true(isnan(evals_at(&e, k, i, EVALS_success))); /* it has no such notion */
            }
        evals_free(&e);
    }
    rig_close(&t);
    rig_remove(folder);
}

static void they_do_not_touch_the_training(void **state)
{
    (void)state;
    char with[64], without[64], alone[64];
    rig x, y, z;
    run_through(&x, EVALS, rig_folder(with, sizeof with), 1, SEEDS);
    run_through(&y, "", rig_folder(without, sizeof without), 1, SEEDS);
    for (int r = 0; r < SEEDS; r++) {
        rig_same_file(x.folders[r], y.folders[r], "metrics.csv");
        run_through(&z, EVALS, rig_folder(alone, sizeof alone), 1 + r, 1);
        rig_same_file(x.folders[r], alone, "evals.csv");
        rig_close(&z);
        rig_remove(alone);
    }
    rig_close(&x);
    rig_close(&y);
    rig_remove(with);
    rig_remove(without);
}

static void resumed_equals_uninterrupted(void **state)
{
    (void)state;
    char whole[64], parts[64];
    rig x, y;
    rig_folder(parts, sizeof parts);
    for (int64_t at = 41;; at += 41) {
        rig_stop stop = {at};
        open_rig(&y, EVALS, parts, 1, SEEDS);
        int rc = training_run(y.training, rig_stops, &stop);
        if (rc == 0) break;
        assert_int_equal(rc, FANS_ESTOP);
        rig_close(&y);
    }
    run_through(&x, EVALS, rig_folder(whole, sizeof whole), 1, SEEDS);
    for (int r = 0; r < SEEDS; r++) {
        rig_same_state(x.training, r, y.training, r);
        rig_same_file(x.folders[r], y.folders[r], "evals.csv");
        rig_same_file(x.folders[r], y.folders[r], "metrics.csv");
    }
    rig_close(&x);
    rig_close(&y);
    rig_remove(whole);
    rig_remove(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_has_its_episodes),
        cmocka_unit_test(they_do_not_touch_the_training),
        cmocka_unit_test(resumed_equals_uninterrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
