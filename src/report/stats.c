/* stats.c - means, resampling and ranks. Checked against SciPy and rliable
 * (tests/parity/test_stats.py). */
#include "report/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

double stats_mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return n > 0 ? sum / n : NAN;
}

static double squares(const double *x, int n)
{
    double mean = stats_mean(x, n), sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

double stats_sd(const double *x, int n)
{
    return n > 1 ? sqrt(squares(x, n) / (n - 1)) : NAN;
}

double stats_pooled_sd(const double *x, int n, const double *y, int m)
{
    return n > 1 && m > 1 ? sqrt((squares(x, n) + squares(y, m)) / (n + m - 2)) : NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile(const double *sorted, int n, double q)
{
    if (n < 1) return NAN;
    double at = q * (n - 1);
    int i = (int)at;
    if (i >= n - 1) return sorted[n - 1];
    return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

double stats_iqm(double *x, int n)
{
    int cut = n / 4;
    qsort(x, (size_t)n, sizeof *x, ascending);
    return stats_mean(x + cut, n - 2 * cut);
}

double stats_improvement(const double *x, int n, const double *y, int m)
{
    double wins = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) wins += x[i] > y[j] ? 1 : x[i] == y[j] ? 0.5 : 0;
    return n > 0 && m > 0 ? wins / n / m : NAN;
}

double stats_above(const double *x, int n, double tau)
{
    int above = 0;
    for (int i = 0; i < n; i++) above += x[i] > tau;
    return n > 0 ? (double)above / n : NAN;
}

double stats_area(const double *x, const double *weight, int n)
{
    double sum = 0, all = 0;
    for (int i = 0; i < n; i++) sum += x[i] * weight[i], all += weight[i];
    return all > 0 ? sum / all : NAN;
}

/* ---- bootstrap ------------------------------------------------------------------------------- */

/* Draws as many numbers as each sample has, from that sample. */
static void draw(rng *r, const double *x, const int *counts, int strata, double *to)
{
    for (int s = 0; s < strata; x += counts[s++])
        for (int i = 0; i < counts[s]; i++) *to++ = x[rng_below(r, (uint32_t)counts[s])];
}

typedef struct sizes {
    int total, most;
} sizes;

static sizes sizes_of(const int *counts, int strata)
{
    sizes z = {0};
    for (int s = 0; s < strata; s++) {
        z.total += counts[s];
        if (counts[s] > z.most) z.most = counts[s];
    }
    return z;
}

static stats_interval percentiles(double *values)
{
    qsort(values, STATS_RESAMPLES, sizeof *values, ascending);
    return (stats_interval){stats_quantile(values, STATS_RESAMPLES, 0.025),
                            stats_quantile(values, STATS_RESAMPLES, 0.975)};
}

int stats_bootstrap(const double *x, const int *counts, int strata, stats_fn *statistic,
                    uint64_t seed, stats_interval *out)
{
    sizes z = sizes_of(counts, strata);
    *out = (stats_interval){NAN, NAN};
    if (z.most < 2) return 0;
    double *drawn = mem_alloc((size_t)z.total * sizeof *drawn);
    double *values = mem_alloc(STATS_RESAMPLES * sizeof *values);
    int rc = drawn && values ? 0 : FANS_ENOMEM;
    rng r = rng_stream(seed, "bootstrap", 0);
    for (int k = 0; rc == 0 && k < STATS_RESAMPLES; k++) {
        draw(&r, x, counts, strata, drawn);
        values[k] = statistic(drawn, z.total);
    }
    if (rc == 0) *out = percentiles(values);
    mem_free(drawn);
    mem_free(values);
    return rc;
}

static double improvement_over(const double *xs, const int *n, const double *ys, const int *m,
                               int tasks)
{
    double sum = 0;
    for (int t = 0; t < tasks; xs += n[t], ys += m[t], t++)
        sum += stats_improvement(xs, n[t], ys, m[t]);
    return sum / tasks;
}

int stats_improvement_interval(const double *xs, const int *n, const double *ys, const int *m,
                               int tasks, uint64_t seed, stats_interval *out)
{
    sizes x = sizes_of(n, tasks), y = sizes_of(m, tasks);
    *out = (stats_interval){NAN, NAN};
    if (x.most < 2 || y.most < 2) return 0;
    double *drawn = mem_alloc((size_t)(x.total + y.total) * sizeof *drawn);
    double *values = mem_alloc(STATS_RESAMPLES * sizeof *values);
    int rc = drawn && values ? 0 : FANS_ENOMEM;
    rng r = rng_stream(seed, "improvement", 0);
    for (int k = 0; rc == 0 && k < STATS_RESAMPLES; k++) {
        draw(&r, xs, n, tasks, drawn);
        draw(&r, ys, m, tasks, drawn + x.total);
        values[k] = improvement_over(drawn, n, drawn + x.total, m, tasks);
    }
    if (rc == 0) *out = percentiles(values);
    mem_free(drawn);
    mem_free(values);
    return rc;
}

/* ---- signed ranks ---------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Sums of ranks of the positive and of the negative among differences in order of size; equal sizes
 * share their mean rank. Returns the sum of t³ - t over groups of t equal ones. */
static double rank_sums(const double *d, int n, double *plus, double *minus)
{
    double ties = 0;
    *plus = *minus = 0;
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && fabs(d[j]) == fabs(d[i]);) j++;
        double rank = (i + 1 + j) / 2.0, t = j - i;
        ties += t * t * t - t;
        for (int k = i; k < j; k++) *(d[k] > 0 ? plus : minus) += rank;
    }
    return ties;
}

/* P(sum of a random subset of 1..n <= w): how many subsets have each sum, rank by rank. */
enum { EXACT = 50 };
static double rank_tail(int n, int w)
{
    double ways[EXACT * (EXACT + 1) / 2 + 1] = {1}, sum = 0;
    for (int rank = 1, top = 0; rank <= n; rank++) {
        top += rank;
        for (int s = top; s >= rank; s--) ways[s] += ways[s - rank];
    }
    for (int s = 0; s <= w; s++) sum += ways[s];
    return ldexp(sum, -n);
}

static double normal_p(int n, double sum, double ties)
{
    double N = n, mean = N * (N + 1) / 4;
    double sd = sqrt((N * (N + 1) * (2 * N + 1) - ties / 2) / 24);
    double z = fmax(mean - sum - 0.5, 0) / sd; /* half a step: continuity */
    return erfc(z / sqrt(2));
}

int stats_signed_ranks(const double *x, const double *y, int n, stats_wilcoxon *out)
{
    *out = (stats_wilcoxon){.p = n > 0 ? 1 : NAN};
    double *d = mem_alloc((size_t)n * sizeof *d), plus, minus;
    if (!d) return FANS_ENOMEM;
    for (int i = 0; i < n; i++)
        if (x[i] != y[i]) d[out->n++] = x[i] - y[i];
    qsort(d, (size_t)out->n, sizeof *d, by_size);
    double ties = rank_sums(d, out->n, &plus, &minus);
    out->sum = fmin(plus, minus);
    out->exact = out->n == n && n <= EXACT && ties == 0;
    if (out->exact && n > 0)
        out->p = fmin(1, 2 * rank_tail(n, (int)out->sum));
    else if (out->n > 0)
        out->p = normal_p(out->n, out->sum, ties);
    mem_free(d);
    return 0;
}
