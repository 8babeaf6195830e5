/* onnx.c - the messages of ONNX that a program needs; the numbers are fields of onnx.proto.
 *
 * Values are named v0, v1 …; what an operation needs beside its own result has its name and an
 * ending. A constant is (1, D) where that is enough, and expanded to (N, D) where ONNX does not
 * repeat it by itself. */
#include "deploy/onnx.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/version.h"
#include "base/wire.h"
#include "deploy/code.h"
#include "deploy/half.h"

enum { IR = 8, OPSET = 17 };
enum { FLOAT = 1, INT64 = 7, FLOAT16 = 10 }; /* types of tensors */

typedef char label[48];

/* ---- messages -------------------------------------------------------------------------------- */

/* A whole-number or float attribute. */
typedef struct attribute {
    const char *name;
    bool is_float;
    float f;
    int64_t i;
} attribute;

static void put_attribute(wire *w, const void *message)
{
    const attribute *a = message;
    wire_text(w, 1, a->name);
    if (a->is_float)
        wire_float(w, 2, a->f);
    else
        wire_int(w, 3, (uint64_t)a->i);
    wire_int(w, 20, a->is_float ? 1 : 2);
}

enum { NODE_IN = NN_MOST_INPUTS, NODE_OUT = 4, NODE_ATTRIBUTES = 2 };
typedef struct node {
    const char *op, *in[NODE_IN], *out[NODE_OUT];
    attribute attributes[NODE_ATTRIBUTES];
} node;

static void put_node(wire *w, const void *message)
{
    const node *n = message;
    for (int i = 0; i < NODE_IN && n->in[i]; i++) wire_text(w, 1, n->in[i]);
    for (int i = 0; i < NODE_OUT && n->out[i]; i++) wire_text(w, 2, n->out[i]);
    wire_text(w, 3, n->out[0]);
    wire_text(w, 4, n->op);
    for (int i = 0; i < NODE_ATTRIBUTES && n->attributes[i].name; i++)
        wire_message(w, 5, put_attribute, &n->attributes[i]);
}

typedef struct tensor {
    const char *name;
    int type, rank;
    int64_t shape[3];
    const void *data; /* of FLOAT16: floats */
    size_t count;
} tensor;

static size_t bytes_of(const tensor *t)
{
    return t->count * (t->type == FLOAT ? 4 : t->type == INT64 ? 8 : 2);
}

static void put_halves(wire *w, const void *message)
{
    const tensor *t = message;
    for (size_t i = 0; i < t->count; i++)
        wire_bytes(w, &(uint16_t){half_of(((const float *)t->data)[i])}, 2);
}

static void put_tensor(wire *w, const void *message)
{
    const tensor *t = message;
    for (int i = 0; i < t->rank; i++) wire_int(w, 1, (uint64_t)t->shape[i]);
    wire_int(w, 2, (uint64_t)t->type);
    wire_text(w, 8, t->name);
    if (t->type == FLOAT16)
        wire_message(w, 9, put_halves, t);
    else
        wire_block(w, 9, t->data, bytes_of(t));
}

/* An input or output of the model: (N, width). */
typedef struct port {
    const char *name;
    int width;
} port;

static void put_many(wire *w, const void *message)
{
    (void)message;
    wire_text(w, 2, "N");
}

static void put_width(wire *w, const void *message)
{
    wire_int(w, 1, (uint64_t)((const port *)message)->width);
}

static void put_shape(wire *w, const void *message)
{
    wire_message(w, 1, put_many, message);
    wire_message(w, 1, put_width, message);
}

static void put_tensor_type(wire *w, const void *message)
{
    wire_int(w, 1, FLOAT);
    wire_message(w, 2, put_shape, message);
}

static void put_type(wire *w, const void *message)
{
    wire_message(w, 1, put_tensor_type, message);
}

static void put_port(wire *w, const void *message)
{
    wire_text(w, 1, ((const port *)message)->name);
    wire_message(w, 2, put_type, message);
}

/* ---- the graph's parts ----------------------------------------------------------------------- */

enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static void add_node(wire *w, node n)
{
    wire_message(w, GRAPH_NODE, put_node, &n);
}

static void add_unary(wire *w, const char *op, const char *x, const char *y)
{
    add_node(w, (node){.op = op, .in = {x}, .out = {y}});
}

static void add_binary(wire *w, const char *op, const char *x, const char *y, const char *z)
{
    add_node(w, (node){.op = op, .in = {x, y}, .out = {z}});
}

static void add_cast(wire *w, const char *x, const char *y)
{
    add_node(
        w, (node){.op = "Cast", .in = {x}, .out = {y}, .attributes = {{.name = "to", .i = FLOAT}}});
}

static void add_ints(wire *w, const char *name, const int64_t *x, int n)
{
    tensor t = {name, INT64, 1, {n}, x, (size_t)n};
    wire_message(w, GRAPH_TENSOR, put_tensor, &t);
}

/* A scalar. */
static void add_number(wire *w, const char *name, float x)
{
    tensor t = {.name = name, .type = FLOAT, .data = &x, .count = 1};
    wire_message(w, GRAPH_TENSOR, put_tensor, &t);
}

static const char *name_of(const program *p, int v, label out)
{
    const code_value *x = &p->values[v];
    if (x->kind == VALUE_INPUT)
        snprintf(out, sizeof(label), "%s", tick_inputs[x->of].name);
    else
        snprintf(out, sizeof(label), "v%d", v);
    return out;
}

/* "v12.ending" */
static const char *beside(const program *p, int v, const char *ending, label out)
{
    label name;
    snprintf(out, sizeof(label), "%.30s.%.15s", name_of(p, v, name), ending);
    return out;
}

/* Columns [from, from + count) of `whole`. */
static void add_slice(wire *w, const program *p, int v, const char *whole, int from)
{
    label y, a, b, c;
    add_ints(w, beside(p, v, "from", a), &(int64_t){from}, 1);
    add_ints(w, beside(p, v, "to", b), &(int64_t){from + value_width(p, v)}, 1);
    add_ints(w, beside(p, v, "axis", c), &(int64_t){1}, 1);
    add_node(w, (node){.op = "Slice", .in = {whole, a, b, c}, .out = {name_of(p, v, y)}});
}

static const char BATCH[] = "batch"; /* the number of lives, (1) */

/* The name of a value that has N rows: a constant is expanded. `to` names the result where it has
 * to have a certain name. */
static const char *with_rows(wire *w, const program *p, int v, const char *to, label out)
{
    label x, d, shape;
    if (!value_is_constant(p, v)) return name_of(p, v, out);
    snprintf(out, sizeof(label), "%.40s.rows", to);
    snprintf(d, sizeof d, "%.40s.width", out);
    snprintf(shape, sizeof shape, "%.40s.shape", out);
    add_ints(w, d, &(int64_t){value_width(p, v)}, 1);
    add_node(w, (node){.op = "Concat",
                       .in = {BATCH, d},
                       .out = {shape},
                       .attributes = {{.name = "axis", .i = 0}}});
    add_binary(w, "Expand", name_of(p, v, x), shape, out);
    return out;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Joins values to one of the given name. */
static void add_join(wire *w, const program *p, const int *values, int count, const char *to)
{
    label names[NN_MOST_INPUTS], place;
    node n = {.op = "Concat", .out = {to}, .attributes = {{.name = "axis", .i = 1}}};
    for (int k = 0; k < count; k++) {
        snprintf(place, sizeof place, "%.30s.%d", to, k);
        n.in[k] = with_rows(w, p, values[k], place, names[k]);
    }
    add_node(w, n);
}

/* What NaN stands for: not measured. */
static void add_missing(wire *w, int f, const char *x, const char *y)
{
    label nan, other;
    snprintf(nan, sizeof nan, "%.40s.nan", y);
    snprintf(other, sizeof other, "%.40s.%s", y, f == CODE_NUMBER ? "zero" : "there");
    add_unary(w, "IsNaN", x, nan);
    if (f == CODE_NUMBER) {
        add_number(w, other, 0);
        add_node(w, (node){.op = "Where", .in = {nan, other, x}, .out = {y}});
        return;
    }
    add_unary(w, "Not", nan, other);
    add_cast(w, other, y);
}

static void add_map(wire *w, int f, const char *x, const char *y)
{
    static const char *const names[] = {"Identity", "Relu", "LeakyRelu",
                                        "Elu",      "Tanh", "Sigmoid",
                                        "Softplus", "Exp",  [CODE_INVERSE] = "Reciprocal"};
    if (!names[f]) {
        add_missing(w, f, x, y);
        return;
    }
    node n = {.op = names[f], .in = {x}, .out = {y}};
    if (f == NN_LEAKY_RELU) n.attributes[0] = (attribute){"alpha", true, 0.2f, 0};
    add_node(w, n);
}

/* The weights, as floats whatever they are stored as. */
static const char *add_matrix(wire *w, const program *p, const code_op *op, label out)
{
    label stored;
    tensor t = {.name = beside(p, op->out, p->f16 ? "half" : "W", stored),
                .type = p->f16 ? FLOAT16 : FLOAT,
                .rank = op->members > 1 ? 3 : 2,
                .shape = {op->members, op->rows, op->columns},
                .data = p->matrices + op->matrix,
                .count = (size_t)op->members * (size_t)op->rows * (size_t)op->columns};
    if (op->members == 1) memmove(t.shape, t.shape + 1, 2 * sizeof *t.shape);
    wire_message(w, GRAPH_TENSOR, put_tensor, &t);
    beside(p, op->out, "W", out);
    if (p->f16) add_cast(w, t.name, out);
    return out;
}

/* Members of a bank: (N, members, 1, rows) times (members, rows, columns). */
static void add_bank(wire *w, const program *p, const code_op *op, const char *x, const char *W,
                     const char *to)
{
    label apart, shape, product, together;
    int64_t split[] = {-1, op->members, 1, op->rows}, join[] = {-1, op->members * op->columns};
    add_ints(w, beside(p, op->out, "split", shape), split, 4);
    add_binary(w, "Reshape", x, shape, beside(p, op->out, "apart", apart));
    add_binary(w, "MatMul", apart, W, beside(p, op->out, "products", product));
    add_ints(w, beside(p, op->out, "join", together), join, 2);
    add_binary(w, "Reshape", product, together, to);
}

static void add_dense(wire *w, const program *p, const code_op *op)
{
    label z, x, y, W, before, sum;
    bool bias = op->in_count > 1, maps = op->f != NN_LINEAR;
    const char *result = name_of(p, op->out, z);
    const char *summed = maps ? beside(p, op->out, "sum", sum) : result;
    const char *product = bias ? beside(p, op->out, "product", before) : summed;
    add_matrix(w, p, op, W);
    name_of(p, op->in[0], x);
    if (op->members > 1)
        add_bank(w, p, op, x, W, product);
    else
        add_binary(w, "MatMul", x, W, product);
    if (bias) add_binary(w, "Add", product, name_of(p, op->in[1], y), summed);
    if (maps) add_map(w, op->f, summed, result);
}

static void add_affine(wire *w, const program *p, const code_op *op)
{
    label x, z, scale, shift, scaled;
    add_number(w, beside(p, op->out, "scale", scale), op->low);
    add_number(w, beside(p, op->out, "shift", shift), op->high);
    add_binary(w, "Mul", name_of(p, op->in[0], x), scale, beside(p, op->out, "scaled", scaled));
    add_binary(w, "Add", scaled, shift, name_of(p, op->out, z));
}

static void add_clip(wire *w, const program *p, const code_op *op)
{
    label x, z, low, high;
    add_number(w, beside(p, op->out, "low", low), op->low);
    add_number(w, beside(p, op->out, "high", high), op->high);
    add_node(w, (node){.op = "Clip",
                       .in = {name_of(p, op->in[0], x), low, high},
                       .out = {name_of(p, op->out, z)}});
}

static void add_norm(wire *w, const program *p, const code_op *op)
{
    label x, gain, shift, z, before;
    node n = {
        .op = "LayerNormalization",
        .in = {name_of(p, op->in[0], x), name_of(p, op->in[1], gain), name_of(p, op->in[2], shift)},
        .out = {beside(p, op->out, "normed", before)},
        .attributes = {{.name = "axis", .i = -1}, {"epsilon", true, 1e-5f, 0}}};
    add_node(w, n);
    add_map(w, op->f, before, name_of(p, op->out, z));
}

/* c = σ(f) c + σ(i) tanh(g), h = σ(o) tanh(c) */
static void add_cell(wire *w, const program *p, const code_op *op)
{
    static const char *const gates[] = {"i", "f", "g", "o"};
    label x, old, z, part[4], gate[4], kept, added, c, wide, h;
    node split = {
        .op = "Split", .in = {name_of(p, op->in[0], x)}, .attributes = {{"axis", .i = 1}}};
    for (int k = 0; k < 4; k++) split.out[k] = beside(p, op->out, gates[k], part[k]);
    add_node(w, split);
    for (int k = 0; k < 4; k++) {
        snprintf(gate[k], sizeof(label), "%.40s.gate", part[k]);
        add_map(w, k == 2 ? NN_TANH : NN_SIGMOID, part[k], gate[k]);
    }
    add_binary(w, "Mul", gate[1], name_of(p, op->in[1], old), beside(p, op->out, "kept", kept));
    add_binary(w, "Mul", gate[0], gate[2], beside(p, op->out, "added", added));
    add_binary(w, "Add", kept, added, beside(p, op->out, "c", c));
    add_map(w, NN_TANH, c, beside(p, op->out, "tanh", wide));
    add_binary(w, "Mul", gate[3], wide, beside(p, op->out, "h", h));
    add_node(w, (node){.op = "Concat",
                       .in = {h, c},
                       .out = {name_of(p, op->out, z)},
                       .attributes = {{.name = "axis", .i = 1}}});
}

static void add_op(wire *w, const program *p, const code_op *op)
{
    static const char *const pairs[] = {[CODE_add] = "Add", [CODE_sub] = "Sub", [CODE_mul] = "Mul"};
    label x, y, z;
    name_of(p, op->out, z);
    switch (op->kind) {
    case CODE_join:
        add_join(w, p, op->in, op->in_count, z);
        break;
    case CODE_dense:
        add_dense(w, p, op);
        break;
    case CODE_map:
        add_map(w, op->f, name_of(p, op->in[0], x), z);
        break;
    case CODE_add:
    case CODE_sub:
    case CODE_mul:
        add_binary(w, pairs[op->kind], name_of(p, op->in[0], x), name_of(p, op->in[1], y), z);
        break;
    case CODE_affine:
        add_affine(w, p, op);
        break;
    case CODE_clip:
        add_clip(w, p, op);
        break;
    case CODE_norm:
        add_norm(w, p, op);
        break;
    case CODE_cell:
        add_cell(w, p, op);
        break;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct model {
    const program *p;
    const char *name;
} model;

static void add_constants(wire *w, const program *p)
{
    for (int v = 0; v < (int)p->value_count; v++) {
        const code_value *x = &p->values[v];
        label name;
        tensor t = {name_of(p, v, name),         FLOAT,           1, {x->width},
                    p->numbers + value_at(p, v), (size_t)x->width};
        if (x->kind == VALUE_CONSTANT) wire_message(w, GRAPH_TENSOR, put_tensor, &t);
    }
}

/* The parts of a value follow it. */
static void add_parts(wire *w, const program *p, int of)
{
    label whole;
    name_of(p, of, whole);
    for (int v = 0; v < (int)p->value_count; v++) {
        if (p->values[v].kind != VALUE_PART || p->values[v].of != of) continue;
        add_slice(w, p, v, whole, p->values[v].at);
        add_parts(w, p, v);
    }
}

static void add_operations(wire *w, const program *p)
{
    int inputs = p->shape.inputs;
    add_node(w, (node){.op = "Shape",
                       .in = {tick_inputs[TICK_obs].name},
                       .out = {BATCH},
                       .attributes = {{.name = "start", .i = 0}, {.name = "end", .i = 1}}});
    for (int i = 0; i < p->slot_count; i++)
        add_slice(w, p, p->before[i], "state_in", value_at(p, p->before[i]) - inputs);
    for (int v = 0; v < (int)p->value_count; v++)
        if (p->values[v].kind == VALUE_INPUT || p->values[v].kind == VALUE_SLOT) add_parts(w, p, v);
    for (size_t i = 0; i < p->op_count; i++) {
        add_op(w, p, &p->ops[i]);
        add_parts(w, p, p->ops[i].out);
    }
    for (int i = 0; i < TICK_OUT; i++)
        if (p->out[i] >= 0) add_join(w, p, &p->out[i], 1, tick_outputs[i].name);
    if (p->slot_count) add_join(w, p, p->after, p->slot_count, "state_out");
}

static void add_port(wire *w, int field, const char *name, int width)
{
    if (width > 0) wire_message(w, field, put_port, &(port){name, width});
}

static void put_graph(wire *w, const void *message)
{
    const model *m = message;
    const program_shape *z = &m->p->shape;
    add_operations(w, m->p);
    wire_text(w, GRAPH_NAME, m->name);
    add_constants(w, m->p);
    for (int i = 0; i < TICK_IN; i++) add_port(w, GRAPH_INPUT, tick_inputs[i].name, z->in[i].width);
    add_port(w, GRAPH_INPUT, "state_in", z->state);
    for (int i = 0; i < TICK_OUT; i++)
        add_port(w, GRAPH_OUTPUT, tick_outputs[i].name, z->out[i].width);
    add_port(w, GRAPH_OUTPUT, "state_out", z->state);
}

static void put_opset(wire *w, const void *message)
{
    (void)message;
    wire_text(w, 1, "");
    wire_int(w, 2, OPSET);
}

static void put_model(wire *w, const model *m)
{
    wire_int(w, 1, IR);
    wire_text(w, 2, "FANS");
    wire_text(w, 3, fans_version());
    wire_message(w, 7, put_graph, m);
    wire_message(w, 8, put_opset, NULL);
}

int onnx_write(const program *p, const char *name, void **bytes, size_t *n)
{
    model m = {p, name};
    wire measured = {0};
    put_model(&measured, &m);
    *n = measured.n;
    if (!(*bytes = mem_alloc(*n))) return FANS_ENOMEM;
    put_model(&(wire){*bytes, *n, 0}, &m);
    return 0;
}
