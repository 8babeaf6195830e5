/* cmd_reproduce.c - fans reproduce: a table or figure of the paper, or one of ours, by one command.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/engine.h"
#include "cli/reproduce.h"
#include "cli/table.h"
#include "report/comparison_sheets.h"
#include "report/cost.h"
#include "report/drawing.h"
#include "train/sections.h"

/* ---- which there are ------------------------------------------------------------------------- */

static int read_tables(manifest_list *l)
{
    char root[RUN_PATH], folder[RUN_PATH + 16];
    int rc = manifest_root(root, sizeof root);
    snprintf(folder, sizeof folder, "%stables", root);
    return rc < 0 ? rc : manifest_list_read(l, folder);
}

/* What a table costs: its reduced form on a CPU, all of it on a GPU. */
typedef struct price {
    json_t *core, *gpu; /* measured: see cost.h */
    table out;
    json_t *all;
} price;

enum { LIST_SEEDS = 2 }; /* of the reduced form */

/* "0.23 (180 runs)", "–" where nothing was measured. */
static void write_cost(const cost *c, char *out, size_t size)
{
    if (!c->runs)
        snprintf(out, size, "–");
    else if (!c->unknown)
        snprintf(out, size, "%.2f", c->seconds / 3600);
    else
        snprintf(out, size, "%.2f (%d runs)", c->seconds / 3600, c->runs);
}

static int list_table(price *p, const manifest *m)
{
    cost core = {0}, gpu = {0};
    reproduction r = {0};
    const reproduce_wish one = {.out = "runs", .seeds = 1};
    char runs[16] = "–", cores[48], gpus[48];
    const char *note = *m->o.missing ? m->o.missing : *m->o.data ? m->o.command : m->o.cost;
    int rc = 0;
    TRY(reproduction_plan(&r, m, &one));
    int all = r.cell_count * m->o.seeds;
    if (manifest_has_runs(m)) snprintf(runs, sizeof runs, "%d", all);
    if (m->o.small) TRY(cost_of(p->core, &r.c, LIST_SEEDS, m->o.small, &core));
    TRY(cost_of(p->gpu, &r.c, m->o.seeds, 0, &gpu));
    write_cost(&core, cores, sizeof cores);
    write_cost(&gpu, gpus, sizeof gpus);
    table_row(&p->out, m->name, *m->o.where ? m->o.where : "ours", runs, cores, gpus, m->o.title,
              note);
    json_array_append_new(
        p->all, json_pack("{s:s, s:s, s:s, s:I, s:{s:f, s:i}, s:{s:f, s:i}, s:s, s:s}", "name",
                          m->name, "title", m->o.title, "where", m->o.where, "runs",
                          (json_int_t)all, "small", "core_hours", core.seconds / 3600, "runs",
                          core.runs, "gpu", "hours", gpu.seconds / 3600, "runs", gpu.runs, "cost",
                          m->o.cost, "missing", m->o.missing));
out:
    reproduction_close(&r);
    return rc;
}

static int print_list(const manifest_list *l, const char *json)
{
    price p = {.all = json_array()};
    char root[RUN_PATH];
    int rc = 0;
    TRY(manifest_root(root, sizeof root));
    TRY(costs_read(&p.core, root, "small"));
    TRY(costs_read(&p.gpu, root, "h200"));
    table_row(&p.out, "name", "of the paper", "runs", "core h", "GPU h", "title", "");
    for (int i = 0; i < l->count; i++) TRY(list_table(&p, l->items[i]));
    TRY(cli_write_json(json, json_pack("{s:O}", "tables", p.all)));
    TRY(table_print(&p.out));
    printf(
        "core h: of --preset small --seeds %d; GPU h: of all runs on an H200; in brackets: of as "
        "many runs, the others were not measured (results/cost)\n"
        "Fig. 1, A1 and A8 are drawings, Tables A3 to A5 settings: they have no results.\n",
        LIST_SEEDS);
out:
    json_decref(p.core);
    json_decref(p.gpu);
    json_decref(p.all);
    table_free(&p.out);
    return rc;
}

/* By name; a path is a manifest of one's own. */
static int find_table(const manifest_list *l, const char *name, manifest **own,
                      const manifest **out)
{
    nearest near = {.word = name};
    if (strchr(name, '/')) {
        int rc = manifest_read(own, name);
        *out = *own;
        return rc;
    }
    for (int i = 0; i < l->count; i++) {
        *out = l->items[i];
        if (!strcmp(name, (*out)->name)) return 0;
        nearest_offer(&near, (*out)->name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(CLI_USAGE, "reproduce: there is no table '%s'%s", name,
                     *hint ? hint : "; `fans reproduce --list` names them");
}

/* ---- files ----------------------------------------------------------------------------------- */

static int path_of(const char *folder, const char *name, const char *ending, char *out)
{
    if (snprintf(out, RUN_PATH, "%s/%s%s", folder, name, ending) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    return 0;
}

/* Writes FOLDER/NAME.ENDING and frees the text. */
static int write_text(const char *folder, const char *name, const char *ending, text *t)
{
    char path[RUN_PATH];
    int rc = 0;
    TRY(text_done(t));
    TRY(os_make_folders(folder));
    TRY(path_of(folder, name, ending, path));
    TRY(os_write_file(path, t->s, t->length));
out:
    text_free(t);
    return rc;
}

/* FOLDER/NAME-figure.ENDING, if there is anything to draw. */
static int write_drawing(comparison *c, const char *folder, ink_form form, const char *ending)
{
    text out = {0};
    int rc = drawing_of(c, form, &out);
    if (rc > 0) c->drawn = true;
    if (rc > 0) return write_text(folder, c->m->name, ending, &out);
    text_free(&out);
    return rc;
}

/* The table as a page, for LaTeX, for Markdown and for programs; its figure for papers. */
static int write_files(comparison *c, const char *folder)
{
    char path[RUN_PATH];
    text page = {0}, latex = {0}, markdown = {0};
    int rc = 0;
    TRY(write_drawing(c, folder, INK_PDF, "-figure.pdf"));
    TRY(write_drawing(c, folder, INK_SVG, "-figure.svg"));
    if ((rc = comparison_page(c, &page)) < 0) {
        text_free(&page);
        return rc;
    }
    TRY(write_text(folder, c->m->name, ".html", &page));
    comparison_latex(c, &latex);
    TRY(write_text(folder, c->m->name, ".tex", &latex));
    comparison_markdown(c, &markdown);
    TRY(write_text(folder, c->m->name, ".md", &markdown));
    TRY(path_of(folder, c->m->name, ".json", path));
    json_t *figures = comparison_json(c);
    rc = json_write_file(path, figures);
    json_decref(figures);
out:
    return rc;
}

static int print_table(const comparison *c)
{
    sheet all = {0};
    table out = {0};
    if (!*c->m->o.data) comparison_long_sheet(c, &all);
    const sheet s = *c->m->o.data ? c->data : all;
    int rc = text_done(&s.words);
    const char *at = s.words.s, *cell[SHEET_MOST] = {0};
    for (int i = 0; rc == 0 && i < s.count; i++, at += strlen(at) + 1) {
        cell[i % s.columns] = at;
        if (i % s.columns == s.columns - 1)
            table_row(&out, cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6], cell[7],
                      cell[8]);
    }
    if (rc == 0) rc = table_print(&out);
    table_free(&out);
    sheet_free(&all);
    return rc;
}

/* ---- the documentation ----------------------------------------------------------------------- */

static const char GENERATED[] =
    "<!-- Generated by ./dev results from results/ and tables/: do not edit. -->\n";

/* A line of the index: [name](name.md) and the rest. */
static void add_to_index(sheet *s, const reproduction *r)
{
    const manifest *m = r->m;
    text_add(sheet_begin(s), "[%s](%s.md)", m->name, m->name);
    sheet_end(s);
    sheet_word(s, m->o.title);
    sheet_word(s, *m->o.where ? m->o.where : "ours");
    text_add(sheet_begin(s), "%d", r->plan.count);
    sheet_end(s);
    if (*m->o.missing)
        text_add(sheet_begin(s), "none: %s", m->o.missing);
    else if (*m->o.data)
        text_add(sheet_begin(s), "measured");
    else
        text_add(sheet_begin(s), "%zu", r->c.from[SOURCE_OURS].record_count);
    sheet_end(s);
}

/* DIR/NAME.md of a table, from what is stored. */
static int write_doc(const manifest *m, const char *folder, sheet *index)
{
    reproduce_wish w = REPRODUCE_WISH;
    reproduction r = {0};
    text page = {0};
    int rc = 0;
    TRY(reproduction_open(&r, m, &w));
    TRY(comparison_settle(&r.c));
    add_to_index(index, &r);
    TRY(write_drawing(&r.c, folder, INK_SVG, "-figure.svg"));
    text_add(&page, "%s", GENERATED);
    comparison_markdown(&r.c, &page);
    TRY(write_text(folder, m->name, ".md", &page));
out:
    text_free(&page);
    reproduction_close(&r);
    return rc;
}

/* A page for every table, and one that lists them. */
static int write_docs(const manifest_list *l, const char *folder)
{
    sheet index = {.columns = 5};
    text page = {0};
    int rc = 0;
    sheet_word(&index, "table");
    sheet_word(&index, "what it shows");
    sheet_word(&index, "of the paper");
    sheet_word(&index, "runs");
    sheet_word(&index, "stored");
    for (int i = 0; i < l->count; i++) TRY(write_doc(l->items[i], folder, &index));
    text_add(&page,
             "%s# Results\n\nEvery table and figure, as far as it has been run with this version's "
             "settings. `fans reproduce NAME` trains what a page shows; `results/` has every "
             "seed.\n\n",
             GENERATED);
    sheet_markdown(&index, &page);
    rc = write_text(folder, "README", ".md", &page);
out:
    text_free(&page);
    sheet_free(&index);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

typedef struct request {
    const char *name, *emit, *limit, *json, *docs;
    bool list, report, store, quiet;
    int per, together;
    reproduce_wish wish;
    session_wish how;
} request;

static int emit_plan(const request *q, const reproduction *r, const engine *script)
{
    char plan[RUN_PATH], file[RUN_PATH];
    int rc = 0, n = r->plan.count;
    TRY(os_make_folders(q->wish.out));
    TRY(path_of(q->wish.out, r->m->name, ".csv", plan));
    TRY(run_plan_write(&r->plan, plan));
    TRY(engine_write(script, plan, n, q->per, file));
    printf("%s: %d run%s\n%s: %d jobs\nafterwards: fans reproduce %s --report\n", plan, n,
           plural(n), file, (n + q->per - 1) / q->per, r->m->name);
out:
    return rc;
}

/* What is there, as a table and as files. */
static int show(const request *q, reproduction *r, const session *list)
{
    int rc = 0, added = 0;
    if (r->plan.count) TRY(reproduction_collect(r, list));
    TRY(comparison_settle(&r->c));
    if (q->store) TRY(reproduction_store(r, &added));
    TRY(write_files(&r->c, q->wish.out));
    TRY(cli_write_json(q->json, comparison_json(&r->c)));
    TRY(print_table(&r->c));
    if (*r->m->o.data)
        printf("stored; measured by: %s\n", r->m->o.command);
    else
        printf("%d of %d runs done\n", r->c.done, r->c.planned);
    printf("%s/%s.html, .tex, .md, .json%s\n", q->wish.out, r->m->name,
           r->c.drawn ? ", -figure.svg, -figure.pdf" : "");
    if (q->store) printf("%d run%s stored\n", added, plural(added));
out:
    return rc;
}

/* Trains what is not done, then shows all. */
static int train_and_show(const request *q, reproduction *r, watch *eye)
{
    worker w = {.plan = r->plan, .how = q->how};
    int rc = 0, stopped = 0;
    TRY(worker_open(&w, 0, 1));
    if (!q->report) TRY(stopped = worker_train(&w, eye, q->together));
    TRY(show(q, r, &w.list));
    rc = q->report ? 0 : worker_sum_up(&w, eye);
    if (rc >= 0 && stopped) rc = stopped;
out:
    w.plan = (run_plan){0}; /* the reproduction's */
    worker_close(&w);
    return rc;
}

static int reproduce(const request *q, const manifest *m, watch *eye)
{
    reproduction r = {0};
    const engine *script = NULL;
    int rc = 0;
    if (*m->o.missing)
        return fans_fail(FANS_ENOSUP, "%s cannot be reproduced yet: %s", m->name, m->o.missing);
    if (q->emit) TRY(engine_find("reproduce", q->emit, &script));
    TRY(reproduction_open(&r, m, &q->wish));
    if (*m->o.data) {
        rc = show(q, &r, NULL);
        goto out;
    }
    if (q->store) TRY(reproduction_skip_stored(&r));
    rc = script ? emit_plan(q, &r, script) : train_and_show(q, &r, eye);
out:
    reproduction_close(&r);
    return rc;
}

static int parse(request *q, int argc, char **argv)
{
    const arg args[] = {
        ARG_MAYBE("NAME", &q->name, "the table: one of --list, or the path of a manifest"),
        ARG_FLAG("list", &q->list, "name all tables and figures, with what they cost"),
        ARG_TEXT("preset", "P", &q->wish.preset,
                 "paper, standard, small, classic or pixels (the table's)"),
        ARG_INT("seeds", &q->wish.seeds, 1, 100000, "number of seeds (the table's)"),
        ARG_TEXT("rows", "LIST", &q->wish.rows, "only these rows of the table, such as flip,motor"),
        ARG_TEXT("columns", "LIST", &q->wish.columns,
                 "only these of its columns, such as sac,fans"),
        ARG_TEXT("out", "DIR", &q->wish.out, "folder of the runs and the table (runs)"),
        ARG_FLAG("report", &q->report, "train nothing: the table from what is there"),
        ARG_FLAG("store", &q->store,
                 "keep finished runs in results/NAME.json; train only what is not stored"),
        ARG_TEXT("docs", "DIR", &q->docs, "write a page per table to DIR, from what is stored"),
        ARG_TEXT("emit", "E", &q->emit,
                 "train nothing: write the plan and a script for slurm, mpi, parallel, make or "
                 "kubernetes"),
        ARG_INT("per", &q->per, 1, 100000, "runs per job of the script (10)"),
        ARG_TEXT("for", "TIME", &q->limit,
                 "stop after this time, such as 3:50:00, with a checkpoint"),
        ARG_INT("together", &q->together, 1, 4096, "runs to train side by side, at most (64)"),
        ARG_TEXT("device", "D", &q->how.device,
                 "auto (default: a GPU where there is one), cpu, cuda or cuda:N"),
        ARG_PRECISION(&q->how.precision),
        ARG_INT("threads", &q->how.threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_FLAG("quiet", &q->quiet, "print no progress"),
        ARG_JSON(&q->json),
    };
    int rc = args_parse("reproduce", ARGS(args), argc, argv);
    if (rc) return rc;
    if (!q->name && !q->list && !q->docs)
        return fans_fail(CLI_USAGE, "reproduce: name a table; `fans reproduce --list` names them");
    if (q->wish.preset && preset_check(q->wish.preset) < 0)
        return fans_fail_within(CLI_USAGE, "reproduce: --preset");
    return 0;
}

int cmd_reproduce(int argc, char **argv)
{
    request q = {.per = 10, .together = 64, .wish = REPRODUCE_WISH, .how = SESSION_WISH};
    manifest_list tables = {0};
    manifest *own = NULL;
    const manifest *m = NULL;
    text command = {0};
    double seconds = 0, started = os_now();
    int rc = parse(&q, argc, argv);
    if (rc) return rc;
    if (q.limit && (rc = read_time("reproduce: --for", q.limit, &seconds)) < 0) return rc;
    watch eye = {
        .terminal = on_terminal(), .quiet = q.quiet, .until = q.limit ? started + seconds : 0};
    watch_signals(&eye);
    TRY(join_command("reproduce", argc, argv, &command));
    q.how.command = command.s;
    TRY(read_tables(&tables));
    if (q.list || q.docs) {
        rc = q.list ? print_list(&tables, q.json) : write_docs(&tables, q.docs);
        goto out;
    }
    TRY(find_table(&tables, q.name, &own, &m));
    if (m) rc = reproduce(&q, m, &eye);
out:
    manifest_free(own);
    manifest_list_free(&tables);
    text_free(&command);
    return rc;
}
