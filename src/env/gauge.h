/* gauge.h - a number of the world drawn into its picture: a name, the value, an arrow. */
#ifndef ENV_GAUGE_H
#define ENV_GAUGE_H

#include "env/canvas.h"

typedef struct gauge {
    const char *name, *unit;
    double value, most; /* an arrow as long as `most` ends at the side of the picture */
    ink colour;
} gauge;

/* Colours that mean the same in all pictures. */
#define GAUGE_WANTED  ((ink){0, 114, 178, 1})
#define GAUGE_ACTUAL  ((ink){190, 70, 40, 1})
#define GAUGE_OUTSIDE ((ink){90, 98, 107, 1})

/* Draws n gauges below each other at the top of the picture. */
void gauges_draw(canvas *c, const gauge *list, int n);

#endif
