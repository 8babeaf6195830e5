/* page.h - a comparison as one HTML file that needs nothing else: no network, no scripts. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/json.h"
#include "base/text.h"
#include "report/beliefs.h"
#include "report/contest.h"

/* Writes the page into `out` and hands over all of its numbers as JSON. */
int page_write(const contests *c, const char *title, text *out, json_t **figures);

/* ---- its parts: page_task.c, page_change.c, page_run.c, page_json.c … -------------------------
 */

/* One task: curves, tables, every seed, settings. What its runs learned, of so many `seeds` of each
 * method, goes to `insights` too, and rewards after a change to `after`. */
int page_task(const contest *t, int number, size_t seeds, text *out, json_t *insights,
              json_t *after);

/* Its parts: what changes in a run's world, and the learning curves. */
void page_world(const record *r, text *out);
int page_curves(const contest *t, bool timed, text *out); /* also over time */

/* Graph and beliefs of a run, where it has any; `open` unfolds them. `insights` may be NULL. */
int page_run(const method *m, const record *r, bool open, text *out, json_t *insights);

/* page_change.c: rewards of all methods by steps since the last change, into `figures` by method;
 * R² and error of a belief likewise; and a belief within the last episodes. */
int page_after_change(const contest *t, text *out, json_t *figures);
int page_beliefs_since(const beliefs *b, text *out, json_t *figures);
int page_beliefs_within(const beliefs *b, text *out);

/* page_found.c: changes that methods noticed by themselves, if any does. */
void page_found(const contest *t, text *out);
json_t *page_found_json(const method *m);

/* page_losses.c: what algorithms write beside returns. */
void page_losses(const contest *t, text *out);

/* page_evals.c: evaluations on the way, if any run has them. */
int page_evals(const contest *t, text *out);
json_t *page_evals_json(const method *m); /* null where there are none */

/* How far a run learned from experience under other factors, if its metrics.csv says so. */
int page_relabel(const char *metrics, text *out, json_t *figures);

json_t *page_json(const contests *c, const char *title);
json_t *json_number(double x);       /* null where it is not finite */
json_t *page_name(const char *name); /* or where it is not UTF-8 */

/* Mean ± standard deviation. */
void page_spread(text *out, const double *x, int n);

/* A method's name with its colour, and that colour's class. */
void page_method(text *out, int colour, const char *label);
const char *page_colour(int colour);

#endif
