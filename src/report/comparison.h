/* comparison.h - a table of the paper beside the same table twice more: from our stored runs, and
 * from yours. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "base/json.h"
#include "report/contest.h"
#include "report/manifest.h"
#include "report/sheet.h"

typedef enum { SOURCE_OURS, SOURCE_YOURS, SOURCES } source_kind;

/* One method on one task. */
typedef struct comparison_cell {
    char id[24];               /* of its runs, see store.h; empty where it has none */
    char why[320];             /* it does not apply to the task; else empty */
    const method *of[SOURCES]; /* NULL: no runs */
    stats_interval difference; /* 95 % of mean(yours) - mean(ours); NaN without both */
} comparison_cell;

typedef struct comparison {
    const manifest *m;
    const char *preset, *root;  /* of its runs; what manifest_root says */
    bool drawn;                 /* its figure is beside it: NAME-figure.svg and .pdf */
    int reduced;                /* steps of a run, in the table's reduced form; else 0 */
    sheet data;                 /* of a table without runs: see manifest_options */
    comparison_cell *cells;     /* [rows][columns] */
    const char **told;          /* [columns] */
    contests from[SOURCES];     /* a contest per row; a method's colour is its column */
    int done, planned, refused; /* your runs; cells that do not apply */
} comparison;

int comparison_new(comparison *c, const manifest *m);
void comparison_free(comparison *c);

comparison_cell *comparison_at(const comparison *c, int row, int column);

/* Adds a run to a cell and owns it from then on. Add column by column. */
int comparison_add(comparison *c, source_kind from, int row, int column, record *r);

/* In a reduced form, final returns are means of the last 1/COMPARISON_END of the episodes. */
enum { COMPARISON_END = 5 };

/* Computes, once all is added. */
int comparison_settle(comparison *c);

/* Of a method in its row: its p against fans; NaN where there is none. */
double comparison_p(const comparison *c, source_kind from, int row, const method *m);

/* Does any cell of a column, or of all where it is -1, have a figure of the paper or runs? */
bool comparison_has_paper(const comparison *c, int column);
bool comparison_has(const comparison *c, source_kind from, int column);

/* ---- as files -------------------------------------------------------------------------------- */

json_t *comparison_json(const comparison *c);
void comparison_markdown(const comparison *c, text *out);
void comparison_latex(const comparison *c, text *out);
int comparison_page(const comparison *c, text *out);

#endif
