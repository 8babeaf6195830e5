/* lstm.cu - a long short-term memory over time: one kernel per step and direction. Narrow ones have
 * a kernel for all steps (lstm_narrow.cu), and so have those of up to 256 units on devices that can
 * run it (lstm_wide.cu).
 *
 * Forward, a block computes all four gates of eight units for 32 rows, and can therefore run the
 * cell for them as it writes. Backward, a block computes dh for some units of step t, from the
 * gates' gradients of step t + 1, and goes on to the gates' gradients of step t. So a step is one
 * kernel, and steps follow each other inside the plan's graph; the two encoders of an FN-VAE run
 * side by side. In the lower precisions the products are plain ones. Scratch memory is laid out as
 * on the CPU: gates, tanh c, h before each step, and dc.
 *
 *     i, f, g, o = gates_t + h_{t-1} W;   c_t = σ(f) c_{t-1} + σ(i) tanh(g);   h_t = σ(o) tanh(c_t)
 */
#include "nn/cuda/big.cuh"
#include "nn/cuda/lstm.cuh"
#include "nn/cuda/operand.cuh"

enum { UNITS = 8, THREADS = 256 }; /* units of a forward block: 8 × 4 gates are a tile's width */

typedef tile<32, 32, 1, 1, 8, 16, 1> gate_tile;

/* ---- forward --------------------------------------------------------------------------------- */

/* h before the first step. */
__global__ static void first_h(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y, H = c.in[1].shape.B;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= (size_t)c.out.shape.B * (size_t)H) return;
    int b = (int)(i / (size_t)H), unit = (int)(i % (size_t)H);
    float h = 0;
    if (!starts(&c, r, 0, b)) h = nn_v(&c.in[STATE(&c)], r)[(size_t)b * 2 * (size_t)H + unit];
    parts_of(&c, r).h_before[i] = h;
}

/* Column j of a tile is gate j / UNITS of unit j % UNITS. */
struct gate_weights {
    enum { along = false };
    const float *W;
    int H, unit;
    bool aligned;
    __device__ float4 quad(int column, int k, int extent, int depth, bool) const
    {
        int u = unit + column % UNITS;
        const float *at = W + ((size_t)k * 4 + (size_t)(column / UNITS)) * (size_t)H + (size_t)u;
        return load_quad(at, aligned, column < extent && k < depth ? H - u : 0);
    }
};

/* Puts the sums where the cells find them. */
struct to_shared {
    float (*at)[4 * UNITS + 1];
    int row0;
    __device__ void operator()(int row, int column, float sum) const
    {
        at[row - row0][column] = sum;
    }
};

__device__ static void forward_cell(const nn_call *c, int r, int t, int b, int unit,
                                    const float *sums)
{
    int H = c->in[1].shape.B, B = c->out.shape.B;
    size_t row = (size_t)t * (size_t)B + (size_t)b, u = (size_t)unit, h = (size_t)H;
    parts p = parts_of(c, r);
    const float *x = nn_v(&c->in[0], r) + row * 4 * h + u;
    float *out = nn_v(&c->out, r) + row * 2 * h + u, *gates = p.gates + row * 4 * h + u;
    float gi = nn_sigmoid(x[0] + sums[0]), gf = nn_sigmoid(x[h] + sums[UNITS]);
    float gg = nn_tanh(x[2 * h] + sums[2 * UNITS]), go = nn_sigmoid(x[3 * h] + sums[3 * UNITS]);
    float before = starts(c, r, t, b) ? 0 : cell_before(c, r, t, b, unit);
    float cell = gf * before + gi * gg, tanh_c = nn_tanh(cell), now = go * tanh_c;
    gates[0] = gi;
    gates[h] = gf;
    gates[2 * h] = gg;
    gates[3 * h] = go;
    p.tanh_c[row * h + u] = tanh_c;
    out[0] = now;
    out[h] = cell;
    if (t + 1 < c->out.shape.T)
        p.h_before[(row + (size_t)B) * h + u] = starts(c, r, t + 1, b) ? 0 : now;
}

template <class TILE>
__global__ static void __launch_bounds__(THREADS, TILE::RESIDENT)
    forward_step(const __grid_constant__ nn_call c, int t)
{
    await_previous();
    __shared__ float sums[32][4 * UNITS + 1];
    __shared__ typename TILE::memory mem;
    int r = (int)blockIdx.z, H = c.in[1].shape.B, B = c.out.shape.B;
    int row0 = (int)blockIdx.y * 32, unit0 = (int)blockIdx.x * UNITS;
    size_t at = (size_t)t * (size_t)B * (size_t)H;
    matrix<true> h(parts_of(&c, r).h_before + at, H);
    gate_weights W = {nn_v(&c.in[1], r), H, unit0, is_aligned(nn_v(&c.in[1], r), H)};
    to_shared out = {sums, row0};
    TILE::run(mem, row0, 0, B, 4 * UNITS, 0, H, h, W, out);
    __syncthreads();
    int b = (int)threadIdx.x / UNITS, u = (int)threadIdx.x % UNITS;
    if (row0 + b < B && unit0 + u < H) forward_cell(&c, r, t, row0 + b, unit0 + u, &sums[b][u]);
}

void lstm_forward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    unsigned H = (unsigned)c->in[1].shape.B, B = (unsigned)c->out.shape.B;
    if (H <= NARROW) return lstm_narrow_forward(c);
    if (H <= WIDE && self->wide) return lstm_wide_forward(c);
    launch(self, "lstm", first_h, dim3(blocks_of((size_t)B * H, THREADS), (unsigned)c->replicas),
           THREADS, *c);
    dim3 grid(blocks_of(H, UNITS), blocks_of(B, 32), (unsigned)c->replicas);
    void (*step)(nn_call, int) =
        self->precision == NN_FP32 ? forward_step<gate_tile> : forward_step<gate_tile::plain>;
    for (int t = 0; t < c->out.shape.T; t++) launch(self, "lstm", step, grid, THREADS, *c, t);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Takes dh of step t, one number at a time, to the gates' gradients of step t. */
struct cell_gradient {
    const nn_call *c;
    int r, t;
    __device__ void operator()(int b, int unit, float flows) const
    {
        size_t h = (size_t)c->in[1].shape.B, B = (size_t)c->out.shape.B, u = (size_t)unit;
        size_t row = (size_t)t * B + (size_t)b;
        parts p = parts_of(c, r);
        bool last = t + 1 == c->out.shape.T, cut = last || starts(c, r, t + 1, b);
        const float *g = nn_g(&c->out, r) + row * 2 * h + u;
        float *gates = p.gates + row * 4 * h + u, *dc = p.dc + (size_t)b * h + u;
        float gi = gates[0], gf = gates[h], gg = gates[2 * h], go = gates[3 * h];
        float tanh_c = p.tanh_c[row * h + u];
        float dh = g[0] + (cut ? 0 : flows);
        float d = g[h] + (cut ? 0 : *dc) + dh * go * (1 - tanh_c * tanh_c);
        bool first = starts(c, r, t, b);
        float before = first ? 0 : cell_before(c, r, t, b, unit);
        float gradient[4] = {d * gg * gi * (1 - gi), d * before * gf * (1 - gf),
                             d * gi * (1 - gg * gg), dh * tanh_c * go * (1 - go)};
        *dc = d * gf;
        const nn_tensor *x = &c->in[0];
        for (size_t k = 0; k < 4; k++) {
            gates[k * h] = gradient[k];
            if (x->g) NN_PUT(x->add, nn_g(x, r)[row * 4 * h + k * h + u], gradient[k]);
        }
    }
};

/* What flows out of the first step, into the given state. */
struct state_gradient {
    const nn_call *c;
    int r;
    __device__ void operator()(int b, int unit, float flows) const
    {
        const nn_tensor *s = &c->in[STATE(c)];
        size_t h = (size_t)c->in[1].shape.B, u = (size_t)unit;
        bool cut = starts(c, r, 0, b);
        float *g = nn_g(s, r) + (size_t)b * 2 * h + u, dc = parts_of(c, r).dc[(size_t)b * h + u];
        NN_PUT(s->add, g[0], cut ? 0 : flows);
        NN_PUT(s->add, g[h], cut ? 0 : dc);
    }
};

/* dh_t = dgates_{t+1} W^T, then what becomes of it. t = -1: the state before the first step. */
template <class TILE>
__global__ static void __launch_bounds__(THREADS)
    backward_step(const __grid_constant__ nn_call c, int t)
{
    await_previous();
    int r = (int)blockIdx.z, H = c.in[1].shape.B, B = c.out.shape.B;
    int row0 = (int)blockIdx.y * 32, unit0 = (int)blockIdx.x * 16;
    __shared__ typename TILE::memory mem;
    int depth = t + 1 == c.out.shape.T ? 0 : 4 * H;
    size_t at = (size_t)(t + 1) * (size_t)B * 4 * (size_t)H;
    matrix<true> d(parts_of(&c, r).gates + at, 4 * H), W(nn_v(&c.in[1], r), 4 * H);
    if (t < 0)
        TILE::run(mem, row0, unit0, B, H, 0, depth, d, W, state_gradient{&c, r});
    else
        TILE::run(mem, row0, unit0, B, H, 0, depth, d, W, cell_gradient{&c, r, t});
}

/* dW = h_before^T dgates, over all rows at once */
static void weight_gradient(const nn_call *c)
{
    const nn_tensor *W = &c->in[1];
    size_t H = (size_t)W->shape.B, rows = nn_rows(c->out.shape);
    big_product p = {};
    p.ta = true;
    p.add = W->add;
    p.m = (int)H;
    p.n = p.ldb = p.ldc = 4 * (int)H;
    p.k = (int)rows;
    p.lda = (int)H;
    p.count = c->replicas;
    p.A = c->scratch + rows * 5 * H;
    p.B = c->scratch;
    p.C = W->g;
    p.A_stride = p.B_stride = c->scratch_size;
    p.C_stride = W->stride;
    run_big(gpu_of(c), &p);
}

static void backward_steps(const nn_call *c)
{
    gpu *self = gpu_of(c);
    unsigned H = (unsigned)c->in[1].shape.B, B = (unsigned)c->out.shape.B;
    dim3 grid(blocks_of(H, 16), blocks_of(B, 32), (unsigned)c->replicas);
    bool state = STATE(c) > 0 && c->in[STATE(c)].g;
    void (*step)(nn_call, int) =
        self->precision == NN_FP32 ? backward_step<small_tile> : backward_step<small_tile::plain>;
    for (int t = c->out.shape.T - 1; t >= (state ? -1 : 0); t--)
        launch(self, "lstm backward", step, grid, THREADS, *c, t);
}

void lstm_backward(const nn_call *c)
{
    int H = c->in[1].shape.B;
    if (H <= NARROW)
        lstm_narrow_backward(c);
    else if (H <= WIDE && gpu_of(c)->wide)
        lstm_wide_backward(c);
    else
        backward_steps(c);
    if (c->in[1].g) weight_gradient(c);
}
