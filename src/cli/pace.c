/* pace.c - marks along a training, and what they say. */
#include "cli/pace.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void pace_note(pace *p, pace_mark now)
{
    if (p->count && now.time - p->marks[p->count - 1].time < PACE_SECONDS) return;
    if (p->count == PACE_MARKS)
        memmove(p->marks, p->marks + 1, (size_t)(--p->count) * sizeof *p->marks);
    p->marks[p->count++] = now;
}

static double between(pace_mark a, pace_mark b)
{
    return b.time > a.time ? (b.steps - a.steps) / (b.time - a.time) : 0;
}

double pace_rate(const pace *p, pace_mark now)
{
    return p->count ? between(p->marks[p->count > 1 ? p->count - 2 : 0], now) : 0;
}

double pace_left(const pace *p, pace_mark now, double total)
{
    double rate = pace_rate(p, now);
    if (now.steps >= total) return 0;
    if (p->count < 3) return NAN;
    double before = between(p->marks[0], p->marks[p->count - 2]);
    bool steady = rate > 0 && rate < 1.5 * before && before < 1.5 * rate;
    return steady ? (total - now.steps) / rate : NAN;
}
