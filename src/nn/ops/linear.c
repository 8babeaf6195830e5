/* linear.c - y = act(x W + b), for a bank of N members.
 *
 * W is (N, inputs, outputs). Member n reads the features [n·inputs, (n+1)·inputs) of x and writes
 * [n·outputs, (n+1)·outputs) of y; N = 1 is the ordinary layer. Several x are read as if joined, so
 * that their gradients are computed only where they are wanted: SAC's actor needs the critics'
 * gradient for the action, not for the observation. */
#include <string.h>

#include "nn/act.h"
#include "nn/gemm.h"
#include "nn/op.h"

enum { COLUMNS = 128 }; /* of the gradient that one item treats */

/* attributes: 0 number of x, 1 activation, 2 has a bias; operands: x…, W, b */
#define INPUTS(c) ((c)->attr.i[0])
#define ACT(c)    ((nn_act)(c)->attr.i[1])
#define BIAS(c)   ((c)->attr.i[2])

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
    f->scratch = n > 1 ? nn_rows(x) * (((size_t)joined + 3) / 4 * 4) : 0; /* GPUs align rows */
    f->flops = 2.0 * (double)nn_rows(x) * W.T * W.B * W.D;
    return NULL;
}

/* ---- joined inputs --------------------------------------------------------------------------- */

static void join_rows(const nn_call *c, int r, size_t from, size_t to)
{
    int joined = c->in[INPUTS(c)].shape.B, at = 0;
    real *X = nn_scratch(c, r);
    for (int k = 0; k < INPUTS(c); k++) {
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
    *stride = INPUTS(c) > 1 ? c->scratch_size : c->in[0].stride;
    return INPUTS(c) > 1 ? c->scratch : c->in[0].v;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void finish_tile(void *arg, int r, int member, int row, int rows, int column, int columns)
{
    const nn_call *c = arg;
    size_t width = (size_t)c->out.shape.D;
    size_t at = (size_t)member * (size_t)c->in[INPUTS(c)].shape.D + (size_t)column;
    const real *b = BIAS(c) ? nn_v(&c->in[INPUTS(c) + 1], r) + at : NULL;
    for (int i = row; i < row + rows; i++) {
        real *y = nn_v(&c->out, r) + (size_t)i * width + at;
        if (b)
            act_forward_bias(ACT(c), y, b, (size_t)columns);
        else
            act_forward(ACT(c), y, (size_t)columns);
    }
}

static void forward(const nn_call *c)
{
    const nn_tensor *W = &c->in[INPUTS(c)];
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    if (INPUTS(c) > 1) nn_ranges(c, nn_rows(c->out.shape), c->in[INPUTS(c)].shape.B, join_rows);
    gemm_batch b = {.m = (int)nn_rows(c->out.shape), .n = outputs, .k = inputs, .members = N};
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
    gemm_run(c->backend, c->replicas, &b, 1, finish_tile, (void *)c);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Turns dL/dy into dL/d(x W + b), in place, and sums its columns into the bias. */
static void slope_and_bias(void *arg, int item)
{
    const nn_call *c = arg;
    int width = c->out.shape.D, blocks = (width + COLUMNS - 1) / COLUMNS;
    int r = item / blocks, from = item % blocks * COLUMNS;
    int count = width - from < COLUMNS ? width - from : COLUMNS;
    const nn_tensor *bias = BIAS(c) && c->in[INPUTS(c) + 1].g ? &c->in[INPUTS(c) + 1] : NULL;
    real sum[COLUMNS] = {0};
    for (size_t i = 0, rows = nn_rows(c->out.shape); i < rows; i++) {
        size_t at = i * (size_t)width + (size_t)from;
        real *d = nn_g(&c->out, r) + at;
        act_backward(ACT(c), nn_v(&c->out, r) + at, d, (size_t)count);
        for (int j = 0; bias && j < count; j++) sum[j] += d[j];
    }
    for (int j = 0; bias && j < count; j++) NN_PUT(bias->add, nn_g(bias, r)[from + j], sum[j]);
}

/* dW = x^T dz */
static gemm_batch weight_gradient(const nn_call *c)
{
    const nn_tensor *W = &c->in[INPUTS(c)];
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
    const nn_tensor *W = &c->in[INPUTS(c)];
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

static void backward(const nn_call *c)
{
    gemm_batch list[NN_MOST_INPUTS + 1];
    int count = 0, first = 0, blocks = (c->out.shape.D + COLUMNS - 1) / COLUMNS;
    if (ACT(c) != NN_LINEAR || (BIAS(c) && c->in[INPUTS(c) + 1].g))
        nn_items(c, c->replicas * blocks, slope_and_bias, (void *)c);
    if (c->in[INPUTS(c)].g) list[count++] = weight_gradient(c);
    for (int k = 0; k < INPUTS(c); k++) {
        if (c->in[k].g) list[count++] = input_gradient(c, &c->in[k], first);
        first += c->in[k].shape.D;
    }
    gemm_run(c->backend, c->replicas, list, count, NULL, NULL);
}

const nn_op nn_op_linear = {.name = "linear",
                            .help = "y = act(x W + b), for a bank of members",
                            .infer = infer,
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
