/* test_train_memory.c - what trainings remember: replays that turn over and over, runs that go on
 * or are looked at, and backends that learn from a copy of the replay. */
#include "train_rig.h"

static const char *const ALGOS[] = {"sac", "oracle", "fans"};
enum { ALGO_COUNT = 3, SEEDS = 2 };

/* Worlds that do not divide the steps evenly; a lane of the replay is overwritten four times. */
static const char *task_for(const char *algo, char ini[512])
{
    snprintf(ini, 512, "%s%s",
             "[train]\nepisodes = 11\ncheckpoint_every = 31\nworlds = 3\n[env]\nname = pendulum\n"
             "horizon = 25\n[change.gravity]\nclock = block\nlength = 7\nfunction = sine\n"
             "offset = 10\namplitude = 5\nfrequency = 0.5\n",
             strcmp(algo, "fans") ? "" : "[fans]\ninitial = 120\n");
    return ini;
}

static void open_rig(rig *t, const char *algo, const char *folder)
{
    char ini[512];
    if (rig_open(t, task_for(algo, ini), algo, folder, 1, SEEDS, 2) < 0)
        fail_msg("%s", fans_error());
}

static void run_through(rig *t, const char *algo, const char *folder)
{
    open_rig(t, algo, folder);
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

/* Stopped every `every` steps. */
static void run_in_parts(rig *t, const char *algo, const char *folder, int every)
{
    for (int64_t at = every;; at += every) {
        rig_stop stop = {at};
        open_rig(t, algo, folder);
        int rc = training_run(t->training, rig_stops, &stop);
        if (rc == 0) return;
        assert_int_equal(rc, FANS_ESTOP);
        rig_close(t);
    }
}

static void compare(const rig *x, const rig *y)
{
    for (int r = 0; r < SEEDS; r++) {
        rig_same_state(x->training, r, y->training, r);
        rig_same_file(x->folders[r], y->folders[r], "metrics.csv");
    }
}

static void replays_turn_over_a_resume(void **state)
{
    (void)state;
    for (int a = 0; a < ALGO_COUNT; a++) {
        char whole[64], parts[64];
        rig x, y;
        run_through(&x, ALGOS[a], rig_folder(whole, sizeof whole));
        run_in_parts(&y, ALGOS[a], rig_folder(parts, sizeof parts), 47);
        compare(&x, &y);
        rig_close(&x);
        rig_close(&y);
        rig_remove(whole);
        rig_remove(parts);
    }
}

/* Every row that was lived, loaded or inferred anew reaches the copy before it is learned from. */
static void a_backend_with_a_copy_learns_the_same(void **state)
{
    (void)state;
    for (int a = 0; a < ALGO_COUNT; a++) {
        char plain[64], copied[64], parts[64];
        rig x, y, z;
        run_through(&x, ALGOS[a], rig_folder(plain, sizeof plain));
        rig_copies = true;
        run_through(&y, ALGOS[a], rig_folder(copied, sizeof copied));
        run_in_parts(&z, ALGOS[a], rig_folder(parts, sizeof parts), 47);
        rig_copies = false;
        compare(&x, &y);
        compare(&x, &z);
        rig_close(&x);
        rig_close(&y);
        rig_close(&z);
        rig_remove(plain);
        rig_remove(copied);
        rig_remove(parts);
    }
}

/* What is loaded from a folder plays as what was trained: networks, units and statistics. */
static void a_run_that_is_looked_at_plays_as_it_was_left(void **state)
{
    (void)state;
    enum { EPISODES = 4 };
    for (int a = 0; a < ALGO_COUNT; a++) {
        char folder[64];
        rig t;
        double left[SEEDS * EPISODES], loaded[SEEDS * EPISODES];
        run_through(&t, ALGOS[a], rig_folder(folder, sizeof folder));
        assert_int_equal(training_eval(t.training, EPISODES, 77, left, NULL, NULL), 0);
        rig_close(&t);
        rig_looks = true;
        open_rig(&t, ALGOS[a], folder);
        rig_looks = false;
        assert_int_equal(training_eval(t.training, EPISODES, 77, loaded, NULL, NULL), 0);
        assert_memory_equal(left, loaded, sizeof left);
        rig_close(&t);
        rig_remove(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_turn_over_a_resume),
        cmocka_unit_test(a_backend_with_a_copy_learns_the_same),
        cmocka_unit_test(a_run_that_is_looked_at_plays_as_it_was_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
