/* contest.h - runs sorted for comparison: by task, and there by method.
 *
 * Runs whose configs agree in the world and in how it changes share a task; those that also agree
 * in everything else but seed and length are seeds of one method. */
#ifndef REPORT_CONTEST_H
#define REPORT_CONTEST_H

#include "report/record.h"
#include "report/stats.h"

/* Seeds of one algorithm with one setting. */
typedef struct method {
    char *label; /* the algorithm; "not comparable" after a prelude that does not count; and what
                    is different, where it occurs twice */
    const char *told; /* of the factors: see algo_told */
    record **runs;    /* by seed; borrowed */
    size_t count, capacity;
    int colour;     /* the same for a label on all of the page */
    int unfinished; /* of the runs */
    bool uncounted; /* a prelude of theirs does not count: not comparable */

    /* over the `n` seeds that have an episode */
    int n;
    double *final, *area, *time; /* [n]; time may be NaN */
    double iqm;
    stats_interval iqm_range;
    double score;   /* 0 = sac, 1 = oracle; NaN where there is no gap */
    double *scores; /* [n] the same of every seed */
} method;

/* A task, and the methods tried on it. */
typedef struct contest {
    char *label;
    method *methods;
    size_t count, capacity;
    int sac, oracle;   /* which methods they are, or -1 */
    double gap, noise; /* oracle - sac over the seeds they share; their pooled deviation */
    bool has_gap;      /* above twice the noise: scores make sense */
    stats_wilcoxon *p; /* [count][count] of final returns, paired by seed */
} contest;

/* A method over all tasks with a gap that it was tried on. */
typedef struct standing {
    const char *label;
    int colour, tasks;
    double iqm, improvement; /* of scores; probability of being better than sac */
    stats_interval range, improvement_range;
    double *scores; /* [runs] of all seeds on all these tasks */
    int runs;
} standing;

typedef struct contests {
    record **records;
    size_t record_count, record_capacity;
    size_t found;   /* in the folder that was added last, damaged ones too */
    bool skip;      /* leave damaged runs out, with a warning */
    bool by_commit; /* runs of different commits are different methods */
    int smooth;     /* episodes that curves are smoothed over; 0: by the length of the run */
    int damage;     /* 0, or the error of the last run that could not be read … */
    char why[1024];
    contest *list;
    size_t count, capacity;
    standing *standings;
    int standing_count, colours;
} contests;

/* Adds the runs at and below a folder; then sorts and computes. Start from {0}, or from {.skip}.
 * All damaged runs are named: the last one by the error, the others by warnings. */
int contests_add(contests *c, const char *folder);
int contests_settle(contests *c);
void contests_free(contests *c);

#endif
