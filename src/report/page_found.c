/* page_found.c - changes that agents find by themselves: how soon, how many, and false ones. */
#include <math.h>

#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

static findings found_by(const method *m)
{
    findings all = {0};
    for (size_t i = 0; i < m->count; i++) findings_add(&all, &m->runs[i]->found);
    return all;
}

json_t *page_found_json(const method *m)
{
    findings f = found_by(m);
    if (!f.known) return json_null();
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "changes", f.changes, "median_delay",
                     json_number(findings_median(&f)), "missed", json_number(findings_missed(&f)),
                     "false_alarms_per_1000", json_number(findings_alarms(&f)), "quiet_steps",
                     json_number(f.quiet));
}

static void write_cell(text *out, double x, int decimals, const char *unit)
{
    text_add(out, "<td>");
    if (isinf(x))
        text_add(out, "&gt; %d", NOTICED_WITHIN);
    else
        html_fixed(out, x, decimals);
    text_add(out, "%s</td>", isfinite(x) ? unit : "");
}

static void write_row(text *out, const method *m, const findings *f)
{
    text_add(out, "<tr><td>");
    html_text(out, m->label);
    text_add(out, "</td><td>%d</td>", f->changes);
    write_cell(out, findings_median(f), 0, "");
    write_cell(out, 100 * findings_missed(f), 1, " %");
    write_cell(out, findings_alarms(f), 2, "");
    text_add(out, "</tr>\n");
}

static void write_curves(const contest *t, text *out)
{
    double x[NOTICED_WITHIN + 1], y[NOTICED_WITHIN + 1];
    plot p;
    plot_begin(&p, out, axis_between(0, NOTICED_WITHIN, 5), axis_over(0, 1, 4), "",
               "share of changes noticed by steps since the change");
    for (size_t i = 0; i < t->count; i++) {
        findings f = found_by(&t->methods[i]);
        if (!f.known || !f.changes) continue;
        for (int k = 0; k <= NOTICED_WITHIN; k++) x[k] = k, y[k] = findings_within(&f, k);
        plot_line(&p, page_colour(t->methods[i].colour), x, y, NOTICED_WITHIN + 1);
    }
    plot_axes(&p, "steps since the change");
    plot_end(&p);
}

void page_found(const contest *t, text *out)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++) {
        findings f = found_by(&t->methods[i]);
        if (!f.known) continue;
        if (!any)
            text_add(out, "<h3>Changes noticed</h3>\n<div class=\"wide\"><table><tr><th>method</th>"
                          "<th>changes</th><th>median delay</th><th>missed</th>"
                          "<th>false alarms per 1,000 steps</th></tr>\n");
        any = true;
        write_row(out, &t->methods[i], &f);
    }
    if (!any) return;
    text_add(out, "</table></div>\n");
    write_curves(t, out);
    text_add(
        out,
        "<p class=\"note\">Nobody told these agents when the world may have changed. A change "
        "is noticed when the probability of one since then exceeds 1/2, missed after %d steps. "
        "An alarm is false when nothing has changed for %d steps. Second half of every run; "
        "only changes that lasted %d steps. The curve is the share noticed so far.</p>\n",
        NOTICED_WITHIN, NOTICED_WITHIN, NOTICED_WITHIN);
}
