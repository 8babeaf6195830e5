/* test_check.c - the checker passes good environments and catches every fault that one can have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "env/check.h"
#include "plugins/faulty_env.h"

typedef struct outcome {
    int passed, failed;
    char first[64], detail[256]; /* of the first failure */
} outcome;

static void note(void *user, const char *check, check_event event, const char *detail)
{
    outcome *o = user;
    assert_true(strlen(check) > 0);
    if (event == CHECK_BEGINS) return;
    assert_true(strlen(detail) > 0);
    if (event == CHECK_FAILED && o->failed == 0) {
        snprintf(o->first, sizeof o->first, "%s", check);
        snprintf(o->detail, sizeof o->detail, "%s", detail);
    }
    *(event == CHECK_PASSED ? &o->passed : &o->failed) += 1;
}

static void good_environments_pass(void **state)
{
    (void)state;
    static const char *const names[] = {"pendulum", "fnmdp", PLUGIN_DIR "/custom_env.so",
                                        PLUGIN_DIR "/faulty_env.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        outcome o = {0};
        int rc = env_check(names[i], NULL, 0, note, &o);
        if (rc != 0) fail_msg("%s: %s: %s", names[i], o.first, rc < 0 ? fans_error() : o.detail);
        assert_true(o.passed >= 11);
    }
}

static void every_fault_is_caught(void **state)
{
    (void)state;
    static const struct {
        int fault;
        const char *check, *detail;
    } faults[] = {
        {FAULT_NAN_OBS, "finite", "faulty, episode 0, step 30: observation 1 (obs1) is"},
        {FAULT_INF_REWARD, "finite", "faulty, episode 0, step 30: the reward is inf"},
        {FAULT_ERROR, "finite", "faulty, episode 0, step 30: the spring broke"},
        {FAULT_HIDDEN_NOISE, "same seed", "two worlds with one seed differ at step 0"},
        {FAULT_NO_SEED, "other seed", "seeds 1 and 2 give the same world"},
        {FAULT_FORGETS, "save and restore", "the restored world differs at step 0"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they have their own heap */
        {FAULT_LEAK, "allocation", "memory grows by"},
#endif
        {FAULT_DEAD_DYNAMICS, "factor push",
         "is a dynamics factor, but changes no observation in 35"},
        {FAULT_DEAD_REWARD, "factor bonus",
         "is a reward factor, but changes no reward in 35 steps"},
        {FAULT_LEAKING_REWARD, "factor bonus", "is a reward factor, but changes observations too"},
        {FAULT_TRACE, "factor push", "leaves a trace when set to -1 and back to 0"},
        {FAULT_ANY_VALUE, "factor push", "accepts -3, outside its range"},
        {FAULT_OVERRUN, "buffers", "reset writes 1 values past the last observation"},
        {FAULT_UNWRITTEN, "buffers", "reset leaves observation 1 unwritten"},
        {FAULT_NO_CLIP, "clipping", "actions beyond 1 are not clipped to 1"},
        {FAULT_MASK, "graph", "a mask holds a 7"},
        {FAULT_CAMERA, "cameras", "two pictures of one state differ"},
        {FAULT_CAMERA_MOVES, "cameras", "drawing changes the state"},
        {FAULT_SILENT, "finite",
         "faulty, episode 0, step 30: step returned -42 and set no message"},
        {FAULT_SILENT_FACTOR, "finite", "push = 1: set_factor returned -3 and set no message"},
        {FAULT_POSITIVE, "finite", "step returned 1, which is neither 0 nor a FANS_E code"},
        {FAULT_HUGE_REWARD, "finite", ": keep them within ±1e+06"},
        {FAULT_NAMES_MOVE, "names", "observation 0 is 'place' first and 'speed' later"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char setting[64];
        const char *settings[] = {setting};
        outcome o = {0};
        snprintf(setting, sizeof setting, "env.fault=%d", faults[i].fault);
        int rc = env_check(PLUGIN_DIR "/faulty_env.so", settings, 1, note, &o);
        if (rc < 1) fail_msg("fault %d went unseen", faults[i].fault);
        assert_int_equal(rc, o.failed);
        assert_string_equal(o.first, faults[i].check);
        if (!strstr(o.detail, faults[i].detail)) assert_string_equal(o.detail, faults[i].detail);
    }
}

typedef struct lines {
    int count;
    char detail[32][256];
} lines;

static void keep_lines(void *user, const char *check, check_event event, const char *detail)
{
    (void)check;
    lines *l = user;
    if (event != CHECK_BEGINS) snprintf(l->detail[l->count++], sizeof l->detail[0], "%s", detail);
}

/* A message that an environment does not set is not that of an earlier check. */
static void no_check_repeats_another(void **state)
{
    (void)state;
    const char *settings[] = {"env.fault=26"};
    lines l = {0};
    assert_int_equal(FAULT_SILENT_FACTOR, 26);
    fans_fail(FANS_EIO, "something old");
    assert_true(env_check(PLUGIN_DIR "/faulty_env.so", settings, 1, keep_lines, &l) > 2);
    bool seen = false;
    for (int i = 0; i < l.count; i++) {
        const char *first = strstr(l.detail[i], "returned");
        assert_null(strstr(l.detail[i], "something old"));
        if (first) assert_null(strstr(first + 1, "returned"));
        seen = seen || !strcmp(l.detail[i],
                               "1 is in its range, but: set_factor returned -3 and set no message");
    }
    assert_true(seen);
}

static void what_cannot_be_checked_is_an_error(void **state)
{
    (void)state;
    const char *settings[] = {"env.fualt=1"};
    outcome o = {0};
    assert_true(env_check("pendulu", NULL, 0, note, &o) < 0);
    assert_non_null(strstr(fans_error(), "did you mean 'pendulum'?"));
    assert_true(env_check(PLUGIN_DIR "/faulty_env.so", settings, 1, note, &o) < 0);
    assert_non_null(strstr(fans_error(), "did you mean 'fault'?"));
    assert_int_equal(o.passed + o.failed, 0);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *message;
    } names[] = {
        {"env.fault=21", "faulty: obs_names[1] = 'Speed (m/s)': not 1 to 31 of a-z, 0-9"},
        {"env.fault=22", "faulty: obs_names[0] and obs_names[1] are both 'x'"},
        {"env.fault=23", "faulty: obs_names[1] is NULL"},
    };
    assert_int_equal(FAULT_BAD_NAME, 21);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        outcome o = {0};
        assert_true(env_check(PLUGIN_DIR "/faulty_env.so", &names[i].setting, 1, note, &o) < 0);
        assert_non_null(strstr(fans_error(), names[i].message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_environments_pass),
        cmocka_unit_test(every_fault_is_caught),
        cmocka_unit_test(what_cannot_be_checked_is_an_error),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(no_check_repeats_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
