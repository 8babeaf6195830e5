/* noticing.h - when did a belief notice a change?
 *
 * A factor goes from an old value to a new one. The belief, read as that factor, has **noticed
 * after N steps** when with N steps of experience of the new world it is nearer to the new value
 * than to the old one, and stays so for NOTICING_STREAK steps. 0 means foreseen: the prediction was
 * right before the first step. A change smaller than the usual error of the reading cannot be told
 * from noise and does not count. */
#ifndef REPORT_NOTICING_H
#define REPORT_NOTICING_H

#include <stdbool.h>

enum { NOTICING_STREAK = 3 };

typedef struct noticing {
    bool started;
    double old, now; /* the factor before and since the last change */
    bool counts;     /* that change was larger than the usual error */
    int since;       /* steps of experience since then */
    int streak;      /* steps in a row that the belief was nearer to `now` */
    int after;       /* noticed after so many steps; -1: not yet */
} noticing;

/* One step later: the factor during the step, the belief that it was met with, and its usual error.
 * Start from {0}. Returns true at the step at which it is clear that the change was noticed. */
bool noticing_step(noticing *n, double truth, double guess, double error);

/* Before such a step: if the factor has changed again before the last change was noticed, both are
 * one, from the old value to the newest, and steps are counted from here. Returns true then. For
 * changes that take a while, as by hand. */
bool noticing_grow(noticing *n, double truth, double error);

#endif
