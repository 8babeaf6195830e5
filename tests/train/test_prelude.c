/* test_prelude.c - a prelude counts like all other steps, or not at all; evaluation has none. How
 * worlds live through it is tested with them, how runs resume in it with the others (test_train.c).
 */
#include "base/csv.h"
#include "train_rig.h"

#define TASK                                                                                     \
    "[env]\nname = pendulum\nhorizon = 20\n[change.gravity]\nclock = episode\nfunction = sine\n" \
    "offset = 10\namplitude = 5\n"

static void train(rig *t, const char *settings, const char *algo, const char *folder)
{
    char ini[512];
    snprintf(ini, sizeof ini, "[train]\nepisodes = 6\n%s" TASK, settings);
    if (rig_open(t, ini, algo, folder, 1, 1, 1) < 0 || training_run(t->training, NULL, NULL) < 0)
        fail_msg("%s", fans_error());
}

/* Rows of a run's curve, its first and last step; and its steps in all. */
static void check_curve(const char *settings, int64_t total)
{
    char folder[64], path[96];
    csv t = {0};
    rig x;
    train(&x, settings, "null", rig_folder(folder, sizeof folder));
    assert_int_equal(training_progress(x.training).total, total);
    json_t *result = training_result(x.training, 0);
    assert_int_equal(json_integer_value(json_object_get(result, "steps")), 120);
    assert_int_equal(json_integer_value(json_object_get(result, "episodes")), 6);
    json_decref(result);
    rig_close(&x);
    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    if (csv_read(&t, path) < 0) fail_msg("%s", fans_error());
    assert_int_equal(t.rows, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(csv_at(&t, i, csv_column(&t, "episode")) == (double)i);
        assert_true(csv_at(&t, i, csv_column(&t, "step")) == 20 * (double)(i + 1));
    }
    csv_free(&t);
    rig_remove(folder);
}

static void it_counts_unless_it_is_free(void **state)
{
    (void)state;
    check_curve("prelude = 30\n", 120);
    check_curve("prelude = 30\nprelude_free = true\n", 160);
    check_curve("prelude_free = true\n", 120);
}

static void evaluation_has_no_prelude(void **state)
{
    (void)state;
    double returns[2][4];
    for (int i = 0; i < 2; i++) {
        rig t;
        train(&t, i ? "prelude = 40\n" : "", "null", NULL);
        assert_int_equal(training_eval(t.training, 4, 7, returns[i]), 0);
        rig_close(&t);
    }
    assert_memory_equal(returns[0], returns[1], sizeof returns[0]);
}

static void it_is_followed_by_something(void **state)
{
    (void)state;
    rig t;
    int rc = rig_open(&t, "[train]\nepisodes = 6\nprelude = 101\n" TASK, "null", NULL, 1, 1, 1);
    assert_int_equal(rc, FANS_EINVAL);
    assert_non_null(strstr(fans_error(), "train.prelude = 101: the run has only 120 steps"));
    rc = rig_open(&t, "[train]\nepisodes = 6\nprelude = 101\nprelude_free = true\n" TASK, "null",
                  NULL, 1, 1, 1);
    assert_int_equal(rc, 0);
    rig_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_unless_it_is_free),
        cmocka_unit_test(evaluation_has_no_prelude),
        cmocka_unit_test(it_is_followed_by_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
