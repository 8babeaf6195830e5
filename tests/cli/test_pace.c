/* test_pace.c - the time left: nothing before it is known, and then what is true. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/pace.h"

/* Lives `seconds` at a rate, with a mark ten times a second. */
static pace_mark live(pace *p, pace_mark at, double seconds, double rate)
{
    for (int i = 0; i < 10 * seconds; i++) {
        at.time += 0.1, at.steps += 0.1 * rate;
        pace_note(p, at);
    }
    return at;
}

static void a_steady_pace_tells_the_time_left(void **state)
{
    (void)state;
    pace p = {0};
    pace_mark at = live(&p, (pace_mark){0}, 4, 100);
    assert_true(isnan(pace_left(&p, at, 10000))); /* too early */
    at = live(&p, at, 16, 100);
    assert_true(fabs(pace_left(&p, at, 10000) - 80) < 1);
    assert_true(fabs(pace_rate(&p, at) - 100) < 1);
    assert_true(pace_left(&p, at, at.steps) == 0);
}

/* 5,000 quick steps, then learning at a fiftieth of the pace: from here on it takes 4,750 s. */
static void nothing_is_promised_while_it_slows_down(void **state)
{
    (void)state;
    pace p = {0};
    pace_mark at = live(&p, (pace_mark){0}, 5, 1000);
    for (int i = 0; i < 60; i++) {
        at = live(&p, at, 1, 20);
        double left = pace_left(&p, at, 100000), truth = (100000 - at.steps) / 20;
        assert_true(isnan(left) || fabs(left - truth) < 0.5 * truth);
    }
    assert_true(fabs(pace_left(&p, at, 100000) - (100000 - at.steps) / 20) < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_pace_tells_the_time_left),
        cmocka_unit_test(nothing_is_promised_while_it_slows_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
