/* linear_big.cu - layers over many rows: cuBLAS for the products, one pass for slopes and the
 * bias's gradient. */
#include "nn/cuda/big.cuh"
#include "nn/cuda/columns.cuh"
#include "nn/cuda/linear.cuh"

enum { THREADS = 256 };

/* ---- joined inputs: rows padded to 16 bytes -------------------------------------------------- */

__global__ static void join(const __grid_constant__ nn_call c, int width)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    size_t row = i / (size_t)width, at = i % (size_t)width;
    if (row >= nn_rows(c.out.shape)) return;
    int k = 0;
    while (k < LINEAR_INPUTS(&c) && at >= (size_t)c.in[k].shape.D) at -= (size_t)c.in[k++].shape.D;
    real x = 0;
    if (k < LINEAR_INPUTS(&c)) x = nn_v(&c.in[k], r)[row * (size_t)c.in[k].shape.D + at];
    nn_scratch(&c, r)[i] = x;
}

void join_inputs(const nn_call *c)
{
    size_t n = nn_rows(c->out.shape) * (size_t)joined_width(c);
    launch(gpu_of(c), "joining inputs", join, dim3(blocks_of(n, THREADS), (unsigned)c->replicas),
           THREADS, *c, joined_width(c));
}

/* The matrix that the weights multiply. */
static const real *input_of(const nn_call *c, size_t *stride, int *ld)
{
    bool several = LINEAR_INPUTS(c) > 1;
    *stride = several ? c->scratch_size : c->in[0].stride;
    *ld = several ? joined_width(c) : c->in[0].shape.D;
    return several ? c->scratch : c->in[0].v;
}

/* ---- products of all members and replicas: one call where their strides allow ---------------- */

typedef struct bank_strides {
    size_t A_replica, B_replica, C_replica, bias_replica;
    size_t A_member, B_member, C_member, bias_member;
    int members, replicas;
} bank_strides;

static void run_bank(gpu *self, big_product p, const bank_strides *s)
{
    bool flat = s->members == 1;
    p.count = flat ? s->replicas : s->members;
    p.A_stride = flat ? s->A_replica : s->A_member;
    p.B_stride = flat ? s->B_replica : s->B_member;
    p.C_stride = flat ? s->C_replica : s->C_member;
    p.bias_stride = flat ? s->bias_replica : s->bias_member;
    for (int r = 0; r < (flat ? 1 : s->replicas); r++) {
        run_big(self, &p);
        p.A += s->A_replica;
        p.B += s->B_replica;
        p.C += s->C_replica;
        if (p.bias) p.bias += s->bias_replica;
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

__global__ static void activate(const __grid_constant__ nn_call c)
{
    await_previous();
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    real *y = nn_v(&c.out, (int)blockIdx.y);
    if (i < nn_size(c.out.shape)) y[i] = act_value(LINEAR_ACT(&c), y[i]);
}

void linear_big_forward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    const nn_tensor *W = &c->in[LINEAR_INPUTS(c)];
    const nn_tensor *b = LINEAR_BIAS(c) ? &c->in[LINEAR_INPUTS(c) + 1] : NULL;
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    if (LINEAR_INPUTS(c) > 1) join_inputs(c);
    bank_strides s = {};
    big_product p = {};
    p.m = (int)nn_rows(c->out.shape);
    p.n = outputs;
    p.k = inputs;
    p.relu = LINEAR_ACT(c) == NN_RELU;
    p.A = input_of(c, &s.A_replica, &p.lda);
    p.B = W->v;
    p.C = c->out.v;
    p.ldb = outputs;
    p.ldc = N * outputs;
    p.bias = b ? b->v : NULL;
    s.members = N;
    s.replicas = c->replicas;
    s.A_member = (size_t)inputs;
    s.B_member = (size_t)inputs * (size_t)outputs;
    s.C_member = s.bias_member = (size_t)outputs;
    s.B_replica = W->stride;
    s.C_replica = c->out.stride;
    s.bias_replica = b ? b->stride : 0;
    run_bank(self, p, &s);
    if (LINEAR_ACT(c) == NN_LINEAR || LINEAR_ACT(c) == NN_RELU) return;
    dim3 grid(blocks_of(nn_size(c->out.shape), THREADS), (unsigned)c->replicas);
    launch(self, "activation", activate, grid, THREADS, *c);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* dW = x^T dz */
static void weight_gradient(const nn_call *c)
{
    const nn_tensor *W = &c->in[LINEAR_INPUTS(c)];
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    bank_strides s = {};
    big_product p = {};
    p.ta = true;
    p.add = W->add;
    p.m = inputs;
    p.n = outputs;
    p.k = (int)nn_rows(c->out.shape);
    p.A = input_of(c, &s.A_replica, &p.lda);
    p.B = c->out.g;
    p.C = W->g;
    p.ldb = N * outputs;
    p.ldc = outputs;
    s.members = N;
    s.replicas = c->replicas;
    s.A_member = (size_t)inputs;
    s.B_member = (size_t)outputs;
    s.C_member = (size_t)inputs * (size_t)outputs;
    s.B_replica = c->out.stride;
    s.C_replica = W->stride;
    run_bank(gpu_of(c), p, &s);
}

/* dx = dz W^T, for the input that begins at row `first` of the weights */
static void input_gradient(const nn_call *c, const nn_tensor *x, int first)
{
    const nn_tensor *W = &c->in[LINEAR_INPUTS(c)];
    int N = W->shape.T, outputs = W->shape.D;
    bank_strides s = {};
    big_product p = {};
    p.tb = true;
    p.add = x->add;
    p.m = (int)nn_rows(c->out.shape);
    p.n = x->shape.D / N;
    p.k = outputs;
    p.A = c->out.g;
    p.B = W->v + (size_t)first * (size_t)outputs;
    p.C = x->g;
    p.lda = N * outputs;
    p.ldb = outputs;
    p.ldc = x->shape.D;
    s.members = N;
    s.replicas = c->replicas;
    s.A_member = (size_t)outputs;
    s.B_member = (size_t)W->shape.B * (size_t)outputs;
    s.C_member = (size_t)p.n;
    s.A_replica = c->out.stride;
    s.B_replica = W->stride;
    s.C_replica = x->stride;
    run_bank(gpu_of(c), p, &s);
}

void apply_slopes(const nn_call *c, bool sums)
{
    const nn_tensor *b = LINEAR_BIAS(c) ? &c->in[LINEAR_INPUTS(c) + 1] : NULL;
    int act = LINEAR_DONE(c) ? (int)NN_LINEAR : LINEAR_ACT(c);
    slope_sums f = {c->out, b ? *b : c->out, act, sums && b && b->g};
    if (f.wanted || f.act != NN_LINEAR)
        run_sum_columns(gpu_of(c), f, (int)nn_rows(c->out.shape), c->out.shape.D, c->replicas,
                        c->out.shape.D % 4 == 0 && c->out.stride % 4 == 0);
}

void linear_big_backward(const nn_call *c)
{
    apply_slopes(c, true);
    if (c->in[LINEAR_INPUTS(c)].g) weight_gradient(c);
    for (int k = 0, first = 0; k < LINEAR_INPUTS(c); k++) {
        if (c->in[k].g) input_gradient(c, &c->in[k], first);
        first += c->in[k].shape.D;
    }
}
