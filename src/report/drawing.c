/* drawing.c - the figures of tables. A panel is a task; a colour is a method, the same in all. */
#include "report/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "report/beliefs.h"
#include "report/curve.h"
#include "report/folders.h"
#include "report/panel.h"
#include "report/store.h"

enum { MOST = 64 };               /* series and ticks */
enum { WIDTH = 397, ACROSS = 3 }; /* points: the width of a page's text; panels in a row */
enum { LEFT = 32, RIGHT = 6, ABOVE = 16, BELOW = 24, LEGEND = 12 };
enum { UNNAMED = 10 }; /* below a panel whose x axis says nothing */

/* ---- what there is to draw ------------------------------------------------------------------- */

static const contest *shown(const comparison *c, int row)
{
    const contest *yours = &c->from[SOURCE_YOURS].list[row];
    return yours->count ? yours : &c->from[SOURCE_OURS].list[row];
}

static const method *method_of(const contest *t, int column)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->methods[i].colour == column) return &t->methods[i];
    return NULL;
}

/* A drawing of several panels, one after the other. */
typedef struct page {
    const comparison *c;
    ink ink;
    int panels, next;         /* of the panels; ACROSS in a row */
    double width, height;     /* of a panel with its names */
    double top, below;        /* the legend's height; what is below a panel's frame */
    const char *series[MOST]; /* what colours stand for, by number; NULL: not drawn */
    const char *const *ticks; /* what is varied, as words */
    int tick_count;
} page;

static panel next_panel(page *p)
{
    int i = p->next++, row = i / ACROSS;
    return (panel){.ink = &p->ink,
                   .x = LEFT + (i % ACROSS) * p->width,
                   .y = p->top + ABOVE + row * p->height,
                   .width = p->width - LEFT - RIGHT,
                   .height = p->height - ABOVE - p->below};
}

static int count_series(const page *p)
{
    int n = 0;
    for (int i = 0; i < MOST; i++) n += p->series[i] != NULL;
    return n;
}

/* ---- legend ---------------------------------------------------------------------------------- */

static ink_pen pen_of(int number)
{
    return (ink_pen){ink_colour(number), 1, number >= 10};
}

/* Names of colours, in as many lines as they take; returns the height of these. */
static double write_legend(page *p, bool draw)
{
    double x = LEFT, y = LEGEND;
    for (int i = 0; i < MOST; i++) {
        if (!p->series[i]) continue;
        double length = 12 + ink_length(PANEL_TEXT, p->series[i]) + 10;
        if (x > LEFT && x + length > p->ink.width) x = LEFT, y += LEGEND;
        double xs[] = {x, x + 9}, ys[] = {y - 2.5, y - 2.5};
        if (draw) {
            ink_pen pen = pen_of(i);
            pen.width = 2;
            ink_line(&p->ink, pen, xs, ys, 2);
            ink_text(&p->ink, (ink_style){PANEL_TEXT, INK_BLACK, INK_LEFT, false}, x + 12, y,
                     p->series[i]);
        }
        x += length;
    }
    return y;
}

static void lay_out(page *p)
{
    int columns = p->panels < ACROSS ? p->panels : ACROSS, rows = (p->panels + ACROSS - 1) / ACROSS;
    p->width = (double)WIDTH / (columns < 2 ? 2 : columns);
    p->height = (columns < ACROSS ? 0.55 : 0.62) * p->width + ABOVE + p->below;
    p->ink.width = WIDTH;
    p->top = write_legend(p, false);
    p->ink.height = ceil(p->top + rows * p->height);
    write_legend(p, true);
}

/* ---- learning curves ------------------------------------------------------------------------- */

/* A panel is too small to show more than every second point. */
static void draw_curve(const panel *at, const curve *c, int number)
{
    double x[CURVE_POINTS], mean[CURVE_POINTS], low[CURVE_POINTS], high[CURVE_POINTS];
    int n = 0;
    for (int k = 0; k < c->n; k++) {
        if (k % 2 && k + 1 < c->n) continue;
        x[n] = c->x[k], mean[n] = c->mean[k];
        low[n] = c->mean[k] - c->sd[k], high[n++] = c->mean[k] + c->sd[k];
    }
    panel_band(at, ink_colour(number), x, low, high, n);
    panel_line(at, pen_of(number), x, mean, n);
}

static int draw_curves(page *p, const contest *t)
{
    double low = INFINITY, high = -INFINITY, last = 0;
    curve *all = mem_alloc(t->count * sizeof *all);
    if (!all) return FANS_ENOMEM;
    for (size_t i = 0; i < t->count; i++) {
        curve_of(&all[i], &t->methods[i], CURVE_STEPS);
        for (int k = 0; k < all[i].n; k++) {
            low = fmin(low, all[i].mean[k]), high = fmax(high, all[i].mean[k]);
            last = fmax(last, all[i].x[k]);
        }
    }
    panel at = next_panel(p);
    at.across = axis_between(0, last, 3), at.up = axis_over(low, high, 4);
    panel_begin(&at, t->label, "environment steps", p->next % ACROSS == 1 ? "return" : "");
    for (size_t i = 0; i < t->count; i++) draw_curve(&at, &all[i], t->methods[i].colour);
    mem_free(all);
    return 0;
}

/* ---- final returns --------------------------------------------------------------------------- */

static void widen(const method *m, double *low, double *high)
{
    for (int i = 0; i < m->n; i++) *low = fmin(*low, m->final[i]), *high = fmax(*high, m->final[i]);
}

/* Every seed, and mean ± standard deviation. */
static void draw_final(const panel *at, const method *m, int number, double x)
{
    double mean = stats_mean(m->final, m->n), sd = stats_sd(m->final, m->n);
    for (int i = 0; i < m->n; i++) panel_dot(at, ink_colour(number), 0.3, x, m->final[i], 2);
    if (isfinite(sd)) panel_bar(at, ink_colour(number), x, mean - sd, mean + sd);
    panel_dot(at, ink_colour(number), 1, x, mean, 4);
}

static void draw_finals(page *p, const contest *t)
{
    double low = INFINITY, high = -INFINITY;
    int n = 1;
    for (size_t i = 0; i < t->count; i++) widen(&t->methods[i], &low, &high);
    n += count_series(p);
    panel at = next_panel(p);
    at.across = (axis){0.3, n - 0.3, 1e6, NULL}, at.up = axis_over(low, high, 4);
    panel_begin(&at, t->label, "", p->next % ACROSS == 1 ? "final return" : "");
    n = 1;
    for (int k = 0; k < MOST; k++) {
        const method *m = method_of(t, k);
        if (m) draw_final(&at, m, k, n);
        n += p->series[k] != NULL;
    }
}

/* ---- final returns over what is varied ------------------------------------------------------- */

/* Where a number is among those that are varied. */
static int place_of(const page *p, const char *word)
{
    for (int i = 0; i < p->tick_count; i++)
        if (!strcmp(p->ticks[i], word)) return i;
    return -1;
}

/* A series through the cells of a row, or of a column. */
static void draw_series(page *p, const panel *at, int number, const method **cells)
{
    double x[MOST], y[MOST];
    int n = 0;
    for (int i = 0; i < p->tick_count; i++) {
        if (!cells[i]) continue;
        draw_final(at, cells[i], number, i);
        x[n] = i, y[n++] = stats_mean(cells[i]->final, cells[i]->n);
    }
    panel_line(at, pen_of(number), x, y, n);
}

/* The method of series `number` at each tick: columns of an algorithm on one row, or rows under one
 * column. */
static void find_cells(const page *p, int row, int number, const method **cells)
{
    const manifest *m = p->c->m;
    for (int i = 0; i < p->tick_count; i++) cells[i] = NULL;
    for (int r = row < 0 ? 0 : row; r < (row < 0 ? m->row_count : row + 1); r++)
        for (int k = 0; k < m->column_count; k++) {
            bool mine = row < 0 ? k == number : !strcmp(m->columns[k].o.algo, p->series[number]);
            const char *x = row < 0 ? m->rows[r].o.x : m->columns[k].o.x;
            int place = mine ? place_of(p, x) : -1;
            if (place >= 0) cells[place] = method_of(shown(p->c, r), k);
        }
}

/* One panel: of a row, or of all rows where row is -1. */
static void draw_varied(page *p, int row)
{
    const manifest *m = p->c->m;
    const method *cells[MOST];
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < MOST; i++) {
        if (!p->series[i]) continue;
        find_cells(p, row, i, cells);
        for (int k = 0; k < p->tick_count; k++)
            if (cells[k]) widen(cells[k], &low, &high);
    }
    panel at = next_panel(p);
    at.across = (axis){-0.3, p->tick_count - 0.7, 1, p->ticks}, at.up = axis_over(low, high, 4);
    panel_begin(&at, row < 0 ? m->o.title : m->rows[row].o.label, m->o.varied,
                p->next % ACROSS == 1 ? "final return" : "");
    for (int i = 0; i < MOST; i++) {
        if (!p->series[i]) continue;
        find_cells(p, row, i, cells);
        draw_series(p, &at, i, cells);
    }
}

/* ---- beliefs --------------------------------------------------------------------------------- */

/* Of the first of your runs on a task; otherwise what is stored of ours. Returns 1, 0 where there
 * are none, or an error. */
static int read_beliefs(const comparison *c, int row, beliefs *b)
{
    char file[FOLDERS_PATH];
    const contest *yours = &c->from[SOURCE_YOURS].list[row];
    int rc = 0;
    if (yours->count)
        TRY(record_file(yours->methods[0].runs[0], "beliefs.csv", file));
    else
        TRY(store_beliefs_path(c->root, c->m->name, c->m->rows[row].o.config, file));
    TRY(os_exists(file));
    if (rc == 0) return 0;
    TRY(beliefs_read(b, file));
    if (b->count && b->factors) return 1;
    beliefs_free(b);
    rc = 0;
out:
    return rc;
}

static void draw_maps(page *p, const beliefs *b, const char *label)
{
    enum { CELLS = BELIEF_MAP * BELIEF_MAP };
    double episodes[BELIEF_MAP], truth[CELLS], belief[CELLS];
    char first[32], last[32], title[OPTION_TEXT + 32];
    int n = beliefs_distances(b, episodes, truth, belief);
    snprintf(first, sizeof first, "%.0f", episodes[0]);
    snprintf(last, sizeof last, "%.0f", episodes[n - 1]);
    panel at = next_panel(p);
    snprintf(title, sizeof title, "%s: truth", label);
    panel_heat(&at, truth, n, title, first, last);
    at = next_panel(p);
    snprintf(title, sizeof title, "belief, correlation %.2f",
             beliefs_correlation(truth, belief, n));
    panel_heat(&at, belief, n, title, first, last);
}

/* The truth as a stair, and what a linear map reads from the belief as dots, in the last episodes.
 */
static int draw_trace(page *p, const beliefs *b, int factor)
{
    enum { TRACE = 120 };
    size_t count = (size_t)b->count;
    char title[OPTION_TEXT + 32];
    double *x = mem_alloc(3 * count * sizeof *x), *truth = x + count, *guess = truth + count;
    if (!x) return FANS_ENOMEM;
    int rc = beliefs_trace(b, factor, x, truth, guess), n = b->count < TRACE ? b->count : TRACE;
    int from = b->count - n;
    double low = INFINITY, high = -INFINITY, r2 = b->r2[factor * BELIEF_MOMENTS + BELIEF_LAST];
    for (int i = from; i < b->count; i++) low = fmin(low, truth[i]), high = fmax(high, truth[i]);
    panel at = next_panel(p);
    at.across = axis_between(x[from], x[b->count - 1], 3);
    at.up = axis_over(low - 0.1 * (high - low), high + 0.1 * (high - low), 3);
    snprintf(title, sizeof title, "%s, R² %.2f", beliefs_name(b, factor), r2);
    panel_begin(&at, title, "episode", "");
    panel_stair(&at, (ink_pen){INK_SOFT, 0.8, false}, x + from, truth + from, n);
    for (int i = from; i < b->count; i++)
        if (isfinite(guess[i])) panel_dot(&at, ink_colour(1), 1, x[i], guess[i], 2);
    mem_free(x);
    return rc < 0 ? rc : 0;
}

static int draw_beliefs(page *p, int row)
{
    beliefs b = {0};
    int rc = read_beliefs(p->c, row, &b);
    if (rc <= 0) return rc;
    draw_maps(p, &b, p->c->m->rows[row].o.label);
    rc = 0;
    for (int f = 0; rc == 0 && f < b.factors; f++) rc = draw_trace(p, &b, f);
    beliefs_free(&b);
    return rc;
}

/* Panels of all rows: two maps, and a trace for every factor. */
static int count_beliefs(const comparison *c)
{
    int n = 0, rc = 0;
    for (int i = 0; rc >= 0 && i < c->m->row_count; i++) {
        beliefs b = {0};
        rc = read_beliefs(c, i, &b);
        if (rc > 0) n += 2 + b.factors;
        beliefs_free(&b);
    }
    return rc < 0 ? rc : n;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_tick(const char **list, int *n, const char *word)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp(list[i], word)) return;
    if (*word && *n < MOST) list[(*n)++] = word;
}

/* A colour is a column; of columns that are varied, an algorithm. */
static void name_series(page *p, bool columns_vary)
{
    const manifest *m = p->c->m;
    int n = 0;
    for (int k = 0; k < m->column_count && k < MOST; k++) {
        bool drawn = false, known = false;
        for (int i = 0; i < m->row_count; i++) drawn = drawn || method_of(shown(p->c, i), k);
        const char *name = columns_vary ? m->columns[k].o.algo : m->columns[k].o.label;
        for (int i = 0; columns_vary && i < n; i++) known = known || !strcmp(p->series[i], name);
        if (drawn && !known) p->series[columns_vary ? n++ : k] = name;
    }
}

static int draw_row(page *p, int row, bool varied)
{
    const contest *t = shown(p->c, row);
    if (p->c->m->o.figure == FIGURE_BELIEFS) return draw_beliefs(p, row);
    if (!t->count) return 0;
    if (p->c->m->o.figure == FIGURE_CURVES) return draw_curves(p, t);
    if (varied)
        draw_varied(p, row);
    else
        draw_finals(p, t);
    return 0;
}

/* Words that rows, or else columns, have as their `x`. Returns which: -1 rows, 1 columns, 0 none.
 */
static int find_ticks(const manifest *m, const char **ticks, int *n)
{
    for (int i = 0; i < m->row_count; i++) add_tick(ticks, n, m->rows[i].o.x);
    if (*n) return -1;
    for (int k = 0; k < m->column_count; k++) add_tick(ticks, n, m->columns[k].o.x);
    return *n > 0;
}

static int count_panels(const comparison *c, int varied)
{
    int n = 0;
    if (c->m->o.figure == FIGURE_BELIEFS) return count_beliefs(c);
    for (int i = 0; i < c->m->row_count; i++) n += shown(c, i)->count > 0;
    return varied < 0 && n ? 1 : n;
}

int drawing_of(const comparison *c, ink_form form, text *out)
{
    const char *ticks[MOST];
    page p = {.c = c, .ink = {.form = form}, .ticks = ticks};
    int varied = find_ticks(c->m, ticks, &p.tick_count), rc = 0;
    TRY(p.panels = count_panels(c, varied));
    if (c->m->o.figure != FIGURE_BELIEFS) name_series(&p, varied > 0);
    bool alone = c->m->o.figure == FIGURE_FINALS && !varied && count_series(&p) < 2;
    if (!p.panels || alone) return 0;
    p.below = c->m->o.figure == FIGURE_FINALS && !varied ? UNNAMED : BELOW;
    lay_out(&p);
    if (varied < 0) draw_varied(&p, -1);
    for (int i = 0; varied >= 0 && i < c->m->row_count; i++) TRY(draw_row(&p, i, varied > 0));
    ink_end(&p.ink, out);
    TRY(text_done(out));
    return 1;
out:
    text_free(&p.ink.body);
    return rc;
}
