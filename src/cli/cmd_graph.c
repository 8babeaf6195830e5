/* cmd_graph.c - fans graph: shows a learned or the true graph, or the one in recorded data, as
 * text, SVG, Graphviz or JSON; compares two; and says which mechanisms have changed. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/changes.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "learn/causal_pair.h"
#include "train/data_graph.h"
#include "train/model_run.h"
#include "train/run.h"
#include "train/true_graph.h"

typedef void export_fn(const causal_graph *g, text *out);

static int export_to(const causal_graph *g, export_fn *fn, const char *path)
{
    if (!path) return 0;
    text t = {0};
    fn(g, &t);
    int rc = text_done(&t);
    if (rc == 0) rc = os_write_file(path, t.s, t.length);
    text_free(&t);
    return rc;
}

/* The graph of a fitted model. */
static int read_model(causal_graph **out, const char *folder)
{
    int rc = 0;
    char path[4096];
    model_run m = {0};
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    TRY(folder_check(folder));
    TRY(os_exists(folder));
    if (rc == 0) TRY(fans_fail(FANS_EIO, "%s: there is no such folder", folder));
    TRY(os_exists(path));
    if (rc == 0)
        TRY(fans_fail(FANS_EIO,
                      "%s: has no graph: neither the graph.json of a run (fans writes it at step "
                      "fans.initial) nor the model.safetensors of a fit",
                      folder));
    TRY(model_run_open(&m, folder, "cpu", 1));
    TRY(causal_graph_new(out, m.f->z));
    TRY(causal_graph_name(*out, m.task->info.obs_names, m.task->info.act_names));
    causal_graph_of(*out, m.f, 0);
out:
    model_run_free(&m);
    return rc;
}

static int read_file(causal_graph **out, const char *path)
{
    json_t *found = NULL;
    int rc = json_read_file(&found, path);
    if (rc == 0 && (rc = causal_from_json(out, found)) < 0) fans_fail_within(rc, "%s", path);
    json_decref(found);
    return rc;
}

/* A file that --json wrote; or a folder: an agent writes its graph there, as JSON. */
static int read_graph(causal_graph **out, const char *given)
{
    char path[RUN_PATH], folder[RUN_PATH];
    size_t n = strlen(given);
    if (n > 5 && !strcmp(given + n - 5, ".json")) return read_file(out, given);
    if (run_find(given, folder) < 0) snprintf(folder, sizeof folder, "%s", given);
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    int rc = folder_check(folder);
    if (rc == 0) rc = os_exists(path);
    if (rc < 0) return rc;
    if (rc == 0) return read_model(out, folder);
    return read_file(out, path);
}

static int read_truth(causal_graph **out, const char *path, const text_list *settings)
{
    text lines = {0};
    for (int i = 0; i < settings->count; i++) text_add(&lines, "%s\n", settings->items[i]);
    int rc = text_done(&lines);
    if (rc == 0) rc = true_graph(out, path, lines.s);
    text_free(&lines);
    return rc;
}

/* ---- two graphs ------------------------------------------------------------------------------ */

static void add_score(table *t, const char *name, const causal_score *s)
{
    char cell[4][16];
    snprintf(cell[0], sizeof cell[0], "%d", s->hits);
    snprintf(cell[1], sizeof cell[1], "%d", s->missing);
    snprintf(cell[2], sizeof cell[2], "%d", s->extra);
    snprintf(cell[3], sizeof cell[3], "%.3f", s->f1);
    table_row(t, name, cell[0], cell[1], cell[2], cell[3]);
}

static void print_edge(void *user, const char *cause, const char *effect, bool extra)
{
    (void)user;
    printf("  %s %s -> %s\n", extra ? "+" : "-", cause, effect);
}

static void list_edge(void *user, const char *cause, const char *effect, bool extra)
{
    json_t *lists = user;
    json_array_append_new(json_object_get(lists, extra ? "extra" : "missing"),
                          json_pack("[s, s]", cause, effect));
}

static json_t *pair_json(const causal_graph *a, const causal_graph *b, const causal_pair *p)
{
    json_t *figures = json_pack("{s:f, s:f, s:f, s:i, s:i, s:[], s:[]}", "f1", p->all.f1,
                                "precision", p->all.precision, "recall", p->all.recall, "shd",
                                p->all.shd, "hits", p->all.hits, "extra", "missing");
    if (figures) causal_pair_edges(a, b, list_edge, figures);
    return figures;
}

static int compare(const causal_graph *a, const causal_graph *b, const char *json)
{
    table t = {0};
    causal_pair p;
    int rc = 0;
    TRY(causal_pair_of(&p, a, b));
    TRY(cli_write_json(json, pair_json(a, b, &p)));
    table_row(&t, "mask", "in both", "missing", "extra", "F1");
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        if (causal_pairs(k)) add_score(&t, causal_mask_names[k], &p.mask[k]);
    add_score(&t, "touched", &p.touched);
    add_score(&t, "all", &p.all);
    TRY(table_print(&t));
    causal_pair_edges(a, b, print_edge, NULL);
out:
    table_free(&t);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What is asked for. */
typedef struct asked {
    const char *given, *other, *data, *recent, *svg, *dot, *json;
    double alarm;
    bool truth;
    text_list settings;
} asked;

static int check(const asked *q)
{
    if (q->other && (q->svg || q->dot))
        return fans_fail(CLI_USAGE, "graph: --svg and --dot draw one graph, not two");
    if (q->settings.count && !q->truth && !q->data)
        return fans_fail(CLI_USAGE, "graph: --set changes a config: only with --truth or --data");
    if (q->truth + (q->other != NULL) + (q->data != NULL) > 1)
        return fans_fail(CLI_USAGE, "graph: OTHER, --truth and --data exclude each other");
    if (q->recent && !q->data)
        return fans_fail(CLI_USAGE, "graph: --recent needs --data, the earlier data");
    return 0;
}

/* A graph in data says how much each edge explains, too. */
static json_t *found_json(const causal_graph *g, const mechanism *found)
{
    json_t *j = causal_json(g);
    if (j && found) json_object_set_new(j, "nats", changes_nats(found));
    return j;
}

static int show(const causal_graph *g, const mechanism *found, const asked *q)
{
    int rc = 0;
    text shown = {0};
    TRY(export_to(g, causal_svg, q->svg));
    TRY(export_to(g, causal_dot, q->dot));
    TRY(cli_write_json(q->json, found_json(g, found)));
    causal_text(g, &shown);
    TRY(text_done(&shown));
    printf("%srows are effects, columns causes: probability of each edge, * where it is in the "
           "graph, ? where that is unsure\n",
           shown.s);
out:
    text_free(&shown);
    return rc;
}

static int graph_in_data(const asked *q)
{
    int rc = 0;
    causal_graph *g = NULL;
    mechanism *found = NULL;
    TRY(data_graph(&g, &found, q->given, &q->settings, q->data, q->recent));
    TRY(q->recent ? changes_show(found, g, q->alarm, q->json) : show(g, found, q));
out:
    mechanism_free(found);
    causal_graph_free(g);
    return rc;
}

static int graph_on_file(const asked *q)
{
    int rc = 0;
    causal_graph *g = NULL, *h = NULL;
    TRY(q->truth ? read_truth(&g, q->given, &q->settings) : read_graph(&g, q->given));
    if (q->other) {
        TRY(read_graph(&h, q->other));
        TRY(compare(g, h, q->json));
    } else {
        TRY(show(g, NULL, q));
    }
out:
    causal_graph_free(g);
    causal_graph_free(h);
    return rc;
}

int cmd_graph(int argc, char **argv)
{
    asked q = {.alarm = 0.05};
    const arg args[] = {
        ARG_WORD("GRAPH", &q.given,
                 "folder of a fitted model or of a run with a graph, or a file that --json wrote"),
        ARG_MAYBE("OTHER", &q.other, "another one: which edges it has more and less"),
        ARG_FLAG("truth", &q.truth, "show the true graph of a task; GRAPH is its config"),
        ARG_TEXT(
            "data", "F", &q.data,
            "find the graph in F, recorded by `fans rollout --csv`; GRAPH is the task's config"),
        ARG_TEXT("recent", "F", &q.recent,
                 "with --data: say which mechanisms have changed between that file and F"),
        ARG_REAL("alarm", &q.alarm, 1e-6, 0.5,
                 "with --recent: probability of a false alarm (0.05)"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &q.settings,
                 "with --truth or --data: override a config key"),
        ARG_PLUGIN,
        ARG_TEXT("svg", "F", &q.svg, "draw the graph to the file F"),
        ARG_TEXT("dot", "F", &q.dot, "write the graph to the file F for Graphviz"),
        ARG_JSON(&q.json),
    };
    int rc = args_parse("graph", ARGS(args), argc, argv);
    if (rc == 0) rc = check(&q);
    if (rc) return rc;
    return q.data ? graph_in_data(&q) : graph_on_file(&q);
}
