/* page_change.c - what happens after a change, by steps since it: rewards of all methods, R² and
 * error of a belief, and a belief within the last episodes. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

/* ---- bins ------------------------------------------------------------------------------------ */

typedef struct bin_names {
    char text[SINCE_BINS][24];
    const char *list[SINCE_BINS];
} bin_names;

/* "2", "3–4", "1000+" */
static void name_bins(bin_names *n)
{
    for (int k = 0; k < SINCE_BINS; k++) {
        int from = since_starts[k], to = k + 1 < SINCE_BINS ? since_starts[k + 1] - 1 : -1;
        if (to < 0)
            snprintf(n->text[k], sizeof n->text[k], "%d+", from);
        else if (to == from)
            snprintf(n->text[k], sizeof n->text[k], "%d", from);
        else
            snprintf(n->text[k], sizeof n->text[k], "%d–%d", from, to);
        n->list[k] = n->text[k];
    }
}

/* {"0": …, "1": …, "3": …}, without bins that nothing is known of. */
static json_t *by_bin(const double *x)
{
    json_t *all = json_object();
    char name[16];
    for (int k = 0; k < SINCE_BINS; k++) {
        snprintf(name, sizeof name, "%d", since_starts[k]);
        if (!isnan(x[k])) json_object_set_new(all, name, json_number(x[k]));
    }
    return all;
}

/* ---- rewards --------------------------------------------------------------------------------- */

/* Mean over seeds, and the last bin that any of them reached. */
static int average(const method *m, double *mean)
{
    int last = -1;
    for (int k = 0; k < SINCE_BINS; k++) {
        double sum = 0;
        int n = 0;
        for (size_t i = 0; i < m->count; i++)
            if (!isnan(m->runs[i]->after[k])) sum += m->runs[i]->after[k], n++;
        mean[k] = n ? sum / n : NAN;
        if (n) last = k;
    }
    return last;
}

static void write_curve(plot *p, const method *m, const double *mean, int bins,
                        const bin_names *names)
{
    double x[SINCE_BINS];
    char about[256];
    for (int k = 0; k < bins; k++) x[k] = k;
    plot_line(p, page_colour(m->colour), x, mean, bins);
    plot_dots(p, page_colour(m->colour), x, mean, bins);
    for (int k = 0; k < bins; k++) {
        if (isnan(mean[k])) continue;
        snprintf(about, sizeof about, "%s, %s steps after a change: %.3g", m->label, names->list[k],
                 mean[k]);
        plot_hover(p, x[k], mean[k], about);
    }
}

int page_after_change(const contest *t, text *out, json_t *figures)
{
    double low = INFINITY, high = -INFINITY;
    int bins = 0;
    double(*means)[SINCE_BINS] = mem_alloc(t->count * sizeof *means);
    if (!means) return FANS_ENOMEM;
    for (size_t i = 0; i < t->count; i++) {
        int last = average(&t->methods[i], means[i]);
        bins = last + 1 > bins ? last + 1 : bins;
        for (int k = 0; k <= last; k++)
            low = fmin(low, means[i][k]), high = fmax(high, means[i][k]);
        json_object_set_new(figures, t->methods[i].label, by_bin(means[i]));
    }
    if (bins > 1) {
        bin_names names;
        plot p;
        name_bins(&names);
        text_add(out, "<h3>Reward after a change</h3>\n");
        axis x = {.low = 0, .high = bins - 1, .step = 1, .labels = names.list};
        plot_begin(&p, out, x, axis_over(low, high, 4), "", "reward by steps since a change");
        for (size_t i = 0; i < t->count; i++)
            write_curve(&p, &t->methods[i], means[i], bins, &names);
        plot_axes(&p, "steps since the last change");
        plot_end(&p);
        text_add(out, "<p class=\"note\">Mean reward of a step, over the second half of every run. "
                      "Right after a change nobody can know of it; a method that adapts comes near "
                      "the oracle within some steps. Point at a dot to read it.</p>\n");
    }
    mem_free(means);
    return 0;
}

/* ---- beliefs --------------------------------------------------------------------------------- */

static void write_row(text *out, const char *name, const char *what, const double *x,
                      const bool *shown, int decimals)
{
    text_add(out, "<tr><td>");
    html_text(out, name);
    text_add(out, "</td><td class=\"left\">%s</td>", what);
    for (int k = 0; k < SINCE_BINS; k++) {
        if (!shown[k]) continue;
        text_add(out, "<td>");
        html_fixed(out, x[k], decimals);
        text_add(out, "</td>");
    }
    text_add(out, "</tr>\n");
}

/* How likely an agent that is told nothing took a recent change to be: means. */
static void write_changed(const beliefs *b, const bool *shown, text *out, json_t *figures)
{
    double mean[SINCE_BINS] = {0};
    int n[SINCE_BINS] = {0};
    if (b->changed < 0) return;
    for (size_t i = b->table.rows / 2; i < b->table.rows; i++) {
        int k = since_bin(b->since[i]);
        mean[k] += csv_at(&b->table, i, b->changed);
        n[k]++;
    }
    for (int k = 0; k < SINCE_BINS; k++) mean[k] = n[k] ? mean[k] / n[k] : NAN;
    write_row(out, "", "P(a change just now)", mean, shown, 3);
    json_object_set_new(figures, "changed", by_bin(mean));
}

static int write_factor(const beliefs *b, int f, const bool *shown, text *out, json_t *figures)
{
    double r2[SINCE_BINS], share[SINCE_BINS], named[SINCE_BINS];
    belief_reading reading = {0};
    int rc = 0;
    for (int k = 0; k < SINCE_BINS; k++) share[k] = named[k] = NAN;
    TRY(beliefs_r2_since(b, f, r2));
    write_row(out, beliefs_name(b, f), "R²", r2, shown, 3);
    TRY(beliefs_named_since(b, f, named));
    if (rc > 0) write_row(out, "", "right value", named, shown, 2);
    TRY(beliefs_reading(b, f, &reading));
    if (rc > 0) {
        TRY(beliefs_noticed(b, &reading, share));
        write_row(out, "", "error", reading.error, shown, 3);
        write_row(out, "", "noticed", share, shown, 2);
    }
    json_array_append_new(
        figures, json_pack("{s:o, s:o, s:o, s:o, s:o}", "factor", page_name(beliefs_name(b, f)),
                           "r2", by_bin(r2), "error", by_bin(reading.error), "noticed",
                           by_bin(share), "named", by_bin(named)));
    rc = 0;
out:
    belief_reading_free(&reading);
    return rc;
}

int page_beliefs_since(const beliefs *b, text *out, json_t *figures)
{
    bool shown[SINCE_BINS] = {0};
    bin_names names;
    json_t *all = json_array();
    int rc = 0;
    for (size_t i = 0; i < b->table.rows; i++) shown[since_bin(b->since[i])] = true;
    name_bins(&names);
    text_add(out, "<div class=\"wide\"><table><tr><th>factor</th><th class=\"left\">steps since "
                  "the last change</th>");
    for (int k = 0; k < SINCE_BINS; k++)
        if (shown[k]) text_add(out, "<th>%s</th>", names.list[k]);
    text_add(out, "</tr>\n");
    for (int f = 0; f < b->factors; f++) TRY(write_factor(b, f, shown, out, all));
    write_changed(b, shown, out, figures);
    text_add(out, "</table></div>\n");
    json_object_set(figures, "since_change", all);
out:
    json_decref(all);
    return rc;
}

/* Rows in a trace within episodes. */
enum { WITHIN = 80 };

static void draw_within(const beliefs *b, const belief_reading *r, int n, const double *x,
                        const double *truth, const double *guess, const double *error, text *out)
{
    double low = INFINITY, high = -INFINITY, from[WITHIN], to[WITHIN];
    char about[128];
    plot p;
    for (int i = 0; i < n; i++) {
        from[i] = guess[i] - error[i], to[i] = guess[i] + error[i];
        low = fmin(low, fmin(truth[i], guess[i])), high = fmax(high, fmax(truth[i], guess[i]));
    }
    text_add(out, "<div><h4>");
    html_text(out, beliefs_name(b, r->factor));
    text_add(out, "</h4>");
    plot_begin(&p, out, axis_between(x[0], x[n - 1], 4), axis_over(low, high, 3), "small",
               "true factor and belief within the last episodes");
    plot_band(&p, "c1", x, from, to, n);
    plot_steps(&p, "soft thin", x, truth, n);
    plot_line(&p, "c1 thin", x, guess, n);
    for (int i = 0; i < n; i++) {
        snprintf(about, sizeof about, "step %.0f: true %.3g, believed %.3g ± %.2g", x[i], truth[i],
                 guess[i], error[i]);
        plot_hover(&p, x[i], guess[i], about);
    }
    plot_axes(&p, "step");
    plot_end(&p);
    text_add(out, "</div>\n");
}

int page_beliefs_within(const beliefs *b, text *out)
{
    double x[WITHIN], truth[WITHIN], guess[WITHIN], error[WITHIN];
    int rc = 0;
    text_add(out, "<h4>Within the last episodes</h4><div class=\"pair\">\n");
    for (int f = 0; f < b->factors && rc == 0; f++) {
        belief_reading reading;
        int fitted = rc = beliefs_reading(b, f, &reading), n = 0;
        if (fitted > 0) n = rc = beliefs_last(b, &reading, WITHIN, x, truth, guess, error);
        if (n > 1) draw_within(b, &reading, n, x, truth, guess, error, out);
        if (fitted >= 0) belief_reading_free(&reading);
        rc = rc < 0 ? rc : 0;
    }
    text_add(out, "</div>\n");
    return rc;
}
