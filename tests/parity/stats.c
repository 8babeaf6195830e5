/* parity_stats.c - one statistic of numbers from the standard input (doubles), for test_stats.py.
 * usage: parity_stats NAME COUNT...   where COUNT numbers make a sample */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/stats.h"

enum { MOST = 100000, SAMPLES = 64 };
static double x[MOST];

static int bootstrap(const int *counts, int samples)
{
    stats_interval i;
    int rc = stats_bootstrap(x, counts, samples, stats_iqm, 1, &i);
    printf("%.17g %.17g\n", i.low, i.high);
    return rc;
}

/* Half of the samples are one method's, task by task; the other half another's. */
static int improvements(const int *counts, int samples)
{
    stats_interval i;
    int tasks = samples / 2, n = 0;
    for (int s = 0; s < tasks; s++) n += counts[s];
    int rc = stats_improvement_interval(x, counts, x + n, counts + tasks, tasks, 1, &i);
    printf("%.17g %.17g\n", i.low, i.high);
    return rc;
}

static int ranks(const double *y, int n)
{
    stats_wilcoxon w;
    int rc = stats_signed_ranks(x, y, n, &w);
    printf("%d %.17g %.17g %d\n", w.n, w.sum, w.p, w.exact);
    return rc;
}

int main(int argc, char **argv)
{
    int counts[SAMPLES], samples = argc - 2, all = 0;
    if (argc < 3 || samples > SAMPLES) return 2;
    for (int i = 0; i < samples; i++) all += counts[i] = (int)strtol(argv[i + 2], NULL, 10);
    if (all > MOST || fread(x, sizeof *x, (size_t)all, stdin) != (size_t)all) return 2;
    const char *name = argv[1];
    const double *y = x + counts[0];
    if (!strcmp(name, "bootstrap")) return bootstrap(counts, samples) < 0;
    if (!strcmp(name, "improvements")) return improvements(counts, samples) < 0;
    if (!strcmp(name, "ranks")) return ranks(y, counts[0]) < 0;
    if (!strcmp(name, "sd"))
        printf("%.17g\n", stats_sd(x, counts[0]));
    else if (!strcmp(name, "pooled"))
        printf("%.17g\n", stats_pooled_sd(x, counts[0], y, counts[1]));
    else if (!strcmp(name, "iqm"))
        printf("%.17g\n", stats_iqm(x, counts[0]));
    else if (!strcmp(name, "improvement"))
        printf("%.17g\n", stats_improvement(x, counts[0], y, counts[1]));
    else if (!strcmp(name, "profile"))
        for (int i = 0; i <= 40; i++) printf("%.17g\n", stats_above(x, counts[0], i / 20.0 - 1));
    else if (!strcmp(name, "quantiles"))
        for (int i = 0; i <= 40; i++) printf("%.17g\n", stats_quantile(x, counts[0], i / 40.0));
    else
        return 2;
    return 0;
}
