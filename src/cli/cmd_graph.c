/* cmd_graph.c - fans graph: shows a learned graph as text, SVG, Graphviz or JSON. */
#include <stdio.h>

#include "base/folder.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "train/model_run.h"
#include "train/run.h"

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

/* An agent writes its graph to its run folder, as JSON. */
static int read_graph(causal_graph **out, const char *given)
{
    char path[RUN_PATH], folder[RUN_PATH];
    json_t *found = NULL;
    if (run_find(given, folder) < 0) snprintf(folder, sizeof folder, "%s", given);
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    int rc = folder_check(folder);
    if (rc == 0) rc = os_exists(path);
    if (rc < 0) return rc;
    if (rc == 0) return read_model(out, folder);
    rc = json_read_file(&found, path);
    if (rc == 0 && (rc = causal_from_json(out, found)) < 0) fans_fail_within(rc, "%s", path);
    json_decref(found);
    return rc;
}

int cmd_graph(int argc, char **argv)
{
    const char *folder, *svg = NULL, *dot = NULL, *json = NULL;
    const arg args[] = {
        ARG_WORD("DIR", &folder, "folder of a fitted model, or of a run with a graph"),
        ARG_PLUGIN,
        ARG_TEXT("svg", "F", &svg, "draw the graph to the file F"),
        ARG_TEXT("dot", "F", &dot, "write the graph to the file F for Graphviz"),
        ARG_JSON(&json),
    };
    int rc = args_parse("graph", ARGS(args), argc, argv);
    if (rc) return rc;
    causal_graph *g = NULL;
    text shown = {0};
    TRY(read_graph(&g, folder));
    TRY(export_to(g, causal_svg, svg));
    TRY(export_to(g, causal_dot, dot));
    TRY(cli_write_json(json, causal_json(g)));
    causal_text(g, &shown);
    TRY(text_done(&shown));
    printf("%srows are effects, columns causes: probability of each edge, * where it is in the "
           "graph\n",
           shown.s);
out:
    text_free(&shown);
    causal_graph_free(g);
    return rc;
}
