/* findings.c - counts noticed changes. */
#include "report/findings.h"

#include <math.h>

static void add_segment(findings *f, double length, bool moved, double after, double alarms)
{
    f->alarms += (int)alarms;
    f->quiet += fmax(length - NOTICED_WITHIN, 0);
    if (!moved || length < NOTICED_WITHIN) return;
    f->changes++;
    if (after >= 0 && after <= NOTICED_WITHIN) /* it may be NaN */
        f->after[(int)after]++;
    else
        f->missed++;
}

void findings_read(findings *f, const csv *t)
{
    int step = csv_column(t, "step"), length = csv_column(t, "length");
    int moved = csv_column(t, "moved"), after = csv_column(t, "noticed");
    int alarms = csv_column(t, "alarms");
    double half = t->rows ? csv_at(t, t->rows - 1, 1) / 2 : 0;
    *f = (findings){.known = step >= 0 && length >= 0 && moved >= 0 && after >= 0 && alarms >= 0};
    for (size_t i = 0; f->known && i < t->rows; i++)
        if (csv_at(t, i, step) >= half)
            add_segment(f, csv_at(t, i, length), csv_at(t, i, moved) > 0, csv_at(t, i, after),
                        csv_at(t, i, alarms));
}

void findings_add(findings *to, const findings *from)
{
    to->known = to->known || from->known;
    to->changes += from->changes;
    to->missed += from->missed;
    to->alarms += from->alarms;
    to->quiet += from->quiet;
    for (int k = 0; k <= NOTICED_WITHIN; k++) to->after[k] += from->after[k];
}

double findings_median(const findings *f)
{
    int before = 0, half = (f->changes + 1) / 2;
    if (f->changes == 0) return NAN;
    for (int k = 0; k <= NOTICED_WITHIN; k++)
        if ((before += f->after[k]) >= half) return k;
    return INFINITY;
}

double findings_within(const findings *f, int steps)
{
    int n = 0;
    for (int k = 0; k <= steps; k++) n += f->after[k];
    return f->changes ? (double)n / f->changes : NAN;
}

double findings_missed(const findings *f)
{
    return f->changes ? (double)f->missed / f->changes : NAN;
}

double findings_alarms(const findings *f)
{
    return f->quiet > 0 ? 1000 * f->alarms / f->quiet : NAN;
}
