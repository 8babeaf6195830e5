/* flip.h - the flip test: on a pendulum whose motor is wired the wrong way round in some episodes,
 * a method must find out which. Soft actor-critic alone gets about -1000. By the tool itself, 300
 * episodes, three seeds; their median counts. */
#ifndef TESTS_FLIP_H
#define TESTS_FLIP_H

#include <math.h>

#include "base/json.h"
#include "train_rig.h"

enum { FLIP_SEEDS = 3, FLIP_STEPS = 60000 };

static inline double flip_median(const double *x)
{
    double low = fmin(x[0], x[1]), high = fmax(x[0], x[1]);
    return fmin(fmax(x[2], low), high);
}

/* The median of what a training ends with. `settings` are more arguments of the tool. */
static inline double flip_train(const char *name, const char *algo, const char *settings, int steps)
{
    char folder[64], command[1024], path[128];
    double x[FLIP_SEEDS];
    json_t *found;
    rig_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/found.json", folder);
    snprintf(command, sizeof command,
             TOOL " train " SOURCE_DIR "/configs/%s.ini --algo %s %s --steps %d --seeds %d --quiet "
                  "--out %s/runs --json %s >/dev/null",
             name, algo, settings, steps, FLIP_SEEDS, folder, path);
    assert_int_equal(system(command), 0);
    if (json_read_file(&found, path) < 0) fail_msg("%s", fans_error());
    for (size_t i = 0; i < FLIP_SEEDS; i++) {
        json_t *one = json_array_get(json_object_get(found, "runs"), i);
        x[i] = json_number_value(json_object_get(one, "final_return"));
    }
    print_message("%s %s %.1f %.1f %.1f\n", name, algo, x[0], x[1], x[2]);
    json_decref(found);
    rig_remove(folder);
    return flip_median(x);
}

static inline void flip_is_found_out(const char *algo, const char *settings)
{
    assert_true(flip_train("pendulum_flip", algo, settings, FLIP_STEPS) > -600);
}

#endif
