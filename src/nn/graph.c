/* graph.c - records nodes and gives them memory.
 *
 * Nodes stand in one array in the order of recording, which is an order of execution. Nothing but
 * shapes is known until nn_graph_commit; by then the plans have said which gradients they need, and
 * everything is carved out of one allocation. Every tensor keeps its own memory: activations are
 * needed again in the backward pass, and one graph serves several plans. */
#include "nn/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define X(name, work) &nn_op_##name,
const nn_op *const nn_ops[NN_OP_COUNT] = {
#include "nn/ops/list.h"
};
#undef X

int nn_op_count(void)
{
    return NN_OP_COUNT;
}

const char *nn_op_name(int op)
{
    return nn_ops[op]->name;
}

const char *nn_op_help(int op)
{
    return nn_ops[op]->help;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int nn_graph_new(nn_graph **out, nn_backend *backend, int replicas, const uint64_t *seeds)
{
    assert(replicas >= 1);
    int rc = 0;
    nn_graph *g = mem_alloc(sizeof *g);
    if (!g) return FANS_ENOMEM;
    g->backend = backend;
    g->replicas = replicas;
    g->seeds = mem_alloc((size_t)replicas * sizeof *g->seeds);
    TRY(g->seeds ? 0 : FANS_ENOMEM);
    memcpy(g->seeds, seeds, (size_t)replicas * sizeof *g->seeds);
    TRY(arena_new_from(&g->memory, backend->memory));
    TRY(arena_new(&g->host));
    *out = g;
    return 0;
out:
    nn_graph_free(g);
    return rc;
}

void nn_graph_free(nn_graph *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->routine_count; i++) routine_free(g->routines[i]);
    for (size_t i = 0; i < g->plan_count; i++) plan_free(g->plans[i]);
    for (size_t i = 0; i < g->group_count; i++) group_free(g->groups[i]);
    mem_free(g->routines);
    mem_free(g->plans);
    mem_free(g->groups);
    mem_free(g->nodes);
    mem_free(g->seeds);
    arena_free(g->memory);
    arena_free(g->host);
    mem_free(g);
}

int nn_graph_replicas(const nn_graph *g)
{
    return g->replicas;
}

size_t nn_graph_bytes(const nn_graph *g)
{
    return arena_bytes(g->memory) + arena_bytes(g->host);
}

uint64_t *nn_graph_counters(nn_graph *g, int *count)
{
    *count = g->counter_count;
    return g->counters;
}

/* ---- recording ------------------------------------------------------------------------------- */

nn_var graph_refuse(nn_graph *g, const char *format, ...)
{
    if (g->rc == 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(g->why, sizeof g->why, format, args);
        va_end(args);
        g->rc = FANS_EINVAL;
    }
    return NN_NONE;
}

/* Appends a node of any size. */
static nn_node *push(nn_graph *g, const char *name, nn_shape shape)
{
    assert((!g->committed || g->sketching) && "record before commit");
    if (g->rc < 0) return NULL;
    if (shape.T < 1 || shape.B < 1 || shape.D < 1) {
        graph_refuse(g, "'%s' has the shape (%d, %d, %d): every extent must be at least 1", name,
                     shape.T, shape.B, shape.D);
        return NULL;
    }
    if (mem_grow(&g->nodes, &g->capacity, g->count + 1, sizeof *g->nodes) < 0) {
        snprintf(g->why, sizeof g->why, "%s", fans_error());
        g->rc = FANS_ENOMEM;
        return NULL;
    }
    nn_node *n = &g->nodes[g->count++];
    memset(n, 0, sizeof *n);
    snprintf(n->name, sizeof n->name, "%s", name);
    n->shape = shape;
    n->stride = nn_size(shape);
    return n;
}

nn_node *graph_push(nn_graph *g, const char *name, nn_shape shape)
{
    if ((double)shape.T * shape.B * shape.D > INT32_MAX) {
        graph_refuse(g, "'%s' has the shape (%d, %d, %d): more than 2^31 numbers", name, shape.T,
                     shape.B, shape.D);
        return NULL;
    }
    return push(g, name, shape);
}

static nn_var last(nn_graph *g, const nn_node *pushed)
{
    return pushed ? (nn_var){g, (int)g->count - 1} : NN_NONE;
}

nn_var nn_input(nn_graph *g, const char *name, int T, int B, int D)
{
    nn_node *n = graph_push(g, name, (nn_shape){T, B, D});
    if (n) n->op = LEAF_INPUT;
    return last(g, n);
}

nn_var nn_index(nn_graph *g, const char *name, int T, int B, int K)
{
    nn_node *n = graph_push(g, name, (nn_shape){T, B, K});
    if (n) {
        n->op = LEAF_INDEX;
        n->type = NN_I32;
    }
    return last(g, n);
}

nn_var nn_table(nn_graph *g, const char *name, int rows, int D, nn_type type, void *memory)
{
    assert(type == NN_F32 || type == NN_U8);
    nn_node *n = push(g, name, (nn_shape){1, rows, D});
    if (n) {
        n->op = LEAF_TABLE;
        n->type = type;
        n->caller = memory;
    }
    return last(g, n);
}

nn_var nn_scalar(nn_graph *g, const char *name, double value)
{
    nn_node *n = graph_push(g, name, (nn_shape){1, 1, 1});
    if (n) {
        n->op = LEAF_SCALAR;
        n->initial = value;
    }
    return last(g, n);
}

/* "linear(x (1,256,17), W (1,18,64))": what a message calls a faulty call. */
static const char *describe(nn_graph *g, int op, nn_list x, char *out, size_t size)
{
    int n = snprintf(out, size, "%s(", nn_ops[op]->name);
    for (int k = 0; k < x.count && n < (int)size; k++) {
        const nn_node *in = &g->nodes[x.var[k].id];
        n += snprintf(out + n, size - (size_t)n, "%s%s (%d, %d, %d)", k ? ", " : "", in->name,
                      in->shape.T, in->shape.B, in->shape.D);
    }
    if (n < (int)size) snprintf(out + n, size - (size_t)n, ")");
    return out;
}

/* What is wrong with the type of operand k, or NULL. */
static const char *mistyped(const nn_op *op, const nn_node *in, int k)
{
    bool wanted = op->indices >> k & 1, index = in->type == NN_I32;
    if (wanted != index) return index ? "an index is no operand" : "the numbers are not an index";
    if (in->type == NN_U8 && !(op->tables >> k & 1))
        return "bytes are read by gather and frames only";
    return NULL;
}

/* Finds out what there is to know of a call; NULL, or what is wrong with it. */
static const char *infer(const nn_graph *g, int op, nn_list x, nn_inference *f)
{
    for (int k = 0; k < x.count; k++) {
        const nn_node *in = &g->nodes[x.var[k].id];
        const char *wrong = mistyped(nn_ops[op], in, k);
        if (wrong) return wrong;
        f->in[k] = in->shape;
    }
    return nn_ops[op]->infer(f);
}

nn_var nn_record(int op, nn_list x, nn_attr attr)
{
    /* an operand that failed has noted why; a missing one is the caller's slip */
    nn_graph *g = NULL;
    for (int k = 0; k < x.count; k++)
        if (x.var[k].graph) g = x.var[k].graph;
    if (!g || g->rc < 0) return NN_NONE;
    for (int k = 0; k < x.count; k++)
        if (x.var[k].id < 0)
            return graph_refuse(g, "%s: operand %d is missing", nn_ops[op]->name, k);

    nn_inference f = {.in_count = x.count, .attr = attr};
    const char *wrong = infer(g, op, x, &f);
    char text[384];
    if (wrong) return graph_refuse(g, "%s: %s", describe(g, op, x, text, sizeof text), wrong);

    snprintf(text, sizeof text, "%s#%zu", nn_ops[op]->name, g->count);
    nn_node *n = graph_push(g, text, f.out);
    if (!n) return NN_NONE;
    n->op = op;
    n->attr = f.attr;
    n->in_count = x.count;
    for (int k = 0; k < x.count; k++) n->in[k] = x.var[k].id;
    n->scratch_size = f.scratch;
    n->flops = f.flops;
    n->skip = f.skip;
    assert(!(nn_ops[op]->random && g->sketching));
    if (nn_ops[op]->random) n->counter = g->counter_count++;
    snprintf(n->stream, sizeof n->stream, "%s %d", nn_ops[op]->name, n->counter);
    return last(g, n);
}

/* ---- commit ---------------------------------------------------------------------------------- */

/* Bytes of one number. */
static size_t width_of(const nn_node *n)
{
    return n->type == NN_U8 ? 1 : n->type == NN_I32 ? sizeof(int32_t) : sizeof(real);
}

static int declare_node(nn_graph *g, nn_node *n)
{
    size_t replicas = (size_t)g->replicas;
    int rc = 0;
    if (n->op == LEAF_PARAM) return 0; /* in its group's block */
    if (n->op == LEAF_TABLE && !g->backend->put_rows) {
        n->value = n->caller;
        return 0;
    }
    TRY(arena_declare(g->memory, &n->value, replicas * n->stride * width_of(n)));
    if (n->needs_grad) TRY(arena_declare(g->memory, &n->grad, replicas * n->stride * sizeof(real)));
    if (n->scratch_size)
        TRY(arena_declare(g->memory, &n->scratch, replicas * n->scratch_size * sizeof(real)));
out:
    return rc;
}

/* The CPU's counters are the host's; another backend has a copy, which it advances by itself. */
static int declare_random(nn_graph *g)
{
    size_t bytes = ((size_t)g->counter_count + 1) * sizeof *g->counters;
    int rc = 0;
    TRY(arena_declare(g->host, &g->counters, bytes));
    TRY(arena_declare(g->memory, &g->live_seeds, (size_t)g->replicas * sizeof *g->live_seeds));
    if (g->backend->run) {
        TRY(arena_declare(g->host, &g->told, bytes));
        TRY(arena_declare(g->memory, &g->live_counters, bytes));
    }
out:
    return rc;
}

static void set_initial_scalars(nn_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        if (g->nodes[i].op != LEAF_SCALAR) continue;
        for (int r = 0; r < g->replicas; r++)
            nn_scalar_set((nn_var){g, (int)i}, r, g->nodes[i].initial);
    }
}

int nn_graph_commit(nn_graph *g)
{
    assert(!g->committed && "commit once");
    int rc = 0;
    if (g->rc < 0) return fans_fail(g->rc, "%s", g->why);
    TRY(declare_random(g));
    for (size_t i = 0; i < g->count; i++) TRY(declare_node(g, &g->nodes[i]));
    for (size_t i = 0; i < g->group_count; i++) TRY(group_declare(g->groups[i]));
    TRY(arena_commit(g->host));
    TRY(arena_commit(g->memory));
    g->committed = true;
    if (!g->backend->run) g->live_counters = g->counters;
    nn_copy_in(g, g->live_seeds, g->seeds, (size_t)g->replicas * sizeof *g->seeds);

    /* parameters live in their group's block */
    for (size_t i = 0; i < g->count; i++) {
        nn_node *n = &g->nodes[i];
        if (n->op != LEAF_PARAM) continue;
        n->value = n->group->block[NN_VALUES] + n->offset;
        n->grad = n->group->block[NN_GRADIENTS] + n->offset;
        n->stride = n->group->size;
    }
    set_initial_scalars(g);
    for (size_t i = 0; i < g->group_count; i++) nn_group_init(g->groups[i]);
    for (size_t i = 0; i < g->plan_count; i++) TRY(plan_link(g->plans[i]));
    for (size_t i = 0; i < g->routine_count; i++) TRY(routine_link(g->routines[i]));
out:
    return rc;
}

/* ---- faults of a backend that works beside the host ------------------------------------------ */

static int tell_fault(const nn_graph *g, const nn_fault *f)
{
    if (f->kind == NN_FAULT_DEVICE) return fans_fail(FANS_EIO, "%s", f->why);
    for (size_t i = 0; i < g->plan_count; i++)
        if (f->owner == &g->plans[i]->program)
            return fans_fail_replica(FANS_ENUMERIC, f->replica, "the loss '%s' is %g",
                                     g->nodes[g->plans[i]->losses[f->index]].name,
                                     (double)f->value);
    for (size_t i = 0; i < g->group_count; i++)
        if (f->owner == g->groups[i]->norm) return group_blame(g->groups[i], f->replica);
    return fans_fail(FANS_ENUMERIC, "a loss or gradient of another graph is not finite");
}

int graph_fault(nn_graph *g, bool wait)
{
    nn_fault f = {.kind = NN_FAULT_NONE};
    if (!g->backend->fault) return 0;
    g->backend->fault(g->backend->self, wait, &f);
    return f.kind == NN_FAULT_NONE ? 0 : tell_fault(g, &f);
}

int nn_graph_check(nn_graph *g)
{
    return graph_fault(g, true);
}

/* ---- looking in ------------------------------------------------------------------------------ */

static nn_node *node_of(nn_var v)
{
    assert(v.graph && v.id >= 0);
    return &v.graph->nodes[v.id];
}

nn_shape nn_shape_of(nn_var v)
{
    return v.id < 0 ? (nn_shape){1, 1, 1} : node_of(v)->shape;
}

const char *nn_stream_of(nn_var v)
{
    return node_of(v)->stream;
}

const char *nn_name_of(nn_var v)
{
    return v.id < 0 ? "none" : node_of(v)->name;
}

real *nn_data(nn_var v, int replica)
{
    nn_node *n = node_of(v);
    assert(n->type == NN_F32);
    return n->value + (size_t)replica * n->stride;
}

real *nn_grad(nn_var v, int replica)
{
    nn_node *n = node_of(v);
    return n->grad ? n->grad + (size_t)replica * n->stride : NULL;
}

void nn_copy_in(nn_graph *g, void *to, const void *from, size_t bytes)
{
    g->backend->copy_in(g->backend->self, to, from, bytes);
}

void nn_copy_out(nn_graph *g, void *to, const void *from, size_t bytes)
{
    g->backend->copy_out(g->backend->self, to, from, bytes);
}

void nn_write(nn_var v, int replica, const real *from)
{
    nn_copy_in(v.graph, nn_data(v, replica), from, nn_size(node_of(v)->shape) * sizeof(real));
}

void nn_read(nn_var v, int replica, real *to)
{
    nn_copy_out(v.graph, to, nn_data(v, replica), nn_size(node_of(v)->shape) * sizeof(real));
}

/* Not for parameters, whose replicas lie apart. */
static size_t bytes_of_all(nn_var v)
{
    assert(node_of(v)->op != LEAF_PARAM);
    return (size_t)v.graph->replicas * nn_size(node_of(v)->shape) * sizeof(real);
}

void nn_write_all(nn_var v, const real *from)
{
    nn_copy_in(v.graph, nn_data(v, 0), from, bytes_of_all(v));
}

void nn_read_all(nn_var v, real *to)
{
    nn_copy_out(v.graph, to, nn_data(v, 0), bytes_of_all(v));
}

/* Writes `count` replicas of an index from one on. */
static void write_index(nn_var v, int replica, int count, const int32_t *from)
{
    const nn_node *n = node_of(v);
    assert(n->type == NN_I32);
    char *to = (char *)n->value + (size_t)replica * n->stride * sizeof *from;
    nn_copy_in(v.graph, to, from, (size_t)count * n->stride * sizeof *from);
}

void nn_write_index(nn_var v, int replica, const int32_t *from)
{
    write_index(v, replica, 1, from);
}

void nn_write_index_all(nn_var v, const int32_t *from)
{
    write_index(v, 0, v.graph->replicas, from);
}

void nn_table_send_rows(nn_var table, const nn_place *places, int count)
{
    const nn_backend *b = table.graph->backend;
    const nn_node *n = node_of(table);
    size_t width = (size_t)n->shape.D * width_of(n);
    if (b->put_rows)
        b->put_rows(b->self, n->value, n->caller, (size_t)n->shape.B, width, places, count);
}

void nn_table_send(nn_var table, int replica, int first, int count)
{
    const nn_node *n = node_of(table);
    size_t width = (size_t)n->shape.D * width_of(n);
    size_t at = ((size_t)replica * (size_t)n->shape.B + (size_t)first) * width;
    if (table.graph->backend->put_rows)
        nn_copy_in(table.graph, (char *)n->value + at, (const char *)n->caller + at,
                   (size_t)count * width);
}

void nn_scalar_set(nn_var v, int replica, double value)
{
    real x = (real)value;
    nn_write(v, replica, &x);
}

double nn_scalar_get(nn_var v, int replica)
{
    real x;
    nn_read(v, replica, &x);
    return (double)x;
}
