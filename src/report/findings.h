/* findings.h - how well an agent that is told nothing finds changes: base/noticed.h says what
 * counts. Read from the last columns of segments.csv, over the second half of a run; only changes
 * after which nothing else changed for NOTICED_WITHIN steps can be missed, so only these count. */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include <stdbool.h>

#include "base/csv.h"
#include "base/noticed.h"

typedef struct findings {
    bool known; /* its agents find changes by themselves */
    int changes, missed, alarms;
    int after[NOTICED_WITHIN + 1]; /* changes noticed after so many steps */
    double quiet;                  /* steps of segments beyond NOTICED_WITHIN */
} findings;

void findings_read(findings *f, const csv *segments);
void findings_add(findings *to, const findings *from);

/* INFINITY where most are missed; NaN where there is none. */
double findings_median(const findings *f);

/* The share of changes noticed within so many steps; missed ones; false alarms per 1,000 steps. */
double findings_within(const findings *f, int steps);
double findings_missed(const findings *f);
double findings_alarms(const findings *f);

#endif
