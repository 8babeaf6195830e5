/* comparison_write.c - a comparison for people: words, Markdown, LaTeX, a page. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/comparison_sheets.h"
#include "report/drawing.h"
#include "report/html.h"
#include "report/page.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const double LEVEL = 0.05; /* of tests */

/* The paper prints one decimal, or two. */
static void write_paper(text *out, const manifest_figure *f)
{
    int decimals = fabs(10 * f->mean - round(10 * f->mean)) > 1e-6 ? 2 : 1;
    html_fixed(out, f->mean, decimals);
    if (isnan(f->sd)) return;
    text_add(out, " ± ");
    html_fixed(out, f->sd, decimals);
}

static void write_spread(text *out, const method *m)
{
    double mean = m ? stats_mean(m->final, m->n) : NAN, sd = m ? stats_sd(m->final, m->n) : NAN;
    html_number(out, mean);
    if (isnan(sd)) return;
    text_add(out, " ± ");
    html_like(out, sd, mean);
}

/* • where fans is better, as the paper marks it. */
static void write_mark(text *out, const comparison *c, source_kind from, int row, const method *m)
{
    const contest *t = &c->from[from].list[row];
    if (!m || !(comparison_p(c, from, row, m) < LEVEL)) return;
    for (size_t i = 0; i < t->count; i++) {
        const method *fans = &t->methods[i];
        if (strcmp(fans->runs[0]->algo, "fans") != 0) continue;
        if (stats_mean(m->final, m->n) < stats_mean(fans->final, fans->n)) text_add(out, " •");
        return;
    }
}

static void write_cell(const comparison *c, sheet_kind kind, int row, int column, text *out)
{
    if (kind == SHEET_PAPER) {
        write_paper(out, &c->m->rows[row].paper[column]);
        return;
    }
    source_kind from = kind == SHEET_OURS ? SOURCE_OURS : SOURCE_YOURS;
    const method *m = comparison_at(c, row, column)->of[from];
    write_spread(out, m);
    write_mark(out, c, from, row, m);
}

static bool has_column(const comparison *c, sheet_kind kind, int column)
{
    if (!manifest_has_runs(c->m)) return false;
    if (kind == SHEET_PAPER) return comparison_has_paper(c, column);
    return comparison_has(c, kind == SHEET_OURS ? SOURCE_OURS : SOURCE_YOURS, column);
}

static bool has_row(const comparison *c, sheet_kind kind, int row)
{
    if (kind == SHEET_PAPER) return true;
    return c->from[kind == SHEET_OURS ? SOURCE_OURS : SOURCE_YOURS].list[row].count > 0;
}

bool comparison_sheet(const comparison *c, sheet_kind kind, sheet *out)
{
    *out = (sheet){.columns = 1};
    if (!has_column(c, kind, -1)) return false;
    sheet_word(out, "task");
    for (int k = 0; k < c->m->column_count; k++)
        if (has_column(c, kind, k)) {
            sheet_word(out, c->m->columns[k].o.label);
            out->columns++;
        }
    for (int i = 0; i < c->m->row_count; i++) {
        if (!has_row(c, kind, i)) continue;
        sheet_word(out, c->m->rows[i].o.label);
        for (int k = 0; k < c->m->column_count; k++)
            if (has_column(c, kind, k)) {
                write_cell(c, kind, i, k, sheet_begin(out));
                sheet_end(out);
            }
    }
    return true;
}

const char *comparison_title(sheet_kind kind)
{
    static const char *const titles[] = {"As printed", "Ours", "Yours"};
    return titles[kind];
}

/* ---- method by method ------------------------------------------------------------------------ */

static void add_count(sheet *s, const method *m)
{
    write_spread(sheet_begin(s), m);
    if (m) text_add(sheet_begin(s), " (%d)", m->n);
    sheet_end(s);
}

static void add_fixed(sheet *s, double x, int decimals)
{
    html_fixed(sheet_begin(s), x, decimals);
    sheet_end(s);
}

static void add_difference(sheet *s, const stats_interval *d)
{
    text *out = sheet_begin(s);
    if (isnan(d->low)) {
        text_add(out, "–");
    } else {
        html_number(out, d->low);
        text_add(out, " … ");
        html_number(out, d->high);
        text_add(out, d->low <= 0 && d->high >= 0 ? ", holds 0" : ", does not hold 0");
    }
    sheet_end(s);
}

static void add_row(const comparison *c, int row, int column, sheet *s)
{
    const comparison_cell *cell = comparison_at(c, row, column);
    source_kind from = cell->of[SOURCE_YOURS] ? SOURCE_YOURS : SOURCE_OURS;
    const method *m = cell->of[from];
    sheet_word(s, c->m->rows[row].o.label);
    sheet_word(s, c->m->columns[column].o.label);
    sheet_word(s, c->told[column] ? c->told[column] : "–");
    write_paper(sheet_begin(s), &c->m->rows[row].paper[column]);
    sheet_end(s);
    add_count(s, cell->of[SOURCE_OURS]);
    add_count(s, cell->of[SOURCE_YOURS]);
    add_fixed(s, m ? m->score : NAN, 2);
    add_fixed(s, m ? comparison_p(c, from, row, m) : NAN, 3);
    add_difference(s, &cell->difference);
}

/* A cell of which nothing is known says nothing, unless its method does not apply. */
static bool says_something(const comparison *c, int row, int column)
{
    const comparison_cell *cell = comparison_at(c, row, column);
    return *cell->why || cell->of[SOURCE_OURS] || cell->of[SOURCE_YOURS] ||
           isfinite(c->m->rows[row].paper[column].mean);
}

void comparison_long_sheet(const comparison *c, sheet *out)
{
    static const char *const head[] = {"task",  "method",         "told",
                                       "paper", "ours (seeds)",   "yours (seeds)",
                                       "score", "p against fans", "yours − ours, 95 %"};
    enum { COLUMNS = sizeof head / sizeof *head };
    *out = (sheet){.columns = COLUMNS};
    for (int i = 0; i < COLUMNS; i++) sheet_word(out, head[i]);
    for (int i = 0; i < c->m->row_count; i++)
        for (int k = 0; k < c->m->column_count; k++)
            if (says_something(c, i, k)) add_row(c, i, k, out);
}

/* ---- the same beginning and end for all forms ------------------------------------------------ */

static void write_reduced(const comparison *c, text *out)
{
    if (!c->reduced) return;
    text_add(
        out,
        "This is the reduced form: every run has only %d steps, in whole episodes. Agents have "
        "hardly begun to learn, so it shows how the table is made, not which method is "
        "better. ",
        c->reduced);
}

static void write_how(const comparison *c, text *out)
{
    if (c->reduced)
        text_add(out, "Final return: mean of the last fifth of a run's episodes;");
    else
        text_add(out, "Final return: mean of a run's last %d episodes;", RECORD_FINAL);
    text_add(out, " mean ± standard deviation over seeds. Preset %s.", c->preset);
    text_add(out, " • marks what fans beats by Wilcoxon's signed ranks, paired by seed, at %g %%.",
             100 * LEVEL);
    text_add(out,
             " Score: 0 is sac, 1 the oracle, where they differ by more than twice their "
             "deviation. Score and p are of your runs where there are any, otherwise of ours.");
}

/* Why methods have no figure on a task, one line each. */
static void write_refused(const comparison *c, text *out, const char *before, const char *after)
{
    for (int i = 0; i < c->m->row_count; i++)
        for (int k = 0; k < c->m->column_count; k++) {
            const char *why = comparison_at(c, i, k)->why;
            if (*why)
                text_add(out, "%s%s, %s: %s%s", before, c->m->rows[i].o.label,
                         c->m->columns[k].o.label, why, after);
        }
}

void comparison_markdown(const comparison *c, text *out)
{
    sheet s;
    text_add(out, "# %s\n\n", c->m->o.title);
    write_reduced(c, out);
    if (*c->m->o.where) text_add(out, "%s of the paper. ", c->m->o.where);
    if (*c->m->o.note) text_add(out, "%s ", c->m->o.note);
    if (*c->m->o.missing) {
        text_add(out, "Not reproduced: %s.\n", c->m->o.missing);
        return;
    }
    if (*c->m->o.data) {
        text_add(out, "Measured by:\n\n```\n%s\n```\n\n", c->m->o.command);
        sheet_markdown(&c->data, out);
        return;
    }
    write_how(c, out);
    text_add(out, "\n\n```\nfans reproduce %s\n```\n", c->m->name);
    if (c->drawn) text_add(out, "\n![%s](%s-figure.svg)\n", c->m->o.title, c->m->name);
    for (int kind = 0; kind < SHEETS; kind++) {
        if (comparison_sheet(c, (sheet_kind)kind, &s)) {
            text_add(out, "\n## %s\n\n", comparison_title((sheet_kind)kind));
            sheet_markdown(&s, out);
        }
        sheet_free(&s);
    }
    text_add(out, "\n## Method by method\n\n");
    comparison_long_sheet(c, &s);
    sheet_markdown(&s, out);
    sheet_free(&s);
    if (c->refused) text_add(out, "\nWhat does not apply:\n\n");
    write_refused(c, out, "- ", "\n");
}

/* A document that compiles; a paper takes its tabulars. */
void comparison_latex(const comparison *c, text *out)
{
    sheet s;
    text_add(out,
             "%% Written by fans reproduce %s, preset %s. Its figure is %s-figure.pdf.\n"
             "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n"
             "\\usepackage[landscape,margin=1cm]{geometry}\n\\renewcommand{\\arraystretch}{1.3}\n"
             "\\begin{document}\\scriptsize\n",
             c->m->name, c->preset, c->m->name);
    if (*c->m->o.data) sheet_latex(&c->data, out);
    for (int kind = 0; kind < SHEETS; kind++) {
        if (comparison_sheet(c, (sheet_kind)kind, &s)) {
            text_add(out, "\n\\section*{%s}\n", comparison_title((sheet_kind)kind));
            sheet_latex(&s, out);
        }
        sheet_free(&s);
    }
    text_add(out, "\n\\end{document}\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

static void html_line(text *out, const char *s)
{
    text_add(out, "<p>");
    html_text(out, s);
    text_add(out, "</p>\n");
}

static int write_sheets(const comparison *c, text *out)
{
    sheet s;
    text how = {0};
    int rc = 0;
    for (int kind = 0; kind < SHEETS; kind++) {
        if (comparison_sheet(c, (sheet_kind)kind, &s)) {
            text_add(out, "<h3>%s</h3>\n", comparison_title((sheet_kind)kind));
            sheet_html(&s, out);
        }
        sheet_free(&s);
    }
    text_add(out, "<h3>Method by method</h3>\n");
    comparison_long_sheet(c, &s);
    sheet_html(&s, out);
    sheet_free(&s);
    write_how(c, &how);
    write_refused(c, &how, "\n", "");
    TRY(text_done(&how));
    html_line(out, how.s);
out:
    text_free(&how);
    return rc;
}

/* Curves of yours, or of ours; what your runs believe. */
static int write_row(const comparison *c, int row, text *out)
{
    const contest *yours = &c->from[SOURCE_YOURS].list[row];
    const contest *t = yours->count ? yours : &c->from[SOURCE_OURS].list[row];
    int rc = 0;
    if (!t->count) return 0;
    text_add(out, "<h2>");
    html_text(out, t->label);
    text_add(out, "</h2>\n");
    if (t == yours) page_world(t->methods[0].runs[0], out);
    TRY(page_curves(t, false, out));
    for (size_t i = 0; t == yours && i < t->count; i++)
        TRY(page_run(&t->methods[i], t->methods[i].runs[0], true, out, NULL));
out:
    return rc;
}

static void write_data(const comparison *c, text *out)
{
    text_add(out, "<p>Measured by:</p>\n<pre>");
    html_text(out, c->m->o.command);
    text_add(out, "</pre>\n");
    sheet_html(&c->data, out);
}

/* Curves are drawn task by task, larger than in the figure. */
static int write_runs(const comparison *c, text *out)
{
    int rc = 0;
    text_add(out, "<p><b>");
    write_reduced(c, out);
    text_add(out, "</b>%d of %d of your runs are done.</p>\n", c->done, c->planned);
    if (c->m->o.figure != FIGURE_CURVES) TRY(drawing_of(c, INK_SVG, out));
    TRY(write_sheets(c, out));
    for (int i = 0; i < c->m->row_count; i++) TRY(write_row(c, i, out));
    rc = 0;
out:
    return rc;
}

/* It has no times and no paths: runs that were interrupted give the same page. */
int comparison_page(const comparison *c, text *out)
{
    int rc = 0;
    html_begin(out, c->m->o.title);
    if (*c->m->o.where) {
        text_add(out, "<p>");
        html_text(out, c->m->o.where);
        text_add(out, " of the paper.</p>\n");
    }
    if (*c->m->o.note) html_line(out, c->m->o.note);
    if (*c->m->o.data)
        write_data(c, out);
    else
        TRY(write_runs(c, out));
    text_add(out, "<p class=\"note\">Written by fans %s.</p>\n", fans_version());
    html_end(out);
    TRY(text_done(out));
    rc = 0;
out:
    return rc;
}
