/* true_graph.c - task_truth as a graph. */
#include "train/true_graph.h"

#include "base/error.h"
#include "train/source.h"

static void set(causal_graph *g, int mask, const uint8_t *truth)
{
    for (int i = 0; i < g->effects[mask] * g->causes[mask]; i++) g->mask[mask][i] = truth[i] != 0;
}

static int make(causal_graph **out, const task *t, const task_graph *x)
{
    int rc = 0;
    causal_graph *g = NULL;
    TRY(causal_graph_new(&g, (fnvae_dims){x->d, x->m, x->p, x->q}));
    TRY(causal_graph_name(g, t->info.obs_names, t->info.act_names));
    const uint8_t *truth[] = {x->C_ss, x->C_as, x->C_ts, x->c_sr, x->c_ar, x->C_tt_s, x->C_tt_r};
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) set(g, k, truth[k]);
    causal_compact(g);
    *out = g;
out:
    if (rc < 0) causal_graph_free(g);
    return rc;
}

int true_graph(causal_graph **out, const char *path, const char *settings)
{
    source s = {0};
    task_graph truth = {0};
    int rc = 0;
    TRY(source_read(&s, path, NULL, settings));
    TRY(source_check(&s));
    TRY(task_truth(s.task, &truth));
    TRY(make(out, s.task, &truth));
out:
    task_graph_free(&truth);
    source_free(&s);
    return rc;
}
