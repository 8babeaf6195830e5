/* panel.c - frames, ticks and shapes of a plot. */
#include "report/panel.h"

#include <math.h>

#include "base/error.h"

/* ---- places ---------------------------------------------------------------------------------- */

static double across(const panel *p, double x)
{
    return p->x + p->width * (x - p->across.low) / (p->across.high - p->across.low);
}

static double up(const panel *p, double y)
{
    double share = (p->up.high - y) / (p->up.high - p->up.low);
    return p->y + p->height * fmin(fmax(share, -0.02), 1.02);
}

/* Shapes are placed a few points at a time, so that nothing is allocated. */
enum { POINTS = 512 };

/* ---- the frame ------------------------------------------------------------------------------- */

static void write_tick(const panel *p, axis a, double at, ink_style style, double x, double y)
{
    text word = {0};
    if (a.labels)
        text_add(&word, "%s", a.labels[(int)lround(at)]);
    else
        axis_number(&word, a, at);
    if (text_done(&word) == 0)
        ink_text(p->ink, style, x, y, word.s);
    else
        p->ink->body.failed = true;
    text_free(&word);
}

static void draw_ticks(const panel *p)
{
    ink_style left = {PANEL_TICKS, INK_SOFT, INK_RIGHT, false},
              below = {PANEL_TICKS, INK_SOFT, INK_MIDDLE, false};
    for (int i = 0; i < axis_ticks(p->up); i++) {
        double t = axis_tick(p->up, i), y[] = {up(p, t), up(p, t)}, x[] = {p->x, p->x + p->width};
        ink_line(p->ink, (ink_pen){INK_GRID, 0.5, false}, x, y, 2);
        write_tick(p, p->up, t, left, p->x - 3, y[0] + 0.35 * PANEL_TICKS);
    }
    for (int i = 0; i < axis_ticks(p->across); i++) {
        double t = axis_tick(p->across, i);
        write_tick(p, p->across, t, below, across(p, t), p->y + p->height + PANEL_TICKS + 2);
    }
}

/* As large as fits. */
static void write_title(const panel *p, const char *title)
{
    double room = p->width, length = ink_length(PANEL_TEXT, title);
    ink_style style = {length > room ? PANEL_TEXT * room / length : PANEL_TEXT, INK_BLACK, INK_LEFT,
                       false};
    ink_text(p->ink, style, p->x, p->y - 4, title);
}

void panel_begin(const panel *p, const char *title, const char *name, const char *up_name)
{
    ink_style style = {PANEL_TICKS, INK_SOFT, INK_MIDDLE, false},
              turned = {PANEL_TICKS, INK_SOFT, INK_MIDDLE, true};
    draw_ticks(p);
    write_title(p, title);
    ink_text(p->ink, style, p->x + p->width / 2, p->y + p->height + 2 * PANEL_TICKS + 4, name);
    if (*up_name) ink_text(p->ink, turned, p->x - 22, p->y + p->height / 2, up_name);
}

/* ---- what it shows --------------------------------------------------------------------------- */

void panel_line(const panel *p, ink_pen pen, const double *x, const double *y, int n)
{
    double xs[POINTS], ys[POINTS];
    for (int from = 0; from < n; from += POINTS - 1) { /* neighbours share a point */
        int count = n - from < POINTS ? n - from : POINTS;
        for (int i = 0; i < count; i++) xs[i] = across(p, x[from + i]), ys[i] = up(p, y[from + i]);
        ink_line(p->ink, pen, xs, ys, count);
    }
}

void panel_stair(const panel *p, ink_pen pen, const double *x, const double *y, int n)
{
    double xs[POINTS], ys[POINTS];
    int count = 0;
    for (int i = 0; i < n && count + 2 <= POINTS; i++) {
        double from = i ? (x[i - 1] + x[i]) / 2 : x[i],
               to = i + 1 < n ? (x[i] + x[i + 1]) / 2 : x[i];
        xs[count] = across(p, from), ys[count++] = up(p, y[i]);
        xs[count] = across(p, to), ys[count++] = up(p, y[i]);
    }
    ink_line(p->ink, pen, xs, ys, count);
}

void panel_band(const panel *p, unsigned colour, const double *x, const double *low,
                const double *high, int n)
{
    double xs[POINTS], ys[POINTS];
    int count = 0;
    for (int i = 0; i < n && count < POINTS / 2; i++)
        if (isfinite(low[i])) xs[count] = across(p, x[i]), ys[count++] = up(p, low[i]);
    for (int i = n - 1; i >= 0 && count < POINTS; i--)
        if (isfinite(high[i])) xs[count] = across(p, x[i]), ys[count++] = up(p, high[i]);
    if (count) ink_area(p->ink, colour, 0.15, xs, ys, count);
}

void panel_dot(const panel *p, unsigned colour, double opacity, double x, double y, double size)
{
    ink_dot(p->ink, colour, opacity, across(p, x), up(p, y), size);
}

void panel_bar(const panel *p, unsigned colour, double x, double low, double high)
{
    double xs[] = {across(p, x), across(p, x)}, ys[] = {up(p, low), up(p, high)};
    ink_line(p->ink, (ink_pen){colour, 1, false}, xs, ys, 2);
}

/* ---- maps of distances ----------------------------------------------------------------------- */

enum { SHADES = 16 };

static int shade_of(double x, double most)
{
    return x > 0 && most > 0 ? (int)fmin(x / most * SHADES + 0.5, SHADES) : 0;
}

/* Neighbours of a shade in a row are one box. */
static void draw_shade(const panel *p, const double *cells, int n, int shade, double most)
{
    double width = p->width / n, height = p->height / n;
    ink_boxes(p->ink, INK_HOT, (double)shade / SHADES);
    for (int i = 0; i < n; i++)
        for (int j = 0, k; j < n; j = k) {
            for (k = j; k < n && shade_of(cells[i * n + k], most) == shade;) k++;
            if (k > j)
                ink_box(p->ink, p->x + j * width, p->y + i * height, (k - j) * width, height);
            else
                k++;
        }
    ink_boxes_end(p->ink);
}

void panel_heat(const panel *p, const double *cells, int n, const char *title, const char *first,
                const char *last)
{
    double most = 0, x1 = p->x + p->width, y1 = p->y + p->height;
    double xs[] = {p->x, x1, x1, p->x, p->x}, ys[] = {p->y, p->y, y1, y1, p->y};
    ink_style right = {PANEL_TICKS, INK_SOFT, INK_RIGHT, false},
              left = {PANEL_TICKS, INK_SOFT, INK_LEFT, false};
    for (int i = 0; i < n * n; i++) most = fmax(most, cells[i]);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(p, cells, n, shade, most);
    ink_line(p->ink, (ink_pen){INK_GRID, 0.5, false}, xs, ys, 5);
    write_title(p, title);
    ink_text(p->ink, left, p->x, y1 + PANEL_TICKS + 2, first);
    ink_text(p->ink, right, x1, y1 + PANEL_TICKS + 2, last);
    ink_text(p->ink, right, p->x - 3, p->y + PANEL_TICKS, first);
    ink_text(p->ink, right, p->x - 3, y1, last);
}
