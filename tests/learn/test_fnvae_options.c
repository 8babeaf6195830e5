/* test_fnvae_options.c - the window that a task needs. */
#include <limits.h>
#include <math.h>

#include "learn/fnvae_options.h"
#include "testing.h"

static int too_short;

/* The window for two factors that change so often, where `window` steps are asked for. */
static int window_for(int window, double every, double other, bool drawn, int most)
{
    fnvae_options o = {.order = 2, .window = window};
    fans_moving moving[] = {{.every = every, .drawn = drawn}, {.every = other, .drawn = drawn}};
    if (fnvae_find_window(&o, moving, 2, most, &too_short) < 0) fail_msg("%s", fans_error());
    return o.window;
}

static void it_spans_four_segments_of_the_slowest_clock(void **state)
{
    (void)state;
    assert_int_equal(window_for(0, 100, 30, false, INT_MAX), 400);
    assert_int_equal(too_short, 0);
    assert_int_equal(window_for(0, 50, INFINITY, false, INT_MAX), 200);
    assert_int_equal(window_for(0, 1, 1, false, INT_MAX), 200);
    assert_int_equal(window_for(0, INFINITY, INFINITY, false, INT_MAX), 200);
}

static void it_stays_affordable(void **state)
{
    (void)state;
    assert_int_equal(window_for(0, 1000, 1, false, INT_MAX), 2000);
    assert_int_equal(too_short, 0);
    assert_int_equal(window_for(0, 100, 1, false, 250), 250);
    assert_int_equal(too_short, 400);
}

static void what_is_asked_for_is_kept_and_judged(void **state)
{
    (void)state;
    assert_int_equal(window_for(100, 200, 1, false, INT_MAX), 100);
    assert_int_equal(too_short, 800);
    assert_int_equal(window_for(800, 200, 1, false, INT_MAX), 800);
    assert_int_equal(too_short, 0);
    assert_int_equal(window_for(100, 200, 1, true, INT_MAX), 100);
    assert_int_equal(too_short, 0);
}

static void one_step_is_no_window(void **state)
{
    (void)state;
    fnvae_options o = {.order = 2, .window = 1};
    assert_fails(fnvae_find_window(&o, NULL, 0, INT_MAX, &too_short), FANS_EINVAL,
                 "at least two steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_spans_four_segments_of_the_slowest_clock),
        cmocka_unit_test(it_stays_affordable),
        cmocka_unit_test(what_is_asked_for_is_kept_and_judged),
        cmocka_unit_test(one_step_is_no_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
