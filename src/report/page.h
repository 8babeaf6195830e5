/* page.h - a comparison as one HTML file that needs nothing else: no network, no scripts. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/json.h"
#include "base/text.h"
#include "report/contest.h"

/* Writes the page into `out` and hands over all of its numbers as JSON. */
int page_write(const contests *c, const char *title, text *out, json_t **figures);

/* ---- its parts: page_task.c, page_run.c, page_relabel.c, page_json.c ------------------------- */

/* One task: curves, tables, every seed, settings. What its runs learned goes to `insights` too. */
int page_task(const contest *t, int number, text *out, json_t *insights);

/* Graph and beliefs of a run, where it has any; `open` unfolds them. */
int page_run(const method *m, const record *r, bool open, text *out, json_t *insights);

/* How far a run learned from experience under other factors, if its metrics.csv says so. */
int page_relabel(const char *metrics, text *out, json_t *figures);

json_t *page_json(const contests *c, const char *title);
json_t *page_number(double x);       /* null where it is not finite */
json_t *page_name(const char *name); /* or where it is not UTF-8 */

/* Mean ± standard deviation. */
void page_spread(text *out, const double *x, int n);

/* A method's name with its colour, and that colour's class. */
void page_method(text *out, int colour, const char *label);
const char *page_colour(int colour);

#endif
