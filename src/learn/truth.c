/* truth.c - factors as numbers. */
#include "learn/truth.h"

int truth_width(const fans_moving *m)
{
    return m->choices ? m->choices : 1;
}

int truth_width_of_all(const fans_movements *moving)
{
    int width = 0;
    for (int k = 0; k < moving->count; k++) width += truth_width(&moving->list[k]);
    return width;
}

static void show(const fans_moving *m, double value, float *to)
{
    for (int i = 0; i < m->choices; i++) to[i] = value == m->values[i] * m->scale;
    if (m->choices) return;
    double middle = (m->low + m->high) / 2, half = (m->high - m->low) / 2;
    *to = half > 0 ? (float)((value - middle) / half) : 0;
}

void truth_show(const fans_movements *moving, const double *factors, float *to)
{
    for (int k = 0; k < moving->count; k++) {
        const fans_moving *m = &moving->list[k];
        show(m, factors[m->factor], to);
        to += truth_width(m);
    }
}
