/* curve.c - interpolates every seed on a grid of steps, then averages over seeds. */
#include "report/curve.h"

#include <math.h>

double curve_at(const record *r, const double *returns, double step)
{
    int low = 0, high = r->episodes; /* the first episode that ended after `step` lies in between */
    if (!high || step < r->step[0] || step > r->step[high - 1]) return NAN;
    while (low < high) {
        int middle = (low + high) / 2;
        if (r->step[middle] > step)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == r->episodes) return returns[low - 1];
    double share = (step - r->step[low - 1]) / (r->step[low] - r->step[low - 1]);
    return returns[low - 1] + share * (returns[low] - returns[low - 1]);
}

static void add_point(curve *c, const method *m, double step)
{
    double sum = 0, squares = 0, raw = 0;
    int n = 0;
    for (size_t i = 0; i < m->count; i++) {
        double y = curve_at(m->runs[i], m->runs[i]->smooth, step);
        if (isnan(y)) continue;
        /* Welford: sums of squares would cancel where seeds hardly differ */
        double before = n ? sum / n : y;
        raw += curve_at(m->runs[i], m->runs[i]->gain, step);
        sum += y;
        squares += (y - before) * (y - sum / ++n);
    }
    if (n == 0) return;
    c->x[c->n] = step;
    c->mean[c->n] = sum / n;
    c->raw[c->n] = raw / n;
    c->sd[c->n++] = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

void curve_of(curve *c, const method *m)
{
    double first = INFINITY, last = 0;
    c->n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const record *r = m->runs[i];
        if (!r->episodes) continue;
        first = fmin(first, r->step[0]);
        last = fmax(last, r->step[r->episodes - 1]);
    }
    if (first > last) return;
    for (int k = 0; k < CURVE_POINTS; k++) {
        double step =
            k + 1 == CURVE_POINTS ? last : first + (last - first) * k / (CURVE_POINTS - 1);
        add_point(c, m, step);
        if (first == last) break;
    }
}
