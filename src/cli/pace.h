/* pace.h - how fast a training is lately, and how long it will still take.
 *
 * Steps are quick until learning starts, so the mean since the start promises too much. Only the
 * last seconds count, and nothing is promised before two stretches in a row have had about the same
 * pace.
 */
#ifndef CLI_PACE_H
#define CLI_PACE_H

/* How many steps were done at a time. */
typedef struct pace_mark {
    double time, steps;
} pace_mark;

enum { PACE_MARKS = 4, PACE_SECONDS = 5 }; /* marks are at least so many seconds apart */

typedef struct pace {
    pace_mark marks[PACE_MARKS]; /* oldest first */
    int count;
} pace;

void pace_note(pace *p, pace_mark now);

/* Steps a second lately; seconds left to `total` steps, NaN until the pace is steady. */
double pace_rate(const pace *p, pace_mark now);
double pace_left(const pace *p, pace_mark now, double total);

#endif
