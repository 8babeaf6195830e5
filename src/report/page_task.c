/* page_task.c - one task of the page. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/curve.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

/* ---- what changes ---------------------------------------------------------------------------- */

/* "half_cheetah; speed changes: sine, clock episode" */
void page_world(const record *r, text *out)
{
    text_add(out, "<p class=\"note\">Environment ");
    html_text(out, record_get(r, "env", "name"));
    const char *seen = "";
    for (size_t i = 0; i < r->setting_count; i++) {
        const char *section = r->settings[i].section;
        if (strncmp(section, "change.", 7) || !strcmp(section, seen)) continue;
        const char *shape = record_get(r, section, "function"),
                   *clock = record_get(r, section, "clock");
        text_add(out, "%s", *seen ? ", " : "; what changes: ");
        html_text(out, section + 7);
        if (shape && clock) {
            text_add(out, " (");
            html_text(out, shape);
            text_add(out, ", clock: ");
            html_text(out, clock);
            text_add(out, ")");
        }
        seen = section;
    }
    text_add(out, "%s.</p>\n", *seen ? "" : "; nothing changes");
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void write_legend(const contest *t, text *out)
{
    text_add(out, "<div class=\"legend\">");
    for (size_t i = 0; i < t->count; i++) {
        text_add(out, "<span>");
        page_method(out, t->methods[i].colour, t->methods[i].label);
        text_add(out, "</span>");
    }
    text_add(out, "</div>\n");
}

/* Labels at the ends of curves, pushed apart where they would overlap. */
static void write_ends(plot *p, const contest *t, const curve *curves)
{
    enum { MOST = 64 };
    const double apart = 0.055;
    int order[MOST], n = 0;
    double height[MOST];
    for (size_t i = 0; i < t->count && n < MOST; i++) {
        if (!curves[i].n) continue;
        double h = plot_height(p, curves[i].mean[curves[i].n - 1]);
        int at = n++;
        for (; at > 0 && height[at - 1] > h; at--)
            height[at] = height[at - 1], order[at] = order[at - 1];
        height[at] = h, order[at] = (int)i;
    }
    for (int i = 1; i < n; i++) height[i] = fmax(height[i], height[i - 1] + apart);
    /* what went out at the bottom pushes back up */
    double floor_ = 1;
    for (int i = n - 1; i >= 0; i--, floor_ = height[i + 1] - apart)
        height[i] = fmin(height[i], floor_);
    for (int i = 0; i < n; i++) {
        const method *m = &t->methods[order[i]];
        plot_label(p, page_colour(m->colour), height[i], m->label);
    }
}

static void write_band(plot *p, const method *m, const curve *c)
{
    double low[CURVE_POINTS], high[CURVE_POINTS];
    for (int k = 0; k < c->n; k++) low[k] = c->mean[k] - c->sd[k], high[k] = c->mean[k] + c->sd[k];
    plot_band(p, page_colour(m->colour), c->x, low, high, c->n);
}

/* What curves are drawn over: steps, or time in a unit that suits it. */
typedef struct ruler {
    curve_axis over;
    double unit;
    const char *name, *word; /* of the axis; at a point on it */
} ruler;

static ruler ruler_of(curve_axis over, double last)
{
    enum { LONG = 600, LONGER = 4 * 3600 };
    if (over == CURVE_STEPS) return (ruler){over, 1, "environment steps", "steps"};
    if (last < LONG) return (ruler){over, 1, "seconds spent on a run", "s"};
    if (last < LONGER) return (ruler){over, 60, "minutes spent on a run", "min"};
    return (ruler){over, 3600, "hours spent on a run", "h"};
}

/* The smoothed curve, what it was before faintly behind it, and values to point at. */
static void write_lines(plot *p, const method *m, const curve *c, ruler u)
{
    enum { SPOTS = 40 };
    char raw[32], about[256];
    snprintf(raw, sizeof raw, "%s raw", page_colour(m->colour));
    plot_line(p, raw, c->x, c->raw, c->n);
    plot_line(p, page_colour(m->colour), c->x, c->mean, c->n);
    for (int k = 0; k < c->n; k += 1 + c->n / SPOTS) {
        snprintf(about, sizeof about, "%s, %.*f %s: %.4g", m->label, u.unit > 1, c->x[k], u.word,
                 c->mean[k]);
        plot_hover(p, c->x[k], c->mean[k], about);
    }
}

static void write_plot(const contest *t, const curve *curves, ruler u, text *out)
{
    double low = INFINITY, high = -INFINITY, last = 0;
    for (size_t i = 0; i < t->count; i++)
        for (int k = 0; k < curves[i].n; k++) {
            double sd = isnan(curves[i].sd[k]) ? 0 : curves[i].sd[k];
            low = fmin(low, curves[i].mean[k] - sd);
            high = fmax(high, curves[i].mean[k] + sd);
            last = fmax(last, curves[i].x[k]);
        }
    plot p;
    plot_begin(&p, out, axis_between(0, last, 6), axis_over(low, high, 5), "ends",
               "learning curves");
    for (size_t i = 0; i < t->count; i++) write_band(&p, &t->methods[i], &curves[i]);
    for (size_t i = 0; i < t->count; i++) write_lines(&p, &t->methods[i], &curves[i], u);
    plot_axes(&p, u.name);
    write_ends(&p, t, curves);
    plot_end(&p);
}

/* All curves along one axis; returns whether there is any. */
static bool draw_curves(const contest *t, curve_axis over, curve *curves, ruler *u)
{
    double last = 0;
    for (size_t i = 0; i < t->count; i++) {
        curve_of(&curves[i], &t->methods[i], over);
        if (curves[i].n) last = fmax(last, curves[i].x[curves[i].n - 1]);
    }
    *u = ruler_of(over, last);
    for (size_t i = 0; i < t->count; i++)
        for (int k = 0; k < curves[i].n; k++) curves[i].x[k] /= u->unit;
    return last > 0;
}

int page_curves(const contest *t, bool timed, text *out)
{
    ruler u;
    curve *curves = mem_alloc(t->count * sizeof *curves);
    if (!curves) return FANS_ENOMEM;
    if (draw_curves(t, CURVE_STEPS, curves, &u)) {
        write_legend(t, out);
        write_plot(t, curves, u, out);
        text_add(out,
                 "<p class=\"note\">Return, smoothed over %d episodes; faint: as it was; band: ± "
                 "one standard deviation over seeds.</p>\n",
                 t->methods[0].runs[0]->window);
    } else {
        text_add(out, "<p>No run has finished an episode yet.</p>\n");
    }
    if (timed && draw_curves(t, CURVE_SECONDS, curves, &u)) {
        text_add(out, "<details><summary>The same over time</summary>\n");
        write_plot(t, curves, u, out);
        text_add(out, "</details>\n");
    }
    mem_free(curves);
    return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void page_spread(text *out, const double *x, int n)
{
    double mean = stats_mean(x, n), sd = stats_sd(x, n);
    html_number(out, mean);
    if (isnan(sd)) return;
    text_add(out, " <small>± ");
    html_like(out, sd, mean);
    text_add(out, "</small>");
}

static void write_iqm(const method *m, text *out)
{
    html_number(out, m->iqm);
    if (isnan(m->iqm_range.low)) return;
    text_add(out, " <small>");
    html_like(out, m->iqm_range.low, m->iqm);
    text_add(out, " … ");
    html_like(out, m->iqm_range.high, m->iqm);
    text_add(out, "</small>");
}

static void write_method(const contest *t, const method *m, text *out)
{
    text_add(out, "<tr><td>");
    page_method(out, m->colour, m->label);
    text_add(out, "</td><td>%s</td><td>%zu", m->told, m->count);
    if (m->unfinished) text_add(out, " <small>(%d unfinished)</small>", m->unfinished);
    text_add(out, "</td><td>");
    page_spread(out, m->final, m->n);
    text_add(out, "</td><td>");
    write_iqm(m, out);
    text_add(out, "</td><td>");
    page_spread(out, m->area, m->n);
    text_add(out, "</td><td>");
    if (t->has_gap)
        html_fixed(out, m->score, 2);
    else
        text_add(out, "<small>%s</small>", isnan(t->noise) ? "–" : "no gap");
    text_add(out, "</td><td>");
    html_duration(out, stats_mean(m->time, m->n));
    text_add(out, "</td></tr>\n");
}

static void write_gap(const contest *t, text *out)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->methods[i].unfinished) {
            text_add(out, "Unfinished runs count with their results so far. ");
            break;
        }
    if (t->sac < 0 || t->oracle < 0) {
        text_add(out, "No score: it needs runs of both sac and oracle.");
        return;
    }
    if (isnan(t->noise)) {
        text_add(out, "No score: it needs two seeds that sac and oracle share.");
        return;
    }
    text_add(out, "Score: 0 is sac, 1 the oracle on the same seeds; they are ");
    html_number(out, t->gap);
    text_add(out, " apart, %s twice their pooled standard deviation of ",
             t->has_gap ? "more than" : "not more than");
    html_number(out, t->noise);
    text_add(out, "%s.", t->has_gap ? "" : ", so there is no gap to measure");
}

static void write_table(const contest *t, text *out)
{
    text_add(out, "<div class=\"wide\"><table><tr><th>method</th><th>told</th><th>seeds</th>"
                  "<th>final return</th>"
                  "<th>IQM, 95 %% interval</th><th>area under the curve</th><th>score</th>"
                  "<th>time a run</th></tr>\n");
    for (size_t i = 0; i < t->count; i++) write_method(t, &t->methods[i], out);
    text_add(out, "</table></div>\n<p class=\"note\">");
    write_gap(t, out);
    text_add(out, "</p>\n");
}

static void write_p(const stats_wilcoxon *w, text *out)
{
    text_add(out, "<td>");
    if (w->p < 0.001)
        text_add(out, "&lt;0.001");
    else
        html_fixed(out, w->p + 1e-9, 3); /* 2/2⁵ is 0.063, not 0.062 */
    text_add(out, "%s</td>", w->exact || isnan(w->p) ? "" : " <small>≈</small>");
}

/* With one seed there is nothing to test. */
static bool any_p(const contest *t)
{
    for (size_t i = 0; i < t->count * t->count; i++)
        if (i % (t->count + 1) && isfinite(t->p[i].p)) return true;
    return false;
}

static void write_tests(const contest *t, text *out)
{
    if (t->count < 2 || !any_p(t)) return;
    text_add(out,
             "<h3>p of differences, paired by seed</h3>\n<div class=\"wide\"><table><tr><th>against"
             "</th>");
    for (size_t k = 0; k < t->count; k++) {
        text_add(out, "<th>");
        html_text(out, t->methods[k].label);
        text_add(out, "</th>");
    }
    text_add(out, "</tr>\n");
    for (size_t i = 0; i < t->count; i++) {
        text_add(out, "<tr><td>");
        page_method(out, t->methods[i].colour, t->methods[i].label);
        text_add(out, "</td>");
        for (size_t k = 0; k < t->count; k++)
            if (i == k)
                text_add(out, "<td></td>");
            else
                write_p(&t->p[i * t->count + k], out);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

static void write_seeds(const contest *t, text *out)
{
    text_add(out, "<details><summary>Every run</summary><div class=\"wide\"><table><tr><th>method"
                  "</th><th>seed</th><th>episodes</th><th>steps</th><th>final return</th><th>area"
                  "</th><th>time</th><th class=\"left\">state</th><th class=\"left\">folder</th>"
                  "</tr>\n");
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->methods[i].count; k++) {
            const record *r = t->methods[i].runs[k];
            text_add(out, "<tr><td>");
            page_method(out, t->methods[i].colour, t->methods[i].label);
            text_add(out, "</td><td>%ld</td><td>%d</td><td>%.0f</td><td>", r->seed, r->episodes,
                     r->episodes ? r->step[r->episodes - 1] : 0);
            html_number(out, r->final);
            text_add(out, "</td><td>");
            html_number(out, r->area);
            text_add(out, "</td><td>");
            html_duration(out, r->time);
            text_add(out, "</td><td class=\"left\">");
            if (r->done)
                text_add(out, "done");
            else
                text_add(out, "unfinished, %d of %ld episodes", r->episodes, r->planned);
            text_add(out, "</td><td class=\"left path\">");
            html_text(out, r->path);
            text_add(out, "</td></tr>\n");
        }
    text_add(out, "</table></div></details>\n");
}

/* ---- settings -------------------------------------------------------------------------------- */

static void write_pre(text *out, const char *title, const char *content)
{
    if (!content) return;
    text_add(out, "<h4>%s</h4><pre>", title);
    html_text(out, content);
    text_add(out, "</pre>\n");
}

static void write_settings(const contest *t, text *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const method *m = &t->methods[i];
        const record *r = m->runs[0];
        text_add(out, "<details><summary>");
        html_text(out, m->label);
        text_add(out, ": configuration, command, system (seed %ld)</summary>\n", r->seed);
        write_pre(out, "config.ini", r->config);
        write_pre(out, "command", r->command);
        write_pre(out, "system", r->system);
        text_add(out, "</details>\n");
    }
}

int page_task(const contest *t, int number, size_t seeds, text *out, json_t *insights,
              json_t *after)
{
    int rc = 0;
    text_add(out, "<h2 id=\"task-%d\">", number);
    html_text(out, t->label);
    text_add(out, "</h2>\n");
    page_world(t->methods[0].runs[0], out);
    TRY(page_curves(t, true, out));
    write_table(t, out);
    TRY(page_after_change(t, out, after));
    page_found(t, out);
    page_losses(t, out);
    TRY(page_evals(t, out));
    write_tests(t, out);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->methods[i].count && k < seeds; k++)
            TRY(page_run(&t->methods[i], t->methods[i].runs[k], k == 0, out, insights));
    text_add(out, "<h3>Runs and settings</h3>\n");
    write_seeds(t, out);
    write_settings(t, out);
out:
    return rc;
}
