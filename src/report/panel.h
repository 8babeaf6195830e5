/* panel.h - a plot within a drawing: axes with ticks and names, and what is drawn between them. */
#ifndef REPORT_PANEL_H
#define REPORT_PANEL_H

#include "report/ink.h"
#include "report/plot.h"

enum { PANEL_TEXT = 7, PANEL_TICKS = 6 }; /* sizes of letters, in points */

typedef struct panel {
    ink *ink;
    double x, y, width, height; /* between the axes */
    axis across, up;
} panel;

/* Draws the grid, its numbers and the names; lines follow, in the units of the axes. A name may be
 * empty. */
void panel_begin(const panel *p, const char *title, const char *across, const char *up);
void panel_line(const panel *p, ink_pen pen, const double *x, const double *y, int n);
void panel_stair(const panel *p, ink_pen pen, const double *x, const double *y, int n);
void panel_band(const panel *p, unsigned colour, const double *x, const double *low,
                const double *high, int n);
void panel_dot(const panel *p, unsigned colour, double opacity, double x, double y, double size);
void panel_bar(const panel *p, unsigned colour, double x, double low, double high);

/* cells[n][n] as shades from 0 to the largest, over the whole panel; names at both ends. */
void panel_heat(const panel *p, const double *cells, int n, const char *title, const char *first,
                const char *last);

#endif
