/* slow_pixels.c - a pendulum is learned from what a camera sees: 50 episodes, about three minutes
 * of a core. Random torques, and the first ten episodes, come to about -1100. */
#include "train_rig.h"

#include "base/csv.h"

enum { LAST = 10 };

static void a_pendulum_is_learned_from_pixels(void **state)
{
    (void)state;
    char folder[64], command[512], path[128];
    csv t;
    rig_folder(folder, sizeof folder);
    snprintf(command, sizeof command,
             TOOL " train " SOURCE_DIR "/configs/pendulum_pixels.ini --algo sac --seed 1 "
                  "--threads 1 --quiet --out %s >/dev/null",
             folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/seed-1/metrics.csv", folder);
    if (csv_read(&t, path) < 0) fail_msg("%s", fans_error());
    double sum = 0;
    for (size_t i = t.rows - LAST; i < t.rows; i++) sum += csv_at(&t, i, csv_column(&t, "return"));
    print_message("mean return of the last %d of %zu episodes: %.1f\n", LAST, t.rows, sum / LAST);
    assert_true(sum / LAST > -850);
    csv_free(&t);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pendulum_is_learned_from_pixels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
