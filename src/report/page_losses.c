/* page_losses.c - what algorithms write beside returns, such as losses: one plot for each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

static const record_loss *find_loss(const record *r, const char *name)
{
    for (int i = 0; i < r->loss_count; i++)
        if (!strcmp(r->losses[i].name, name)) return &r->losses[i];
    return NULL;
}

/* Mean over the seeds that have it; returns whether any has. */
static bool average(const method *m, const char *name, double mean[RECORD_LOSS])
{
    int n[RECORD_LOSS] = {0}, all = 0;
    for (int k = 0; k < RECORD_LOSS; k++) mean[k] = 0;
    for (size_t i = 0; i < m->count; i++) {
        const record_loss *l = find_loss(m->runs[i], name);
        for (int k = 0; l && k < RECORD_LOSS; k++)
            if (!isnan(l->mean[k])) mean[k] += l->mean[k], n[k]++, all++;
    }
    for (int k = 0; k < RECORD_LOSS; k++) mean[k] = n[k] ? mean[k] / n[k] : NAN;
    return all > 0;
}

static void write_line(plot *p, const method *m, const double *x, const double *mean)
{
    enum { SPOTS = 10 };
    double known_x[RECORD_LOSS], known[RECORD_LOSS];
    char about[256];
    int n = 0;
    for (int k = 0; k < RECORD_LOSS; k++) /* a short run has no episode in some shares */
        if (!isnan(mean[k])) known_x[n] = x[k], known[n++] = mean[k];
    plot_line(p, page_colour(m->colour), known_x, known, n);
    for (int k = 0; k < RECORD_LOSS; k += RECORD_LOSS / SPOTS) {
        if (isnan(mean[k])) continue;
        snprintf(about, sizeof about, "%s, %.0f %%: %.4g", m->label, x[k], mean[k]);
        plot_hover(p, x[k], mean[k], about);
    }
}

static void write_loss(const contest *t, const char *name, text *out)
{
    double x[RECORD_LOSS], mean[RECORD_LOSS], low = INFINITY, high = -INFINITY;
    plot p;
    for (int k = 0; k < RECORD_LOSS; k++) x[k] = (k + 0.5) * 100 / RECORD_LOSS;
    for (size_t i = 0; i < t->count; i++) {
        average(&t->methods[i], name, mean);
        for (int k = 0; k < RECORD_LOSS; k++) low = fmin(low, mean[k]), high = fmax(high, mean[k]);
    }
    text_add(out, "<div><h4>");
    html_text(out, name);
    text_add(out, "</h4>");
    plot_begin(&p, out, axis_between(0, 100, 4), axis_over(low, high, 3), "small", name);
    for (size_t i = 0; i < t->count; i++)
        if (average(&t->methods[i], name, mean)) write_line(&p, &t->methods[i], x, mean);
    plot_axes(&p, "percent of the run");
    plot_end(&p);
    text_add(out, "</div>\n");
}

/* Whether an earlier run of the task has a loss of that name. */
static bool is_known(const contest *t, size_t last, size_t run, const char *name)
{
    for (size_t i = 0; i <= last; i++)
        for (size_t k = 0; k < (i < last ? t->methods[i].count : run); k++)
            if (find_loss(t->methods[i].runs[k], name)) return true;
    return false;
}

void page_losses(const contest *t, text *out)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->methods[i].count; k++) {
            const record *r = t->methods[i].runs[k];
            for (int l = 0; l < r->loss_count; l++) {
                if (is_known(t, i, k, r->losses[l].name)) continue;
                if (!any) text_add(out, "<details><summary>Losses</summary><div class=\"pair\">\n");
                any = true;
                write_loss(t, r->losses[l].name, out);
            }
        }
    if (any)
        text_add(out, "</div><p class=\"note\">As in metrics.csv, averaged over equal shares of "
                      "a run, then over seeds.</p></details>\n");
}
