/* slow_stack.c - the flip test: on a pendulum whose motor is wired the wrong way round in some
 * episodes, five steps of memory are enough to find out which. Soft actor-critic without them gets
 * about -1000. By the tool itself, 300 episodes, three seeds; their median counts. */
#include "base/json.h"
#include "train_rig.h"

enum { SEEDS = 3 };

static double final_of(json_t *found, size_t i)
{
    json_t *one = json_array_get(json_object_get(found, "runs"), i);
    return json_number_value(json_object_get(one, "final_return"));
}

static double median(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

static void it_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    char folder[64], command[1024], path[128];
    json_t *found;
    rig_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/found.json", folder);
    snprintf(command, sizeof command,
             TOOL " train " SOURCE_DIR "/configs/pendulum_flip.ini --algo stack --steps 60000 "
                  "--set stack.steps=5 --set sac.width=256 --seeds %d --quiet --out %s/runs --json "
                  "%s >/dev/null",
             SEEDS, folder, path);
    assert_int_equal(system(command), 0);
    if (json_read_file(&found, path) < 0) fail_msg("%s", fans_error());
    double x[SEEDS];
    for (size_t i = 0; i < SEEDS; i++) x[i] = final_of(found, i);
    print_message("%.1f %.1f %.1f\n", x[0], x[1], x[2]);
    assert_true(median(x[0], x[1], x[2]) > -600);
    json_decref(found);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_finds_out_how_the_motor_is_wired)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
