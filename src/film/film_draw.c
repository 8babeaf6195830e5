/* film_draw.c - a frame: a head over all lanes; in each lane its name, the picture, one plot per
 * factor and one of the reward; a legend below.
 *
 * Plots run from the first step to the last planned one, so that the last frame tells the whole
 * story; of a longer film they show the last PLOT_STEPS. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "film/film_parts.h"

/* Lengths in units, of which a lane is DESIGN_WIDTH wide. */
enum {
    DESIGN_WIDTH = 480,
    MARGIN = 12,
    HEAD = 40,
    NAME = 44,
    PLOT = 84,
    PLOT_HEAD = 30,
    FOOT = 36
};
enum { REWARD_PLOT = 52, VIEW = 104, PLOT_STEPS = 1000 };

static const ink PAPER = {250, 250, 247, 1}, PANEL = {255, 255, 255, 1}, LINE = {214, 218, 222, 1};
static const ink TEXT = {28, 33, 39, 1}, SOFT = {100, 108, 117, 1}, TRUTH = {28, 33, 39, 1};
static const ink BELIEF = {0, 114, 178, 1}, BAND = {0, 114, 178, 0.18};
static const ink CHANGE = {213, 94, 0, 1}, NOTICED = {0, 138, 96, 1}, REWARD = {120, 84, 150, 1};

void film_layout(film *f)
{
    f->unit = (double)f->s.width / DESIGN_WIDTH;
    f->picture_height = 2 * f->s.width / 3;
    double units = HEAD + NAME + f->factors * (PLOT_HEAD + PLOT) + PLOT_HEAD + REWARD_PLOT + FOOT;
    if (f->seen > 0) units += PLOT_HEAD + VIEW;
    f->page.width = f->s.width * f->s.lanes;
    f->page.height = f->picture_height + (int)ceil(units * f->unit);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void write_at(film *f, double x, double y, double size, ink i, const char *line)
{
    canvas_text(&f->page, x, y, size * f->unit, i, line);
}

static void write_right(film *f, double x, double y, double size, ink i, const char *line)
{
    write_at(f, x - canvas_text_width(size * f->unit, line), y, size, i, line);
}

/* -0.00 is 0.00. */
static double rounded(double x, double unit)
{
    return fabs(x) < unit / 2 ? 0 : x;
}

/* ---- a plot ---------------------------------------------------------------------------------- */

/* A frame of the page, and the steps and values that its sides mean. */
typedef struct window {
    film *film;
    double x, y, width, height;
    double low, high;
    int64_t from, to;
} window;

static double across(const window *w, int64_t step)
{
    return w->x + w->width * (double)(step - w->from) / (double)(w->to - w->from);
}

static double down(const window *w, double value)
{
    double share = (w->high - value) / (w->high - w->low);
    return isnan(share) ? NAN : w->y + w->height * fmin(fmax(share, 0), 1);
}

/* The beliefs about a factor, and the plot that they are for. */
typedef struct scaled_guess {
    const follow_moment *moments;
    const window *window;
} scaled_guess;

static window window_of(film *f, const film_lane *l, double x, double y, double height)
{
    double margin = MARGIN * f->unit;
    int64_t span = f->s.steps < PLOT_STEPS ? f->s.steps : PLOT_STEPS;
    int64_t to = l->steps > span ? l->steps : span;
    return (window){.film = f,
                    .x = x + margin,
                    .y = y,
                    .width = f->s.width - 2 * margin,
                    .height = height * f->unit,
                    .from = to - span,
                    .to = to};
}

static void upright(const window *w, int64_t step, double width, ink i)
{
    double x = across(w, step);
    canvas_line(&w->film->page, x, w->y, x, w->y + w->height, width * w->film->unit, i);
}

/* The panel, and a thin line where an episode begins. */
static void draw_panel(const window *w, const film_lane *l)
{
    canvas_fill(&w->film->page, w->x, w->y, w->x + w->width, w->y + w->height, PANEL);
    for (int64_t t = w->from; t < l->steps; t++)
        if (l->fresh[t]) upright(w, t, 1, LINE);
}

/* Two values of the scale, at the left. */
static void write_limits(const window *w, double low, double high)
{
    const double values[] = {low, high};
    char line[32];
    for (int k = 0; k < 2; k++) {
        snprintf(line, sizeof line, "%.3g", values[k]);
        write_at(w->film, w->x + 3 * w->film->unit, down(w, values[k]) + 11 * w->film->unit, 7.5,
                 SOFT, line);
    }
}

typedef double value_fn(const void *values, int64_t t);

/* A step lasts from its own time to the next one's: what jumps is a stair. */
static void draw_curve(const window *w, const film_lane *l, value_fn *value, const void *values,
                       bool stair, ink i)
{
    canvas *c = &w->film->page;
    double width = 1.8 * w->film->unit;
    for (int64_t t = w->from + 1; t < l->steps; t++) {
        double a = down(w, value(values, t - 1)), b = down(w, value(values, t));
        if (isnan(a) || isnan(b)) continue;
        canvas_line(c, across(w, t - 1), a, across(w, t), stair ? a : b, width, i);
        if (stair && a != b) canvas_line(c, across(w, t), a, across(w, t), b, width, i);
    }
}

static double truth_at(const void *moments, int64_t t)
{
    return (double)((const follow_moment *)moments)[t].truth;
}

static double guess_at(const void *moments, int64_t t)
{
    return (double)((const follow_moment *)moments)[t].guess;
}

/* A belief far from all that the factor can be says that the agent does not know: no line. */
static double guess_on_scale(const void *lane, int64_t t)
{
    const scaled_guess *s = lane;
    double guess = guess_at(s->moments, t);
    return guess >= s->window->low && guess <= s->window->high ? guess : NAN;
}

static double reward_at(const void *rewards, int64_t t)
{
    return (double)((const float *)rewards)[t];
}

static void draw_band(const window *w, const film_lane *l, const follow_moment *moments)
{
    for (int64_t s = w->from; s < l->steps; s++) {
        double spread = (double)moments[s].spread;
        double guess = guess_on_scale(&(scaled_guess){moments, w}, s);
        if (isnan(guess) || isnan(spread)) continue;
        canvas_fill(&w->film->page, across(w, s), down(w, guess + spread), across(w, s + 1),
                    down(w, guess - spread), BAND);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

static void draw_marks(const window *w, const film_lane *l, const follow_moment *moments)
{
    double unit = w->film->unit;
    for (int64_t s = w->from; s < l->steps; s++) {
        const follow_moment *m = &moments[s];
        if (m->changed) upright(w, s, 2.5, CHANGE);
        if (m->noticed < 0) continue;
        int64_t at = s + 1 - NOTICING_STREAK;
        double x = across(w, at), y = w->y + w->height - 6 * unit;
        canvas_line(&w->film->page, x, w->y, x, y, 1.2 * unit, NOTICED);
        canvas_line(&w->film->page, x, y, x, y, 9 * unit, NOTICED);
    }
}

static ink ink_of(const follow_verdict *v)
{
    return v->tone == FOLLOW_QUIET ? SOFT : v->tone == FOLLOW_CHANGED ? CHANGE : NOTICED;
}

static void draw_factor(film *f, const film_lane *l, int k, double x, double y)
{
    const follow_moment *moments = l->moments[k];
    const fans_moving *range = &l->follow.moving[k];
    const char *without = l->follow.without;
    double margin = MARGIN * f->unit, base = y + (PLOT_HEAD - 9) * f->unit;
    window w = window_of(f, l, x, y + PLOT_HEAD * f->unit, PLOT - 4);
    double some = 0.2 * (range->high - range->low);
    w.low = range->low - some, w.high = range->high + some;
    draw_panel(&w, l);
    draw_band(&w, l, moments);
    draw_curve(&w, l, truth_at, moments, true, TRUTH);
    draw_curve(&w, l, guess_on_scale, &(scaled_guess){moments, &w}, false, BELIEF);
    draw_marks(&w, l, moments);
    write_limits(&w, range->low, range->high);
    const follow_moment *now = &moments[l->steps - 1];
    char line[96];
    snprintf(line, sizeof line, "%s %.2f", follow_name(&l->follow, k),
             rounded((double)now->truth, 0.01));
    double end = canvas_text(&f->page, x + margin, base, 11 * f->unit, TEXT, line);
    bool placed = !isnan(guess_on_scale(&(scaled_guess){moments, &w}, l->steps - 1));
    if (without || !placed)
        snprintf(line, sizeof line, "%s", without ? without : "does not know");
    else
        snprintf(line, sizeof line, "believed %.2f", rounded((double)now->guess, 0.01));
    end = canvas_text(&f->page, end + 14 * f->unit, base, 11 * f->unit, without ? SOFT : BELIEF,
                      line);
    follow_verdict v = follow_judge(&l->follow, k);
    double right = x + f->s.width - margin;
    char *detail = strchr(v.text, ','); /* where that fits */
    if (detail && right - canvas_text_width(11 * f->unit, v.text) < end + margin) *detail = 0;
    write_right(f, right, base, 11, ink_of(&v), v.text);
}

/* ---- reward ---------------------------------------------------------------------------------- */

/* All lanes share the scale, so that heights compare. */
static void scale_rewards(const film *f, window *w)
{
    w->low = INFINITY, w->high = -INFINITY;
    for (int i = 0; i < f->s.lanes; i++)
        for (int64_t t = 0; t < f->lanes[i].steps; t++) {
            w->low = fmin(w->low, (double)f->lanes[i].reward[t]);
            w->high = fmax(w->high, (double)f->lanes[i].reward[t]);
        }
    double some = fmax(0.05 * (w->high - w->low), 1e-6);
    w->low -= some, w->high += some;
}

static void draw_reward(film *f, const film_lane *l, double x, double y)
{
    window w = window_of(f, l, x, y + PLOT_HEAD * f->unit, REWARD_PLOT);
    char line[96];
    double base = y + (PLOT_HEAD - 9) * f->unit;
    scale_rewards(f, &w);
    draw_panel(&w, l);
    draw_curve(&w, l, reward_at, l->reward, false, REWARD);
    snprintf(line, sizeof line, "reward %.2f", rounded((double)l->reward[l->steps - 1], 0.01));
    write_at(f, w.x, base, 11, REWARD, line);
    snprintf(line, sizeof line, "return of this episode %.1f", l->gain);
    write_right(f, w.x + w.width, base, 11, TEXT, line);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* One camera's pixels as squares, of whole pixels: no seams. */
static void draw_view(film *f, double x, double y, const uint8_t *rgb)
{
    const fans_env_info *i = &f->s.task->info;
    double side = VIEW * f->unit / i->height;
    for (int r = 0; r < i->height; r++)
        for (int c = 0; c < i->width; c++, rgb += 3) {
            ink colour = {rgb[0], rgb[1], rgb[2], 1};
            canvas_fill(&f->page, floor(x + c * side), floor(y + r * side),
                        floor(x + (c + 1) * side), floor(y + (r + 1) * side), colour);
        }
}

/* All cameras side by side; returns where they end. */
static double draw_views(film *f, double x, double y, const char *words, const uint8_t *rgb)
{
    const fans_env_info *i = &f->s.task->info;
    double wide = VIEW * f->unit * i->width / i->height;
    write_at(f, x, y - 9 * f->unit, 11, TEXT, words);
    for (int v = 0; v < i->views; v++, x += wide + 4 * f->unit)
        draw_view(f, x, y, rgb + (size_t)(v * i->height * i->width) * 3);
    return x + 8 * f->unit;
}

static void draw_seen(film *f, const film_lane *l, double x, double y)
{
    y += PLOT_HEAD * f->unit;
    x = draw_views(f, x + MARGIN * f->unit, y, "what it sees", l->saw);
    if (l->imagines) draw_views(f, x, y, "what its model draws of it", l->imagined);
}

/* ---- a lane ---------------------------------------------------------------------------------- */

/* A coloured frame around the picture while a change is news: of the change, then of its being
 * noticed. */
static void draw_picture(film *f, const film_lane *l, int x, int y)
{
    canvas *c = &f->page;
    double unit = f->unit, w = f->s.width, h = f->picture_height;
    follow_verdict v = follow_judge(&l->follow, -1);
    ink colour = ink_of(&v);
    canvas_copy(c, x, y, l->picture, f->s.width, f->picture_height);
    if (v.tone == FOLLOW_QUIET) return;
    double in = 2.5 * unit, size = 13 * unit, wide = canvas_text_width(size, v.text);
    canvas_line(c, x + in, y + in, x + w - in, y + in, 2 * in, colour);
    canvas_line(c, x + in, y + h - in, x + w - in, y + h - in, 2 * in, colour);
    canvas_line(c, x + in, y + in, x + in, y + h - in, 2 * in, colour);
    canvas_line(c, x + w - in, y + in, x + w - in, y + h - in, 2 * in, colour);
    canvas_fill(c, x, y + h - 30 * unit, x + wide + 24 * unit, y + h, colour);
    canvas_text(c, x + 12 * unit, y + h - 9 * unit, size, PANEL, v.text);
}

/* An episode that has ended before the others': said above what the agent makes of a change. */
static void draw_end(film *f, const film_lane *l, int x, int y)
{
    char line[48];
    int latest = 0;
    for (int i = 0; i < f->s.lanes; i++)
        if (f->lanes[i].episode == l->episode && f->lanes[i].tau > latest) latest = f->lanes[i].tau;
    if (!l->ended || l->tau == latest) return;
    double unit = f->unit, size = 13 * unit, base = y + f->picture_height - 30 * unit;
    snprintf(line, sizeof line, "this episode ended after %d steps", l->tau + 1);
    canvas_fill(&f->page, x, base - 30 * unit, x + canvas_text_width(size, line) + 24 * unit, base,
                TEXT);
    canvas_text(&f->page, x + 12 * unit, base - 9 * unit, size, PANEL, line);
}

static void draw_lane(film *f, int i)
{
    const film_lane *l = &f->lanes[i];
    int x = i * f->s.width, y = (int)((HEAD + NAME) * f->unit);
    char line[96];
    write_at(f, x + MARGIN * f->unit, y - 14 * f->unit, 18, TEXT, l->name);
    int ended = l->episode + l->ended;
    if (ended > 0) {
        double sum = l->ended ? l->sum + l->gain : l->sum;
        snprintf(line, sizeof line, "mean return of %d episode%s %.1f", ended,
                 ended == 1 ? "" : "s", sum / ended);
        write_right(f, x + f->s.width - MARGIN * f->unit, y - 14 * f->unit, 13, TEXT, line);
    }
    draw_picture(f, l, x, y);
    draw_end(f, l, x, y);
    double at = y + f->picture_height;
    for (int k = 0; k < f->factors; k++, at += (PLOT_HEAD + PLOT) * f->unit)
        draw_factor(f, l, k, x, at);
    draw_reward(f, l, x, at);
    if (f->seen > 0) draw_seen(f, l, x, at + (PLOT_HEAD + REWARD_PLOT) * f->unit);
    if (i > 0) canvas_line(&f->page, x, 0, x, f->page.height, 2 * f->unit, PAPER);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void draw_head(film *f)
{
    const film_lane *l = &f->lanes[0];
    char line[96];
    double y = (HEAD - 12) * f->unit, margin = MARGIN * f->unit;
    canvas_fill(&f->page, 0, 0, f->page.width, HEAD * f->unit, TEXT);
    write_at(f, margin, y, 14, PAPER, f->title);
    snprintf(line, sizeof line, "%sepisode %d   step %d",
             f->s.slows && film_has_news(f) ? "slow motion   " : "", l->episode + 1, l->tau);
    write_right(f, f->page.width - margin, y, 14, PAPER, line);
}

static void draw_foot(film *f)
{
    static const struct {
        const char *text;
        const ink *colour;
    } keys[] = {{"truth", &TRUTH},
                {"belief and its usual error", &BELIEF},
                {"change", &CHANGE},
                {"noticed", &NOTICED}};
    double x = MARGIN * f->unit, y = f->page.height - 9 * f->unit;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        canvas_line(&f->page, x + 4 * f->unit, y - 5 * f->unit, x + 14 * f->unit, y - 5 * f->unit,
                    5 * f->unit, *keys[k].colour);
        x = canvas_text(&f->page, x + 24 * f->unit, y, 10 * f->unit, SOFT, keys[k].text) +
            12 * f->unit;
    }
}

void film_draw(film *f)
{
    canvas_fill(&f->page, 0, 0, f->page.width, f->page.height, PAPER);
    for (int i = 0; i < f->s.lanes; i++) draw_lane(f, i);
    draw_head(f);
    if (f->factors) draw_foot(f);
}
