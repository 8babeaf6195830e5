/* regression.c - normal equations. Products are summed in single precision over a block and in
 * double precision over blocks. */
#include "learn/regression.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/gemm.h"

/* Relative: features may be collinear, as where an input has two values only. */
static const double RIDGE = 1e-6;

int regression_new(regression **out, int F, int Y)
{
    int rc = 0;
    size_t f = (size_t)F, all = f + (size_t)Y;
    regression *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    x->F = F;
    x->Y = Y;
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->moments, all * all * sizeof *x->moments));
    TRY(arena_declare(x->memory, &x->inverse, f * f * sizeof *x->inverse));
    TRY(arena_declare(x->memory, &x->beta, f * (size_t)Y * sizeof *x->beta));
    TRY(arena_declare(x->memory, &x->noise, (size_t)Y * sizeof *x->noise));
    TRY(arena_declare(x->memory, &x->signal, (size_t)Y * sizeof *x->signal));
    TRY(arena_declare(x->memory, &x->sums, all * all * sizeof *x->sums));
    TRY(arena_declare(x->memory, &x->scratch, f * all * sizeof *x->scratch));
    TRY(arena_declare(x->memory, &x->chosen, f * sizeof *x->chosen));
    TRY(arena_commit(x->memory));
    *out = x;
out:
    if (rc < 0) regression_free(x);
    return rc;
}

void regression_free(regression *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x);
}

static void centre(real *rows_of, int rows, int width)
{
    for (int j = 0; j < width; j++) {
        double sum = 0;
        for (int t = 0; t < rows; t++) sum += (double)rows_of[t * width + j];
        for (int t = 0; t < rows; t++) rows_of[t * width + j] -= (real)(sum / rows);
    }
}

void regression_add(regression *x, real *rows_of, int rows)
{
    int all = x->F + x->Y;
    centre(rows_of, rows, all);
    gemm(true, false, all, all, rows, rows_of, all, rows_of, all, 0, x->sums, all);
    for (int i = 0; i < all * all; i++) x->moments[i] += (double)x->sums[i];
    x->rows += rows - 1;
}

/* ---- symmetric matrices ---------------------------------------------------------------------- */

/* A = L L': L replaces the lower half. */
static void decompose(double *A, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / A[j * n + j];
        }
}

/* Row i of X (n, width) becomes that of L^-1 X. */
static void forward(const double *L, double *X, int n, int width)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            for (int j = 0; j < width; j++) X[i * width + j] -= L[i * n + k] * X[k * width + j];
        for (int j = 0; j < width; j++) X[i * width + j] /= L[i * n + i];
    }
}

/* A^-1 = L^-T L^-1, both halves. U = L^-1 has zeros above its diagonal. */
static void invert(const double *L, double *U, double *to, int n)
{
    memset(U, 0, (size_t)n * (size_t)n * sizeof *U);
    for (int i = 0; i < n; i++) {
        U[i * n + i] = 1;
        for (int k = 0; k < i; k++)
            for (int j = 0; j <= k; j++) U[i * n + j] -= L[i * n + k] * U[k * n + j];
        for (int j = 0; j <= i; j++) U[i * n + j] /= L[i * n + i];
    }
    memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
    for (int k = 0; k < n; k++)
        for (int i = 0; i <= k; i++)
            for (int j = 0; j <= k; j++) to[i * n + j] += U[k * n + i] * U[k * n + j];
}

/* ---- solving --------------------------------------------------------------------------------- */

static double *moment(const regression *x, int i, int j)
{
    return &x->moments[i * (x->F + x->Y) + j];
}

static void solve_targets(regression *x)
{
    int F = x->F, Y = x->Y;
    for (int i = 0; i < F; i++)
        for (int y = 0; y < Y; y++) {
            double sum = 0;
            for (int j = 0; j < F; j++) sum += x->inverse[i * F + j] * *moment(x, j, F + y);
            x->beta[i * Y + y] = sum;
        }
    for (int y = 0; y < Y; y++) {
        double left = *moment(x, F + y, F + y);
        for (int i = 0; i < F; i++) left -= x->beta[i * Y + y] * *moment(x, i, F + y);
        x->noise[y] = fmax(left, 1e-12 * *moment(x, F + y, F + y) + 1e-300) / (x->rows - F);
        x->signal[y] = fmax(*moment(x, F + y, F + y) / x->rows / x->noise[y] - 1, 0);
    }
}

/* Does feature i vary within blocks at all, but for rounding? Where not, it explains nothing, and
 * its weight is 0. */
static bool moves(const regression *x, int i)
{
    return *moment(x, i, i) > 1e-12 * x->rows;
}

int regression_solve(regression *x)
{
    int F = x->F;
    if (x->rows < 2 * F)
        return fans_fail(FANS_EINVAL, "%.0f rows are too few for %d features", x->rows, F);
    double *U = x->scratch, *L = x->inverse; /* L moves on into the inverse */
    double *unit = x->beta;                  /* [F], until beta is known */
    for (int i = 0; i < F; i++) unit[i] = moves(x, i) ? 1 / sqrt(*moment(x, i, i)) : 0;
    for (int i = 0; i < F; i++)
        for (int j = 0; j < F; j++)
            L[i * F + j] = *moment(x, i, j) * unit[i] * unit[j] + (i != j        ? 0
                                                                   : unit[i] > 0 ? RIDGE
                                                                                 : 1);
    decompose(L, F);
    double *to = mem_alloc((size_t)F * (size_t)F * sizeof *to);
    if (!to) return FANS_ENOMEM;
    invert(L, U, to, F);
    for (int i = 0; i < F; i++)
        for (int j = 0; j < F; j++) x->inverse[i * F + j] = to[i * F + j] * unit[i] * unit[j];
    mem_free(to);
    solve_targets(x);
    return 0;
}

/* ---- groups of features ---------------------------------------------------------------------- */

/* Those that vary in both: of a still one nothing is known. */
static int choose(const regression *x, const regression *other, const bool *in)
{
    int n = 0;
    for (int f = 0; f < x->F; f++)
        if (in[f] && moves(x, f) && moves(other, f)) x->chosen[n++] = f;
    return n;
}

/* What the quadratic form of a group says: under noise it is about the number of its features. */
static regression_loss loss_of(double form, int group, double rows)
{
    return (regression_loss){0.5 * log1p(fmax(form - group, -0.5 * rows) / rows),
                             sqrt(fmax(group, 1) / 2 + fmax(form - group, 0)) / rows};
}

/* delta (n, Y) becomes, by target, delta' V^-1 delta in its first row. */
static void quadratic(double *V, double *delta, int n, int Y)
{
    if (n == 0) memset(delta, 0, (size_t)Y * sizeof *delta);
    decompose(V, n);
    forward(V, delta, n, Y);
    for (int i = 1; i < n; i++)
        for (int y = 0; y < Y; y++) delta[i * Y + y] *= delta[i * Y + y];
    for (int y = 0; y < Y; y++) {
        delta[y] *= delta[y];
        for (int i = 1; i < n; i++) delta[y] += delta[i * Y + y];
    }
}

void regression_drop(regression *x, const bool *in, regression_loss *out)
{
    int n = choose(x, x, in), F = x->F, Y = x->Y;
    double *V = x->scratch, *delta = V + n * n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) V[i * n + j] = x->inverse[x->chosen[i] * F + x->chosen[j]];
        memcpy(delta + i * Y, x->beta + x->chosen[i] * Y, (size_t)Y * sizeof *delta);
    }
    quadratic(V, delta, n, Y);
    for (int y = 0; y < Y; y++) out[y] = loss_of(delta[y] / x->noise[y], n, x->rows);
}

void regression_differ(regression *a, const regression *b, const bool *in, regression_loss *out)
{
    int n = choose(a, b, in), F = a->F, Y = a->Y;
    double *V = a->scratch, *delta = V + n * n, rows = 1 / (1 / a->rows + 1 / b->rows);
    for (int y = 0; y < Y; y++) {
        for (int i = 0; i < n; i++) {
            int f = a->chosen[i];
            for (int j = 0; j < n; j++)
                V[i * n + j] = a->noise[y] * a->inverse[f * F + a->chosen[j]] +
                               b->noise[y] * b->inverse[f * F + a->chosen[j]];
            delta[i] = a->beta[f * Y + y] - b->beta[f * Y + y];
        }
        quadratic(V, delta, n, 1);
        out[y] = loss_of(delta[0], n, rows);
    }
}
