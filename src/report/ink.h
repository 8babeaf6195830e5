/* ink.h - vector drawings for papers: the same calls make an SVG and a PDF.
 *
 * Units are points, from the top left. Text is Helvetica, which every reader of PDF has: nothing is
 * embedded. It has no other letters than those of Western Europe. */
#ifndef REPORT_INK_H
#define REPORT_INK_H

#include "base/text.h"

typedef enum { INK_SVG, INK_PDF } ink_form;
typedef enum { INK_LEFT, INK_MIDDLE, INK_RIGHT } ink_align;

/* 0xRRGGBB; those of methods are the pages', and two more. */
enum { INK_BLACK = 0x1c2127, INK_SOFT = 0x5b6570, INK_GRID = 0xd9dee3, INK_HOT = 0x0072b2 };
unsigned ink_colour(int number);

typedef struct ink {
    ink_form form;
    double width, height;
    text body;
} ink;

/* Start from {.form, .width, .height}. */
typedef struct ink_pen {
    unsigned colour;
    double width;
    bool dashed;
} ink_pen;
void ink_line(ink *k, ink_pen pen, const double *x, const double *y, int n); /* NaN: a gap */
void ink_area(ink *k, unsigned colour, double opacity, const double *x, const double *y, int n);

/* Boxes of one colour: begin, add any number, end. */
void ink_boxes(ink *k, unsigned colour, double opacity);
void ink_box(ink *k, double x, double y, double w, double h);
void ink_boxes_end(ink *k);
void ink_dot(ink *k, unsigned colour, double opacity, double x, double y, double size);

/* (x, y) is the start, middle or end of its base line; `up` turns it to run upwards. */
typedef struct ink_style {
    double size;
    unsigned colour;
    ink_align align;
    bool up;
} ink_style;
void ink_text(ink *k, ink_style style, double x, double y, const char *s);
double ink_length(double size, const char *s);

/* Appends the file, which begins at the start of `out` if it is a PDF, and frees the drawing. */
void ink_end(ink *k, text *out);

#endif
