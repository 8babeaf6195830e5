/* relabel_gate.c - running means of errors and changes, and what follows from them. */
#include "learn/relabel_gate.h"

#include <math.h>
#include <stdio.h>

enum { LEAST = 100 };               /* steps before it may open */
static const double HORIZON = 1000; /* steps that it remembers */

double gate_slope(const gate *g)
{
    return g->change > 0 ? 1 - 2 * g->both / g->change : 0;
}

/* Open while both faults are below half the limit, closed when one is above it. */
static double open_by(const gate *g, double limit)
{
    double fault = fmax(g->error / g->change, 1 - gate_slope(g)), room = 2 - 2 * fault / limit;
    if (g->seen < LEAST || !(room > 0)) return 0; /* also where nothing changes */
    return room < 1 ? room : 1;
}

static double mean_product(const float *x, const float *y, int stride, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i * stride] * (double)y[i * stride];
    return sum / n;
}

void gate_move(gate *g, const float *missed, const float *moved, int stride, int n, double limit)
{
    if (n == 0) return;
    g->seen += n;
    double weight = n / fmin((double)g->seen, HORIZON);
    g->error += weight * (mean_product(missed, missed, stride, n) - g->error);
    g->change += weight * (mean_product(moved, moved, stride, n) - g->change);
    g->both += weight * (mean_product(missed, moved, stride, n) - g->both);
    g->open = open_by(g, limit);
}

void gate_state(gate *g, const char *prefix, state_list *s)
{
    static const char *const names[] = {"error", "change", "both", "open"};
    double *values[] = {&g->error, &g->change, &g->both, &g->open};
    static const double low[] = {0, 0, -INFINITY, 0}, high[] = {INFINITY, INFINITY, INFINITY, 1};
    char name[96];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s/%s", prefix, names[i]);
        state_add_number(s, name, FANS_F64, values[i]);
        state_range(s, low[i], high[i]);
    }
    snprintf(name, sizeof name, "%s/seen", prefix);
    state_add_number(s, name, FANS_I64, &g->seen);
    state_range(s, 0, STATE_COUNT);
}
