/* stats.h - the statistics of comparing runs.
 *
 * Runs have few seeds, so these are measures that work with few: the interquartile mean
 * with intervals from a stratified bootstrap (Agarwal et al., "Deep RL at the edge of the
 * statistical precipice", 2021; their package is rliable) and Wilcoxon's signed ranks of pairs. */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* NaN where undefined: the mean of none, the deviation of one. */
double stats_mean(const double *x, int n);
double stats_sd(const double *x, int n); /* with n - 1 */
double stats_pooled_sd(const double *x, int n, const double *y, int m);

/* The q-th quantile of ascending numbers, interpolated between neighbours. */
double stats_quantile(const double *sorted, int n, double q);

/* The mean of what is left when a quarter, rounded down, is cut off at either end. Sorts x. */
double stats_iqm(double *x, int n);

/* How often a number of x is above one of y; equal ones count half. */
double stats_improvement(const double *x, int n, const double *y, int m);

/* A performance profile: the share of x above tau. */
double stats_above(const double *x, int n, double tau);

/* Mean of `x` weighted by `weight`: the area under a curve of steps, divided by its length. */
double stats_area(const double *x, const double *weight, int n);

typedef struct stats_interval {
    double low, high;
} stats_interval;

#ifdef FANS_FUZZ
enum { STATS_RESAMPLES = 10 }; /* a build that looks for faults has no use for the figures */
#else
enum { STATS_RESAMPLES = 10000 };
#endif

/* The percentile bootstrap's 95 % interval of `statistic`. x holds `strata` samples one after the
 * other; each is drawn from on its own, counts[i] numbers with replacement. NaN where no sample has
 * two numbers. */
typedef double stats_fn(double *x, int n); /* may change the order of x */
int stats_bootstrap(const double *x, const int *counts, int strata, stats_fn *statistic,
                    uint64_t seed, stats_interval *out);

/* The same of the probability of improvement, a mean over tasks: xs and ys hold a sample of each
 * method for every task, one after the other. */
int stats_improvement_interval(const double *xs, const int *n, const double *ys, const int *m,
                               int tasks, uint64_t seed, stats_interval *out);

/* Wilcoxon's signed-rank test of x[i] - y[i], two-sided. Differences of zero are left out. The
 * exact distribution up to 50 pairs without ties and zeros; otherwise a normal one, corrected for
 * ties and continuity. Without any difference, p = 1. */
typedef struct stats_wilcoxon {
    int n;         /* pairs that differ */
    double sum, p; /* the smaller sum of ranks */
    bool exact;
} stats_wilcoxon;
int stats_signed_ranks(const double *x, const double *y, int n, stats_wilcoxon *out);

#endif
