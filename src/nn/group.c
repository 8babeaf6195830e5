/* group.c - groups of parameters: one contiguous block each for values, gradients and moments, so
 * that an optimiser step is a few passes over memory whatever the number of layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "nn/graph.h"

nn_group *nn_group_new(nn_graph *g, const char *name)
{
    static nn_group broken; /* stands in after a failure, so that callers need no check */
    nn_group *group = NULL;
    if (g->rc == 0 &&
        mem_grow(&g->groups, &g->group_capacity, g->group_count + 1, sizeof *g->groups) == 0)
        group = mem_alloc(sizeof *group);
    if (!group) {
        if (g->rc == 0) {
            snprintf(g->why, sizeof g->why, "%s", fans_error());
            g->rc = FANS_ENOMEM;
        }
        return &broken;
    }
    g->groups[g->group_count++] = group;
    group->graph = g;
    snprintf(group->name, sizeof group->name, "%s", name);
    return group;
}

void group_free(nn_group *group)
{
    if (!group) return;
    mem_free(group->params);
    mem_free(group);
}

nn_var nn_param(nn_group *group, const char *name, int N, int rows, int columns, nn_init init,
                double init_scale)
{
    nn_graph *g = group->graph;
    if (!g || g->rc < 0) return NN_NONE;
    char full[48];
    snprintf(full, sizeof full, "%s.%s", group->name, name);
    for (size_t i = 0; i < group->count; i++) { /* asked for again: shared */
        const nn_node *old = &g->nodes[group->params[i]];
        if (strcmp(old->name, full)) continue;
        if (nn_same(old->shape, (nn_shape){N, rows, columns})) return (nn_var){g, group->params[i]};
        return graph_refuse(g, "the parameter '%s' is there already, as (%d, %d, %d)", full,
                            old->shape.T, old->shape.B, old->shape.D);
    }
    assert(!g->sketching);
    nn_node *n = graph_push(g, full, (nn_shape){N, rows, columns});
    if (!n) return NN_NONE;
    if (mem_grow(&group->params, &group->capacity, group->count + 1, sizeof *group->params) < 0) {
        snprintf(g->why, sizeof g->why, "%s", fans_error());
        g->rc = FANS_ENOMEM;
        return NN_NONE;
    }
    group->params[group->count++] = (int)g->count - 1;
    n->op = LEAF_PARAM;
    n->group = group;
    n->offset = group->size;
    n->init = init;
    n->initial = init_scale;
    n->needs_grad = true;
    group->size += (nn_size(n->shape) + 15) / 16 * 16;
    return (nn_var){g, (int)g->count - 1};
}

int group_declare(nn_group *group)
{
    nn_graph *g = group->graph;
    int rc = 0;
    for (int k = 0; k < 4; k++)
        TRY(arena_declare(g->memory, &group->block[k],
                          (size_t)g->replicas * group->size * sizeof(real)));
    TRY(arena_declare(g->memory, &group->norm, (size_t)g->replicas * sizeof *group->norm));
    if (g->backend->run)
        TRY(arena_declare(g->memory, &group->live_steps, sizeof *group->live_steps));
out:
    return rc;
}

/* ---- initial values -------------------------------------------------------------------------- */

/* Of the biases i, f, g, o of an LSTM of `units` units: unit k keeps σ(f) = m / (1 + m) of its cell
 * and adds σ(i) = 1 / (1 + m), with m spread evenly (after Tallec & Ollivier 2018). */
static double memory(double most, int units, int at)
{
    double bias = log(1 + (most - 1) * (at % units + 0.5) / units);
    return at < units ? -bias : at < 2 * units ? bias : 0;
}

static double draw(const nn_node *n, size_t at, rng *r)
{
    double rows = n->shape.B, columns = n->shape.D;
    switch (n->init) {
    case NN_INIT_ZERO:
        return 0;
    case NN_INIT_CONSTANT:
        return n->initial;
    case NN_INIT_FAN_IN:
        return n->initial / sqrt(rows) * rng_between(r, -1, 1);
    case NN_INIT_GLOROT:
        return n->initial * sqrt(6 / (rows + columns)) * rng_between(r, -1, 1);
    case NN_INIT_NORMAL:
        return n->initial * rng_normal(r);
    case NN_INIT_MEMORY:
        return memory(n->initial, n->shape.D / 4, (int)at);
    }
    return 0;
}

/* Values go through a small buffer, because the backend's memory need not be ours to write. */
static void init_param(nn_graph *g, const nn_node *n, int replica)
{
    enum { PIECE = 256 };
    real piece[PIECE];
    const nn_backend *b = g->backend;
    rng stream = rng_stream(g->seeds[replica], n->name, 0);
    real *to = n->value + (size_t)replica * n->stride;
    for (size_t at = 0, size = nn_size(n->shape); at < size; at += PIECE) {
        size_t count = size - at < PIECE ? size - at : PIECE;
        for (size_t i = 0; i < count; i++) piece[i] = (real)draw(n, at + i, &stream);
        b->copy_in(b->self, to + at, piece, count * sizeof *piece);
    }
}

void nn_group_init(nn_group *group)
{
    nn_graph *g = group->graph;
    const nn_backend *b = g->backend;
    for (int k = 0; k < 4; k++)
        b->clear(b->self, group->block[k], (size_t)g->replicas * group->size * sizeof(real));
    for (size_t i = 0; i < group->count; i++)
        for (int r = 0; r < g->replicas; r++) init_param(g, &g->nodes[group->params[i]], r);
    group->steps = 0;
    group->told_steps = UINT64_MAX; /* nothing yet */
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Says which parameter has the first number that is not finite. */
int group_blame(const nn_group *group, int replica)
{
    const nn_graph *g = group->graph;
    for (size_t i = 0; i < group->count; i++) {
        const nn_node *n = &g->nodes[group->params[i]];
        for (size_t k = 0, size = nn_size(n->shape); k < size; k++) {
            real x;
            g->backend->copy_out(g->backend->self, &x, n->grad + (size_t)replica * n->stride + k,
                                 sizeof x);
            if (!isfinite(x))
                return fans_fail_replica(FANS_ENUMERIC, replica, "the gradient of '%s' is %g",
                                         n->name, (double)x);
        }
    }
    return fans_fail_replica(FANS_ENUMERIC, replica, "the gradient of group '%s' overflows",
                             group->name);
}

nn_adam_step group_adam_step(const nn_group *group, const nn_adam *o)
{
    double t = (double)(group->steps + 1);
    return (nn_adam_step){.w = group->block[NN_VALUES],
                          .m = group->block[NN_MOMENT_1],
                          .v = group->block[NN_MOMENT_2],
                          .g = group->block[NN_GRADIENTS],
                          .norm = group->norm,
                          .n = group->size,
                          .replicas = group->graph->replicas,
                          .clip = o->clip,
                          .beta1 = (real)o->beta1,
                          .beta2 = (real)o->beta2,
                          .eps = (real)o->eps,
                          .rate = (real)(o->lr / (1 - pow(o->beta1, t))),
                          .root = (real)(1 / sqrt(1 - pow(o->beta2, t))),
                          .lr = o->lr,
                          .decay1 = o->beta1,
                          .decay2 = o->beta2,
                          .steps = group->live_steps};
}

void group_tell_step(nn_group *group)
{
    if (group->steps != group->told_steps)
        nn_copy_in(group->graph, group->live_steps, &group->steps, sizeof group->steps);
    group->told_steps = ++group->steps;
}

int nn_group_adam(nn_group *group, const nn_adam *o)
{
    nn_graph *g = group->graph;
    nn_adam_step s = group_adam_step(group, o);
    if (g->backend->run) {
        group_tell_step(group);
        g->backend->adam(g->backend->self, &s);
        return graph_fault(g, false);
    }
    g->backend->adam(g->backend->self, &s);
    for (int r = 0; r < g->replicas; r++)
        if (!isfinite(group->norm[r])) return group_blame(group, r);
    group->steps++;
    return 0;
}

void nn_group_follow(nn_group *target, const nn_group *source, double tau)
{
    assert(target->size == source->size && target->graph == source->graph);
    const nn_backend *b = target->graph->backend;
    b->follow(b->self, target->block[NN_VALUES], source->block[NN_VALUES],
              target->size * (size_t)target->graph->replicas, (real)tau);
}

/* ---- looking in ------------------------------------------------------------------------------ */

size_t nn_group_size(const nn_group *group)
{
    return group->size;
}

real *nn_group_data(nn_group *group, nn_block which, int replica)
{
    return group->block[which] + (size_t)replica * group->size;
}

uint64_t *nn_group_steps(nn_group *group)
{
    return &group->steps;
}

const char *nn_group_name(const nn_group *group)
{
    return group->name;
}

double nn_group_grad_norm(const nn_group *group, int replica)
{
    double norm;
    nn_copy_out(group->graph, &norm, group->norm + replica, sizeof norm);
    return norm;
}

int nn_group_params(const nn_group *group)
{
    return (int)group->count;
}

nn_var nn_group_param(const nn_group *group, int i)
{
    return (nn_var){group->graph, group->params[i]};
}
