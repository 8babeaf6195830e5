/* test_fnmdp.c - the synthetic world is what it says: a regression on its own data with the true
 * parents explains all but the noise, without any one of them it does not, and a false one adds
 * nothing. The regression knows nothing of the world's functions: polynomials of each parent and
 * products of two, fitted on one half of the data and judged on the other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "env_life.h"

enum {
    D = 6,
    M = 2,
    P = 2,
    Q = 2,
    CAUSES = D + M + P + Q, /* x = states, actions, theta_s, theta_r */
    EFFECTS = D + 1,        /* next states, reward */
    ROWS = 16000,
    DEGREE = 7, /* of one variable */
    CROSS = 6,  /* of two in a product, together */
    MOST_FEATURES = 1 + CAUSES * DEGREE + CAUSES * (CAUSES - 1) / 2 * CROSS * CROSS
};
static const double NOISE = 0.05;

/* Sums of a billion products teach a sanitizer nothing: under one, only the reward of one world. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WORLDS = 1, FIRST_EFFECT = D };
#else
enum { WORLDS = 2, FIRST_EFFECT = 0 };
#endif

typedef struct data {
    uint8_t parent[EFFECTS][CAUSES];
    double x[ROWS][CAUSES], y[ROWS][EFFECTS];
} data;

/* ---- data ------------------------------------------------------------------------------------ */

static void read_graph(data *d, const task *t)
{
    task_graph g;
    assert_int_equal(task_truth(t, &g), 0);
    assert_true(g.d == D && g.m == M && g.p == P && g.q == Q);
    memset(d->parent, 0, sizeof d->parent);
    for (int i = 0; i < D; i++) {
        memcpy(d->parent[i], g.C_ss + i * D, D);
        memcpy(d->parent[i] + D, g.C_as + i * M, M);
        memcpy(d->parent[i] + D + M, g.C_ts + i * P, P);
    }
    memcpy(d->parent[D], g.c_sr, D);
    memcpy(d->parent[D] + D, g.c_ar, M);
    memset(d->parent[D] + D + M + P, 1, Q);
    task_graph_free(&g);
}

static void play(data *d, int world_seed)
{
    char ini[1024];
    int n = snprintf(ini, sizeof ini, "[env]\nname = fnmdp\nq = %d\nworld_seed = %d\nnoise = %g\n",
                     Q, world_seed, NOISE);
    for (int k = 0; k < P + Q; k++)
        n += snprintf(ini + n, sizeof ini - (size_t)n,
                      "[change.theta_%c%d]\nclock = block\nlength = %d\nfunction = uniform\n"
                      "low = -3\nhigh = 3\n",
                      k < P ? 's' : 'r', k < P ? k : k - P, 3 + k);
    env_life l;
    if (env_life_begin(&l, ini, NULL, 1, 1) < 0) fail_msg("%s", fans_error());
    read_graph(d, l.task);
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < D; i++) d->x[row][i] = (double)l.b.obs[i];
        for (int i = 0; i < P + Q; i++) d->x[row][D + M + i] = l.b.factors[i];
        assert_int_equal(env_life_step(&l), 0);
        for (int i = 0; i < M; i++) d->x[row][D + i] = (double)l.action[i];
        for (int i = 0; i < D; i++) d->y[row][i] = (double)l.b.final_obs[i];
        d->y[row][D] = (double)l.b.reward[0];
    }
    env_life_end(&l);
}

/* ---- regression ------------------------------------------------------------------------------ */

/* Chebyshev polynomials of the chosen causes, each scaled to about [-1, 1], and products of two. */
static int features(const double *x, const uint8_t *chosen, double *out)
{
    double t[CAUSES][DEGREE + 1];
    int list[CAUSES], count = 0, n = 0;
    out[n++] = 1;
    for (int j = 0; j < CAUSES; j++) {
        if (!chosen[j]) continue;
        double scale = j < D ? 3 : j < D + M ? 1 : 3, z = x[j] / scale;
        t[j][0] = 1;
        t[j][1] = z;
        for (int k = 2; k <= DEGREE; k++) t[j][k] = 2 * z * t[j][k - 1] - t[j][k - 2];
        for (int k = 1; k <= DEGREE; k++) out[n++] = t[j][k];
        list[count++] = j;
    }
    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++)
            for (int k = 1; k <= CROSS; k++)
                for (int l = 1; l <= CROSS - k; l++) out[n++] = t[list[a]][k] * t[list[b]][l];
    return n;
}

/* Solves A w = b for a positive definite A, in place; b becomes w. */
static void solve(double *A, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) b[i] -= A[i * n + k] * b[k];
        b[i] /= A[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k];
        b[i] /= A[i * n + i];
    }
}

/* Mean squared error on the second half of the data after a fit on the first, in units of the
 * noise's variance. */
static double unexplained(const data *d, int effect, const uint8_t *chosen)
{
    static double A[MOST_FEATURES * MOST_FEATURES], w[MOST_FEATURES], f[MOST_FEATURES];
    int n = features(d->x[0], chosen, f);
    memset(A, 0, sizeof A);
    memset(w, 0, sizeof w);
    for (int i = 0; i < n; i++) A[i * n + i] = 1e-3;
    for (int row = 0; row < ROWS / 2; row++) {
        features(d->x[row], chosen, f);
        for (int i = 0; i < n; i++) {
            w[i] += f[i] * d->y[row][effect];
            for (int j = 0; j <= i; j++) A[i * n + j] += f[i] * f[j];
        }
    }
    solve(A, w, n);
    double sum = 0;
    for (int row = ROWS / 2; row < ROWS; row++) {
        double e = d->y[row][effect];
        features(d->x[row], chosen, f);
        for (int i = 0; i < n; i++) e -= w[i] * f[i];
        sum += e * e / (ROWS - ROWS / 2);
    }
    return sum / (NOISE * NOISE);
}

/* With n features and N rows, a perfect fit leaves 1 + n / N, give or take sqrt(2 / N). */
static double allowed(const data *d, const uint8_t *chosen)
{
    double f[MOST_FEATURES], n = features(d->x[0], chosen, f), rows = ROWS / 2;
    return 1 + n / rows + 5 * sqrt(2 / rows) + 0.03;
}

static void exactly_the_true_parents_explain(void **state)
{
    (void)state;
    static data d;
    for (int seed = 0; seed < WORLDS; seed++) {
        play(&d, seed);
        for (int effect = FIRST_EFFECT; effect < EFFECTS; effect++) {
            uint8_t chosen[CAUSES];
            memcpy(chosen, d.parent[effect], CAUSES);
            double whole = unexplained(&d, effect, chosen);
            if (whole > allowed(&d, chosen))
                fail_msg("world %d, effect %d: %g of the noise is left", seed, effect, whole);
            for (int j = 0; j < CAUSES; j++) {
                chosen[j] ^= 1;
                double other = unexplained(&d, effect, chosen);
                bool true_parent = d.parent[effect][j];
                if (true_parent && other < 2 * whole)
                    fail_msg("world %d, effect %d: does without its parent %d: %g to %g", seed,
                             effect, j, whole, other);
                if (!true_parent && (other < whole - 0.02 || other > allowed(&d, chosen)))
                    fail_msg("world %d, effect %d: the false parent %d matters: %g to %g", seed,
                             effect, j, whole, other);
                chosen[j] ^= 1;
            }
        }
    }
}

/* ---- the world as a whole -------------------------------------------------------------------- */

static void states_are_bounded_and_excited(void **state)
{
    (void)state;
    enum { STEPS = 5000 };
    for (int seed = 0; seed < 30; seed++) {
        char ini[256];
        int d = 2 + seed % 11;
        snprintf(ini, sizeof ini, "[env]\nname = fnmdp\nd = %d\ndensity = %g\nworld_seed = %d\n", d,
                 0.05 + 0.03 * seed, seed);
        env_life l;
        if (env_life_begin(&l, ini, NULL, 1, 1) < 0) fail_msg("%s", fans_error());
        double mean[64] = {0}, square[64] = {0};
        for (int t = 0; t < STEPS; t++) {
            assert_int_equal(env_life_step(&l), 0);
            for (int i = 0; i < d; i++) {
                double x = (double)l.b.final_obs[i];
                assert_true(fabs(x) < 5);
                mean[i] += x / STEPS;
                square[i] += x * x / STEPS;
            }
        }
        for (int i = 0; i < d; i++) {
            double sd = sqrt(square[i] - mean[i] * mean[i]);
            if (sd < 0.15) fail_msg("world %d: state %d hardly moves: sd %g", seed, i, sd);
        }
        env_life_end(&l);
    }
}

static void graphs_keep_their_promises(void **state)
{
    (void)state;
    uint8_t first[512] = {0};
    int edges = 0, possible = 0, different = 0;
    for (int seed = 0; seed < 50; seed++) {
        char ini[256];
        task *t;
        task_graph g;
        snprintf(ini, sizeof ini,
                 "[env]\nname = fnmdp\nd = 8\np = 3\nq = 2\nworld_seed = %d\n"
                 "[change.theta_s1]\nfunction = uniform\n",
                 seed);
        assert_int_equal(env_task(&t, ini), 0);
        assert_int_equal(task_truth(t, &g), 0);
        for (int i = 0; i < g.d; i++) {
            assert_int_equal(g.C_ss[i * g.d + i], 1);
            for (int j = 0; j < g.d; j++) {
                edges += i != j && g.C_ss[i * g.d + j];
                possible += i != j;
            }
        }
        for (int j = 0; j < g.p; j++) {
            int children = 0;
            for (int i = 0; i < g.d; i++) children += g.C_ts[i * g.p + j];
            assert_true(children >= 1);
        }
        /* schedules: theta_s1 is drawn afresh, the others stay as they are */
        static const uint8_t C_tt_s[] = {1, 0, 0, 0, 0, 0, 0, 0, 1}, C_tt_r[] = {1, 0, 0, 1};
        assert_memory_equal(g.C_tt_s, C_tt_s, sizeof C_tt_s);
        assert_memory_equal(g.C_tt_r, C_tt_r, sizeof C_tt_r);
        if (seed == 0) memcpy(first, g.C_ss, 64);
        different += memcmp(first, g.C_ss, 64) != 0;
        task_graph_free(&g);
        task_free(t);
    }
    assert_int_equal(different, 49);
    double share = (double)edges / possible; /* 0.3, and a few that were needed */
    assert_true(share > 0.28 && share < 0.36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_true_parents_explain),
        cmocka_unit_test(states_are_bounded_and_excited),
        cmocka_unit_test(graphs_keep_their_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
