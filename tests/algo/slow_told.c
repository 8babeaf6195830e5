/* slow_told.c - on a pendulum whose motor is reversed at random steps, FANS finds out when,
 * although nobody tells it; where nothing changes, it finds nothing. Two seeds, by the tool itself.
 */
#include "base/json.h"
#include "report/findings.h"
#include "train_rig.h"

enum { SEEDS = 2 };

static findings find(const char *folder)
{
    findings all = {0}, one;
    for (int i = 0; i < SEEDS; i++) {
        csv table = {0};
        char path[128];
        snprintf(path, sizeof path, "%s/seed-%d/segments.csv", folder, i);
        if (csv_read(&table, path) < 0) fail_msg("%s", fans_error());
        findings_read(&one, &table);
        print_message("seed %d: median %g, missed %.3f, %.2f false alarms\n", i,
                      findings_median(&one), findings_missed(&one), findings_alarms(&one));
        findings_add(&all, &one);
        csv_free(&table);
    }
    return all;
}

/* Trains with a setting; gives what was found, and the mean return. */
static findings train(const char *setting, double *gain)
{
    char folder[64], command[512], path[96];
    json_t *result;
    rig_folder(folder, sizeof folder);
    snprintf(
        command, sizeof command,
        TOOL
        " train " SOURCE_DIR "/configs/pendulum_random_flip.ini --algo fans --set "
        "train.told=nothing --set %s --seeds %d --steps 20000 --quiet --out %s/run >/dev/null 2>&1",
        setting, SEEDS, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/run", folder);
    findings f = find(path);
    assert_true(f.known);
    snprintf(path, sizeof path, "%s/run/result.json", folder);
    if (json_read_file(&result, path) < 0) fail_msg("%s", fans_error());
    json_t *runs = json_object_get(result, "runs");
    *gain = 0;
    for (size_t i = 0; i < json_array_size(runs); i++)
        *gain +=
            json_number_value(json_object_get(json_array_get(runs, i), "final_return")) / SEEDS;
    json_decref(result);
    rig_remove(folder);
    return f;
}

static void it_finds_out_when_the_motor_is_reversed(void **state)
{
    (void)state;
    double gain;
    findings f = train("fans.points=bocpd", &gain);
    assert_true(f.changes > 80);
    assert_true(findings_median(&f) <= 5);
    assert_true(findings_missed(&f) < 0.1);
    assert_true(findings_alarms(&f) < 2);
    if (gain < -850) fail_msg("return %.0f", gain); /* sac: about -1070 */
}

static void so_does_cusum(void **state)
{
    (void)state;
    double gain;
    findings f = train("fans.points=cusum", &gain);
    assert_true(findings_median(&f) <= 5);
    assert_true(findings_missed(&f) < 0.3);
    assert_true(findings_alarms(&f) < 4);
}

/* cos(0): the motor is drawn anew, and is always the same. */
static void where_nothing_changes_it_finds_nothing(void **state)
{
    (void)state;
    double gain;
    findings f = train("change.torque.frequency=0", &gain);
    assert_int_equal(f.changes, 0);
    assert_true(findings_alarms(&f) < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_out_when_the_motor_is_reversed),
        cmocka_unit_test(so_does_cusum),
        cmocka_unit_test(where_nothing_changes_it_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
