/* curve.h - the learning curve of a method: smoothed returns of its seeds on common steps, or after
 * common times. */
#ifndef REPORT_CURVE_H
#define REPORT_CURVE_H

#include "report/contest.h"

/* At step x[i], or after x[i] seconds: mean and deviation over the seeds that reached it. */
enum { CURVE_POINTS = 200 };
typedef struct curve {
    int n;
    double x[CURVE_POINTS], mean[CURVE_POINTS], sd[CURVE_POINTS]; /* sd is NaN of one seed */
    double raw[CURVE_POINTS]; /* mean of the returns as they were */
} curve;

typedef enum { CURVE_STEPS, CURVE_SECONDS } curve_axis;
void curve_of(curve *c, const method *m, curve_axis over);

/* The value of a run's `returns` (its `smooth` or `gain`) at a step; NaN before its first episode
 * and after its last.
 */
double curve_at(const record *r, const double *returns, double step);

#endif
