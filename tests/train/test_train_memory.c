/* test_train_memory.c - what trainings remember: replays that are overwritten, runs that are
 * resumed or opened for evaluation, and backends that learn from a copy of the replay. */
#include "train_rig.h"

/* An algorithm and its settings. */
typedef struct subject {
    const char *algo, *settings;
} subject;
static const subject SUBJECTS[] = {
    {"sac", ""},
    {"oracle", ""},
    {"oracle", "[oracle]\ndelay = 3\n"},
    {"fans", "[fans]\ninitial = 120\n"},
    {"fans", "[fans]\ninitial = 120\nhindsight = 3\n"},
    {"fans", "[fans]\ninitial = 120\nlog_std = true\n"},
    {"fans", "[fans]\ninitial = 120\nbelief = prior\n"},
};
enum { SEEDS = 2 };

/* Worlds that do not divide the steps evenly; a lane of the replay is overwritten four times. */
static void open_rig(rig *t, const subject *s, const char *folder)
{
    char ini[512];
    snprintf(ini, sizeof ini, "%s%s",
             "[train]\nepisodes = 11\ncheckpoint_every = 31\nworlds = 3\n[env]\nname = pendulum\n"
             "horizon = 25\n[change.gravity]\nclock = block\nlength = 7\nfunction = sine\n"
             "offset = 10\namplitude = 5\nfrequency = 0.5\n",
             s->settings);
    if (rig_open(t, ini, s->algo, folder, 1, SEEDS, 2) < 0) fail_msg("%s", fans_error());
}

static void run_through(rig *t, const subject *s, const char *folder)
{
    open_rig(t, s, folder);
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

/* Stopped every `every` steps. */
static void run_in_parts(rig *t, const subject *s, const char *folder, int every)
{
    for (int64_t at = every;; at += every) {
        rig_stop stop = {at};
        open_rig(t, s, folder);
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
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        const subject *s = &SUBJECTS[i];
        char whole[64], parts[64];
        rig x, y;
        run_through(&x, s, rig_folder(whole, sizeof whole));
        run_in_parts(&y, s, rig_folder(parts, sizeof parts), 47);
        compare(&x, &y);
        rig_close(&x);
        rig_close(&y);
        rig_remove(whole);
        rig_remove(parts);
    }
}

/* Every row that is new, loaded or refreshed reaches the copy before networks learn from it. */
static void a_backend_with_a_copy_learns_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        const subject *s = &SUBJECTS[i];
        char plain[64], copied[64], parts[64];
        rig x, y, z;
        run_through(&x, s, rig_folder(plain, sizeof plain));
        rig_copies = true;
        run_through(&y, s, rig_folder(copied, sizeof copied));
        run_in_parts(&z, s, rig_folder(parts, sizeof parts), 47);
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

/* A run loaded from its folder plays as it did after training: networks, units and statistics. */
static void a_loaded_run_plays_as_it_was_saved(void **state)
{
    (void)state;
    enum { EPISODES = 4 };
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        const subject *s = &SUBJECTS[i];
        char folder[64];
        rig t;
        double left[SEEDS * EPISODES], loaded[SEEDS * EPISODES];
        run_through(&t, s, rig_folder(folder, sizeof folder));
        assert_int_equal(training_eval(t.training, EPISODES, 77, left), 0);
        rig_close(&t);
        rig_looks = true;
        open_rig(&t, s, folder);
        rig_looks = false;
        assert_int_equal(training_eval(t.training, EPISODES, 77, loaded), 0);
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
        cmocka_unit_test(a_loaded_run_plays_as_it_was_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
