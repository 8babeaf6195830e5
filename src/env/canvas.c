/* canvas.c - the pen: how much of each pixel lies within half its width of a line. */
#include "env/canvas.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void lay(canvas *c, int x, int y, ink i, double cover)
{
    uint8_t *pixel = c->rgb + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
    const uint8_t colour[3] = {i.r, i.g, i.b};
    cover = (cover < 1 ? cover : 1) * i.cover;
    if (!(cover > 0)) return;
    if (cover == 1) {
        memcpy(pixel, colour, 3);
        return;
    }
    for (int k = 0; k < 3; k++)
        pixel[k] = (uint8_t)(pixel[k] + cover * ((double)colour[k] - pixel[k]) + 0.5);
}

/* Pixels from low to high that the picture has, of `count` in a row. */
typedef struct stretch {
    int from, to;
} stretch;

static stretch pixels(double low, double high, int count)
{
    return (stretch){(int)fmin(fmax(floor(low), 0), count), (int)fmax(fmin(ceil(high), count), 0)};
}

/* How much of the pixel from `at` to `at` + 1 lies between low and high. */
static double share(int at, double low, double high)
{
    double from = low > at ? low : at, to = high < at + 1 ? high : at + 1;
    return to > from ? to - from : 0;
}

void canvas_fill(canvas *c, double x0, double y0, double x1, double y1, ink i)
{
    stretch across = pixels(x0, x1, c->width), down = pixels(y0, y1, c->height);
    for (int y = down.from; y < down.to; y++) {
        double part = share(y, y0, y1);
        for (int x = across.from; x < across.to; x++) lay(c, x, y, i, part * share(x, x0, x1));
    }
}

/* Distance of (x, y) from the line between the two ends. */
static double away(double x, double y, double x0, double y0, double x1, double y1)
{
    double dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
    double t = square > 0 ? ((x - x0) * dx + (y - y0) * dy) / square : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    dx = x - x0 - t * dx, dy = y - y0 - t * dy;
    return sqrt(dx * dx + dy * dy);
}

void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double width, ink i)
{
    double half = width / 2, beyond = half + 1;
    stretch across = pixels(fmin(x0, x1) - beyond, fmax(x0, x1) + beyond, c->width);
    stretch down = pixels(fmin(y0, y1) - beyond, fmax(y0, y1) + beyond, c->height);
    for (int y = down.from; y < down.to; y++)
        for (int x = across.from; x < across.to; x++)
            lay(c, x, y, i, half - away(x + 0.5, y + 0.5, x0, y0, x1, y1) + 0.5);
}

void canvas_arrow(canvas *c, double x0, double y0, double x1, double y1, double width, ink i)
{
    double dx = x1 - x0, dy = y1 - y0, length = sqrt(dx * dx + dy * dy);
    double head = fmin(3 * width, length) / fmax(length, 1e-9);
    dx *= head, dy *= head;
    canvas_line(c, x0, y0, x1, y1, width, i);
    canvas_line(c, x1, y1, x1 - dx - 0.6 * dy, y1 - dy + 0.6 * dx, width, i);
    canvas_line(c, x1, y1, x1 - dx + 0.6 * dy, y1 - dy - 0.6 * dx, width, i);
}

void canvas_ring(canvas *c, double x, double y, double radius, double width, ink i)
{
    double beyond = radius + width;
    stretch across = pixels(x - beyond, x + beyond, c->width);
    stretch down = pixels(y - beyond, y + beyond, c->height);
    for (int v = down.from; v < down.to; v++)
        for (int u = across.from; u < across.to; u++) {
            double dx = u + 0.5 - x, dy = v + 0.5 - y;
            lay(c, u, v, i, width / 2 - fabs(sqrt(dx * dx + dy * dy) - radius) + 0.5);
        }
}

void canvas_copy(canvas *c, int x, int y, const uint8_t *rgb, int w, int h)
{
    stretch across = pixels(x, x + w, c->width), down = pixels(y, y + h, c->height);
    if (across.from >= across.to) return;
    for (int v = down.from; v < down.to; v++)
        memcpy(c->rgb + 3 * ((size_t)v * (size_t)c->width + (size_t)across.from),
               rgb + 3 * ((size_t)(v - y) * (size_t)w + (size_t)(across.from - x)),
               3 * (size_t)(across.to - across.from));
}

/* ---- text ------------------------------------------------------------------------------------ */

enum { CAPITAL = 8, SPACE = 4, GAP = 2 }; /* on the font's grid: height, a blank, between letters */

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static double advance(const char *strokes)
{
    int right = *strokes ? 0 : SPACE - GAP;
    for (const char *p = strokes; *p; p += 2) {
        if (*p == ' ') p++;
        right = digit(*p) > right ? digit(*p) : right;
    }
    return right + GAP;
}

static void draw_character(canvas *c, double x, double y, double unit, ink i, const char *p)
{
    const double width = 1.15 * unit;
    double px = 0, py = 0;
    for (bool pen = false; *p; p += 2, pen = true) {
        if (*p == ' ') pen = false, p++;
        double nx = x + digit(p[0]) * unit, ny = y + (digit(p[1]) - CAPITAL) * unit;
        bool dot = !pen && (!p[2] || p[2] == ' ');
        if (pen || dot) canvas_line(c, pen ? px : nx, pen ? py : ny, nx, ny, width, i);
        px = nx, py = ny;
    }
}

/* Calls for every character; bytes that continue one of UTF-8 belong to the box before them. */
static const char *next_strokes(const char **text)
{
    const char *found = font_strokes((unsigned char)*(*text)++);
    while (((unsigned char)**text & 0xC0) == 0x80) (*text)++;
    return found;
}

double canvas_text(canvas *c, double x, double y, double size, ink i, const char *text)
{
    double unit = size / CAPITAL;
    while (*text) {
        const char *strokes = next_strokes(&text);
        draw_character(c, x, y, unit, i, strokes);
        x += advance(strokes) * unit;
    }
    return x;
}

double canvas_text_width(double size, const char *text)
{
    double width = 0;
    while (*text) width += advance(next_strokes(&text)) * size / CAPITAL;
    return width;
}
