/* page_relabel.c - how far a run learned from experience under other factors, and how good its
 * reward model was on steps it had not learned from. */
#include <math.h>

#include "base/csv.h"
#include "base/error.h"
#include "report/html.h"
#include "report/page.h"

static double mean_of(const csv *t, int column)
{
    double sum = 0;
    for (size_t i = 0; i < t->rows; i++) sum += csv_at(t, i, column);
    return sum / (double)t->rows;
}

/* The last value of a column; NaN: there is none. */
static double last_of(const csv *t, const char *name)
{
    int column = csv_column(t, name);
    return column < 0 ? NAN : csv_at(t, t->rows - 1, column);
}

static void write_line(text *out, double share, double error, double change, double slope)
{
    text_add(out, "<h4>Experience under other factors</h4><p class=\"note\">");
    html_fixed(out, 100 * share, 0);
    text_add(out, " %% of what was learned from was relabelled, as a mean over the run. At its end "
                  "the reward model errs by ");
    html_fixed(out, error, 3);
    text_add(out, " a step on steps it has not learned from, where other factors change the reward "
                  "by ");
    html_fixed(out, change, 3);
    text_add(out, "; the rewards bear out ");
    html_fixed(out, slope, 2);
    text_add(out, " of that change.</p>\n");
}

int page_relabel(const char *metrics, text *out, json_t *figures)
{
    csv t = {0};
    int rc = 0;
    TRY(csv_read(&t, metrics));
    int share = csv_column(&t, "relabel_share");
    if (share >= 0 && t.rows > 0) {
        double mean = mean_of(&t, share), error = last_of(&t, "relabel_error");
        double change = last_of(&t, "relabel_change"), slope = last_of(&t, "relabel_slope");
        write_line(out, mean, error, change, slope);
        json_object_set_new(figures, "relabelled",
                            json_pack("{s:o, s:o, s:o, s:o}", "share", json_number(mean), "error",
                                      json_number(error), "change", json_number(change), "slope",
                                      json_number(slope)));
    }
out:
    csv_free(&t);
    return rc;
}
