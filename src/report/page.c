/* page.c - the whole page: what was compared, the overview over tasks, then task by task. */
#include "report/page.h"

#include <math.h>

#include "base/error.h"
#include "report/html.h"

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
    text_add(out, ".</p>\n");
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
    if (m && m->n) {
        html_number(out, stats_mean(m->final, m->n));
        text_add(out, " <small>± ");
        html_number(out, stats_sd(m->final, m->n));
        text_add(out, "</small>");
    }
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

static void write_standings(const contests *c, text *out)
{
    int gaps = 0;
    for (size_t i = 0; i < c->count; i++) gaps += c->list[i].has_gap;
    if (!gaps) return;
    text_add(out, "<h3>Over all tasks with a gap</h3>\n<div class=\"wide\"><table><tr><th>method"
                  "</th><th>tasks</th><th>score (IQM)</th><th>95 %% interval</th>"
                  "<th>P(better than sac)</th></tr>\n");
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
        text_add(out, "</td></tr>\n");
    }
    text_add(
        out,
        "</table></div><p class=\"note\">Score: 0 is sac, 1 the oracle, on tasks where the two "
        "are more than two pooled standard deviations apart. Interquartile mean over all seeds "
        "of these tasks; interval by a bootstrap stratified by task (%d resamples, fixed "
        "seed).</p>\n",
        STATS_RESAMPLES);
}

int page_write(const contests *c, const char *title, text *out, json_t **figures)
{
    json_t *insights = json_array();
    int rc = 0;
    html_begin(out, title);
    write_summary(c, out);
    if (c->count > 1) {
        write_overview(c, out);
        write_standings(c, out);
    }
    for (size_t i = 0; i < c->count; i++) TRY(page_task(&c->list[i], (int)i + 1, out, insights));
    text_add(out, "<p class=\"note\" style=\"margin-top:48px\">Written by fans %s.</p>\n",
             fans_version());
    html_end(out);
    TRY(text_done(out));
    json_t *all = page_json(c, title);
    json_object_set(all, "insights", insights);
    *figures = all;
out:
    json_decref(insights);
    return rc;
}
