/* data_graph.c - reads data as `fans model fit` does, and finds mechanisms in them. */
#include "train/data_graph.h"

#include "base/error.h"
#include "train/model_run.h"

static int read_blocks(blocks **out, const model_run *m, const char *path)
{
    int rc = 0, count;
    replay *rows = NULL;
    TRY(model_run_read(m, &rows, path, &count));
    TRY(blocks_new(out, rows, 0));
out:
    replay_free(rows);
    return rc;
}

/* One factor stands for all of the dynamics. One of the reward would always reach it, so there is
 * one only if something does. */
static int make(causal_graph **out, const model_run *m, const mechanism *x)
{
    int rc = 0;
    causal_graph *g = NULL;
    bool reward = mechanism_probability(x, x->d, x->d + x->m) > 0.5;
    TRY(causal_graph_new(&g, (fnvae_dims){x->d, x->m, 1, reward}));
    TRY(causal_graph_name(g, m->task->info.obs_names, m->task->info.act_names));
    mechanism_graph(x, false, g);
    *out = g;
    g = NULL;
out:
    causal_graph_free(g);
    return rc;
}

int data_graph(causal_graph **graph, mechanism **found, const char *path, const text_list *settings,
               const char *data, const char *recent)
{
    int rc = 0;
    model_run m = {0};
    blocks *early = NULL, *late = NULL;
    TRY(model_run_load(&m, path, "standard", settings));
    TRY(read_blocks(&early, &m, data));
    TRY(mechanism_find(found, early));
    TRY(make(graph, &m, *found));
    if (recent) {
        mechanism_free(*found);
        *found = NULL;
        TRY(read_blocks(&late, &m, recent));
        TRY(mechanism_differ(found, early, late));
    }
out:
    if (rc < 0) fans_fail_within(rc, "%s", recent && late ? recent : data);
    blocks_free(early);
    blocks_free(late);
    model_run_free(&m);
    return rc;
}
