/* linear_head.cu - layers with one output, however many rows: they are bound by memory, not by
 * products, and so one pass does all that can be done with what it reads. */
#include "nn/cuda/columns.cuh"
#include "nn/cuda/linear.cuh"

enum { THREADS = 256 };

/* One warp per row and member. */
__global__ static void heads(const __grid_constant__ nn_call c)
{
    await_previous();
    const nn_tensor *x = &c.in[0], *W = &c.in[1];
    int r = (int)blockIdx.y, N = W->shape.T, inputs = W->shape.B, lane = (int)threadIdx.x % 32;
    size_t i = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32; /* row · N + member */
    if (i >= nn_rows(c.out.shape) * (size_t)N) return;
    const real *v = nn_v(x, r) + i * (size_t)inputs;
    const real *w = nn_v(W, r) + i % (size_t)N * (size_t)inputs;
    real sum = 0;
    for (int k = lane; k < inputs; k += 32) sum = fmaf(v[k], w[k], sum);
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane > 0) return;
    if (LINEAR_BIAS(&c)) sum += nn_v(&c.in[2], r)[i % (size_t)N];
    nn_v(&c.out, r)[i] = act_value(LINEAR_ACT(&c), sum);
}

/* dx = dz w^T: a thread keeps its WIDE weights and goes down the rows. */
template <int WIDE> __global__ static void heads_input(const __grid_constant__ nn_call c)
{
    await_previous();
    const nn_tensor *x = &c.in[0], *W = &c.in[1];
    int r = (int)blockIdx.z, N = W->shape.T, inputs = W->shape.B, width = x->shape.D;
    int column = (int)(blockIdx.x * THREADS + threadIdx.x) * WIDE;
    if (column >= width) return;
    numbers<WIDE> w = *(const numbers<WIDE> *)(nn_v(W, r) + column);
    const real *d = nn_g(&c.out, r) + column / inputs;
    for (size_t i = blockIdx.y, rows = nn_rows(c.out.shape); i < rows; i += gridDim.y) {
        numbers<WIDE> *to = (numbers<WIDE> *)(nn_g(x, r) + i * (size_t)width + (size_t)column);
        numbers<WIDE> g;
        if (x->add) g = *to;
        for (int k = 0; k < WIDE; k++) NN_PUT(x->add, g.x[k], w.x[k] * d[i * (size_t)N]);
        *to = g;
    }
}

struct head_weights {
    enum { SUMS = 1 };
    nn_tensor x, out, W;
    bool wanted;
    template <int WIDE> __device__ numbers<WIDE> take(int r, int row, int column) const
    {
        size_t N = (size_t)W.shape.T, member = (size_t)(column / W.shape.B);
        float d = nn_g(&out, r)[(size_t)row * N + member];
        numbers<WIDE> v = *(const numbers<WIDE> *)(nn_v(&x, r) + (size_t)row * (size_t)x.shape.D +
                                                   (size_t)column);
        for (int k = 0; k < WIDE; k++) v.x[k] *= d;
        return v;
    }
    __device__ void put(int r, int column, const float *sum) const
    {
        NN_PUT(W.add, nn_g(&W, r)[column], *sum);
    }
};

/* All that a head alone hands back to a layer, on one way through the layer's output: dw; dx with
 * the slopes multiplied in; the layer's bias, and its own. */
struct head_gradients {
    enum { SUMS = 3 };
    nn_tensor x, out, W, bias, own;
    int act;
    bool wanted; /* the sums */
    template <int WIDE> __device__ numbers<SUMS * WIDE> take(int r, int row, int column) const
    {
        size_t N = (size_t)W.shape.T, member = (size_t)(column / W.shape.B);
        size_t i = (size_t)row * (size_t)x.shape.D + (size_t)column;
        float d = nn_g(&out, r)[(size_t)row * N + member];
        numbers<WIDE> y = *(const numbers<WIDE> *)(nn_v(&x, r) + i), g;
        numbers<WIDE> w = *(const numbers<WIDE> *)(nn_v(&W, r) + column);
        numbers<SUMS * WIDE> all;
        for (int k = 0; k < WIDE; k++) {
            g.x[k] = act_slope(act, y.x[k], w.x[k] * d);
            all.x[SUMS * k] = y.x[k] * d;
            all.x[SUMS * k + 1] = g.x[k];
            all.x[SUMS * k + 2] = d;
        }
        *(numbers<WIDE> *)(nn_g(&x, r) + i) = g;
        return all;
    }
    __device__ void put(int r, int column, const float *sum) const
    {
        int member = column / W.shape.B;
        if (W.g) NN_PUT(W.add, nn_g(&W, r)[column], sum[0]);
        if (bias.g) NN_PUT(bias.add, nn_g(&bias, r)[column], sum[1]);
        if (own.g && column == member * W.shape.B) NN_PUT(own.add, nn_g(&own, r)[member], sum[2]);
    }
};

void linear_head_forward(const nn_call *c)
{
    size_t n = nn_rows(c->out.shape) * (size_t)c->in[1].shape.T;
    dim3 grid(blocks_of(n, THREADS / 32), (unsigned)c->replicas);
    launch(gpu_of(c), "heads", heads, grid, THREADS, *c);
}

/* The layer's bias is behind the head's own operands. */
static void hand_all_back(const nn_call *c, bool four)
{
    head_gradients f = {c->in[0],
                        c->out,
                        c->in[1],
                        c->in[c->in_count - 1],
                        LINEAR_BIAS(c) ? c->in[2] : nn_tensor{},
                        LINEAR_BEFORE(c),
                        false};
    f.wanted = f.W.g || f.bias.g || f.own.g;
    run_sum_columns(gpu_of(c), f, (int)nn_rows(c->out.shape), c->in[0].shape.D, c->replicas, four);
}

void linear_head_backward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    int rows = (int)nn_rows(c->out.shape), width = c->in[0].shape.D;
    bool all = LINEAR_BEFORE(c) != NN_LINEAR;
    bool four = c->in[1].shape.B % 4 == 0 && c->in[0].stride % 4 == 0 && c->in[1].stride % 4 == 0;
    apply_slopes(c, !all);
    if (all) {
        hand_all_back(c, four);
        return;
    }
    if (c->in[1].g)
        run_sum_columns(self, head_weights{c->in[0], c->out, c->in[1], true}, rows, width,
                        c->replicas, four);
    if (!c->in[0].g) return;
    unsigned across = blocks_of((size_t)width, four ? 4 * THREADS : THREADS);
    unsigned down = (unsigned)self->processors * 16 / (across * (unsigned)c->replicas) + 1;
    dim3 grid(across, down < (unsigned)rows ? down : (unsigned)rows, (unsigned)c->replicas);
    launch(self, "heads backward", four ? heads_input<4> : heads_input<1>, grid, THREADS, *c);
}
