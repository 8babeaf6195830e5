/* page_evals.c - evaluations on the way: their curve over seeds, its best and its last point, and
 * what each value of a chosen factor came to. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

/* The evaluations that all runs of a method have. */
typedef struct shared {
    int count, values;
    double *mean, *sd; /* [count] returns over seeds */
    int best;          /* the largest mean */
} shared;

static void find_shape(shared *s, const method *m)
{
    *s = (shared){.count = m->runs[0]->evals.count, .values = m->runs[0]->evals.values};
    for (size_t i = 1; i < m->count; i++) {
        const evals *e = &m->runs[i]->evals;
        if (e->values != s->values) s->count = 0;
        if (e->count < s->count) s->count = e->count;
    }
}

/* Means over values of evaluation k, one for each run. */
static void over_runs(const method *m, int k, int column, double *to)
{
    for (size_t i = 0; i < m->count; i++) to[i] = evals_mean(&m->runs[i]->evals, k, column);
}

/* The mean over runs for one value. */
static double over_seeds(const method *m, int k, int value, int column)
{
    double sum = 0;
    for (size_t i = 0; i < m->count; i++) sum += evals_at(&m->runs[i]->evals, k, value, column);
    return sum / (double)m->count;
}

static int find(shared *s, const method *m)
{
    find_shape(s, m);
    size_t n = (size_t)s->count + 1;
    double *runs = mem_alloc(m->count * sizeof *runs);
    s->mean = mem_alloc(2 * n * sizeof *s->mean);
    int rc = runs && s->mean ? 0 : FANS_ENOMEM;
    s->sd = s->mean + n;
    for (int k = 0; rc == 0 && k < s->count; k++) {
        over_runs(m, k, EVALS_return, runs);
        s->mean[k] = stats_mean(runs, (int)m->count);
        s->sd[k] = stats_sd(runs, (int)m->count);
        if (s->mean[k] > s->mean[s->best]) s->best = k;
    }
    mem_free(runs);
    return rc;
}

static double step_of(const method *m, int k)
{
    return evals_at(&m->runs[0]->evals, k, 0, EVALS_step);
}

static void write_share(text *out, double share)
{
    text_add(out, "<td>");
    html_fixed(out, 100 * share, 0);
    text_add(out, "%s</td>", isnan(share) ? "" : " %");
}

static double last_mean(const method *m, const shared *s, int column)
{
    double sum = 0;
    for (int i = 0; i < s->values; i++) sum += over_seeds(m, s->count - 1, i, column);
    return sum / s->values;
}

static void write_method(text *out, const method *m, const shared *s)
{
    int last = s->count - 1;
    text_add(out, "<tr><td>");
    page_method(out, m->colour, m->label);
    text_add(out, "</td><td>%zu</td><td>", m->count);
    html_number(out, s->mean[s->best]);
    text_add(out, " <small>at step %.0f</small></td><td>", step_of(m, s->best));
    html_number(out, s->mean[last]);
    if (!isnan(s->sd[last])) {
        text_add(out, " <small>± ");
        html_like(out, s->sd[last], s->mean[last]);
        text_add(out, "</small>");
    }
    text_add(out, "</td>");
    write_share(out, last_mean(m, s, EVALS_success));
    write_share(out, last_mean(m, s, EVALS_reached));
    text_add(out, "</tr>\n");
    for (int i = 0; s->values > 1 && i < s->values; i++) {
        text_add(out, "<tr><td><small>value ");
        text_add(out, "%g", evals_at(&m->runs[0]->evals, last, i, EVALS_value));
        text_add(out, "</small></td><td></td><td>");
        html_number(out, over_seeds(m, s->best, i, EVALS_return));
        text_add(out, "</td><td>");
        html_number(out, over_seeds(m, last, i, EVALS_return));
        text_add(out, "</td>");
        write_share(out, over_seeds(m, last, i, EVALS_success));
        write_share(out, over_seeds(m, last, i, EVALS_reached));
        text_add(out, "</tr>\n");
    }
}

static void write_plot(const contest *t, const shared *all, text *out)
{
    double low = INFINITY, high = -INFINITY, end = 0, x[1024];
    for (size_t i = 0; i < t->count; i++)
        for (int k = 0; k < all[i].count; k++) {
            low = fmin(low, all[i].mean[k]), high = fmax(high, all[i].mean[k]);
            end = fmax(end, step_of(&t->methods[i], k));
        }
    plot p;
    plot_begin(&p, out, axis_between(0, end, 6), axis_over(low, high, 5), "",
               "returns of evaluations");
    for (size_t i = 0; i < t->count; i++) {
        int n = all[i].count < 1024 ? all[i].count : 1024;
        for (int k = 0; k < n; k++) x[k] = step_of(&t->methods[i], k);
        if (n > 0) plot_line(&p, page_colour(t->methods[i].colour), x, all[i].mean, n);
    }
    plot_axes(&p, "environment steps");
    plot_end(&p);
}

int page_evals(const contest *t, text *out)
{
    int rc = 0, any = 0;
    shared *all = mem_alloc(t->count * sizeof *all);
    TRY(all ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < t->count; i++) {
        TRY(find(&all[i], &t->methods[i]));
        any += all[i].count > 0;
    }
    if (!any) goto out;
    text_add(out, "<h3>Evaluations on the way</h3>\n");
    write_plot(t, all, out);
    text_add(out,
             "<div class=\"wide\"><table><tr><th>method</th><th>seeds</th><th>best of the mean "
             "curve</th><th>last</th><th>success</th><th>reached</th></tr>\n");
    for (size_t i = 0; i < t->count; i++)
        if (all[i].count > 0) write_method(out, &t->methods[i], &all[i]);
    text_add(
        out,
        "</table></div>\n<p class=\"note\">Without exploration, always in the same worlds; "
        "where a factor is chosen among values, each has as many episodes. The best is that of "
        "the mean over seeds and values. Success and what was reached are of the last "
        "evaluation, at an episode's last step: as the task says, and by "
        "<code>train.eval_reach</code>.</p>\n");
out:
    for (size_t i = 0; all && i < t->count; i++) mem_free(all[i].mean);
    mem_free(all);
    return rc;
}

json_t *page_evals_json(const method *m)
{
    shared s;
    json_t *values = json_array(), *all = NULL;
    if (find(&s, m) == 0 && s.count > 0) {
        int last = s.count - 1;
        for (int i = 0; i < s.values; i++) {
            json_t *one = json_object();
            for (int c = EVALS_value; c < EVALS_COLUMN_COUNT; c++)
                json_object_set_new(one, evals_columns[c], json_number(over_seeds(m, last, i, c)));
            json_array_append_new(values, one);
        }
        all =
            json_pack("{s:o, s:o, s:o, s:o, s:O}", "best", json_number(s.mean[s.best]), "best_step",
                      json_number(step_of(m, s.best)), "last", json_number(s.mean[last]), "last_sd",
                      json_number(s.sd[last]), "values", values);
    }
    mem_free(s.mean);
    json_decref(values);
    return all ? all : json_null();
}
