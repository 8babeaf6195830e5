/* sketch.c - sketches, and the values of what is known in them: operators are run by the CPU's
 * bodies, on memory of their own. */
#include "nn/sketch.h"

#include "base/error.h"
#include "nn/graph.h"

void nn_sketch_begin(nn_graph *g)
{
    assert(g->committed && !g->sketching);
    g->sketching = true;
    g->sketched = g->count;
}

int nn_sketch_end(nn_graph *g)
{
    int rc = g->rc;
    g->sketching = false;
    if (rc == 0) return 0;
    g->rc = 0; /* what else is recorded is as good as before */
    g->count = g->sketched;
    return fans_fail(rc, "%s", g->why);
}

nn_recorded nn_recorded_of(nn_var v)
{
    const nn_node *n = &v.graph->nodes[v.id];
    return (nn_recorded){n->op, &n->attr, n->in, n->in_count};
}

bool nn_is_known(nn_var v)
{
    const nn_node *n = &v.graph->nodes[v.id];
    if (n->op < 0) return n->value && n->type == NN_F32 && n->op != LEAF_TABLE;
    if (n->op == NN_OP_affine && n->attr.f[0] == 0) return true; /* a constant, whatever it reads */
    for (int k = 0; k < n->in_count; k++)
        if (!nn_is_known((nn_var){v.graph, n->in[k]})) return false;
    return true;
}

static int compute(nn_var v, int replica, real *to);

/* A tensor of one replica with memory of its own. */
static int take(nn_tensor *t, nn_var v, int replica)
{
    size_t n = nn_size(nn_shape_of(v));
    *t = (nn_tensor){.v = mem_alloc(n * sizeof(real)), .stride = n, .shape = nn_shape_of(v)};
    if (!t->v) return FANS_ENOMEM;
    return nn_is_known(v) ? compute(v, replica, t->v) : 0; /* else nothing depends on it */
}

static int compute(nn_var v, int replica, real *to)
{
    const nn_node *n = &v.graph->nodes[v.id];
    uint64_t drawn = 0, seed = 0;
    pool *alone = NULL;
    int rc = 0;
    if (n->op < 0) {
        nn_read(v, replica, to);
        return 0;
    }
    nn_call c = {.out = {.v = to, .stride = nn_size(n->shape), .shape = n->shape},
                 .in_count = n->in_count,
                 .attr = n->attr,
                 .scratch_size = n->scratch_size,
                 .counter = &drawn,
                 .seeds = &seed,
                 .replicas = 1};
    TRY(pool_new(&alone, 1));
    c.backend = alone;
    TRY((c.scratch = mem_alloc(n->scratch_size * sizeof(real))) ? 0 : FANS_ENOMEM);
    for (int k = 0; k < n->in_count; k++) TRY(take(&c.in[k], (nn_var){v.graph, n->in[k]}, replica));
    nn_ops[n->op]->forward(&c);
out:
    for (int k = 0; k < n->in_count; k++) mem_free(c.in[k].v);
    mem_free(c.scratch);
    pool_free(alone);
    return rc;
}

int nn_known_value(nn_var v, int replica, real *to)
{
    assert(nn_is_known(v));
    return compute(v, replica, to);
}
