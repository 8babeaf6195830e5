/* curve.c - interpolates every seed on a grid of steps or seconds, then averages over seeds. */
#include "report/curve.h"

#include <math.h>

/* The runs of a method, along either axis. */
typedef struct along {
    const double *x;
    int n;
} along;

static along along_of(const record *r, curve_axis over)
{
    return over == CURVE_STEPS ? (along){r->step, r->episodes} : (along){r->clock, r->timed};
}

/* Between the episodes that ended before and after; NaN outside. */
static double between(along a, const double *returns, double x)
{
    int low = 0, high = a.n; /* the first episode that ended after `x` lies in between */
    if (!high || x < a.x[0] || x > a.x[high - 1]) return NAN;
    while (low < high) {
        int middle = (low + high) / 2;
        if (a.x[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == a.n) return returns[low - 1];
    double share = (x - a.x[low - 1]) / (a.x[low] - a.x[low - 1]);
    return returns[low - 1] + share * (returns[low] - returns[low - 1]);
}

double curve_at(const record *r, const double *returns, double step)
{
    return between(along_of(r, CURVE_STEPS), returns, step);
}

static void add_point(curve *c, const method *m, curve_axis over, double x)
{
    double sum = 0, squares = 0, raw = 0;
    int n = 0;
    for (size_t i = 0; i < m->count; i++) {
        along a = along_of(m->runs[i], over);
        double y = between(a, m->runs[i]->smooth, x);
        if (isnan(y)) continue;
        /* Welford: sums of squares would cancel where seeds hardly differ */
        double before = n ? sum / n : y;
        raw += between(a, m->runs[i]->gain, x);
        sum += y;
        squares += (y - before) * (y - sum / ++n);
    }
    if (n == 0) return;
    c->x[c->n] = x;
    c->mean[c->n] = sum / n;
    c->raw[c->n] = raw / n;
    c->sd[c->n++] = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

void curve_of(curve *c, const method *m, curve_axis over)
{
    double first = INFINITY, last = 0;
    c->n = 0;
    for (size_t i = 0; i < m->count; i++) {
        along a = along_of(m->runs[i], over);
        if (!a.n) continue;
        first = fmin(first, a.x[0]);
        last = fmax(last, a.x[a.n - 1]);
    }
    if (first > last) return;
    for (int k = 0; k < CURVE_POINTS; k++) {
        double x = k + 1 == CURVE_POINTS ? last : first + (last - first) * k / (CURVE_POINTS - 1);
        add_point(c, m, over, x);
        if (first == last) break;
    }
}
