/* test_train.c - trainings that can be trusted: the same seed gives bit-identical runs, whatever
 * the threads, the other seeds of its training, or the interruptions. Every algorithm is held to
 * it. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/csv.h"
#include "train_rig.h"

static const char *const TASKS[] = {
    "[train]\nepisodes = 6\ncheckpoint_every = 37\n[env]\nname = pendulum\nhorizon = 25\n"
    "[change.gravity]\nclock = episode\nfunction = sine\noffset = 10\namplitude = 5\nfrequency = "
    "0.5\n",
    "[train]\nepisodes = 5\ncheckpoint_every = 41\nworlds = 2\nprelude = 30\n[env]\nname = "
    "half_cheetah\nhorizon "
    "= 20\n"
    "[change.speed]\nclock = block\nlength = 7\nfunction = walk\noffset = 1\nlow = 0\nhigh = "
    "3\nstep = 0.5\n"
    "[change.joint]\nclock = episode\nfunction = choice\nvalues = 1, 2, 3, 4, 5, 6\n",
    "[train]\nepisodes = 5\ncheckpoint_every = 29\n[env]\nname = minitaur\nhorizon = 15\n"
    "[change.mass]\nclock = step\nfunction = sine\noffset = 1\namplitude = 0.5\nfrequency = 0.1\n",
    "[train]\nepisodes = 4\ncheckpoint_every = 50\nprelude = 50\nprelude_free = true\n[env]\nname "
    "= sawyer_reach\nhorizon = 30\n"
    "[change.target_x]\nclock = random\nrate = 0.1\nfunction = uniform\nlow = -0.1\nhigh = 0.1\n",
    "[train]\nepisodes = 6\ncheckpoint_every = 33\n[env]\nname = fnmdp\nhorizon = 20\n",
};
enum { TASK_COUNT = sizeof TASKS / sizeof *TASKS };

static void run_through(const char *ini, const char *algo, const char *folder, int seed, int seeds,
                        int threads, rig *t)
{
    if (rig_open(t, ini, algo, folder, seed, seeds, threads) < 0) fail_msg("%s", fans_error());
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

static void same_seed_same_bytes_for_any_threads(void **state)
{
    (void)state;
    for (int a = 0; a < algo_count(); a++) {
        char one[64], two[64];
        rig x, y;
        const char *algo = algo_at(a)->name;
        run_through(TASKS[0], algo, rig_folder(one, sizeof one), 3, 1, 1, &x);
        run_through(TASKS[0], algo, rig_folder(two, sizeof two), 3, 1, 2, &y);
        rig_same_state(x.training, 0, y.training, 0);
        rig_same_file(one, two, "metrics.csv");
        if (algo_at(a)->belief) rig_same_file(one, two, "beliefs.csv");
        rig_close(&x);
        rig_close(&y);
        rig_remove(one);
        rig_remove(two);
    }
}

static void seeds_side_by_side_equal_runs_of_their_own(void **state)
{
    (void)state;
    for (int a = 0; a < algo_count(); a++) {
        char together[64], alone[64], sub[96];
        rig x, y;
        const char *algo = algo_at(a)->name;
        run_through(TASKS[1], algo, rig_folder(together, sizeof together), 5, 3, 2, &x);
        for (int r = 0; r < 3; r++) {
            run_through(TASKS[1], algo, rig_folder(alone, sizeof alone), 5 + r, 1, 2, &y);
            rig_same_state(x.training, r, y.training, 0);
            snprintf(sub, sizeof sub, "%s/seed-%d", together, 5 + r);
            rig_same_file(sub, alone, "metrics.csv");
            rig_same_file(sub, alone, "config.ini");
            rig_close(&y);
            rig_remove(alone);
        }
        rig_close(&x);
        rig_remove(together);
    }
}

/* Stops cleanly at several steps, and resumes each time. */
static void stopped_and_resumed_equals_uninterrupted(void **state)
{
    (void)state;
    for (int k = 0; k < TASK_COUNT; k++) {
        for (int a = 0; a < algo_count(); a++) {
            char whole[64], parts[64];
            rig x, y;
            const char *algo = algo_at(a)->name;
            if (!rig_applies(algo, TASKS[k])) continue;
            run_through(TASKS[k], algo, rig_folder(whole, sizeof whole), 1, 1, 2, &x);
            rig_folder(parts, sizeof parts);
            rng r = rng_stream(9, algo, (uint32_t)k);
            int64_t total = training_progress(x.training).total;
            for (int64_t at = 0;;) {
                at += 1 + rng_below(&r, (uint32_t)total / 3);
                rig_stop stop = {at};
                if (rig_open(&y, TASKS[k], algo, parts, 1, 1, 2) < 0) fail_msg("%s", fans_error());
                int rc = training_run(y.training, rig_stops, &stop);
                if (rc == 0) break;
                assert_int_equal(rc, FANS_ESTOP);
                rig_close(&y);
            }
            rig_same_state(x.training, 0, y.training, 0);
            rig_same_file(whole, parts, "metrics.csv");
            if (algo_at(a)->belief) rig_same_file(whole, parts, "beliefs.csv");
            rig_close(&x);
            rig_close(&y);
            rig_remove(whole);
            rig_remove(parts);
        }
    }
}

/* ---- tasks side by side ---------------------------------------------------------------------- */

/* Worlds of the same shape that change differently. */
static const char *const PAIR[] = {
    "[train]\nepisodes = 6\ncheckpoint_every = 37\nworlds = 2\n[env]\nname = pendulum\n"
    "horizon = 25\n[change.gravity]\nclock = episode\nfunction = sine\noffset = 10\n"
    "amplitude = 5\nfrequency = 0.5\n",
    "[train]\nepisodes = 6\ncheckpoint_every = 37\nworlds = 2\n[env]\nname = pendulum\n"
    "horizon = 25\n[change.torque]\nclock = block\nlength = 7\nfunction = uniform\nlow = 0.5\n"
    "high = 1\n",
};

/* Runs `algo` on PAIR[k] with one seed alone, and compares it with replica r of `together`. */
static void same_as_alone(const training *together, int r, const char *algo, int k, int seed)
{
    char alone[64];
    rig y;
    run_through(PAIR[k], algo, rig_folder(alone, sizeof alone), seed, 1, 1, &y);
    rig_same_state(together, r, y.training, 0);
    rig_same_file(training_folder(together, r), alone, "metrics.csv");
    rig_same_file(training_folder(together, r), alone, "config.ini");
    rig_close(&y);
    rig_remove(alone);
}

/* Two tasks with two seeds each in one training, stopped once on the way. */
static void tasks_side_by_side_equal_runs_of_their_own(void **state)
{
    (void)state;
    for (int a = 0; a < algo_count(); a++) {
        const char *algo = algo_at(a)->name;
        char together[64];
        rig x;
        rig_stop stop = {70};
        rig_folder(together, sizeof together);
        for (int k = 0; k < 2; k++) {
            if (rig_open_tasks(&x, PAIR, 2, algo, together, 3, 2, 2) < 0)
                fail_msg("%s", fans_error());
            int rc = training_run(x.training, k == 0 ? rig_stops : NULL, &stop);
            assert_int_equal(rc, k == 0 ? FANS_ESTOP : 0);
            if (k == 0) rig_close(&x);
        }
        for (int r = 0; r < 4; r++) same_as_alone(x.training, r, algo, r / 2, 3 + r % 2);
        rig_close(&x);
        rig_remove(together);
    }
}

/* Several trainings, stopped and resumed, each at its own step. */
static void several_equal_ones_alone(bool threaded)
{
    static const char *const algos[] = {"sac", "oracle", "null"};
    char folders[3][64];
    rig x[3];
    training *list[3];
    for (int i = 0; i < 3; i++) rig_folder(folders[i], sizeof folders[i]);
    for (int64_t at = 58;; at += 44) {
        rig_stop stop = {at};
        for (int i = 0; i < 3; i++) {
            if (rig_open(&x[i], PAIR[i % 2], algos[i], folders[i], 5, 1, 2) < 0)
                fail_msg("%s", fans_error());
            list[i] = x[i].training;
        }
        int rc = trainings_run(list, 3, threaded, rig_stops, &stop);
        if (rc == 0) break;
        assert_int_equal(rc, FANS_ESTOP);
        for (int i = 0; i < 3; i++) rig_close(&x[i]);
    }
    for (int i = 0; i < 3; i++) same_as_alone(list[i], 0, algos[i], i % 2, 5);
    for (int i = 0; i < 3; i++) {
        rig_close(&x[i]);
        rig_remove(folders[i]);
    }
}

static void trainings_in_turn_equal_ones_alone(void **state)
{
    (void)state;
    several_equal_ones_alone(false);
}

static void threaded_trainings_equal_ones_alone(void **state)
{
    (void)state;
    several_equal_ones_alone(true);
}

static void spoil_a_weight(const training *t, int replica)
{
    const state_list *s = training_state(t, replica);
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, "critic/q.1.W")) ((float *)s->items[i].data)[5] = NAN;
}

/* A run fails: the message names task, seed and step, and other trainings finish. */
static void fail_one_of_two(bool threaded)
{
    static const char *const TASK = "[train]\nepisodes = 8\n[env]\nname = pendulum\n"
                                    "horizon = 25\n";
    char folders[2][64];
    rig x[2];
    training *list[2];
    for (int i = 0; i < 2; i++) {
        rig_folder(folders[i], sizeof folders[i]);
        assert_int_equal(rig_open(&x[i], TASK, i ? "sac" : "null", folders[i], 5, 3, 2), 0);
        list[i] = x[i].training;
    }
    spoil_a_weight(list[1], 1);
    assert_int_equal(trainings_run(list, 2, threaded, NULL, NULL), 0);
    assert_null(training_fault(list[0]));
    assert_int_equal(training_progress(list[0]).steps, 200);
    const train_fault *fault = training_fault(list[1]);
    assert_non_null(fault);
    assert_int_equal(fault->code, FANS_ENUMERIC);
    assert_int_equal(fault->replica, 1);
    assert_non_null(strstr(fault->why, "pendulum, seed 6, step 30: the loss"));
    for (int i = 0; i < 2; i++) {
        rig_close(&x[i]);
        rig_remove(folders[i]);
    }
}

static void a_run_that_fails_is_named_and_others_finish(void **state)
{
    (void)state;
    fail_one_of_two(true);
    fail_one_of_two(false);
}

/* Without a folder a training writes no files, and learns the same. */
static void a_training_needs_no_folder(void **state)
{
    (void)state;
    for (int i = 0; i < algo_count(); i++) {
        char folder[64];
        rig x, y;
        const char *algo = algo_at(i)->name;
        rig_folder(folder, sizeof folder);
        if (rig_open(&x, TASKS[0], algo, folder, 3, 2, 1) < 0) fail_msg("%s", fans_error());
        if (rig_open(&y, TASKS[0], algo, NULL, 3, 2, 1) < 0) fail_msg("%s", fans_error());
        rig_stop stop = {50};
        assert_int_equal(training_run(x.training, NULL, NULL), 0);
        assert_int_equal(training_run(y.training, rig_stops, &stop), FANS_ESTOP);
        assert_int_equal(training_run(y.training, NULL, NULL), 0);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(training_recent(x.training, r), training_recent(y.training, r));
            assert_true(training_final(x.training, r) == training_final(y.training, r));
        }
        rig_close(&x);
        rig_close(&y);
        rig_remove(folder);
    }
}

/* Evaluation during training does not change it: it has separate worlds. */
static void evaluation_on_the_way_changes_nothing(void **state)
{
    (void)state;
    enum { EPISODES = 2, SEEDS = 2 };
    for (int i = 0; i < algo_count(); i++) {
        char folders[2][64];
        rig x[2];
        double returns[EPISODES * SEEDS];
        const char *algo = algo_at(i)->name;
        for (int k = 0; k < 2; k++) {
            rig_stop stop = {90};
            rig_folder(folders[k], sizeof folders[k]);
            if (rig_open(&x[k], TASKS[1], algo, folders[k], 3, SEEDS, 1) < 0)
                fail_msg("%s", fans_error());
            assert_int_equal(training_run(x[k].training, rig_stops, &stop), FANS_ESTOP);
            if (k) assert_int_equal(training_eval(x[k].training, EPISODES, 9, returns), 0);
            assert_int_equal(training_run(x[k].training, NULL, NULL), 0);
        }
        for (int r = 0; r < SEEDS; r++) {
            rig_same_state(x[0].training, r, x[1].training, r);
            rig_same_file(x[0].folders[r], x[1].folders[r], "metrics.csv");
        }
        for (int k = 0; k < 2; k++) {
            rig_close(&x[k]);
            rig_remove(folders[k]);
        }
    }
}

/* A run that started with others resumes alone, and with others again. */
static void runs_may_leave_their_training_and_come_back(void **state)
{
    (void)state;
    char together[64];
    char alone[96];
    rig x;
    rig_stop stop = {60};
    rig_folder(together, sizeof together);
    if (rig_open_tasks(&x, PAIR, 2, "sac", together, 3, 2, 2) < 0) fail_msg("%s", fans_error());
    assert_int_equal(training_run(x.training, rig_stops, &stop), FANS_ESTOP);
    rig_close(&x);
    for (int r = 0; r < 4; r++) {
        stop.at = 90;
        snprintf(alone, sizeof alone, "%s/%d-seed-%d", together, r / 2, 3 + r % 2);
        if (rig_open(&x, PAIR[r / 2], "sac", alone, 3 + r % 2, 1, 1) < 0)
            fail_msg("%s", fans_error());
        assert_int_equal(training_progress(x.training).steps, 60);
        assert_int_equal(training_run(x.training, rig_stops, &stop), FANS_ESTOP);
        rig_close(&x);
        if (r > 0) continue; /* the others are still at 60 */
        assert_int_equal(rig_open_tasks(&x, PAIR, 2, "sac", together, 3, 2, 2), FANS_EFORMAT);
        assert_non_null(strstr(fans_error(), "are at different steps"));
    }
    if (rig_open_tasks(&x, PAIR, 2, "sac", together, 3, 2, 2) < 0) fail_msg("%s", fans_error());
    assert_int_equal(training_run(x.training, NULL, NULL), 0);
    for (int r = 0; r < 4; r++) same_as_alone(x.training, r, "sac", r / 2, 3 + r % 2);
    rig_close(&x);
    rig_remove(together);
}

/* ---- interruptions by force ------------------------------------------------------------------ */

/* kill -9 at random moments; whatever was being written, the next start resumes. */
static void killed_and_resumed_equals_uninterrupted(void **state)
{
    (void)state;
    const char *tasks[] = {TASKS[0], TASKS[1]};
    for (int k = 0; k < 2; k++) {
        char whole[64], parts[64];
        rig x, y;
        rng r = rng_stream(4, "kill", (uint32_t)k);
        run_through(tasks[k], "sac", rig_folder(whole, sizeof whole), 1, 2, 1, &x);
        rig_folder(parts, sizeof parts);
        for (int kill_count = 0; kill_count < 8; kill_count++) {
            pid_t child = fork();
            if (child == 0) {
                rig z;
                if (rig_open(&z, tasks[k], "sac", parts, 1, 2, 1) < 0) _exit(1);
                _exit(training_run(z.training, NULL, NULL) < 0 ? 1 : 0);
            }
            int status;
            usleep(1000 + rng_below(&r, 40000));
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
        }
        run_through(tasks[k], "sac", parts, 1, 2, 1, &y);
        for (int s = 0; s < 2; s++) {
            char a[96], b[96];
            snprintf(a, sizeof a, "%s/seed-%d", whole, 1 + s);
            snprintf(b, sizeof b, "%s/seed-%d", parts, 1 + s);
            rig_same_state(x.training, s, y.training, s);
            rig_same_file(a, b, "metrics.csv");
        }
        rig_close(&x);
        rig_close(&y);
        rig_remove(whole);
        rig_remove(parts);
    }
}

static void no_allocation_after_the_first_update(void **state)
{
    (void)state;
    for (int a = 0; a < algo_count(); a++) {
        char folder[64];
        rig t;
        rig_stop stop = {100}; /* after everything that happens once */
        if (rig_open(&t, TASKS[0], algo_at(a)->name, rig_folder(folder, sizeof folder), 1, 1, 2) <
            0)
            fail_msg("%s", fans_error());
        assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
        uint64_t made = mem_count();
        stop.at = 140; /* past checkpoints and ends of episodes */
        assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
        assert_int_equal(mem_count(), made);
        rig_close(&t);
        rig_remove(folder);
    }
}

static void not_a_number_in_a_weight_is_named(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    rig_stop stop = {60};
    if (rig_open(&t, TASKS[0], "sac", rig_folder(folder, sizeof folder), 1, 1, 2) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    size_t n, m;
    void *before = rig_read(folder, "checkpoint.safetensors", &n);
    spoil_a_weight(t.training, 0);
    assert_int_equal(training_run(t.training, NULL, NULL), FANS_ENUMERIC);
    assert_non_null(strstr(fans_error(), "loss"));
    assert_int_equal(training_progress(t.training).steps, 60); /* in that very update */
    void *after = rig_read(folder, "checkpoint.safetensors", &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n); /* the last good one stays */
    mem_free(before);
    mem_free(after);
    rig_close(&t);
    rig_remove(folder);
}

/* ---- damaged, foreign and unwritable folders ------------------------------------------------- */

static void write_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(os_write_file(path, bytes, n), 0);
}

static void expect_refusal(const char *folder, const char *algo, const char *why)
{
    rig t;
    int rc = rig_open(&t, TASKS[0], algo, folder, 1, 1, 1);
    if (rc == 0) fail_msg("accepted where '%s' was expected", why);
    if (!strstr(fans_error(), why)) fail_msg("'%s' does not say '%s'", fans_error(), why);
}

static void damaged_checkpoints_are_refused_and_kept(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    rig_stop stop = {60};
    size_t n;
    if (rig_open(&t, TASKS[0], "sac", rig_folder(folder, sizeof folder), 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    rig_close(&t);
    unsigned char *good = rig_read(folder, "checkpoint.safetensors", &n);

    /* cut short, at every kind of place */
    size_t cuts[] = {0, 5, 100, n / 2, n - 1};
    for (int i = 0; i < 5; i++) {
        write_file(folder, "checkpoint.safetensors", good, cuts[i]);
        expect_refusal(folder, "sac", "checkpoint");
    }
    /* one bit flipped, anywhere */
    rng r = rng_stream(2, "flip", 0);
    for (int i = 0; i < 40; i++) {
        size_t at = rng_below(&r, (uint32_t)n);
        unsigned char bit = (unsigned char)(1u << rng_below(&r, 8));
        good[at] ^= bit;
        write_file(folder, "checkpoint.safetensors", good, n);
        expect_refusal(folder, "sac", "checkpoint");
        good[at] ^= bit;
    }
    /* a file of another kind, and the checkpoint of another algorithm */
    write_file(folder, "checkpoint.safetensors", "hello", 5);
    expect_refusal(folder, "sac", "damaged, or not a checkpoint");
    write_file(folder, "checkpoint.safetensors", good, n);
    char ini[96];
    snprintf(ini, sizeof ini, "%s/config.ini", folder);
    unlink(ini);
    expect_refusal(folder, "oracle",
                   "is a checkpoint of 'sac on pendulum', not of 'oracle on pendulum'");
    /* the good one still works */
    unlink(ini);
    if (rig_open(&t, TASKS[0], "sac", folder, 1, 1, 1) < 0) fail_msg("%s", fans_error());
    assert_int_equal(training_progress(t.training).steps, 60);
    assert_int_equal(training_run(t.training, NULL, NULL), 0);
    rig_close(&t);
    mem_free(good);
    rig_remove(folder);
}

static void another_run_in_the_folder_is_refused(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    if (rig_open(&t, TASKS[0], "sac", rig_folder(folder, sizeof folder), 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    rig_close(&t);
    assert_true(rig_open(&t, TASKS[0], "sac", folder, 2, 1, 1) < 0);
    assert_non_null(strstr(
        fans_error(), "holds a different run; its config has 'seed = 1', this one 'seed = 2'"));
    assert_true(rig_open(&t, TASKS[2], "sac", folder, 1, 1, 1) < 0);
    rig_remove(folder);
}

static void a_file_size_limit_stops_with_the_last_checkpoint_kept(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    rig_stop stop = {60};
    if (rig_open(&t, TASKS[0], "sac", rig_folder(folder, sizeof folder), 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    rig_close(&t);
    size_t n, m;
    void *before = rig_read(folder, "checkpoint.safetensors", &n);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) { /* looks like a full disk to this process */
        signal(SIGXFSZ, SIG_IGN);
        if (rig_open(&t, TASKS[0], "sac", folder, 1, 1, 1) < 0) _exit(1);
        char command[64];
        snprintf(command, sizeof command, "prlimit --fsize=8000 --pid %d", (int)getpid());
        if (system(command) != 0) _exit(2);
        int rc = training_run(t.training, NULL, NULL);
        _exit(rc == FANS_EIO && strstr(fans_error(), "cannot write") ? 0 : 3);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("skipped: no prlimit\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    void *after = rig_read(folder, "checkpoint.safetensors", &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    mem_free(before);
    mem_free(after);
    rig_remove(folder);
}

/* A robot that falls: its episodes end at unpredictable steps. */
static const char *const FALLING =
    "[train]\nepisodes = 6\n[env]\nname = minitaur\nhorizon = 150\n"
    "[change.mass]\nclock = episode\nfunction = sine\noffset = 1\namplitude = 0.5\nfrequency = "
    "0.1\n";

static void read_table(csv *out, const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (csv_read(out, path) < 0) fail_msg("%s", fans_error());
}

/* The rows of an episode start at `*at`, which moves past them. */
static void check_beliefs(const csv *b, size_t *at, const csv *metrics, size_t episode)
{
    double end = csv_at(metrics, episode, 1), length = csv_at(metrics, episode, 4);
    double truth = csv_at(b, *at, 4);
    for (double tau = 0; tau < length; tau++) {
        bool fresh = tau <= 3 || tau == 5 || tau == 7; /* every episode is a change */
        if (!fresh && fmod(tau, 10) != 0 && tau != length - 1) continue;
        assert_true(*at < b->rows);
        assert_true(csv_at(b, *at, 0) == (double)episode);
        assert_true(csv_at(b, *at, 1) == end - length + tau);
        assert_true(csv_at(b, *at, 2) == tau);
        assert_true(csv_at(b, *at, 3) == tau);
        assert_true(csv_at(b, *at, 4) == truth);
        ++*at;
    }
}

static void beliefs_reach_to_the_last_step_of_every_episode(void **state)
{
    (void)state;
    char whole[64], parts[64];
    rig t;
    csv metrics = {0}, beliefs = {0};
    size_t at = 0;
    run_through(FALLING, "fans", rig_folder(whole, sizeof whole), 0, 1, 1, &t);
    rig_close(&t);
    read_table(&metrics, whole, "metrics.csv");
    read_table(&beliefs, whole, "beliefs.csv");
    assert_true(metrics.rows > 6); /* some fell */
    for (size_t e = 0; e < metrics.rows; e++) check_beliefs(&beliefs, &at, &metrics, e);
    rig_stop stop = {(int64_t)csv_at(&metrics, 1, 1)}; /* where one has just fallen */
    if (rig_open(&t, FALLING, "fans", rig_folder(parts, sizeof parts), 0, 1, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    rig_close(&t);
    run_through(FALLING, "fans", parts, 0, 1, 1, &t);
    rig_close(&t);
    rig_same_file(whole, parts, "beliefs.csv");
    csv_free(&metrics);
    csv_free(&beliefs);
    rig_remove(whole);
    rig_remove(parts);
}

/* What was learned and stored; not the lifetimes themselves, nor how much noise was drawn. */
static bool is_lasting(const state_item *i)
{
    return !strstr(i->name, "counters") && strncmp(i->name, "world", 5) &&
           strncmp(i->name, "belief", 6) && strcmp(i->name, "fans/theta") &&
           strncmp(i->name, "oracle/", 7);
}

static void evaluation_leaves_no_trace(void **state)
{
    (void)state;
    for (int a = 0; a < algo_count(); a++) {
        char folder[64];
        rig t;
        double first[4], second[4];
        int compared = 0;
        if (!strcmp(algo_at(a)->name, "random")) continue; /* its stream is its only state */
        run_through(TASKS[0], algo_at(a)->name, rig_folder(folder, sizeof folder), 1, 1, 2, &t);
        const state_list *s = training_state(t.training, 0);
        void **before = mem_alloc((s->count + 1) * sizeof *before);
        for (size_t i = 0; i < s->count; i++) before[i] = rig_bytes(&s->items[i]);
        assert_int_equal(training_eval(t.training, 4, 77, first), 0);
        assert_int_equal(training_eval(t.training, 4, 77, second), 0);
        assert_memory_equal(first, second, sizeof first);
        for (size_t i = 0; i < s->count; i++) {
            void *after = rig_bytes(&s->items[i]);
            size_t n = state_item_bytes(&s->items[i]);
            if (is_lasting(&s->items[i]) && ++compared && n && memcmp(before[i], after, n))
                fail_msg("%s: evaluation changed %s", algo_at(a)->name, s->items[i].name);
            mem_free(before[i]);
            mem_free(after);
        }
        assert_true(compared > 3);
        mem_free(before);
        rig_close(&t);
        rig_remove(folder);
    }
}

/* However many worlds a training has, and however short their episodes: one world, one lifetime. */
static void evaluation_plays_one_lifetime(void **state)
{
    (void)state;
    double returns[2][6];
    for (int n = 1; n <= 2; n++) {
        char ini[400], folder[64];
        rig t;
        snprintf(ini, sizeof ini,
                 "[train]\nepisodes = 6\nworlds = %d\n[env]\nname = minitaur\nhorizon = 60\n"
                 "[change.mass]\nclock = episode\nfunction = sine\noffset = 1\namplitude = 0.5\n"
                 "frequency = 0.7\n",
                 n);
        run_through(ini, "null", rig_folder(folder, sizeof folder), 1, 1, 2, &t);
        assert_int_equal(training_eval(t.training, 6, 77, returns[n - 1]), 0);
        rig_close(&t);
        rig_remove(folder);
    }
    assert_memory_equal(returns[0], returns[1], sizeof returns[0]);
    for (int i = 1; i < 6; i++) assert_true(returns[0][i] != returns[0][i - 1]);
}

int main(void)
{
    rig_doubts = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bytes_for_any_threads),
        cmocka_unit_test(seeds_side_by_side_equal_runs_of_their_own),
        cmocka_unit_test(stopped_and_resumed_equals_uninterrupted),
        cmocka_unit_test(tasks_side_by_side_equal_runs_of_their_own),
        cmocka_unit_test(trainings_in_turn_equal_ones_alone),
        cmocka_unit_test(threaded_trainings_equal_ones_alone),
        cmocka_unit_test(a_run_that_fails_is_named_and_others_finish),
        cmocka_unit_test(a_training_needs_no_folder),
        cmocka_unit_test(evaluation_on_the_way_changes_nothing),
        cmocka_unit_test(runs_may_leave_their_training_and_come_back),
        cmocka_unit_test(killed_and_resumed_equals_uninterrupted),
        cmocka_unit_test(no_allocation_after_the_first_update),
        cmocka_unit_test(not_a_number_in_a_weight_is_named),
        cmocka_unit_test(damaged_checkpoints_are_refused_and_kept),
        cmocka_unit_test(another_run_in_the_folder_is_refused),
        cmocka_unit_test(a_file_size_limit_stops_with_the_last_checkpoint_kept),
        cmocka_unit_test(beliefs_reach_to_the_last_step_of_every_episode),
        cmocka_unit_test(evaluation_leaves_no_trace),
        cmocka_unit_test(evaluation_plays_one_lifetime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
