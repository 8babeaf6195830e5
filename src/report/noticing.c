/* noticing.c - counts from a change to its being noticed. */
#include "report/noticing.h"

#include <math.h>

static void begin(noticing *n, double truth, double error)
{
    double old = n->started ? n->now : truth;
    *n = (noticing){.started = true,
                    .old = old,
                    .now = truth,
                    .counts = fabs(truth - old) > error,
                    .since = -1,
                    .after = -1};
}

bool noticing_step(noticing *n, double truth, double guess, double error)
{
    if (!n->started || truth != n->now) begin(n, truth, error);
    n->since++;
    bool nearer = fabs(guess - n->now) < fabs(guess - n->old);
    n->streak = nearer ? n->streak + 1 : 0;
    if (!n->counts || n->after >= 0 || n->streak < NOTICING_STREAK) return false;
    n->after = n->since + 1 - NOTICING_STREAK;
    return true;
}

bool noticing_grow(noticing *n, double truth, double error)
{
    if (!n->started || truth == n->now || n->after >= 0 || n->old == n->now) return false;
    n->now = truth;
    n->counts = fabs(truth - n->old) > error;
    n->since = -1;
    n->streak = 0;
    return true;
}
