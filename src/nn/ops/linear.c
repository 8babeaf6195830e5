/* linear.c - y = act(x W + b), for a bank of N members.
 *
 * W is (N, inputs, outputs). Member n reads the features [n·inputs, (n+1)·inputs) of x and writes
 * [n·outputs, (n+1)·outputs) of y; N = 1 is the ordinary layer. Several x are read as if joined, so
 * that their gradients are computed only where they are wanted: SAC's actor needs the critics'
 * gradient for the action, not for the observation. */
#include <string.h>

#include "nn/gemm.h"
#include "nn/linear.h"

enum { COLUMNS = 32 }; /* of the gradient that one item treats */

static const char *infer(nn_inference *f)
{
    int n = f->attr.i[0], joined = 0;
    nn_shape x = f->in[0], W = f->in[n];
    for (int k = 0; k < n; k++) {
        if (f->in[k].T != x.T || f->in[k].B != x.B) return "the inputs' rows differ in number";
        joined += f->in[k].D;
    }
    if (W.T > 1 && n > 1) return "a bank reads one input";
    if (joined != W.T * W.B) return "the features of the input are not the rows of the weights";
    if (f->attr.i[2] && nn_size(f->in[n + 1]) != (size_t)W.T * (size_t)W.D)
        return "the bias does not fit the outputs";
    f->out = (nn_shape){x.T, x.B, W.T * W.D};
    if (n > 1) f->scratch = nn_rows(x) * (((size_t)joined + 3) / 4 * 4); /* GPUs align rows */
    if (linear_is_head(n, W)) f->scratch = linear_head_scratch(x, W);
    f->flops = 2.0 * (double)nn_rows(x) * W.T * W.B * W.D;
    return NULL;
}

/* ---- joined inputs --------------------------------------------------------------------------- */

static void join_rows(const nn_call *c, int r, size_t from, size_t to)
{
    int joined = linear_weights(c)->shape.B, at = 0;
    real *X = nn_scratch(c, r);
    for (int k = 0; k < linear_inputs(c); k++) {
        size_t D = (size_t)c->in[k].shape.D;
        const real *x = nn_v(&c->in[k], r);
        for (size_t i = from; i < to; i++)
            memcpy(X + i * (size_t)joined + at, x + i * D, D * sizeof *x);
        at += (int)D;
    }
}

/* The matrix that the weights multiply. */
static const real *input(const nn_call *c, size_t *stride)
{
    *stride = linear_inputs(c) > 1 ? c->scratch_size : c->in[0].stride;
    return linear_inputs(c) > 1 ? c->scratch : c->in[0].v;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void finish_tile(const void *arg, int r, int member, int row, int rows, int column,
                        int columns)
{
    const nn_call *c = arg;
    const nn_tensor *b = linear_bias(c);
    act_block s = {(size_t)rows, (size_t)columns, (size_t)c->out.shape.D};
    size_t at = (size_t)member * (size_t)linear_weights(c)->shape.D + (size_t)column;
    act_forward_block(linear_act(c), s, nn_v(&c->out, r) + (size_t)row * s.stride + at,
                      b ? nn_v(b, r) + at : NULL);
}

static void forward(const nn_call *c)
{
    if (linear_is_head(linear_inputs(c), linear_weights(c)->shape)) {
        linear_head_forward(c);
        return;
    }
    const nn_tensor *W = linear_weights(c);
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    if (linear_inputs(c) > 1)
        nn_ranges(c, nn_rows(c->out.shape), linear_weights(c)->shape.B, join_rows);
    gemm_batch b = {.m = (int)nn_rows(c->out.shape), .n = outputs, .k = inputs, .members = N};
    b.done = finish_tile;
    b.arg = c;
    b.A = input(c, &b.A_replica);
    b.lda = N * inputs;
    b.A_member = (size_t)inputs;
    b.B = W->v;
    b.ldb = outputs;
    b.B_replica = W->stride;
    b.B_member = (size_t)inputs * (size_t)outputs;
    b.C = c->out.v;
    b.ldc = N * outputs;
    b.C_replica = c->out.stride;
    b.C_member = (size_t)outputs;
    gemm_run(c->backend, c->replicas, &b, 1);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* A block of the gradient: turns dL/dy into dL/d(x W + b), in place, where no reader of y did so
 * before, and adds its columns to `sum`, where that is not NULL. */
static void slope_and_sum(const nn_call *c, int r, size_t row, size_t column, act_block s,
                          real *sum)
{
    size_t at = row * s.stride + column;
    real *d = nn_g(&c->out, r) + at;
    if (!c->out.sloped) act_backward_block(linear_act(c), s, nn_v(&c->out, r) + at, d);
    if (sum) act_sum_block(s, d, sum);
}

static void slope_and_bias(void *arg, int item)
{
    const nn_call *c = arg;
    int width = c->out.shape.D, blocks = (width + COLUMNS - 1) / COLUMNS;
    int r = item / blocks, from = item % blocks * COLUMNS;
    int count = width - from < COLUMNS ? width - from : COLUMNS;
    const nn_tensor *bias = linear_wanted_bias(c);
    real sum[COLUMNS] = {0};
    act_block s = {nn_rows(c->out.shape), (size_t)count, (size_t)width};
    slope_and_sum(c, r, 0, (size_t)from, s, bias ? sum : NULL);
    for (int j = 0; bias && j < count; j++) NN_PUT(bias->add, nn_g(bias, r)[from + j], sum[j]);
}

/* dW = x^T dz */
static gemm_batch weight_gradient(const nn_call *c)
{
    const nn_tensor *W = linear_weights(c);
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    gemm_batch b = {.ta = true, .m = inputs, .n = outputs, .k = (int)nn_rows(c->out.shape)};
    b.members = N;
    b.A = input(c, &b.A_replica);
    b.lda = N * inputs;
    b.A_member = (size_t)inputs;
    b.B = c->out.g;
    b.ldb = N * outputs;
    b.B_replica = c->out.stride;
    b.B_member = (size_t)outputs;
    b.C = W->g;
    b.ldc = outputs;
    b.C_replica = W->stride;
    b.C_member = (size_t)inputs * (size_t)outputs;
    b.beta = W->add;
    return b;
}

/* dx = dz W^T, for the input that begins at row `first` of the weights */
static gemm_batch input_gradient(const nn_call *c, const nn_tensor *x, int first)
{
    const nn_tensor *W = linear_weights(c);
    int N = W->shape.T, outputs = W->shape.D;
    gemm_batch b = {.tb = true, .m = (int)nn_rows(c->out.shape), .k = outputs, .members = N};
    b.n = x->shape.D / N;
    b.A = c->out.g;
    b.lda = N * outputs;
    b.A_replica = c->out.stride;
    b.A_member = (size_t)outputs;
    b.B = W->v + (size_t)first * (size_t)outputs;
    b.ldb = outputs;
    b.B_replica = W->stride;
    b.B_member = (size_t)W->shape.B * (size_t)outputs;
    b.C = x->g;
    b.ldc = x->shape.D;
    b.C_replica = x->stride;
    b.C_member = (size_t)b.n;
    b.beta = x->add;
    return b;
}

/* An input and the width of a member's part of it. */
typedef struct input_tile {
    const nn_tensor *x;
    size_t width;
} input_tile;

/* The slope of what x came from: see plan.c. */
static void slope_input(const void *arg, int r, int member, int row, int rows, int column,
                        int columns)
{
    const input_tile *t = arg;
    act_block s = {(size_t)rows, (size_t)columns, (size_t)t->x->shape.D};
    size_t at = (size_t)row * s.stride + (size_t)member * t->width + (size_t)column;
    act_backward_block((nn_act)t->x->slope, s, nn_v(t->x, r) + at, nn_g(t->x, r) + at);
}

/* ---- backward, a member of a bank of small layers -------------------------------------------- */

/* Rows of a member's gradients that stay in the cache until everything is done with them. */
enum { MOST_SMALL = 128, CHUNK = 400 };

typedef struct bank_job {
    const nn_call *c;
    const gemm_batch *list;
    int count;
} bank_job;

static bool is_small_bank(const nn_call *c)
{
    nn_shape W = linear_weights(c)->shape;
    return W.T > 1 && W.B <= MOST_SMALL && W.D <= MOST_SMALL;
}

static void run_rows(const gemm_batch *b, int r, int member, size_t row, int rows)
{
    size_t R = (size_t)r, M = (size_t)member;
    const real *A = b->A + R * b->A_replica + M * b->A_member + row * (size_t)b->lda;
    const real *B = b->B + R * b->B_replica + M * b->B_member;
    real *C = b->C + R * b->C_replica + M * b->C_member;
    if (b->ta) { /* rows are the inner extent */
        B += row * (size_t)b->ldb;
        gemm(true, false, b->m, b->n, rows, A, b->lda, B, b->ldb, row ? 1 : b->beta, C, b->ldc);
    } else {
        C += row * (size_t)b->ldc;
        gemm(false, true, rows, b->n, b->k, A, b->lda, B, b->ldb, b->beta, C, b->ldc);
        if (b->done) b->done(b->arg, r, member, (int)row, rows, 0, b->n);
    }
}

static void backward_member(void *arg, int item)
{
    const bank_job *j = arg;
    const nn_call *c = j->c;
    size_t outputs = (size_t)linear_weights(c)->shape.D, rows = nn_rows(c->out.shape);
    int N = linear_weights(c)->shape.T, r = item / N, member = item % N;
    const nn_tensor *bias = linear_wanted_bias(c);
    real sum[MOST_SMALL] = {0};
    for (size_t row = 0; row < rows; row += CHUNK) {
        act_block s = {rows - row < CHUNK ? rows - row : CHUNK, outputs, (size_t)N * outputs};
        slope_and_sum(c, r, row, (size_t)member * outputs, s, bias ? sum : NULL);
        for (int i = 0; i < j->count; i++) run_rows(&j->list[i], r, member, row, (int)s.rows);
    }
    for (size_t i = 0; bias && i < outputs; i++)
        NN_PUT(bias->add, nn_g(bias, r)[(size_t)member * outputs + i], sum[i]);
}

/* ---- backward, any layer --------------------------------------------------------------------- */

static void backward(const nn_call *c)
{
    if (linear_is_head(linear_inputs(c), linear_weights(c)->shape)) {
        linear_head_backward(c);
        return;
    }
    gemm_batch list[NN_MOST_INPUTS + 1];
    input_tile tiles[NN_MOST_INPUTS];
    int count = 0, first = 0, blocks = (c->out.shape.D + COLUMNS - 1) / COLUMNS;
    if (linear_weights(c)->g) list[count++] = weight_gradient(c);
    for (int k = 0; k < linear_inputs(c); k++) {
        const nn_tensor *x = &c->in[k];
        if (x->g) {
            gemm_batch *b = &list[count++];
            *b = input_gradient(c, x, first);
            tiles[k] = (input_tile){x, (size_t)b->n};
            b->done = x->slope == NN_LINEAR ? NULL : slope_input;
            b->arg = &tiles[k];
        }
        first += x->shape.D;
    }
    if (is_small_bank(c)) {
        bank_job j = {c, list, count};
        nn_items(c, c->replicas * linear_weights(c)->shape.T, backward_member, &j);
        return;
    }
    if ((linear_act(c) != NN_LINEAR && !c->out.sloped) || linear_wanted_bias(c))
        nn_items(c, c->replicas * blocks, slope_and_bias, (void *)c);
    gemm_run(c->backend, c->replicas, list, count);
}

const nn_op nn_op_linear = {.name = "linear",
                            .help = "y = act(x W + b), for a bank of members",
                            .infer = infer,
                            .act = 2,
                            .slopes = true,
                            .forward = forward,
                            .backward = backward};

nn_var nn_linear(nn_list x, nn_var W, nn_var b, nn_act act)
{
    nn_attr attr = {.i = {x.count, (int)act, b.id >= 0}};
    assert(x.count + 2 <= NN_MOST_INPUTS);
    x.var[x.count++] = W;
    if (b.id >= 0) x.var[x.count++] = b;
    return nn_record(NN_OP_linear, x, attr);
}
