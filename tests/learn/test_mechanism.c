/* test_mechanism.c - regression on groups of features, and the mechanisms of a small world whose
 * hidden factors are shown to nobody. */
#include "learn/mechanism.h"

#include <math.h>

#include "base/rng.h"
#include "nn/gemm.h"
#include "testing.h"

#define assert_near(x, y, by) assert_true(fabs((x) - (y)) <= (by))

/* ---- regression ------------------------------------------------------------------------------ */

enum { F = 4, Y = 1, WIDTH = F + Y, BLOCK = 10, BLOCKS = 60 };

/* y = x0 - 2 x1 + 0.1 noise + what its block adds; x2 and x3 do nothing. */
static regression *regress(double second)
{
    regression *x;
    rng r = rng_stream(3, "rows", second > 0);
    assert_int_equal(regression_new(&x, F, Y), 0);
    for (int b = 0; b < BLOCKS; b++) {
        real rows[BLOCK * WIDTH];
        double adds = 5 * rng_normal(&r);
        for (int t = 0; t < BLOCK; t++) {
            real *at = rows + t * WIDTH;
            for (int f = 0; f < F; f++) at[f] = (real)(rng_normal(&r) + adds);
            double own = (double)at[0] + second * (double)at[1];
            at[F] = (real)(own + adds + 0.1 * rng_normal(&r));
        }
        regression_add(x, rows, BLOCK);
    }
    assert_int_equal(regression_solve(x), 0);
    return x;
}

static void groups_explain_what_they_add(void **state)
{
    (void)state;
    gemm_guard guard = gemm_enter();
    regression *x = regress(-2);
    regression_loss first, idle, both;
    regression_drop(x, (bool[]){true, false, false, false}, &first);
    regression_drop(x, (bool[]){false, false, true, true}, &idle);
    regression_drop(x, (bool[]){true, true, false, false}, &both);
    assert_near(x->beta[0], 1, 0.02);
    assert_near(x->beta[1], -2, 0.02);
    assert_near(sqrt(x->noise[0]), 0.1, 0.01);

    /* variances of what is missing over that of the noise: 1, 0, 5 */
    assert_near(first.nats, 0.5 * log(1 + 1 / 0.01), 0.15);
    assert_near(idle.nats, 0, 3 * idle.error);
    assert_near(both.nats, 0.5 * log(1 + 5 / 0.01), 0.15);
    assert_true(idle.error < 0.01);

    regression *same = regress(-2), *other = regress(2);
    regression_loss differs;
    regression_differ(x, same, (bool[]){false, true, false, false}, &differs);
    assert_near(differs.nats, 0, 1e-6 + 3 * differs.error);
    regression_differ(x, other, (bool[]){false, true, false, false}, &differs);
    assert_near(differs.nats, 0.5 * log(1 + 16 / 0.01), 0.2);
    regression_differ(x, other, (bool[]){true, false, true, true}, &differs);
    assert_near(differs.nats, 0, 4 * differs.error);
    assert_int_equal(gemm_leave(&guard), 0);
    regression_free(x);
    regression_free(same);
    regression_free(other);
}

/* An input that never varies explains nothing, and hides nothing. */
static void a_feature_may_be_constant(void **state)
{
    (void)state;
    enum { WIDE = WIDTH + 1 };
    gemm_guard guard = gemm_enter();
    regression *x, *plain = regress(-2);
    rng r = rng_stream(3, "rows", 0);
    assert_int_equal(regression_new(&x, F + 1, Y), 0);
    for (int b = 0; b < BLOCKS; b++) {
        real rows[BLOCK * WIDE];
        double adds = 5 * rng_normal(&r);
        for (int t = 0; t < BLOCK; t++) {
            real *at = rows + t * WIDE;
            for (int f = 0; f < F; f++) at[f] = (real)(rng_normal(&r) + adds);
            at[F] = (real)0.1;
            double own = (double)at[0] - 2 * (double)at[1];
            at[F + 1] = (real)(own + adds + 0.1 * rng_normal(&r));
        }
        regression_add(x, rows, BLOCK);
    }
    assert_int_equal(regression_solve(x), 0);
    for (int f = 0; f < F; f++) assert_near(x->beta[f], plain->beta[f], 1e-4);
    assert_true(x->beta[F] == 0);
    for (int f = 0; f <= F; f++) assert_true(x->inverse[f * (F + 1) + F] == 0);
    regression_loss idle;
    regression_drop(x, (bool[]){false, false, false, false, true}, &idle);
    assert_true(idle.nats == 0 && isfinite(idle.error));

    /* in one of two periods: nothing can be said of it */
    x->moments[F * (F + 1 + Y) + F] = 1;
    regression_differ(x, x, (bool[]){false, false, false, false, true}, &idle);
    assert_true(idle.nats <= 0 && isfinite(idle.error));
    assert_int_equal(gemm_leave(&guard), 0);
    regression_free(x);
    regression_free(plain);
}

static void too_few_rows_are_refused(void **state)
{
    (void)state;
    regression *x;
    assert_int_equal(regression_new(&x, F, Y), 0);
    assert_fails(regression_solve(x), FANS_EINVAL, "0 rows are too few for 4 features");
    regression_free(x);
}

/* ---- a world --------------------------------------------------------------------------------- */

enum { D = 3, M = 1, COUNT_OF = 150, LONG = 16, ROWS = COUNT_OF * LONG, HIDDEN = D + M };

typedef struct world3 {
    blocks b;
    float s[ROWS * D], a[ROWS * M], s1[ROWS * D], r[ROWS];
    int begin[COUNT_OF + 1];
} world3;

/* s0' = 0.5 s0 + link sin s1 + theta, s1' = a + 0.3 s1, s2' = 0.4 s2 + s0 a, r = s1 (1 + rho). */
static void live(world3 *w, uint32_t seed, double link, double middle)
{
    rng r = rng_stream(5, "life", seed);
    double s[D] = {0};
    w->b = (blocks){D, M, ROWS, COUNT_OF, w->s, w->a, w->s1, w->r, w->begin, NULL};
    for (int t = 0; t < ROWS; t++) {
        int block = t / LONG;
        double theta = middle + 0.5 * sin(0.4 * block), rho = 0.5 * cos(0.3 * block);
        double a = rng_between(&r, -1, 1), noise = 0.1;
        double next[D] = {0.5 * s[0] + link * sin(s[1]) + theta, a + 0.3 * s[1],
                          0.4 * s[2] + s[0] * a};
        w->a[t] = (float)a;
        w->r[t] = (float)(s[1] * (1 + rho) + rho + noise * rng_normal(&r));
        for (int i = 0; i < D; i++) {
            w->s[t * D + i] = (float)s[i];
            s[i] = next[i] + noise * rng_normal(&r);
            w->s1[t * D + i] = (float)s[i];
        }
        w->begin[block + 1] = t + 1;
    }
}

static void a_world_is_found(void **state)
{
    (void)state;
    static world3 w;
    static const uint8_t truth[D + 1][HIDDEN + 1] = {
        {1, 1, 0, 0, 1}, {0, 1, 0, 1, 0}, {1, 0, 1, 1, 0}, {0, 1, 0, 0, 1}};
    mechanism *x;
    live(&w, 0, 0.5, 0);
    assert_int_equal(mechanism_find(&x, &w.b), 0);
    for (int i = 0; i <= D; i++)
        for (int j = 0; j <= HIDDEN; j++) {
            double p = mechanism_probability(x, i, j);
            if (truth[i][j] ? p < 0.9 : p > 0.4)
                fail_msg("cause %d of %d: %g, nats %g", j, i, p, mechanism_edge(x, i, j)->nats);
        }
    assert_int_equal(x->profiles, 2);
    mechanism_free(x);
}

static double clearest(const mechanism *x, int *effect, int *cause)
{
    double least = 1;
    for (int i = 0; i <= D; i++)
        for (int j = 0; j < HIDDEN; j++)
            if (mechanism_unmoved(x, i, j) < least) {
                least = mechanism_unmoved(x, i, j);
                *effect = i;
                *cause = j;
            }
    return least;
}

static void a_moved_mechanism_is_named(void **state)
{
    (void)state;
    static world3 early, late;
    mechanism *x;
    int effect = -1, cause = -1;
    live(&early, 1, 0.5, 0);
    live(&late, 2, 0.5, 0.4); /* a factor has moved: that is no mechanism */
    assert_int_equal(mechanism_differ(&x, &early.b, &late.b), 0);
    assert_true(clearest(x, &effect, &cause) > 0.001);
    mechanism_free(x);

    live(&late, 2, 0, 0.4);
    assert_int_equal(mechanism_differ(&x, &early.b, &late.b), 0);
    assert_true(clearest(x, &effect, &cause) < 1e-6);
    assert_int_equal(effect, 0);
    assert_int_equal(cause, 1);
    mechanism_free(x);

    late.b.rows = late.b.count = 0;
    assert_fails(mechanism_differ(&x, &early.b, &late.b), FANS_EINVAL, "0 transitions are too few");
}

static int attempt(void)
{
    static world3 w;
    mechanism *x;
    live(&w, 0, 0.5, 0);
    int rc = mechanism_find(&x, &w.b);
    if (rc == 0) mechanism_free(x);
    return rc;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    fail_every_allocation(attempt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_explain_what_they_add),
        cmocka_unit_test(a_feature_may_be_constant),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(a_world_is_found),
        cmocka_unit_test(a_moved_mechanism_is_named),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
