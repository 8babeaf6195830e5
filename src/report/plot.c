/* plot.c - axes, curves and maps of distances. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

#include "report/html.h"

enum { FULL = 1000 }; /* width and height of the SVG's own coordinates */
enum { CROWDED = 8 }; /* with more ticks, a narrow page shows every other one */

/* ---- axes ------------------------------------------------------------------------------------ */

/* 1, 2 or 5 times a power of ten, such that about `ticks` steps cover `range`. */
static double round_step(double range, int ticks)
{
    double raw = range / ticks, power = pow(10, floor(log10(raw))), share = raw / power;
    return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

/* A range that ticks can divide: nothing, a single value and numbers of any size get one. */
axis axis_between(double low, double high, int ticks)
{
    enum { DIGITS = 12 };
    const double most = 1e300, least = 1e-300;
    low = fmin(fmax(low, -most), most), high = fmin(fmax(high, -most), most);
    double middle = low <= high ? low / 2 + high / 2 : 0, some = fabs(middle);
    if (!(high - low > fmax(some * pow(10, -DIGITS), least))) {
        some = fmax(some / 10, 0.5);
        low = middle - some, high = middle + some;
    }
    return (axis){.low = low, .high = high, .step = round_step(high - low, ticks)};
}

axis axis_over(double low, double high, int ticks)
{
    axis a = axis_between(low, high, ticks);
    a.low = floor(a.low / a.step) * a.step;
    a.high = ceil(a.high / a.step) * a.step;
    return a;
}

void axis_number(text *out, axis a, double x)
{
    double step = a.step, size = fabs(x) < step / 2 ? 0 : x;
    if (step >= 1e6 || (step >= 2e5 && fabs(x) >= 1e6))
        html_fixed(out, size / 1e6, step >= 1e6 ? 0 : 1);
    else if (step >= 1e3)
        html_fixed(out, size / 1e3, 0);
    else
        html_fixed(out, size, step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9));
    if (size == 0 || step < 1e3) return;
    text_add(out, "%s", step >= 1e6 || (step >= 2e5 && fabs(x) >= 1e6) ? "M" : "k");
}

/* A little slack keeps rounding from losing ticks at the ends. */
int axis_ticks(axis a)
{
    return (int)(floor(a.high / a.step + 1e-9) - ceil(a.low / a.step - 1e-9)) + 1;
}

double axis_tick(axis a, int i)
{
    return (ceil(a.low / a.step - 1e-9) + i) * a.step;
}

static void tick_text(text *out, axis a, double x)
{
    if (a.labels)
        html_text(out, a.labels[(int)lround(x)]);
    else
        axis_number(out, a, x);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static double across(const plot *p, double x)
{
    return (x - p->x.low) / (p->x.high - p->x.low);
}

double plot_height(const plot *p, double y)
{
    return fmin(fmax((p->y.high - y) / (p->y.high - p->y.low), -0.02), 1.02);
}

void plot_begin(plot *p, text *out, axis x, axis y, const char *style, const char *about)
{
    *p = (plot){out, x, y};
    text_add(out,
             "<div class=\"plot %s\"><div class=\"frame\"><svg viewBox=\"0 0 %d %d\" "
             "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
             style, FULL, FULL);
    html_text(out, about);
    text_add(out, "\">\n<path class=\"grid\" d=\"");
    for (int i = 0; i < axis_ticks(y); i++)
        text_add(out, "M0 %.1fh%d", FULL * plot_height(p, axis_tick(y, i)), FULL);
    text_add(out, "\"/>\n");
}

static void add_point(plot *p, char command, double x, double y)
{
    text_add(p->out, "%c%.0f %.0f", command, FULL * across(p, x), FULL * plot_height(p, y));
}

/* Stretches where both ends are known. */
void plot_band(plot *p, const char *colour, const double *x, const double *low, const double *high,
               int n)
{
    text_add(p->out, "<path class=\"band %s\" d=\"", colour);
    for (int i = 0, j; i < n; i = j) {
        for (j = i; j < n && !isnan(low[j]) && !isnan(high[j]);) j++;
        for (int k = i; k < j; k++) add_point(p, k == i ? 'M' : 'L', x[k], low[k]);
        for (int k = j - 1; k >= i; k--) add_point(p, 'L', x[k], high[k]);
        if (j > i)
            text_add(p->out, "z");
        else
            j++;
    }
    text_add(p->out, "\"/>\n");
}

void plot_line(plot *p, const char *style, const double *x, const double *y, int n)
{
    bool pen = false;
    text_add(p->out, "<path class=\"%s\" d=\"", style);
    for (int i = 0; i < n; i++) {
        if (!isnan(y[i])) add_point(p, pen ? 'L' : 'M', x[i], y[i]);
        pen = !isnan(y[i]);
    }
    if (n == 1) text_add(p->out, "h8"); /* make a single point visible */
    text_add(p->out, "\"/>\n");
}

void plot_steps(plot *p, const char *style, const double *x, const double *y, int n)
{
    text_add(p->out, "<path class=\"%s\" d=\"", style);
    for (int i = 0; i < n; i++) {
        double from = i ? (x[i - 1] + x[i]) / 2 : x[i],
               to = i + 1 < n ? (x[i] + x[i + 1]) / 2 : x[i];
        if (isnan(y[i])) continue;
        add_point(p, i && !isnan(y[i - 1]) ? 'L' : 'M', from, y[i]);
        add_point(p, 'L', to, y[i]);
    }
    text_add(p->out, "\"/>\n");
}

void plot_dots(plot *p, const char *style, const double *x, const double *y, int n)
{
    text_add(p->out, "<path class=\"dots %s\" d=\"", style);
    for (int i = 0; i < n; i++) {
        if (isnan(y[i])) continue;
        add_point(p, 'M', x[i], y[i]);
        text_add(p->out, "h0");
    }
    text_add(p->out, "\"/>\n");
}

/* A dot that cannot be seen, but pointed at. */
void plot_hover(plot *p, double x, double y, const char *about)
{
    text_add(p->out, "<path class=\"spot\" d=\"M%.0f %.0fh0\"><title>", FULL * across(p, x),
             FULL * plot_height(p, y));
    html_text(p->out, about);
    text_add(p->out, "</title></path>\n");
}

void plot_axes(plot *p, const char *name)
{
    text_add(p->out, "</svg>\n");
    for (int i = 0; i < axis_ticks(p->y); i++) {
        double t = axis_tick(p->y, i);
        text_add(p->out, "<span class=\"tick y\" style=\"top:%.1f%%\">", 100 * plot_height(p, t));
        tick_text(p->out, p->y, t);
        text_add(p->out, "</span>");
    }
    bool crowded = axis_ticks(p->x) > CROWDED;
    for (int i = 0; i < axis_ticks(p->x); i++) {
        double t = axis_tick(p->x, i);
        text_add(p->out, "<span class=\"tick x%s\" style=\"left:%.1f%%\">",
                 crowded && i % 2 ? " spare" : "", 100 * across(p, t));
        tick_text(p->out, p->x, t);
        text_add(p->out, "</span>");
    }
    text_add(p->out, "<span class=\"name\">%s</span>\n", name);
}

void plot_label(plot *p, const char *colour, double height, const char *label)
{
    text_add(p->out, "<span class=\"end %s\" style=\"top:%.1f%%\">", colour, 100 * height);
    html_text(p->out, label);
    text_add(p->out, "</span>\n");
}

void plot_end(plot *p)
{
    text_add(p->out, "</div></div>\n");
}

/* ---- maps of distances ----------------------------------------------------------------------- */

/* One path per shade, in which neighbours of a row are one line, as wide as a cell is high: a
 * twentieth of the size of a rectangle per cell, and it takes its colour from the page's scheme, as
 * a picture could not. */
enum { SHADES = 16 };

static int shade_of(double x, double most)
{
    if (isnan(x) || !(most > 0)) return 0;
    return (int)fmin(x / most * (SHADES - 1) + 0.5, SHADES - 1);
}

void plot_heat(text *out, const double *cells, int n, const char *first, const char *last,
               const char *name, const char *about)
{
    double most = 0;
    for (int i = 0; i < n * n; i++) most = fmax(most, cells[i]);
    text_add(out,
             "<div class=\"heat\"><div class=\"frame\"><svg viewBox=\"0 -0.5 %d %d\" "
             "shape-rendering=\"crispEdges\" role=\"img\" aria-label=\"",
             n, n);
    html_text(out, about);
    text_add(out, "\">\n");
    for (int shade = 1; shade < SHADES; shade++) {
        size_t before = out->length;
        text_add(out, "<path stroke-opacity=\"%.2f\" d=\"", (double)shade / (SHADES - 1));
        size_t empty = out->length;
        for (int i = 0; i < n; i++)
            for (int j = 0, k; j < n; j = k) {
                for (k = j; k < n && shade_of(cells[i * n + k], most) == shade;) k++;
                if (k > j)
                    text_add(out, "M%d %dh%d", j, i, k - j); /* a line, one cell high */
                else
                    k++;
            }
        if (!out->failed && out->length == empty)
            out->s[out->length = before] = 0;
        else
            text_add(out, "\"/>\n");
    }
    text_add(out,
             "</svg><span class=\"tick y\" style=\"top:0\">%s</span>"
             "<span class=\"tick y\" style=\"top:100%%\">%s</span>"
             "<span class=\"tick x\" style=\"left:0\">%s</span>"
             "<span class=\"tick x\" style=\"left:100%%\">%s</span>"
             "<span class=\"name\">%s</span></div></div>\n",
             first, last, first, last, name);
}
