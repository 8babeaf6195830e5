/* test_told.c - what agents are told of changes: the moments that they get, and the truth that the
 * trainer keeps. Every algorithm learns with whatever it is told, bit-identical as always. */
#include <math.h>

#include "base/csv.h"
#include "base/noticed.h"
#include "same_run.h"
#include "train/train_parts.h"

#define WORLD                                                                           \
    "[env]\nname = minitaur\nhorizon = 15\n[change.mass]\nclock = random\nrate = 0.1\n" \
    "function = uniform\nlow = 0.5\nhigh = 1.5\n"
#define TOLD(what) \
    "[train]\nepisodes = 10\ncheckpoint_every = 37\nworlds = 2\ntold = " what "\n" WORLD

/* ---- an algorithm that looks ----------------------------------------------------------------- */

enum { SEEN_MOST = 400 };
static struct seen {
    int64_t segment[SEEN_MOST];
    uint8_t change[SEEN_MOST], again[SEEN_MOST]; /* in act, in observe */
    bool ended[SEEN_MOST];
    int count;
    fans_tells tells;
    double every;
} seen;

static int spy_open(void **agent, const fans_algo_setup *s)
{
    seen.count = 0;
    seen.tells = s->tells;
    seen.every = s->moving[0].list[0].every;
    *agent = &seen;
    return 0;
}

static void spy_close(void *agent)
{
    (void)agent;
}

static int spy_act(void *agent, const fans_moment *now, bool explore, float *action)
{
    (void)agent;
    (void)explore;
    for (int i = 0; i < 16; i++) action[i] = 0; /* two worlds with eight motors */
    seen.segment[seen.count] = now->segment[0];
    seen.change[seen.count] = now->change[0];
    return 0;
}

static int spy_observe(void *agent, const fans_moment *before, const float *action,
                       const fans_outcome *o, bool learn)
{
    (void)agent;
    (void)action;
    (void)learn;
    seen.again[seen.count] = before->change[0];
    seen.ended[seen.count++] = o->terminated[0] || o->truncated[0];
    return 0;
}

static const fans_algo_def spy = {.abi = FANS_ALGO_ABI,
                                  .name = "spy",
                                  .help = "looks",
                                  .open = spy_open,
                                  .close = spy_close,
                                  .act = spy_act,
                                  .observe = spy_observe};

/* Lives through the task; `told` gives what the truth was. */
static void look(const char *ini, struct seen *truth)
{
    rig t;
    if (rig_open(&t, ini, "null", NULL, 3, 1, 1) < 0) fail_msg("%s", fans_error());
    t.training->s.algo->close(t.training->agent);
    t.training->s.algo = &spy;
    fans_algo_setup s = {.moving = t.training->told, .tells = t.training->scene.tells};
    assert_int_equal(spy_open(&t.training->agent, &s), 0);
    *truth = (struct seen){0};
    rig_stop stop;
    while (!train_is_done(t.training)) {
        stop.at = training_progress(t.training).steps + 1;
        int rc = training_run(t.training, rig_stops, &stop);
        assert_true(rc == 0 || rc == FANS_ESTOP);
        truth->segment[truth->count] = t.training->scene.before.segment[0];
        truth->change[truth->count++] = t.training->scene.before.change[0];
    }
    assert_int_equal(seen.count, truth->count);
    assert_memory_equal(seen.change, seen.again, (size_t)seen.count);
    rig_close(&t);
}

static void agents_get_what_they_are_told(void **state)
{
    (void)state;
    struct seen truth;
    int changes = 0, episodes = 0;
    look(TOLD("boundaries"), &truth);
    assert_memory_equal(seen.segment, truth.segment, sizeof seen.segment);
    assert_memory_equal(seen.change, truth.change, sizeof seen.change);
    for (int i = 0; i < truth.count; i++) changes += truth.change[i];
    assert_true(changes > 3 && seen.tells == FANS_TELLS_BOUNDARIES);
    assert_float_equal(seen.every, 10, 1e-9);
    look(TOLD("episodes"), &truth);
    for (int i = 0; i < seen.count; i++) {
        assert_int_equal(seen.segment[i], episodes);
        assert_int_equal(seen.change[i], i > 0 && seen.ended[i - 1]);
        episodes += seen.ended[i];
    }
    assert_true(episodes > 3);
    assert_float_equal(seen.every, 15, 1e-9); /* the clock is not told either */
    look(TOLD("nothing"), &truth);
    for (int i = 0; i < seen.count; i++) assert_true(!seen.segment[i] && !seen.change[i]);
    for (int i = 0; i < truth.count; i++) changes -= truth.change[i];
    assert_int_equal(changes, 0); /* the truth stays what it was */
}

/* ---- all algorithms -------------------------------------------------------------------------- */

static bool applies(const fans_algo_def *a, bool nothing)
{
    return !nothing || !a->piecewise || a->changed;
}

/* Two seeds together, stopped and evaluated on the way, against each alone. */
static void compare(const char *ini, const char *algo)
{
    char together[64], alone[64], sub[96];
    double returns[4];
    rig x, y;
    rig_folder(together, sizeof together);
    for (int at = 61;; at += 61) {
        rig_stop stop = {at};
        if (rig_open(&x, ini, algo, together, 5, 2, 2) < 0) fail_msg("%s", fans_error());
        int rc = training_run(x.training, rig_stops, &stop);
        if (rc == 0) break;
        assert_int_equal(rc, FANS_ESTOP);
        assert_int_equal(training_eval(x.training, 2, 77, returns), 0);
        stop.at += 10;
        assert_int_equal(training_run(x.training, rig_stops, &stop), FANS_ESTOP);
        rig_close(&x);
    }
    for (int r = 0; r < 2; r++) {
        rig_folder(alone, sizeof alone);
        if (rig_open(&y, ini, algo, alone, 5 + r, 1, 1) < 0 || training_run(y.training, NULL, NULL))
            fail_msg("%s", fans_error());
        rig_same_state(x.training, r, y.training, 0);
        snprintf(sub, sizeof sub, "%s/seed-%d", together, 5 + r);
        same_run(sub, alone);
        rig_same_file(sub, alone, "segments.csv");
        rig_close(&y);
        rig_remove(alone);
    }
    rig_close(&x);
    rig_remove(together);
}

static void runs_are_identical_whatever_they_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < algo_count(); i++) {
        if (algo_at(i)->told == FANS_TOLD_NOTHING) continue; /* whatever the others are told */
        compare(TOLD("episodes"), algo_at(i)->name);
        if (applies(algo_at(i), true)) compare(TOLD("nothing"), algo_at(i)->name);
    }
    compare(TOLD("nothing") "[fans]\npoints = cusum\nhazard = 0.1\nlog_std = true\n", "fans");
}

static void who_must_be_told_refuses(void **state)
{
    (void)state;
    rig t;
    assert_int_equal(rig_open(&t, TOLD("nothing"), "varibad", NULL, 1, 1, 1), FANS_ENOSUP);
    assert_non_null(strstr(fans_error(), "train.told = nothing: varibad has to be told"));
    assert_true(rig_open(&t, TOLD("nothing") "[fans]\ndoubt = 0.1\n", "fans", NULL, 1, 1, 1) < 0);
    assert_non_null(strstr(fans_error(), "train.told = nothing: fans needs belief = filter"));
}

/* ---- what was noticed ------------------------------------------------------------------------ */

/* Counts in segments.csv are those of the trainer's definition, from an agent that says at which
 * step it was. */
static int64_t pretended;
static double pretend(void *agent, int row, int64_t steps)
{
    (void)agent;
    (void)row;
    return steps >= pretended ? 1 : 0;
}

static void noticing_is_counted(void **state)
{
    (void)state;
    char folder[64], path[96];
    csv table = {0};
    rig t;
    rig_folder(folder, sizeof folder);
    if (rig_open(&t,
                 "[train]\nepisodes = 3\ntold = nothing\n[env]\nname = pendulum\nhorizon = 100\n"
                 "[change.torque]\nclock = random\nat = 100, 110, 130\nfunction = steps\n"
                 "points = 0:1, 1:-1, 2:-1, 3:0.5\n",
                 "fans", folder, 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    fans_algo_def def = *t.training->s.algo;
    def.changed = pretend;
    t.training->s.algo = &def;
    rig_stop stop = {0};
    for (int i = 0; !train_is_done(t.training); i++) {
        /* it believes in a change of step 60, notices the one of step 100 at 103, and the others
         * never */
        pretended = i >= 60 && i < 90 ? 0 : i >= 103 && i < 110 ? i - 100 + NOTICED_EARLY : 1000;
        stop.at = i + 1;
        int rc = training_run(t.training, rig_stops, &stop);
        assert_true(rc == 0 || rc == FANS_ESTOP);
    }
    rig_close(&t);
    snprintf(path, sizeof path, "%s/segments.csv", folder);
    if (csv_read(&table, path) < 0) fail_msg("%s", fans_error());
    assert_int_equal(table.rows, 3);
    static const double expected[3][3] = {{0, NAN, 1}, {1, 3, 0}, {0, NAN, 0}};
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"moved", "noticed", "alarms"};
        for (int k = 0; k < 3; k++) {
            double x = csv_at(&table, i, csv_column(&table, names[k]));
            if (!(x == expected[i][k] || (isnan(x) && isnan(expected[i][k]))))
                fail_msg("segment %zu: %s is %g", i, names[k], x);
        }
    }
    csv_free(&table);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_get_what_they_are_told),
        cmocka_unit_test(runs_are_identical_whatever_they_are_told),
        cmocka_unit_test(who_must_be_told_refuses),
        cmocka_unit_test(noticing_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
