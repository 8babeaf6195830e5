/* page.c - the whole page: what was compared, the overview over tasks, then task by task. */
#include "report/page.h"

#include <math.h>

#include "base/error.h"
#include "report/html.h"
#include "report/plot.h"

const char *page_colour(int colour)
{
    static const char *const classes[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    return classes[colour % 8];
}

void page_method(text *out, int colour, const char *label)
{
    text_add(out, "<span class=\"key %s\"></span>", page_colour(colour));
    html_text(out, label);
}

/* ---- the top --------------------------------------------------------------------------------- */

static void write_summary(const contests *c, text *out)
{
    size_t unfinished = 0;
    for (size_t i = 0; i < c->record_count; i++) unfinished += !c->records[i]->done;
    text_add(out, "<p>%zu run%s on %zu task%s", c->record_count, c->record_count == 1 ? "" : "s",
             c->count, c->count == 1 ? "" : "s");
    if (unfinished)
        text_add(out, "; <b>%zu not finished</b>, shown as far as they got", unfinished);
    text_add(out, ". <a href=\"#method\">How the figures are made</a></p>\n");
}

static const method *find(const contest *t, int colour)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->methods[i].colour == colour) return &t->methods[i];
    return NULL;
}

static void write_cell(const method *m, text *out)
{
    text_add(out, "<td>");
    if (m && m->n) page_spread(out, m->final, m->n);
    text_add(out, "</td>");
}

/* Final returns, tasks by methods. */
static void write_overview(const contests *c, text *out)
{
    text_add(out, "<h3>Final returns</h3>\n<div class=\"wide\"><table><tr><th>task</th>");
    for (int k = 0; k < c->standing_count; k++) {
        text_add(out, "<th>");
        page_method(out, c->standings[k].colour, c->standings[k].label);
        text_add(out, "</th>");
    }
    text_add(out, "</tr>\n");
    for (size_t i = 0; i < c->count; i++) {
        text_add(out, "<tr><td><a href=\"#task-%zu\">", i + 1);
        html_text(out, c->list[i].label);
        text_add(out, "</a></td>");
        for (int k = 0; k < c->standing_count; k++) write_cell(find(&c->list[i], k), out);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

/* The share of runs whose score is above tau, for tau from low to high. */
static void write_profiles(const contests *c, text *out)
{
    enum { POINTS = 101 };
    const double low = -0.5, high = 1.5;
    double x[POINTS], y[POINTS];
    plot p;
    text_add(out, "<h3>Performance profiles</h3>\n");
    plot_begin(&p, out, axis_between(low, high, 4), axis_over(0, 1, 4), "small",
               "share of runs above a score");
    for (int k = 0; k < c->standing_count; k++) {
        const standing *s = &c->standings[k];
        for (int i = 0; i < POINTS; i++) {
            x[i] = low + (high - low) * i / (POINTS - 1);
            y[i] = stats_above(s->scores, s->runs, x[i]);
        }
        if (s->tasks) plot_line(&p, page_colour(s->colour), x, y, POINTS);
    }
    plot_axes(&p, "score");
    plot_end(&p);
    text_add(out, "<p class=\"note\">Share of all runs whose score is above the one below.</p>\n");
}

static void write_standings(const contests *c, text *out)
{
    int gaps = 0;
    for (size_t i = 0; i < c->count; i++) gaps += c->list[i].has_gap;
    if (!gaps) return;
    text_add(out, "<h3>Over all tasks with a gap</h3>\n<div class=\"wide\"><table><tr><th>method"
                  "</th><th>tasks</th><th>score (IQM)</th><th>95 %% interval</th>"
                  "<th>P(better than sac), 95 %% interval</th></tr>\n");
    for (int k = 0; k < c->standing_count; k++) {
        const standing *s = &c->standings[k];
        if (!s->tasks) continue;
        text_add(out, "<tr><td>");
        page_method(out, s->colour, s->label);
        text_add(out, "</td><td>%d of %d</td><td>", s->tasks, gaps);
        html_fixed(out, s->iqm, 2);
        text_add(out, "</td><td>");
        html_fixed(out, s->range.low, 2);
        text_add(out, " … ");
        html_fixed(out, s->range.high, 2);
        text_add(out, "</td><td>");
        html_fixed(out, s->improvement, 2);
        text_add(out, " <small>");
        html_fixed(out, s->improvement_range.low, 2);
        text_add(out, " … ");
        html_fixed(out, s->improvement_range.high, 2);
        text_add(out, "</small></td></tr>\n");
    }
    text_add(out, "</table></div>\n");
    write_profiles(c, out);
}

static void write_method(text *out)
{
    text_add(
        out,
        "<h2 id=\"method\">How the figures are made</h2>\n"
        "<p><b>Curves.</b> Every seed's return is averaged over its last episodes (a %dth of the "
        "run, from %d to %d), then over seeds at the same number of environment steps. The band is "
        "± one standard deviation over seeds.</p>\n"
        "<p><b>Final return.</b> The mean of a seed's last %d episodes; mean ± standard "
        "deviation over seeds. IQM is the interquartile mean over seeds, with the 95 %% interval "
        "of a percentile bootstrap (%d resamples, fixed seed).</p>\n",
        RECORD_SHARE, RECORD_LEAST, RECORD_MOST, RECORD_FINAL, STATS_RESAMPLES);
    text_add(
        out,
        "<p><b>Area under the curve.</b> The mean return over all steps of a run, learning "
        "included.</p>\n"
        "<p><b>Score.</b> 0 is the mean of sac and 1 that of the oracle, over the seeds that both "
        "have. Scores exist only where the oracle is ahead by more than twice the pooled standard "
        "deviation; "
        "otherwise there is no gap to measure. Over several tasks: the interquartile mean of "
        "all seeds' scores, its interval by a bootstrap stratified by task; and the "
        "probability that a seed of the method beats one of sac, averaged over tasks.</p>\n");
    text_add(
        out,
        "<p><b>p.</b> Wilcoxon's signed-rank test of final returns, paired by seed, two-sided, not "
        "corrected for the number of tests. n pairs cannot give less than 2/2ⁿ: 0.063 with "
        "five seeds, 0.002 with ten; one pair gives no p. ≈ marks ties or zeros, where the normal "
        "approximation "
        "replaces the exact distribution.</p>\n"
        "<p><b>Time a run.</b> Seconds that its training spent on it alone: acting, learning, "
        "stepping and saving, divided by the runs that it learned together. Runs of version 0.1 "
        "have the wall time of their process instead.</p>\n");
}

/* Seeds of a method whose beliefs and graphs are shown: fewer where there are many methods, as
 * these are most of a page. */
static size_t seeds_shown(const contests *c)
{
    enum { MOST = 5, ALL = 40 };
    size_t methods = 0;
    for (size_t i = 0; i < c->count; i++) methods += c->list[i].count;
    return methods > ALL ? 1 : methods * MOST < ALL ? MOST : ALL / methods;
}

int page_write(const contests *c, const char *title, text *out, json_t **figures)
{
    json_t *insights = json_array(), *afters = json_array();
    int rc = 0;
    html_begin(out, title);
    write_summary(c, out);
    if (c->count > 1) {
        write_overview(c, out);
        write_standings(c, out);
    }
    for (size_t i = 0; i < c->count; i++) {
        json_t *after = json_object();
        json_array_append_new(afters, after);
        TRY(page_task(&c->list[i], (int)i + 1, seeds_shown(c), out, insights, after));
    }
    write_method(out);
    text_add(out, "<p class=\"note\">Written by fans %s.</p>\n", fans_version());
    html_end(out);
    TRY(text_done(out));
    json_t *all = page_json(c, title);
    json_object_set(all, "insights", insights);
    json_object_set(all, "reward_after_change", afters);
    *figures = all;
out:
    json_decref(insights);
    json_decref(afters);
    return rc;
}
