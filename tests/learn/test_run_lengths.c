/* test_run_lengths.c - the probabilities of when the last change was, against Bayesian online
 * change point detection computed in full. */
#include "learn/run_lengths.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "testing.h"

enum { STEPS = 600, CHANGE = 100 };
static const double HAZARD = 0.01;

/* A mean that stays for a while is N(0, 3²), and what is seen N(mean, 1): after n numbers with that
 * sum, the log probability of the next one. */
static double foretell(double n, double sum, double y)
{
    double precision = 1.0 / 9 + n, mean = sum / precision, variance = 1 + 1 / precision;
    return -0.5 * (log(2 * acos(-1) * variance) + (y - mean) * (y - mean) / variance);
}

/* ---- in full --------------------------------------------------------------------------------- */

/* Every time of the last change: it was before step `born`. */
typedef struct dense {
    double w[STEPS + 1], sum[STEPS + 1];
    int n; /* steps seen */
} dense;

static void dense_step(dense *x, double y)
{
    double total = 0;
    for (int born = 0; born <= x->n; born++) {
        double share = born < x->n ? x->w[born] * (1 - HAZARD) : x->n ? HAZARD : 1;
        x->w[born] = share * exp(foretell(x->n - born, x->sum[born], y));
        x->sum[born] += y;
        total += x->w[born];
    }
    x->n++;
    for (int born = 0; born < x->n; born++) x->w[born] /= total;
}

static double dense_recent(const dense *x, int steps)
{
    double sum = 0;
    for (int born = 0; born < x->n; born++)
        if (x->n - born <= steps) sum += x->w[born];
    return sum;
}

/* ---- with few hypotheses --------------------------------------------------------------------- */

typedef struct few {
    run_lengths x;
    double sum[RUN_MOST]; /* since each one's change */
    bool cusum, started;
} few;

/* The second kind of factor never sees anything. */
static void few_step(few *f, double y)
{
    static const double nothing[RUN_MOST] = {0};
    double l[RUN_MOST];
    int new = !f->started ? 0
              : f->cusum  ? run_lengths_add_cusum(&f->x, HAZARD)
                          : run_lengths_add(&f->x, HAZARD);
    if (new >= 0) f->sum[new] = 0;
    f->started = true;
    for (int j = 0; j < RUN_MOST; j++) {
        l[j] = foretell((double)fmaxf(f->x.age[j], 0), f->sum[j], y);
        f->sum[j] += y;
    }
    run_lengths_weigh(&f->x, 0, l);
    run_lengths_weigh(&f->x, 1, nothing);
    run_lengths_grow(&f->x);
}

static few few_begin(bool cusum)
{
    few f = {.cusum = cusum};
    run_lengths_start(&f.x);
    return f;
}

/* Changes every CHANGE steps between -3 and 3. */
static double see(rng *draw, int step)
{
    return (step / CHANGE % 2 ? -3 : 3) + rng_normal(draw);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void with_room_for_all_it_is_exact(void **state)
{
    (void)state;
    static dense all;
    few f = few_begin(false);
    rng draw = rng_stream(1, "test", 0);
    memset(&all, 0, sizeof all);
    for (int t = 0; t < RUN_MOST; t++) {
        double y = see(&draw, t < 4 ? 0 : CHANGE);
        dense_step(&all, y);
        few_step(&f, y);
        for (int n = 1; n <= t + 1; n++)
            assert_true(fabs(run_lengths_recent(&f.x, 0, n) - dense_recent(&all, n)) < 1e-5);
    }
    assert_true(run_lengths_recent(&f.x, 0, 4) > 0.9); /* and it has seen the change */
    double n = 1;                                      /* … the other kind has not: */
    for (int t = 1; t < RUN_MOST; t++) n *= 1 - HAZARD;
    assert_true(fabs(run_lengths_recent(&f.x, 1, RUN_MOST - 1) - (1 - n)) < 1e-5);
}

/* What is dropped is unlikely: a few hypotheses believe what all of them would. */
static void a_few_are_as_good_as_all(void **state)
{
    (void)state;
    static dense all;
    few f = few_begin(false);
    rng draw = rng_stream(2, "test", 0);
    double worst = 0, off = 0;
    memset(&all, 0, sizeof all);
    for (int t = 0; t < STEPS; t++) {
        double y = see(&draw, t);
        dense_step(&all, y);
        few_step(&f, y);
        double gap = fabs(run_lengths_recent(&f.x, 0, 10) - dense_recent(&all, 10));
        worst = fmax(worst, gap);
        off += gap / STEPS;
        if (t % CHANGE == 30) /* the change is placed where it was, or a step off */
            assert_true(fabs((double)f.x.age[run_lengths_best(&f.x, 0)] - 31) <= 1);
    }
    if (!(worst < 0.5 && off < 0.02)) fail_msg("worst %.3f, mean %.4f", worst, off);
}

static void probabilities_stay_probabilities(void **state)
{
    (void)state;
    few f = few_begin(false);
    for (int t = 0; t < 20000; t++) few_step(&f, t % 5000 == 0 ? 1e6 : 0);
    for (int k = 0; k < RUN_KINDS; k++)
        assert_true(fabs(run_lengths_recent(&f.x, k, 1e9) - 1) < 1e-4);
}

/* A hypothesis that makes no difference leaves its probability to an older one. */
static void what_is_joined_counts_as_older(void **state)
{
    (void)state;
    static const double even[RUN_MOST] = {0};
    run_lengths x;
    run_lengths_start(&x);
    run_lengths_grow(&x);
    for (int t = 0; t < 100; t++) {
        int new = run_lengths_add(&x, HAZARD);
        run_lengths_weigh(&x, 0, even);
        run_lengths_join(&x, 0, 0, new);
        run_lengths_grow(&x);
    }
    assert_true(fabs(run_lengths_recent(&x, 0, 1e9) - 1) < 1e-4);
    assert_true(run_lengths_recent(&x, 0, 99) < 1e-4);
    assert_int_equal(run_lengths_best(&x, 0), 0);
}

/* CUSUM's rival starts anew until it is better, and then it is better at once. */
static void cusum_notices_too(void **state)
{
    (void)state;
    few f = few_begin(true);
    rng draw = rng_stream(3, "test", 0);
    for (int t = 0; t < 2 * CHANGE; t++) {
        few_step(&f, see(&draw, t));
        if (t < CHANGE) assert_int_equal(run_lengths_best(&f.x, 0), 0);
        if (t == CHANGE + 10) assert_int_equal(run_lengths_best(&f.x, 0), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_for_all_it_is_exact),
        cmocka_unit_test(a_few_are_as_good_as_all),
        cmocka_unit_test(probabilities_stay_probabilities),
        cmocka_unit_test(what_is_joined_counts_as_older),
        cmocka_unit_test(cusum_notices_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
