/* reproduce.c - a manifest's cells as runs of a plan, and back. */
#include "cli/reproduce.h"

#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "report/folders.h"

/* ---- planning -------------------------------------------------------------------------------- */

static const char *preset_of(const reproduction *r, int column)
{
    const char *own = r->m->columns[column].o.preset;
    return *own ? own : r->c.preset;
}

/* Plans the runs of a cell: DIR/PRESET/CONFIG-ALGO[-SETTING]/seed-N, which all tables share. */
static int plan_cell(reproduction *r, const reproduce_wish *w, reproduce_cell *cell)
{
    char path[RUN_PATH], out[RUN_PATH];
    plan_wish wish = PLAN_WISH;
    text memory = {0};
    int rc = 0;
    snprintf(path, sizeof path, "%sconfigs/%s.ini", r->root, r->m->rows[cell->row].o.config);
    wish.preset = preset_of(r, cell->column);
    snprintf(out, sizeof out, "%s/%s", w->out, wish.preset);
    wish.configs = (text_list){{path}, 1};
    TRY(manifest_settings(r->m, cell->row, cell->column, &memory, &wish.grid));
    wish.algos = r->m->columns[cell->column].o.algo;
    wish.out = out;
    wish.seed = 0;
    wish.seeds = w->seeds ? w->seeds : r->m->o.seeds;
    wish.apart = true;
    if (r->c.reduced) wish.steps = r->c.reduced;
    wish.rounded = true;
    cell->first = r->plan.count;
    rc = run_plan_make(&r->plan, &wish);
    cell->count = r->plan.count - cell->first;
out:
    text_free(&memory);
    return rc;
}

static int plan_cells(reproduction *r, const reproduce_wish *w)
{
    int rc = 0;
    for (int k = 0; k < r->m->column_count; k++)
        for (int i = 0; i < r->m->row_count; i++) {
            reproduce_cell *cell = &r->cells[r->cell_count];
            *cell = (reproduce_cell){i, k, .id = comparison_at(&r->c, i, k)->id};
            rc = plan_cell(r, w, cell);
            if (rc == 0) r->cell_count++;
            if (rc < 0 && rc != FANS_ENOSUP) return fans_fail_within(rc, "%s", r->m->name);
            if (rc == 0) continue;
            snprintf(comparison_at(&r->c, i, k)->why, sizeof r->c.cells->why, "%s", fans_error());
            r->c.refused++;
        }
    return 0;
}

/* What a column sets may tell its algorithm less than it can be told. */
static int tell(reproduction *r)
{
    static const char key[] = "train.told=";
    const fans_algo_def *algo;
    int rc = 0;
    for (int k = 0; k < r->m->column_count; k++) {
        const manifest_column_options *o = &r->m->columns[k].o;
        const char *tells = strstr(o->set, key);
        TRY(algo_find(&algo, o->algo));
        r->c.told[k] = algo_told_in(algo_told(algo), tells ? tells + strlen(key) : "boundaries");
    }
out:
    return rc;
}

/* The first run of a cell tells what all are. */
static int identify(reproduction *r)
{
    session s = {0};
    session_wish first = SESSION_WISH;
    plan_run *runs = mem_alloc((size_t)r->cell_count * sizeof *runs);
    if (!runs) return FANS_ENOMEM;
    for (int i = 0; i < r->cell_count; i++) runs[i] = r->plan.runs[r->cells[i].first];
    first.runs = runs;
    first.count = r->cell_count;
    int rc = session_list(&s, &first);
    for (int i = 0; rc == 0 && i < r->cell_count; i++) rc = session_identity(&s, i, r->cells[i].id);
    session_close(&s);
    mem_free(runs);
    return rc;
}

/* ---- what is stored -------------------------------------------------------------------------- */

static int add_stored(reproduction *r, const reproduce_cell *cell)
{
    const json_t *found;
    int rc = 0;
    for (int i = 0; rc == 0 && (found = store_nth(&r->stored, cell->id, i)); i++) {
        record *one = mem_alloc(sizeof *one);
        if (!one) return FANS_ENOMEM;
        rc = store_record(found, one);
        if (rc == 0)
            rc = comparison_add(&r->c, SOURCE_OURS, cell->row, cell->column, one);
        else
            mem_free(one);
    }
    return rc;
}

static int read_stored(reproduction *r)
{
    char folder[RUN_PATH + 16];
    int rc = 0;
    snprintf(folder, sizeof folder, "%sresults", r->root);
    TRY(store_read(&r->stored, folder));
    for (int i = 0; i < r->cell_count; i++) TRY(add_stored(r, &r->cells[i]));
out:
    return rc;
}

static int read_data(reproduction *r)
{
    char path[RUN_PATH + OPTION_TEXT + 16];
    snprintf(path, sizeof path, "%sresults/%s", r->root, r->m->o.data);
    return sheet_read(&r->c.data, path);
}

int reproduction_plan(reproduction *r, const manifest *m, const reproduce_wish *w)
{
    int rc = 0;
    r->m = m;
    TRY(manifest_root(r->root, sizeof r->root));
    TRY(comparison_new(&r->c, m));
    r->c.root = r->root;
    if (w->preset) r->c.preset = w->preset;
    if (!strcmp(r->c.preset, "small")) r->c.reduced = m->o.small;
    if (!manifest_has_runs(m)) return 0;
    r->cells = mem_alloc((size_t)(m->row_count * m->column_count) * sizeof *r->cells);
    TRY(r->cells ? 0 : FANS_ENOMEM);
    TRY(plan_cells(r, w));
    r->c.planned = r->plan.count;
out:
    return rc;
}

void reproduction_close(reproduction *r)
{
    comparison_free(&r->c); /* borrows from the store */
    store_free(&r->stored);
    run_plan_free(&r->plan);
    mem_free(r->cells);
    *r = (reproduction){0};
}

/* Leaves in the plan what is wanted. */
typedef bool want_fn(const reproduction *r, const reproduce_cell *cell, int which,
                     const void *user);

static int keep_runs(reproduction *r, want_fn *wants, const void *user)
{
    run_plan left = {0};
    int rc = 0;
    for (int i = 0; i < r->cell_count; i++) {
        reproduce_cell *cell = &r->cells[i];
        int first = left.count;
        for (int k = cell->first; k < cell->first + cell->count; k++)
            if (wants(r, cell, k, user)) TRY(run_plan_add(&left, &r->plan.runs[k]));
        cell->first = first;
        cell->count = left.count - first;
    }
    run_plan_free(&r->plan);
    r->plan = left;
    return 0;
out:
    run_plan_free(&left);
    return rc;
}

static bool is_new(const reproduction *r, const reproduce_cell *cell, int which, const void *user)
{
    (void)user;
    return !store_find(&r->stored, cell->id, r->plan.runs[which].seed);
}

int reproduction_skip_stored(reproduction *r)
{
    return keep_runs(r, is_new, NULL);
}

typedef struct choice {
    bool *rows, *columns;
} choice;

static bool is_chosen(const reproduction *r, const reproduce_cell *cell, int which,
                      const void *user)
{
    const choice *c = user;
    (void)r, (void)which;
    return c->rows[cell->row] && c->columns[cell->column];
}

static int keep_chosen(reproduction *r, const reproduce_wish *w)
{
    int rc = 0, rows = r->m->row_count, columns = r->m->column_count;
    choice c = {mem_alloc((size_t)rows), mem_alloc((size_t)columns)};
    TRY(c.rows && c.columns ? 0 : FANS_ENOMEM);
    TRY(manifest_choose_rows(r->m, w->rows, c.rows));
    TRY(manifest_choose_columns(r->m, w->columns, c.columns));
    TRY(keep_runs(r, is_chosen, &c));
    r->c.planned = r->plan.count;
out:
    mem_free(c.rows);
    mem_free(c.columns);
    return rc;
}

int reproduction_open(reproduction *r, const manifest *m, const reproduce_wish *w)
{
    int rc = 0;
    TRY(reproduction_plan(r, m, w));
    if (*m->o.data) TRY(read_data(r));
    if (!manifest_has_runs(m)) {
        if (w->rows || w->columns)
            return fans_fail(FANS_EINVAL, "%s has no runs to choose from", m->name);
        return 0;
    }
    TRY(tell(r));
    TRY(identify(r));
    TRY(read_stored(r));
    TRY(keep_chosen(r, w));
out:
    return rc;
}

/* ---- what is done ---------------------------------------------------------------------------- */

static int collect_run(reproduction *r, const session *list, const reproduce_cell *cell, int i)
{
    bool done;
    int rc = session_is_done(list, i, &done);
    if (rc < 0 || !done) return rc;
    record *one = mem_alloc(sizeof *one);
    if (!one) return FANS_ENOMEM;
    if ((rc = record_read(one, r->plan.runs[i].folder)) < 0) {
        mem_free(one);
        return rc;
    }
    if (r->c.reduced) record_end(one, COMPARISON_END);
    r->c.done++;
    return comparison_add(&r->c, SOURCE_YOURS, cell->row, cell->column, one);
}

int reproduction_collect(reproduction *r, const session *list)
{
    int rc = 0;
    for (int i = 0; i < r->cell_count; i++)
        for (int k = 0; k < r->cells[i].count; k++)
            TRY(collect_run(r, list, &r->cells[i], r->cells[i].first + k));
out:
    return rc;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Settings as the manifest has them: the row's, then the column's. */
static void join_settings(const reproduction *r, const reproduce_cell *cell, char *out, size_t size)
{
    const char *row = r->m->rows[cell->row].o.set, *column = r->m->columns[cell->column].o.set;
    snprintf(out, size, "%s%s%s", row, *row && *column ? "; " : "", column);
}

static void pack_cell(const reproduction *r, const reproduce_cell *cell, json_t *to)
{
    const method *yours = comparison_at(&r->c, cell->row, cell->column)->of[SOURCE_YOURS];
    char settings[2 * OPTION_TEXT + 8];
    join_settings(r, cell, settings, sizeof settings);
    store_name name = {.id = cell->id,
                       .config = r->m->rows[cell->row].o.config,
                       .algo = r->m->columns[cell->column].o.algo,
                       .preset = preset_of(r, cell->column),
                       .settings = settings};
    for (size_t i = 0; yours && i < yours->count; i++)
        if (!store_find(&r->stored, cell->id, yours->runs[i]->seed))
            json_array_append_new(to, store_pack(&name, yours->runs[i]));
}

/* Of the first run on every task. */
static int store_row_beliefs(const reproduction *r)
{
    char from[FOLDERS_PATH], to[FOLDERS_PATH];
    int rc = 0;
    for (int i = 0; i < r->m->row_count; i++) {
        const contest *t = &r->c.from[SOURCE_YOURS].list[i];
        if (!t->count) continue;
        TRY(record_file(t->methods[0].runs[0], "beliefs.csv", from));
        TRY(store_beliefs_path(r->root, r->m->name, r->m->rows[i].o.config, to));
        if (os_exists(from) > 0) TRY(store_beliefs(from, to));
    }
out:
    return rc;
}

int reproduction_store(reproduction *r, int *added)
{
    char path[RUN_PATH + 96];
    json_t *new = json_array();
    int rc = 0;
    for (int i = 0; i < r->cell_count; i++) pack_cell(r, &r->cells[i], new);
    *added = (int)json_array_size(new);
    if (r->m->o.figure == FIGURE_BELIEFS) TRY(store_row_beliefs(r));
    snprintf(path, sizeof path, "%sresults/%s.json", r->root, r->m->name);
    if (*added) rc = store_append(path, new);
out:
    json_decref(new);
    return rc;
}
