/* test_noticing.c - after how many steps a change counts as noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/noticing.h"

static const double ERROR = 0.2;

/* Lives some steps of a world at `truth` under the beliefs given, and ends with how it was met. */
static noticing live(noticing n, double truth, const double *guess, int steps)
{
    for (int i = 0; i < steps; i++) noticing_step(&n, truth, guess[i], ERROR);
    return n;
}

static noticing at_one(void)
{
    return live((noticing){0}, 1, (double[]){1, 1}, 2);
}

static void the_first_world_is_no_change(void **state)
{
    (void)state;
    noticing n = at_one();
    assert_false(n.counts);
    assert_int_equal(n.after, -1);
}

static void it_is_noticed_when_the_new_value_is_nearer(void **state)
{
    (void)state;
    noticing n = live(at_one(), -1, (double[]){1, 0.5, -0.1, -0.4}, 4);
    assert_int_equal(n.after, -1); /* two in a row are not enough */
    assert_true(noticing_step(&n, -1, -0.7, ERROR));
    assert_int_equal(n.after, 2);
    assert_false(noticing_step(&n, -1, 1, ERROR)); /* said once; forgetting does not undo it */
    assert_int_equal(n.after, 2);
}

static void a_flicker_is_not_noticing(void **state)
{
    (void)state;
    noticing n = live(at_one(), -1, (double[]){1, -1, -1, 1, -1, -1, -1}, 7);
    assert_int_equal(n.after, 4);
}

static void what_was_predicted_was_foreseen(void **state)
{
    (void)state;
    assert_int_equal(live(at_one(), -1, (double[]){-1, -1, -1}, 3).after, 0);
}

static void a_change_within_the_usual_error_does_not_count(void **state)
{
    (void)state;
    noticing n = live(at_one(), 1.1, (double[]){1.1, 1.1, 1.1, 1.1}, 4);
    assert_false(n.counts);
    assert_int_equal(n.after, -1);
    n = live(n, 3, (double[]){3, 3, 3}, 3); /* the next one is another matter */
    assert_int_equal(n.after, 0);
}

static void a_change_grows_until_it_is_noticed(void **state)
{
    (void)state;
    noticing n = at_one();
    assert_false(noticing_grow(&n, 0.9, ERROR)); /* there is no change yet */
    n = live(n, 0.9, (double[]){1, 1}, 2);
    assert_false(n.counts); /* a tenth cannot be told from noise */
    assert_true(noticing_grow(&n, 0.5, ERROR));
    n = live(n, 0.5, (double[]){1, 1}, 2);
    assert_true(noticing_grow(&n, -1, ERROR));
    n = live(n, -1, (double[]){1, -1, -1, -1}, 4);
    assert_true(n.counts && n.old == 1);
    assert_int_equal(n.after, 1);
    assert_false(noticing_grow(&n, 0, ERROR)); /* what is noticed is over */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_grows_until_it_is_noticed),
        cmocka_unit_test(the_first_world_is_no_change),
        cmocka_unit_test(it_is_noticed_when_the_new_value_is_nearer),
        cmocka_unit_test(a_flicker_is_not_noticing),
        cmocka_unit_test(what_was_predicted_was_foreseen),
        cmocka_unit_test(a_change_within_the_usual_error_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
