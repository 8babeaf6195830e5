/* gauge.c - draws gauges on a light strip, so that they can be read before any scene. */
#include "env/gauge.h"

#include <math.h>
#include <stdio.h>

enum { DESIGN_WIDTH = 480, ROW = 22, PAD = 6 }; /* of the picture; of a row, in units */

static void draw(canvas *c, const gauge *g, int row)
{
    double unit = (double)c->width / DESIGN_WIDTH, y = (PAD + ROW * (row + 0.5)) * unit;
    double zero = 0.68 * c->width, reach = 0.28 * c->width;
    double length = reach * fmax(fmin(g->value / g->most, 1), -1);
    char line[96];
    double shown = fabs(g->value) < 0.005 ? 0 : g->value; /* not -0.00 */
    snprintf(line, sizeof line, "%s %.2f %s", g->name, shown, g->unit);
    canvas_text(c, 12 * unit, y + 5 * unit, 11 * unit, g->colour, line);
    canvas_line(c, zero, y - 8 * unit, zero, y + 8 * unit, unit, g->colour);
    if (fabs(length) > unit) canvas_arrow(c, zero, y, zero + length, y, 3.5 * unit, g->colour);
}

void gauges_draw(canvas *c, const gauge *list, int n)
{
    double unit = (double)c->width / DESIGN_WIDTH;
    canvas_fill(c, 0, 0, c->width, (2 * PAD + ROW * n) * unit, (ink){255, 255, 255, 0.78});
    for (int i = 0; i < n; i++) draw(c, &list[i], i);
}
