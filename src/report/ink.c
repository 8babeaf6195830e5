/* ink.c - shapes and words as SVG elements, or as the operators of a PDF page.
 *
 * The page of a PDF has its y axis turned over first, so that both forms count from the top. */
#include "report/ink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"

unsigned ink_colour(int number)
{
    static const unsigned all[] = {0x0072b2, 0xd55e00, 0x009e73, 0xb04a86, 0x8a6d00,
                                   0x2f8fcb, 0x6b7280, 0x7a3b00, 0xc21f3a, 0x1c2127};
    return all[(size_t)number % (sizeof all / sizeof *all)];
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* "1 0.5 0 rg" */
static void pdf_colour(ink *k, unsigned colour, const char *operator)
{
    text_add(&k->body, "%.3f %.3f %.3f %s\n", (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0,
             (colour & 255) / 255.0, operator);
}

static void add_point(ink *k, bool move, double x, double y)
{
    if (k->form == INK_SVG)
        text_add(&k->body, "%c%.1f %.1f", move ? 'M' : 'L', x, y);
    else
        text_add(&k->body, "%.1f %.1f %c\n", x, y, move ? 'm' : 'l');
}

static void add_points(ink *k, const double *x, const double *y, int n)
{
    bool pen = false;
    for (int i = 0; i < n; i++) {
        bool known = isfinite(x[i]) && isfinite(y[i]);
        if (known) add_point(k, !pen, x[i], y[i]);
        pen = known;
    }
}

void ink_line(ink *k, ink_pen pen, const double *x, const double *y, int n)
{
    if (k->form == INK_SVG) {
        text_add(&k->body, "<path fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.2f\"%s d=\"",
                 pen.colour, pen.width, pen.dashed ? " stroke-dasharray=\"3 1.5\"" : "");
        add_points(k, x, y, n);
        text_add(&k->body, "\"/>\n");
        return;
    }
    pdf_colour(k, pen.colour, "RG");
    text_add(&k->body, "%.2f w %s 0 d\n", pen.width, pen.dashed ? "[3 1.5]" : "[]");
    add_points(k, x, y, n);
    text_add(&k->body, "S\n");
}

/* Opacities are in steps of 1/16: the PDF has a state for each. */
enum { SHADES = 16 };

static int shade_of(double opacity)
{
    return (int)lround(fmin(fmax(opacity, 0), 1) * SHADES);
}

static void begin_filled(ink *k, unsigned colour, double opacity)
{
    if (k->form == INK_PDF) {
        text_add(&k->body, "/S%d gs\n", shade_of(opacity));
        pdf_colour(k, colour, "rg");
        return;
    }
    text_add(&k->body, "<path fill=\"#%06x\" fill-opacity=\"%.3f\" d=\"", colour,
             (double)shade_of(opacity) / SHADES);
}

static void end_filled(ink *k)
{
    text_add(&k->body, k->form == INK_SVG ? "z\"/>\n" : "h f\n");
}

void ink_area(ink *k, unsigned colour, double opacity, const double *x, const double *y, int n)
{
    begin_filled(k, colour, opacity);
    add_points(k, x, y, n);
    end_filled(k);
}

void ink_boxes(ink *k, unsigned colour, double opacity)
{
    begin_filled(k, colour, opacity);
}

void ink_box(ink *k, double x, double y, double w, double h)
{
    if (k->form == INK_SVG)
        text_add(&k->body, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, y, w, h, w);
    else
        text_add(&k->body, "%.1f %.1f %.1f %.1f re\n", x, y, w, h);
}

void ink_boxes_end(ink *k)
{
    text_add(&k->body, k->form == INK_SVG ? "\"/>\n" : "f\n");
}

/* A circle as a polygon with 16 corners: no larger than a few points, it is one to the eye. */
void ink_dot(ink *k, unsigned colour, double opacity, double x, double y, double size)
{
    enum { CORNERS = 16 };
    double xs[CORNERS], ys[CORNERS];
    if (!isfinite(x) || !isfinite(y)) return;
    for (int i = 0; i < CORNERS; i++) {
        double angle = 2 * 3.14159265358979 * i / CORNERS;
        xs[i] = x + size / 2 * cos(angle), ys[i] = y + size / 2 * sin(angle);
    }
    ink_area(k, colour, opacity, xs, ys, CORNERS);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Of Helvetica's printable ASCII, in thousandths of its size. */
static const short widths[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/* Bytes of the next character, and its code in WinAnsi, where \1 is made the true minus. */
static int next_letter(const char *s, unsigned char *code)
{
    static const struct {
        const char *utf8;
        unsigned char code;
    } known[] = {{"−", 1},    {"±", 0xB1}, {"–", 0x96}, {"…", 0x85},
                 {"²", 0xB2}, {"·", 0xB7}, {"×", 0xD7}};
    int n = 1;
    *code = (unsigned char)*s;
    if (*code < 0x80) return n;
    while (((unsigned char)s[n] & 0xC0) == 0x80) n++;
    *code = '?';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((int)strlen(known[i].utf8) == n && !memcmp(s, known[i].utf8, (size_t)n))
            *code = known[i].code;
    return n;
}

double ink_length(double size, const char *s)
{
    unsigned char code;
    int sum = 0;
    for (int n; *s; s += n) {
        n = next_letter(s, &code);
        sum += code >= ' ' && code <= '~' ? widths[code - ' '] : 584;
    }
    return size * sum / 1000;
}

static void pdf_string(ink *k, const char *s)
{
    unsigned char code;
    text_add(&k->body, "(");
    for (int n; *s; s += n) {
        n = next_letter(s, &code);
        if (strchr("()\\", code))
            text_add(&k->body, "\\%c", code);
        else if (code >= ' ' && code <= '~')
            text_add(&k->body, "%c", code);
        else
            text_add(&k->body, "\\%03o", code);
    }
    text_add(&k->body, ")");
}

static void pdf_text(ink *k, ink_style style, double x, double y, const char *s)
{
    double back = ink_length(style.size, s) * (style.align == INK_LEFT     ? 0
                                               : style.align == INK_MIDDLE ? 0.5
                                                                           : 1);
    text_add(&k->body, "/S%d gs\n", SHADES);
    pdf_colour(k, style.colour, "rg");
    text_add(&k->body, "BT /F %.2f Tf ", style.size);
    if (style.up)
        text_add(&k->body, "0 -1 -1 0 %.2f %.2f Tm ", x, y + back);
    else
        text_add(&k->body, "1 0 0 -1 %.2f %.2f Tm ", x - back, y);
    pdf_string(k, s);
    text_add(&k->body, " Tj ET\n");
}

void ink_text(ink *k, ink_style style, double x, double y, const char *s)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    if (k->form == INK_PDF) {
        pdf_text(k, style, x, y, s);
        return;
    }
    text_add(&k->body,
             "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\" fill=\"#%06x\" text-anchor=\"%s\"", x,
             y, style.size, style.colour, anchors[style.align]);
    if (style.up) text_add(&k->body, " transform=\"rotate(-90 %.2f %.2f)\"", x, y);
    text_add(&k->body, ">");
    html_text(&k->body, s);
    text_add(&k->body, "</text>\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

static void svg_end(const ink *k, text *out)
{
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" height=\"%.0fpt\" "
             "viewBox=\"0 0 %.0f %.0f\" "
             "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n"
             "<path fill=\"#fff\" d=\"M0 0h%.0fv%.0fh-%.0fz\"/>\n",
             k->width, k->height, k->width, k->height, k->width, k->height, k->width);
    text_add_n(out, k->body.s, k->body.length);
    text_add(out, "</svg>\n");
}

/* What begins here is object number `n`; objects are numbered from 1 on. */
static void begin_object(text *out, size_t *places, int n)
{
    places[n] = out->length;
    text_add(out, "%d 0 obj\n", n);
}

static void add_states(text *out)
{
    text_add(out, "/ExtGState <<");
    for (int i = 0; i <= SHADES; i++) text_add(out, " /S%d << /ca %.4f >>", i, (double)i / SHADES);
    text_add(out, " >>\n");
}

static void pdf_end(const ink *k, text *out)
{
    enum { CATALOG = 1, PAGES, PAGE, FONT, CONTENT, OBJECTS };
    size_t places[OBJECTS] = {0};
    char turn[64];
    int n = snprintf(turn, sizeof turn, "1 0 0 -1 0 %.0f cm 1 j 1 J\n", k->height);
    text_add(out, "%%PDF-1.4\n");
    begin_object(out, places, CATALOG);
    text_add(out, "<< /Type /Catalog /Pages %d 0 R >>\nendobj\n", PAGES);
    begin_object(out, places, PAGES);
    text_add(out, "<< /Type /Pages /Kids [%d 0 R] /Count 1 >>\nendobj\n", PAGE);
    begin_object(out, places, PAGE);
    text_add(out,
             "<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %.0f %.0f] /Contents %d 0 R\n"
             "/Resources << /Font << /F %d 0 R >>\n",
             PAGES, k->width, k->height, CONTENT, FONT);
    add_states(out);
    text_add(out, ">> >>\nendobj\n");
    begin_object(out, places, FONT);
    text_add(out,
             "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding\n<< /Type /Encoding "
             "/BaseEncoding /WinAnsiEncoding /Differences [1 /minus] >> >>\nendobj\n");
    begin_object(out, places, CONTENT);
    text_add(out, "<< /Length %zu >>\nstream\n%s", k->body.length + (size_t)n, turn);
    text_add_n(out, k->body.s, k->body.length);
    text_add(out, "\nendstream\nendobj\n");
    size_t table = out->length;
    text_add(out, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS);
    for (int i = 1; i < OBJECTS; i++) text_add(out, "%010zu 00000 n \n", places[i]);
    text_add(out, "trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%zu\n%%%%EOF\n", OBJECTS,
             CATALOG, table);
}

void ink_end(ink *k, text *out)
{
    out->failed = out->failed || k->body.failed;
    if (!k->body.length) text_add(&k->body, "%s", "");
    (k->form == INK_SVG ? svg_end : pdf_end)(k, out);
    text_free(&k->body);
}
