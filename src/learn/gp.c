/* gp.c - Cholesky decomposition and Nelder-Mead. A sequence has at most 100 values, so that plain
 * loops take a third of a millisecond, and a library for linear algebra would only be one more to
 * install. */
#include "learn/gp.h"

#include <math.h>
#include <string.h>

static const double NOISE = 0.01, JITTER = 1e-10, LOWEST = 1e-5, HIGHEST = 1e5;

/* i and j count from the middle of the sequence. */
static double kernel(gp_hyper h, double i, double j)
{
    double d = (i - j) / h.l;
    return h.c * exp(-d * d / 2) + h.s0 * h.s0 + i * j + (i == j ? NOISE : 0);
}

static double centred(int i, int n)
{
    return i - (n - 1) / 2.0;
}

static double mean_of(const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += y[i];
    return n > 0 ? sum / n : 0;
}

/* K = L L': L replaces the lower half. */
static void decompose(double *K, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = K[i * n + j];
            for (int k = 0; k < j; k++) sum -= K[i * n + k] * K[j * n + k];
            K[i * n + j] = i == j ? sqrt(fmax(sum, JITTER)) : sum / K[j * n + j];
        }
}

/* b := L⁻¹ b. */
static void solve(const double *L, int n, double *b)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) b[i] -= L[i * n + k] * b[k];
        b[i] /= L[i * n + i];
    }
}

/* Decomposes the kernel's matrix; x->y = L⁻¹ (y - mean). */
static void prepare(gp_scratch *x, gp_hyper h, const double *y, int n)
{
    double mean = mean_of(y, n);
    for (int i = 0; i < n; i++) {
        x->y[i] = y[i] - mean;
        for (int j = 0; j <= i; j++)
            x->K[i * n + j] = kernel(h, centred(i, n), centred(j, n)) + (i == j ? JITTER : 0);
    }
    decompose(x->K, n);
    solve(x->K, n, x->y);
}

gp_answer gp_next(gp_scratch *x, gp_hyper h, const double *y, int n)
{
    double at = centred(n, n), mean = mean_of(y, n), variance = kernel(h, at, at);
    prepare(x, h, y, n);
    for (int i = 0; i < n; i++) x->k[i] = kernel(h, centred(i, n), at);
    solve(x->K, n, x->k);
    for (int i = 0; i < n; i++) {
        mean += x->k[i] * x->y[i];
        variance -= x->k[i] * x->k[i];
    }
    return (gp_answer){mean, sqrt(fmax(variance, 0))};
}

double gp_likelihood(gp_scratch *x, gp_hyper h, const double *y, int n)
{
    double sum = -n * 0.91893853320467274178; /* ln sqrt(2 pi) */
    prepare(x, h, y, n);
    for (int i = 0; i < n; i++) sum -= x->y[i] * x->y[i] / 2 + log(x->K[i * n + i]);
    return sum;
}

/* ---- fitting --------------------------------------------------------------------------------- */

enum { PARAMETERS = 3, CORNERS = PARAMETERS + 1, ROUNDS = 80 };

typedef struct corner {
    double at[PARAMETERS], cost;
} corner;

static gp_hyper hyper_at(const double *at)
{
    double x[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) x[k] = fmin(fmax(exp(at[k]), LOWEST), HIGHEST);
    return (gp_hyper){x[0], x[1], x[2]};
}

/* The point at `share` of the way from a corner through `middle`. */
static corner beyond(gp_scratch *x, const corner *from, const double *middle, double share,
                     const double *y, int n)
{
    corner c;
    for (int k = 0; k < PARAMETERS; k++) c.at[k] = from->at[k] + share * (middle[k] - from->at[k]);
    c.cost = -gp_likelihood(x, hyper_at(c.at), y, n);
    return c;
}

/* Best first. */
static void sort(corner *c)
{
    for (int i = 1; i < CORNERS; i++)
        for (int j = i; j > 0 && c[j].cost < c[j - 1].cost; j--) {
            corner held = c[j];
            c[j] = c[j - 1];
            c[j - 1] = held;
        }
}

/* Replaces the worst corner, or moves all towards the best. */
static void step(gp_scratch *x, corner *c, const double *y, int n)
{
    double middle[PARAMETERS] = {0};
    corner *worst = &c[CORNERS - 1];
    for (int i = 0; i < CORNERS - 1; i++)
        for (int k = 0; k < PARAMETERS; k++) middle[k] += c[i].at[k] / (CORNERS - 1);
    corner next = beyond(x, worst, middle, 2, y, n);
    if (next.cost < c[0].cost) {
        corner further = beyond(x, worst, middle, 3, y, n);
        if (further.cost < next.cost) next = further;
    } else if (next.cost >= worst[-1].cost) {
        next = beyond(x, worst, middle, next.cost < worst->cost ? 1.5 : 0.5, y, n);
    }
    if (next.cost < worst->cost) {
        *worst = next;
    } else {
        for (int i = 1; i < CORNERS; i++) c[i] = beyond(x, &c[i], c[0].at, 0.5, y, n);
    }
    sort(c);
}

gp_hyper gp_fit(gp_scratch *x, const double *y, int n)
{
    corner c[CORNERS];
    memset(c, 0, sizeof c);
    for (int i = 0; i < CORNERS; i++) {
        if (i > 0) c[i].at[i - 1] = i == 2 ? 2 : -2; /* logarithms: around c = l = s0 = 1 */
        c[i].cost = -gp_likelihood(x, hyper_at(c[i].at), y, n);
    }
    sort(c);
    for (int i = 0; i < ROUNDS; i++) step(x, c, y, n);
    return hyper_at(c[0].at);
}
