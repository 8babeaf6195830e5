/* test_checkpoints.c - a crash while two runs of a training save: whatever it leaves, both resume
 * from the latest step that both have, and end as if nothing had happened. */
#include "train_rig.h"

static const char TASK[] =
    "[train]\nepisodes = 6\n[env]\nname = pendulum\nhorizon = 25\n[change.gravity]\n"
    "clock = episode\nfunction = sine\noffset = 10\namplitude = 5\nfrequency = 0.5\n";
static const char NOW[] = "checkpoint.safetensors", NEXT[] = "checkpoint.next.safetensors";

enum { RUNS = 2, EARLY = 60, LATE = 110 };

/* A file is missing, has half of a checkpoint, or all of one. */
typedef enum content { NONE, HALF, FIRST, SECOND } content;

/* The checkpoints of a stopped training: of all its runs, at both steps. */
typedef struct saved {
    void *bytes[RUNS][2];
    size_t sizes[RUNS][2];
} saved;

static const char *folder_of(const char *out, int r)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/seed-%d", out, r);
    return path;
}

static void train_until(const char *out, int64_t at)
{
    rig t;
    rig_stop stop = {at};
    if (rig_open(&t, TASK, "sac", out, 0, RUNS, 1) < 0) fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    rig_close(&t);
}

static void save_both(saved *s, const char *out)
{
    const int steps[] = {EARLY, LATE};
    for (int k = 0; k < 2; k++) {
        train_until(out, steps[k]);
        for (int r = 0; r < RUNS; r++)
            s->bytes[r][k] = rig_read(folder_of(out, r), NOW, &s->sizes[r][k]);
    }
}

static void place(const saved *s, int r, const char *out, const char *name, content c)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder_of(out, r), name);
    unlink(path);
    if (c == NONE) return;
    int k = c != FIRST;
    size_t n = c == HALF ? s->sizes[r][k] / 2 : s->sizes[r][k];
    assert_int_equal(os_write_file(path, s->bytes[r][k], n), 0);
}

static bool has(const char *out, int r, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder_of(out, r), name);
    return os_exists(path);
}

static void runs_resume_from_the_latest_step_that_all_have(void **state)
{
    (void)state;
    const struct {
        content now[RUNS], next[RUNS];
        int64_t step;
    } crashes[] = {
        {{FIRST, FIRST}, {SECOND, NONE}, EARLY},  /* before the second run wrote */
        {{FIRST, FIRST}, {SECOND, HALF}, EARLY},  /* while it wrote */
        {{FIRST, FIRST}, {SECOND, SECOND}, LATE}, /* before the first renamed its checkpoint */
        {{SECOND, FIRST}, {NONE, SECOND}, LATE},  /* between the first and the second */
        {{NONE, NONE}, {SECOND, HALF}, 0},        /* while the very first ones were written */
    };
    char whole[64], parts[64];
    saved s;
    rig x, y;
    if (rig_open(&x, TASK, "sac", rig_folder(whole, sizeof whole), 0, RUNS, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(x.training, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        save_both(&s, rig_folder(parts, sizeof parts));
        for (int r = 0; r < RUNS; r++) {
            place(&s, r, parts, NOW, crashes[i].now[r]);
            place(&s, r, parts, NEXT, crashes[i].next[r]);
        }
        if (rig_open(&y, TASK, "sac", parts, 0, RUNS, 1) < 0) fail_msg("%s", fans_error());
        assert_int_equal(training_progress(y.training).steps, crashes[i].step);
        for (int r = 0; r < RUNS; r++) {
            assert_false(has(parts, r, NEXT));
            assert_int_equal(has(parts, r, NOW), crashes[i].step > 0);
        }
        assert_int_equal(training_run(y.training, NULL, NULL), 0);
        for (int r = 0; r < RUNS; r++) {
            char one[128];
            snprintf(one, sizeof one, "%s", folder_of(whole, r));
            rig_same_state(x.training, r, y.training, r);
            rig_same_file(one, folder_of(parts, r), "metrics.csv");
            for (int k = 0; k < 2; k++) mem_free(s.bytes[r][k]);
        }
        rig_close(&y);
        rig_remove(parts);
    }
    rig_close(&x);
    rig_remove(whole);
}

/* No crash leaves this, but copying folders may. */
static void runs_without_a_common_step_are_refused_and_kept(void **state)
{
    (void)state;
    char folder[64];
    saved s;
    rig t;
    save_both(&s, rig_folder(folder, sizeof folder));
    place(&s, 1, folder, NOW, FIRST);
    assert_true(rig_open(&t, TASK, "sac", folder, 0, RUNS, 1) < 0);
    assert_non_null(strstr(fans_error(), "are at different steps"));
    for (int r = 0; r < RUNS; r++) {
        size_t n;
        void *kept = rig_read(folder_of(folder, r), NOW, &n);
        assert_int_equal(n, s.sizes[r][r == 0]);
        assert_memory_equal(kept, s.bytes[r][r == 0], n);
        mem_free(kept);
        for (int k = 0; k < 2; k++) mem_free(s.bytes[r][k]);
    }
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_resume_from_the_latest_step_that_all_have),
        cmocka_unit_test(runs_without_a_common_step_are_refused_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
