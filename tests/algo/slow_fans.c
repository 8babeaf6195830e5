/* slow_fans.c - on a pendulum whose motor is reversed in some episodes, FANS must come close to an
 * agent that is told, and soft actor-critic must not. Two seeds of each, by the tool itself, with
 * the settings of the demo. */
#include "base/json.h"
#include "train_rig.h"

enum { SEEDS = 2 };

/* The mean of the seeds of one algorithm. */
static double mean_of(json_t *runs, const char *algo)
{
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run_json = json_array_get(runs, i);
        double final = json_number_value(json_object_get(run_json, "final_return"));
        if (!strstr(json_string_value(json_object_get(run_json, "run")), algo)) continue;
        print_message("%s %.1f\n", algo, final);
        sum += final;
        count++;
    }
    assert_int_equal(count, SEEDS);
    return sum / SEEDS;
}

static void the_agent_adapts(void **state)
{
    (void)state;
    char folder[64], command[1024], path[128];
    json_t *found;
    rig_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/found.json", folder);
    snprintf(command, sizeof command,
             TOOL " train " SOURCE_DIR "/configs/pendulum_flip.ini --algo sac,oracle,fans "
                  "--seeds %d --quiet --out %s/runs --json %s >/dev/null",
             SEEDS, folder, path);
    assert_int_equal(system(command), 0);
    if (json_read_file(&found, path) < 0) fail_msg("%s", fans_error());
    json_t *runs = json_object_get(found, "runs");
    double fans = mean_of(runs, "-fans/"), sac = mean_of(runs, "-sac/");
    double oracle = mean_of(runs, "-oracle/"), score = (fans - sac) / (oracle - sac);
    if (!(oracle - sac > 500 && score > 0.7)) fail_msg("score %.2f", score);
    json_decref(found);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_agent_adapts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
