/* comparison.c - sorts runs into the cells of a table and compares them. */
#include "report/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/figures.h"
#include "report/page.h"

/* ---- life ------------------------------------------------------------------------------------ */

static int make_rows(contests *to, const manifest *m)
{
    if (mem_grow(&to->list, &to->capacity, (size_t)m->row_count, sizeof *to->list) < 0)
        return FANS_ENOMEM;
    for (int i = 0; i < m->row_count; i++) {
        char *label = mem_text(m->rows[i].o.label);
        if (!label) return FANS_ENOMEM;
        to->list[to->count++] = (contest){.label = label, .sac = -1, .oracle = -1};
    }
    return 0;
}

int comparison_new(comparison *c, const manifest *m)
{
    int rc = 0;
    *c = (comparison){.m = m, .preset = m->o.preset, .root = ""};
    c->cells = mem_alloc((size_t)(m->row_count * m->column_count) * sizeof *c->cells);
    c->told = mem_alloc((size_t)m->column_count * sizeof *c->told);
    TRY(c->cells && c->told ? 0 : FANS_ENOMEM);
    for (int i = 0; i < SOURCES; i++) TRY(make_rows(&c->from[i], m));
out:
    return rc;
}

void comparison_free(comparison *c)
{
    for (int i = 0; i < SOURCES; i++) contests_free(&c->from[i]);
    mem_free(c->cells);
    mem_free(c->told);
    sheet_free(&c->data);
    *c = (comparison){0};
}

comparison_cell *comparison_at(const comparison *c, int row, int column)
{
    return &c->cells[row * c->m->column_count + column];
}

/* ---- sorting --------------------------------------------------------------------------------- */

static method *find_method(contest *t, int column, const char *label)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->methods[i].colour == column) return &t->methods[i];
    if (mem_grow(&t->methods, &t->capacity, t->count + 1, sizeof *t->methods) < 0) return NULL;
    method *new = &t->methods[t->count];
    *new = (method){.label = mem_text(label), .colour = column};
    if (!new->label) return NULL;
    t->count++;
    return new;
}

static int own(contests *s, record *r)
{
    int rc = mem_grow(&s->records, &s->record_capacity, s->record_count + 1, sizeof *s->records);
    if (rc == 0) s->records[s->record_count++] = r;
    return rc;
}

int comparison_add(comparison *c, source_kind from, int row, int column, record *r)
{
    contests *s = &c->from[from];
    int rc = own(s, r);
    if (rc < 0) {
        record_free(r);
        mem_free(r);
        return rc;
    }
    method *m = find_method(&s->list[row], column, c->m->columns[column].o.label);
    if (!m || mem_grow(&m->runs, &m->capacity, m->count + 1, sizeof *m->runs) < 0)
        return FANS_ENOMEM;
    m->runs[m->count++] = r;
    return 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

static double mean_of(double *x, int n)
{
    return stats_mean(x, n);
}

/* mean(yours) - mean(ours) is the mean of all, each weighted by how many it is one of. */
static int differ(comparison_cell *cell)
{
    const method *a = cell->of[SOURCE_YOURS], *b = cell->of[SOURCE_OURS];
    cell->difference = (stats_interval){NAN, NAN};
    if (!a || !b) return 0;
    int counts[] = {a->n, b->n}, all = a->n + b->n;
    double *x = mem_alloc((size_t)all * sizeof *x);
    if (!x) return FANS_ENOMEM;
    for (int i = 0; i < a->n; i++) x[i] = a->final[i] * all / a->n;
    for (int i = 0; i < b->n; i++) x[a->n + i] = -b->final[i] * all / b->n;
    int rc =
        a->n > 1 && b->n > 1 ? stats_bootstrap(x, counts, 2, mean_of, 0, &cell->difference) : 0;
    mem_free(x);
    return rc;
}

static int by_seed(const void *a, const void *b)
{
    long x = (*(record *const *)a)->seed, y = (*(record *const *)b)->seed;
    return (x > y) - (x < y);
}

/* In order; a seed counts once. */
static int sort_runs(const contest *t, method *m)
{
    qsort(m->runs, m->count, sizeof(record *), by_seed);
    for (size_t i = 1; i < m->count; i++)
        if (m->runs[i]->seed == m->runs[i - 1]->seed)
            return fans_fail(FANS_EFORMAT, "%s, %s: seed %ld is there twice: %s and %s", t->label,
                             m->label, m->runs[i]->seed, m->runs[i - 1]->path, m->runs[i]->path);
    return 0;
}

static int settle_row(comparison *c, source_kind from, int row)
{
    contest *t = &c->from[from].list[row];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) rc = sort_runs(t, &t->methods[i]);
    if (rc == 0) rc = figures_of(t);
    for (size_t i = 0; i < t->count; i++) {
        const method *m = &t->methods[i];
        comparison_at(c, row, m->colour)->of[from] = m;
    }
    return rc;
}

int comparison_settle(comparison *c)
{
    int rc = 0, cells = c->m->row_count * c->m->column_count;
    for (int from = 0; from < SOURCES; from++)
        for (int row = 0; row < c->m->row_count; row++) TRY(settle_row(c, (source_kind)from, row));
    for (int i = 0; i < cells; i++) TRY(differ(&c->cells[i]));
out:
    return rc;
}

double comparison_p(const comparison *c, source_kind from, int row, const method *m)
{
    const contest *t = &c->from[from].list[row];
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->methods[i].runs[0]->algo, "fans"))
            return m == &t->methods[i] ? NAN : t->p[(size_t)(m - t->methods) * t->count + i].p;
    return NAN;
}

/* ---- what there is --------------------------------------------------------------------------- */

bool comparison_has_paper(const comparison *c, int column)
{
    for (int i = 0; i < c->m->row_count; i++)
        for (int k = 0; k < c->m->column_count; k++)
            if ((column < 0 || k == column) && isfinite(c->m->rows[i].paper[k].mean)) return true;
    return false;
}

bool comparison_has(const comparison *c, source_kind from, int column)
{
    for (int i = 0; i < c->m->row_count; i++)
        for (int k = 0; k < c->m->column_count; k++)
            if ((column < 0 || k == column) && comparison_at(c, i, k)->of[from]) return true;
    return false;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static json_t *method_json(const comparison *c, source_kind from, int row, const method *m)
{
    json_t *seeds = json_array();
    for (size_t i = 0; i < m->count; i++)
        json_array_append_new(
            seeds,
            json_pack("{s:I, s:o, s:o}", "seed", (json_int_t)m->runs[i]->seed, "final",
                      json_number(m->runs[i]->final), "area", json_number(m->runs[i]->area)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", json_number(stats_mean(m->final, m->n)),
                     "sd", json_number(stats_sd(m->final, m->n)), "score", json_number(m->score),
                     "p_against_fans", json_number(comparison_p(c, from, row, m)), "seeds", seeds);
}

static json_t *cell_json(const comparison *c, int row, int column)
{
    static const char *const names[] = {"ours", "yours"};
    const comparison_cell *cell = comparison_at(c, row, column);
    const manifest_figure *paper = &c->m->rows[row].paper[column];
    const stats_interval *d = &cell->difference;
    json_t *out = json_pack("{s:s, s:s}", "method", c->m->columns[column].o.label, "algo",
                            c->m->columns[column].o.algo);
    if (*cell->id) json_object_set_new(out, "id", json_string(cell->id));
    if (c->told[column]) json_object_set_new(out, "told", json_string(c->told[column]));
    if (*cell->why) json_object_set_new(out, "refused", json_string(cell->why));
    if (isfinite(paper->mean))
        json_object_set_new(out, "paper",
                            json_pack("{s:o, s:o}", "mean", json_number(paper->mean), "sd",
                                      json_number(paper->sd)));
    for (int i = 0; i < SOURCES; i++)
        if (cell->of[i])
            json_object_set_new(out, names[i], method_json(c, (source_kind)i, row, cell->of[i]));
    if (isfinite(d->low))
        json_object_set_new(out, "difference",
                            json_pack("{s:f, s:f, s:b}", "low", d->low, "high", d->high,
                                      "holds_zero", d->low <= 0 && d->high >= 0));
    return out;
}

json_t *comparison_json(const comparison *c)
{
    json_t *rows = json_array();
    for (int i = 0; i < c->m->row_count; i++) {
        json_t *methods = json_array();
        for (int k = 0; k < c->m->column_count; k++)
            json_array_append_new(methods, cell_json(c, i, k));
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:o}", "task", c->m->rows[i].o.label, "config",
                                        c->m->rows[i].o.config, "methods", methods));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o}", "name", c->m->name, "title",
                     c->m->o.title, "where", c->m->o.where, "preset", c->preset, "runs", c->planned,
                     "done", c->done, "rows", rows);
}
