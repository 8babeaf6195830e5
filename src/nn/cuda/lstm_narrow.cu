/* lstm_narrow.cu - an LSTM of up to 64 units: all steps in one kernel per direction.
 *
 * As a kernel per step, a step of few rows takes some ten microseconds, in which next to nothing is
 * computed. Here a block takes four rows through all of time. Its threads hold the weights in
 * registers, a column of W each (forward) or a quarter of a row (backward); only h and the gates
 * pass through shared memory, where the four rows of a number lie side by side. All sums are fp32,
 * in a fixed order, whatever the backend's precision. */
#include "nn/cuda/lstm.cuh"
#include "nn/math.h"

/* Of a block. As many rows as gates, so that a thread, which stands for a gate of a unit in the
 * products, can own a row of a unit in between. */
enum { ROWS = 4, GATES = 4 };

/* The number that a thread owns: one unit of one row. */
typedef struct mine {
    int r, b, unit;
    bool there;
} mine;

__device__ static mine mine_of(const nn_call *c)
{
    int b = (int)blockIdx.x * ROWS + (int)threadIdx.x % ROWS, unit = (int)threadIdx.x / ROWS;
    return {(int)blockIdx.y, b, unit, b < c->out.shape.B && unit < c->in[1].shape.B};
}

__device__ static float part(float4 x, int i)
{
    return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

__device__ static void add_scaled(float4 *sum, float4 x, float w)
{
    sum->x = fmaf(x.x, w, sum->x);
    sum->y = fmaf(x.y, w, sum->y);
    sum->z = fmaf(x.z, w, sum->z);
    sum->w = fmaf(x.w, w, sum->w);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* The gates' inputs of step t, for the four rows: zero where there are none. */
__device__ static float4 inputs(const nn_call *c, int t, int gate, int unit)
{
    int H = c->in[1].shape.B, B = c->out.shape.B, b = (int)blockIdx.x * ROWS;
    if (unit >= H || t >= c->out.shape.T) return make_float4(0, 0, 0, 0);
    const float *x = nn_v(&c->in[0], (int)blockIdx.y) + (size_t)gate * H + unit;
    size_t row = (size_t)t * B + b, step = 4 * (size_t)H;
    return make_float4(x[row * step], b + 1 < B ? x[(row + 1) * step] : 0,
                       b + 2 < B ? x[(row + 2) * step] : 0, b + 3 < B ? x[(row + 3) * step] : 0);
}

__device__ static float4 activated(float4 x, bool is_tanh)
{
    return is_tanh
               ? make_float4(nn_tanh(x.x), nn_tanh(x.y), nn_tanh(x.z), nn_tanh(x.w))
               : make_float4(nn_sigmoid(x.x), nn_sigmoid(x.y), nn_sigmoid(x.z), nn_sigmoid(x.w));
}

/* From the activated gates to h; notes what the backward pass needs. */
__device__ static float run_cell(const nn_call *c, mine m, int t, const float g[GATES],
                                 float h_before, float before, float *cell)
{
    size_t H = (size_t)c->in[1].shape.B, row = (size_t)t * c->out.shape.B + m.b, u = (size_t)m.unit;
    parts p = parts_of(c, m.r);
    *cell = g[1] * before + g[0] * g[2];
    float tanh_c = nn_tanh(*cell), now = g[3] * tanh_c;
    if (!m.there) return 0;
    for (size_t k = 0; k < GATES; k++) p.gates[(row * 4 + k) * H + u] = g[k];
    p.tanh_c[row * H + u] = tanh_c;
    p.h_before[row * H + u] = h_before;
    nn_v(&c->out, m.r)[row * 2 * H + u] = now;
    nn_v(&c->out, m.r)[(row * 2 + 1) * H + u] = *cell;
    return now;
}

template <int MOST>
__global__ static void __launch_bounds__(GATES *MOST) forward_all(const __grid_constant__ nn_call c)
{
    await_previous();
    __shared__ float4 h[MOST], gates[GATES * MOST];
    int gate = (int)threadIdx.x / MOST, unit = (int)threadIdx.x % MOST, H = c.in[1].shape.B;
    mine m = mine_of(&c);
    float W[MOST], cell = 0, now = 0;
    for (int k = 0; k < MOST; k++)
        W[k] = k < H && unit < H
                   ? nn_v(&c.in[1], m.r)[((size_t)k * GATES + (size_t)gate) * (size_t)H + unit]
                   : 0;
    if (m.there && STATE(&c) > 0) {
        const float *state = nn_v(&c.in[STATE(&c)], m.r) + (size_t)m.b * 2 * (size_t)H + m.unit;
        now = state[0];
        cell = state[H];
    }
    float4 next = inputs(&c, 0, gate, unit);
    for (int t = 0; t < c.out.shape.T; t++) {
        bool fresh = !m.there || starts(&c, m.r, t, m.b);
        float h_before = fresh ? 0 : now;
        ((float *)&h[m.unit])[threadIdx.x % ROWS] = h_before;
        __syncthreads();
        float4 sum = next;
        next = inputs(&c, t + 1, gate, unit);
#pragma unroll
        for (int k = 0; k < MOST; k++) add_scaled(&sum, h[k], W[k]);
        gates[threadIdx.x] = activated(sum, gate == 2);
        __syncthreads();
        float g[GATES];
        for (int k = 0; k < GATES; k++)
            g[k] = ((const float *)&gates[k * MOST + m.unit])[threadIdx.x % ROWS];
        now = run_cell(&c, m, t, g, h_before, fresh ? 0 : cell, &cell);
    }
}

void lstm_narrow_forward(const nn_call *c)
{
    int H = c->in[1].shape.B;
    dim3 grid(blocks_of((size_t)c->out.shape.B, ROWS), (unsigned)c->replicas);
    launch(gpu_of(c), "lstm", H <= 32 ? forward_all<32> : forward_all<64>, grid,
           (unsigned)(H <= 32 ? 32 : 64) * GATES, *c);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* What step t left, and what is asked of its output. */
typedef struct memory {
    float gate[GATES], tanh_c, before, dh, dc;
    bool fresh;
} memory;

__device__ static memory recall(const nn_call *c, mine m, int t)
{
    memory x = {};
    if (!m.there || t < 0) return x;
    size_t H = (size_t)c->in[1].shape.B, row = (size_t)t * c->out.shape.B + m.b, u = (size_t)m.unit;
    parts p = parts_of(c, m.r);
    const float *g = nn_g(&c->out, m.r) + row * 2 * H + u;
    for (size_t k = 0; k < GATES; k++) x.gate[k] = p.gates[(row * 4 + k) * H + u];
    x.tanh_c = p.tanh_c[row * H + u];
    x.fresh = starts(c, m.r, t, m.b);
    x.before = x.fresh ? 0 : cell_before(c, m.r, t, m.b, m.unit);
    x.dh = g[0];
    x.dc = g[H];
    return x;
}

/* Takes dh and dc of step t to the gates' gradients, and to what flows on to dc. */
__device__ static float cell_back(const memory *x, float dh, float dc, float d[GATES])
{
    float gi = x->gate[0], gf = x->gate[1], gg = x->gate[2], go = x->gate[3];
    float e = dc + dh * go * (1 - x->tanh_c * x->tanh_c);
    d[0] = e * gg * gi * (1 - gi);
    d[1] = e * x->before * gf * (1 - gf);
    d[2] = e * gi * (1 - gg * gg);
    d[3] = dh * x->tanh_c * go * (1 - go);
    return e * gf;
}

__device__ static void write_gradients(const nn_call *c, mine m, int t, const float d[GATES])
{
    size_t H = (size_t)c->in[1].shape.B, row = (size_t)t * c->out.shape.B + m.b, u = (size_t)m.unit;
    const nn_tensor *x = &c->in[0];
    float *gates = parts_of(c, m.r).gates;
    for (size_t k = 0; m.there && k < GATES; k++) {
        size_t at = (row * 4 + k) * H + u;
        gates[at] = d[k];
        if (x->g) NN_PUT(x->add, nn_g(x, m.r)[at], d[k]);
    }
}

/* dh = dgates W^T, for the number that the thread owns: each of the four threads of a unit sums one
 * gate for all rows, then they exchange. */
template <int MOST> __device__ static float flow(const float4 *d, const float *W)
{
    int gate = (int)threadIdx.x % GATES;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < MOST; k++) add_scaled(&sum, d[gate * (MOST + 1) + k], W[k]);
    for (int other = 1; other < GATES; other *= 2) {
        sum.x += __shfl_xor_sync(~0u, sum.x, other);
        sum.y += __shfl_xor_sync(~0u, sum.y, other);
        sum.z += __shfl_xor_sync(~0u, sum.z, other);
        sum.w += __shfl_xor_sync(~0u, sum.w, other);
    }
    return part(sum, (int)threadIdx.x % ROWS);
}

/* What flows out of the first step, into the given state. */
__device__ static void write_state(const nn_call *c, mine m, float dh, float dc, bool cut)
{
    const nn_tensor *s = &c->in[STATE(c)];
    size_t H = (size_t)c->in[1].shape.B;
    float *g = nn_g(s, m.r) + (size_t)m.b * 2 * H + (size_t)m.unit;
    if (!m.there) return;
    NN_PUT(s->add, g[0], cut ? 0 : dh);
    NN_PUT(s->add, g[H], cut ? 0 : dc);
}

template <int MOST>
__global__ static void __launch_bounds__(GATES *MOST)
    backward_all(const __grid_constant__ nn_call c)
{
    await_previous();
    __shared__ float4 d[GATES * (MOST + 1)]; /* a number more: the gates in other banks */
    int H = c.in[1].shape.B, gate = (int)threadIdx.x % GATES;
    mine m = mine_of(&c);
    float W[MOST], dh = 0, dc = 0;
    for (int k = 0; k < MOST; k++)
        W[k] = k < H && m.unit < H
                   ? nn_v(&c.in[1], m.r)[((size_t)m.unit * GATES + (size_t)gate) * (size_t)H + k]
                   : 0;
    memory x = recall(&c, m, c.out.shape.T - 1);
    bool cut = true; /* nothing flows from behind the last step, nor past a start */
    for (int t = c.out.shape.T - 1; t >= 0; t--) {
        float g[GATES];
        dc = cell_back(&x, x.dh + (cut ? 0 : dh), x.dc + (cut ? 0 : dc), g);
        cut = x.fresh;
        write_gradients(&c, m, t, g);
        for (int k = 0; k < GATES; k++)
            ((float *)&d[k * (MOST + 1) + m.unit])[threadIdx.x % ROWS] = m.there ? g[k] : 0;
        x = recall(&c, m, t - 1);
        __syncthreads();
        dh = flow<MOST>(d, W);
        __syncthreads();
    }
    if (STATE(&c) > 0 && c.in[STATE(&c)].g) write_state(&c, m, dh, dc, cut);
}

void lstm_narrow_backward(const nn_call *c)
{
    int H = c->in[1].shape.B;
    dim3 grid(blocks_of((size_t)c->out.shape.B, ROWS), (unsigned)c->replicas);
    launch(gpu_of(c), "lstm backward", H <= 32 ? backward_all<32> : backward_all<64>, grid,
           (unsigned)(H <= 32 ? 32 : 64) * GATES, *c);
}
