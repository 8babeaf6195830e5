/* test_stats.c - the statistics of a report, on cases that can be worked out by hand.
 * tests/parity/test_stats.py compares them with SciPy and rliable on random ones. */
#include <math.h>

#include "report/stats.h"
#include "testing.h"

static void close_to(double a, double b)
{
    if (!(fabs(a - b) < 1e-12)) fail_msg("%.17g, not %.17g", a, b);
}

static void means_and_deviations(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4}, y[] = {10, 12};
    close_to(stats_mean(x, 4), 2.5);
    close_to(stats_sd(x, 4), sqrt(5.0 / 3));
    close_to(stats_pooled_sd(x, 4, y, 2), sqrt((5.0 + 2.0) / 4));
    assert_true(isnan(stats_mean(x, 0)));
    assert_true(isnan(stats_sd(x, 1)));
    assert_true(isnan(stats_pooled_sd(x, 4, y, 1)));
    close_to(stats_mean(x, 1), 1);
}

static void quantiles_lie_between_neighbours(void **state)
{
    (void)state;
    const double x[] = {0, 10, 20, 40};
    close_to(stats_quantile(x, 4, 0), 0);
    close_to(stats_quantile(x, 4, 0.5), 15);
    close_to(stats_quantile(x, 4, 1), 40);
    close_to(stats_quantile(x, 1, 0.3), 0);
    assert_true(isnan(stats_quantile(x, 0, 0.5)));
}

static void a_quarter_is_cut_off_at_either_end(void **state)
{
    (void)state;
    double eight[] = {8, -100, 3, 4, 5, 6, 7, 100}, three[] = {9, 0, 3}, one[] = {7};
    close_to(stats_iqm(eight, 8), 5.5);
    close_to(stats_iqm(three, 3), 4); /* a quarter of three is none */
    close_to(stats_iqm(one, 1), 7);
    double four[] = {1000, 1, 3, -1000};
    close_to(stats_iqm(four, 4), 2);
}

static void improvement_counts_pairs(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3}, y[] = {0, 2};
    close_to(stats_improvement(x, 3, y, 2), (1 + 0 + 1 + 0.5 + 1 + 1) / 6.0);
    close_to(stats_improvement(x, 3, x, 3), 0.5);
    assert_true(isnan(stats_improvement(x, 0, y, 2)));
}

static void the_area_weighs_by_length(void **state)
{
    (void)state;
    const double x[] = {10, -2}, w[] = {1, 3};
    close_to(stats_area(x, w, 2), 1);
    close_to(stats_area(x, w, 1), 10);
    assert_true(isnan(stats_area(x, w, 0)));
}

/* ---- bootstrap ------------------------------------------------------------------------------- */

static double mean_of(double *x, int n)
{
    return stats_mean(x, n);
}

/* Of two numbers a resample has the mean 0, 1/2 or 1 with probabilities 1/4, 1/2, 1/4. */
static void an_interval_covers_what_can_happen(void **state)
{
    (void)state;
    const double x[] = {0, 1};
    const int two = 2, ones[] = {1, 1};
    stats_interval i;
    assert_int_equal(stats_bootstrap(x, &two, 1, mean_of, 1, &i), 0);
    close_to(i.low, 0);
    close_to(i.high, 1);

    /* a single sample says nothing; nor do two strata of one each */
    assert_int_equal(stats_bootstrap(x, ones, 1, mean_of, 1, &i), 0);
    assert_true(isnan(i.low) && isnan(i.high));
    assert_int_equal(stats_bootstrap(x, ones, 2, mean_of, 1, &i), 0);
    assert_true(isnan(i.low) && isnan(i.high));
}

/* Far apart, but each without spread: mixing strata would show. */
static void strata_are_drawn_from_separately(void **state)
{
    (void)state;
    const double x[] = {5, 5, 5, 100, 100};
    const int counts[] = {3, 2};
    stats_interval i;
    assert_int_equal(stats_bootstrap(x, counts, 2, mean_of, 3, &i), 0);
    close_to(i.low, 43);
    close_to(i.high, 43);
}

/* The interval of a mean of many is that of the normal distribution. */
static void intervals_have_the_right_width(void **state)
{
    (void)state;
    enum { N = 400 };
    double x[N];
    int n = N;
    for (int i = 0; i < N; i++) x[i] = i % 2;
    stats_interval a, b;
    assert_int_equal(stats_bootstrap(x, &n, 1, mean_of, 1, &a), 0);
    assert_true(fabs(a.high - a.low - 2 * 1.96 * 0.5 / 20) < 0.006);
    assert_int_equal(stats_bootstrap(x, &n, 1, mean_of, 1, &b), 0);
    assert_memory_equal(&a, &b, sizeof a); /* the same seed, the same interval */
}

/* ---- signed ranks ---------------------------------------------------------------------------- */

static stats_wilcoxon against_zero(const double *x, int n)
{
    static const double zero[64];
    stats_wilcoxon w;
    assert_int_equal(stats_signed_ranks(x, zero, n, &w), 0);
    return w;
}

static void few_pairs_are_exact(void **state)
{
    (void)state;
    const double up[] = {3, 1, 2, 5, 4}, mixed[] = {-1, 2, 3, 4, 5}, balanced[] = {1, -2, -3, 4};
    stats_wilcoxon w = against_zero(up, 5);
    assert_true(w.exact && w.n == 5);
    close_to(w.sum, 0);
    close_to(w.p, 2 / 32.0);
    close_to(against_zero(mixed, 5).p, 4 / 32.0); /* sums 0 and 1 */
    close_to(against_zero(balanced, 4).p, 1);
    close_to(against_zero(up, 1).p, 1);
}

static void ties_and_zeros_take_the_normal_way(void **state)
{
    (void)state;
    /* sizes 1 1 2 2 3: ranks 1.5 1.5 3.5 3.5 5; against: 1.5 */
    const double x[] = {1, -1, 2, 2, 3};
    stats_wilcoxon w = against_zero(x, 5);
    assert_false(w.exact);
    close_to(w.sum, 1.5);
    double sd = sqrt((5 * 6 * 11 - 12 / 2.0) / 24);
    close_to(w.p, erfc((7.5 - 1.5 - 0.5) / sd / sqrt(2)));

    const double some[] = {0, 1, 2, 3}, none[] = {0, 0, 0};
    w = against_zero(some, 4);
    assert_int_equal(w.n, 3);
    assert_false(w.exact);
    w = against_zero(none, 3);
    assert_int_equal(w.n, 0);
    close_to(w.p, 1);
    assert_true(isnan(against_zero(none, 0).p));
}

static void the_sides_are_alike(void **state)
{
    (void)state;
    const double x[] = {1.5, 2, -3, 7, 0.1}, y[] = {1, 4, -2, 3, 0.2};
    stats_wilcoxon a, b;
    assert_int_equal(stats_signed_ranks(x, y, 5, &a), 0);
    assert_int_equal(stats_signed_ranks(y, x, 5, &b), 0);
    close_to(a.p, b.p);
}

static int allocate(void)
{
    const double x[] = {1, 2, 3};
    const int n = 3;
    stats_interval i;
    stats_wilcoxon w;
    int rc = stats_bootstrap(x, &n, 1, mean_of, 1, &i);
    return rc < 0 ? rc : stats_signed_ranks(x, x, 3, &w);
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    fail_every_allocation(allocate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_deviations),
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(a_quarter_is_cut_off_at_either_end),
        cmocka_unit_test(improvement_counts_pairs),
        cmocka_unit_test(the_area_weighs_by_length),
        cmocka_unit_test(an_interval_covers_what_can_happen),
        cmocka_unit_test(strata_are_drawn_from_separately),
        cmocka_unit_test(intervals_have_the_right_width),
        cmocka_unit_test(few_pairs_are_exact),
        cmocka_unit_test(ties_and_zeros_take_the_normal_way),
        cmocka_unit_test(the_sides_are_alike),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
