/* canvas.h - draws into an RGB picture: rectangles, lines, arrows, text.
 *
 * All of it is one pen, a line with round ends and soft edges: letters are strokes too, so they
 * need no font on the machine and are sharp at any size. What is outside the picture is cut off. */
#ifndef ENV_CANVAS_H
#define ENV_CANVAS_H

#include <stdint.h>

typedef struct canvas {
    int width, height;
    uint8_t *rgb; /* height × width × 3, top row first */
} canvas;

typedef struct ink {
    uint8_t r, g, b;
    double cover; /* 0 to 1 */
} ink;

/* The rectangle from (x0, y0) to (x1, y1), with soft edges between pixels. */
void canvas_fill(canvas *c, double x0, double y0, double x1, double y1, ink i);
void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double width, ink i);
void canvas_arrow(canvas *c, double x0, double y0, double x1, double y1, double width, ink i);
void canvas_ring(canvas *c, double x, double y, double radius, double width, ink i);

/* Copies a picture of w × h to (x, y). */
void canvas_copy(canvas *c, int x, int y, const uint8_t *rgb, int w, int h);

/* Text whose capitals are `size` high; (x, y) is the left end of its baseline. Returns where it
 * ends. A character that the font lacks is a box. */
double canvas_text(canvas *c, double x, double y, double size, ink i, const char *text);
double canvas_text_width(double size, const char *text);

/* The strokes of a character, each a list of points "xy" in hexadecimal: x from the left, y from
 * the top of a capital (0) to the baseline (8) and below. Strokes are separated by spaces. */
const char *font_strokes(unsigned char character);

#endif
