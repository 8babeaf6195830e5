/* plot.h - a plot as HTML around an SVG.
 *
 * The curves are an SVG that is stretched to the frame, whatever its width, with strokes that do
 * not stretch; ticks and names are text of the page, placed by percentages. So text keeps its
 * size on a phone. Start with plot_begin, add curves, end with plot_end. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "base/text.h"

typedef struct axis {
    double low, high, step;    /* of the ticks */
    const char *const *labels; /* of ticks 0, 1, 2, …; NULL: their numbers */
} axis;

/* From some number at or below `low` to one at or above `high`, in round steps. */
axis axis_over(double low, double high, int ticks);

/* From low to high exactly, with round ticks in between. */
axis axis_between(double low, double high, int ticks);

/* Ticks are the multiples of the step, written as short as it allows: 250k, 0.05. */
int axis_ticks(axis a);
double axis_tick(axis a, int i);
void axis_number(text *out, axis a, double x);

typedef struct plot {
    text *out;
    axis x, y;
} plot;

/* `about` describes the plot to screen readers; `style` adds classes to the frame. */
void plot_begin(plot *p, text *out, axis x, axis y, const char *style, const char *about);
void plot_band(plot *p, const char *colour, const double *x, const double *low, const double *high,
               int n);
void plot_line(plot *p, const char *style, const double *x, const double *y, int n);
void plot_steps(plot *p, const char *style, const double *x, const double *y, int n); /* a stair */
void plot_dots(plot *p, const char *style, const double *x, const double *y, int n);

/* What a reader sees who points at (x, y). */
void plot_hover(plot *p, double x, double y, const char *about);

/* Ends the curves; then labels may follow, at heights from 0 (top) to 1. */
void plot_axes(plot *p, const char *name);
void plot_label(plot *p, const char *colour, double height, const char *label);
void plot_end(plot *p);
double plot_height(const plot *p, double y);

/* cells[n][n] as a square of shades from 0 to the largest; `first` and `last` name its ends. */
void plot_heat(text *out, const double *cells, int n, const char *first, const char *last,
               const char *name, const char *about);

#endif
