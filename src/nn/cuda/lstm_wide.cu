/* lstm_wide.cu - an LSTM of up to 256 units on compute capability 9.0: all steps in one kernel per
 * direction.
 *
 * A cluster of eight blocks takes 32 rows of one replica through all of time; a block owns 32 units
 * (fewer where there are fewer: then numbers are zero). Its part of the weights, all four gates of
 * its units, 128 KB, stays in registers, in the order in which the tensor cores take it.
 *
 *   forward:  a warp multiplies 32 rows of h with the 32 columns of one gate, over half of k; then
 *             each thread runs the cells of four rows of one unit, and h goes to all eight blocks.
 *   backward: the cells give the gradients of the block's own gates; warp j multiplies them with
 *             the weights of block j's units, and sends block j its part of dh. There the eight
 *             parts are added in order.
 *
 * What is sent lies in one of two buffers, in turn, and is counted as it comes: a block waits for
 * 32 KB per step and for nothing else. A buffer is free when it is written to: who sends for step
 * t + 1 has what all blocks sent at step t, which they did after all their warps were done with
 * what they got at step t - 1. Nothing is sent at the last step, so blocks may end. Global memory
 * is read a step ahead, and written after sending. */
#include "nn/cuda/lstm_wide.cuh"

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct forward_memory {
    float h[2][ROWS * WIDE];               /* before the step; of all units */
    float sums[2][2][GATES][ROWS * UNITS]; /* by step, of the halves of k */
    float x[GATES][EACH][THREADS];         /* the gates' inputs; every thread reads its own */
    float next[BLOCKS][EACH * UNITS];      /* h after the step, by warp */
    float fresh[ROWS];                     /* whether a row starts at the next step */
    inbox in[2];
} forward_memory;

/* What a cell leaves. */
typedef struct cell {
    float gate[GATES], tanh_c, c, h, h_next;
} cell;

__device__ static void first_h(forward_memory *s, const nn_call *c, const mine *m)
{
    int H = c->in[1].shape.B, B = c->out.shape.B;
    for (int i = (int)threadIdx.x; i < ROWS * WIDE; i += THREADS) {
        int row = i / WIDE, b = m->row0 + row, k = i % WIDE;
        bool there = b < B && k < H;
        float h = 0;
        if (there && !starts(c, m->r, 0, b))
            h = nn_v(&c->in[STATE(c)], m->r)[(size_t)b * 2 * (size_t)H + (size_t)k];
        s->h[0][place(row, WIDE, k)] = h;
        if (there && k / UNITS == m->block)
            parts_of(c, m->r).h_before[(size_t)b * (size_t)H + (size_t)k] = h;
    }
}

/* Begins to copy the inputs of step t, and where rows start at the step after. */
__device__ static void fetch(forward_memory *s, const nn_call *c, const mine *m, int t)
{
    size_t H = (size_t)c->in[1].shape.B, B = (size_t)c->out.shape.B;
    const float *x = nn_v(&c->in[0], m->r);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const float *row = x + row_at(c, m, t, i) * 4 * H + (size_t)m->unit;
        for (size_t k = 0; k < GATES; k++)
            copy_one(&s->x[k][i][threadIdx.x], row + k * H, is_there(c, m, i));
    }
    int row = row_of(m, m->lane), b = m->row0 + row;
    if (RESET(c) > 0 && m->lane < EACH && t + 1 < c->out.shape.T)
        copy_one(&s->fresh[row], nn_v(&c->in[RESET(c)], m->r) + (size_t)(t + 1) * B + b,
                 b < c->out.shape.B);
    end_copies();
}

__device__ static cell run_cell(const forward_memory *s, const mine *m, int t, int i, float before)
{
    cell x;
    int at = place(row_of(m, i), UNITS, m->lane);
    const float(*sums)[GATES][ROWS * UNITS] = s->sums[t % 2];
#pragma unroll
    for (int k = 0; k < GATES; k++) {
        float sum = s->x[k][i][threadIdx.x] + (sums[0][k][at] + sums[1][k][at]);
        x.gate[k] = k == 2 ? nn_tanh(sum) : nn_sigmoid(sum);
    }
    x.c = x.gate[1] * before + x.gate[0] * x.gate[2];
    x.tanh_c = nn_tanh(x.c);
    x.h = x.gate[3] * x.tanh_c;
    x.h_next = s->fresh[row_of(m, i)] != 0 ? 0 : x.h;
    return x;
}

__device__ static void write_cell(const nn_call *c, const mine *m, int t, int i, const cell *x)
{
    size_t H = (size_t)c->in[1].shape.B, B = (size_t)c->out.shape.B, u = (size_t)m->unit;
    size_t row = row_at(c, m, t, i);
    parts p = parts_of(c, m->r);
    float *out = nn_v(&c->out, m->r) + row * 2 * H + u;
    if (!is_there(c, m, i)) return;
    for (size_t k = 0; k < GATES; k++) p.gates[(row * 4 + k) * H + u] = x->gate[k];
    p.tanh_c[row * H + u] = x->tanh_c;
    out[0] = x->h;
    out[H] = x->c;
    if (t + 1 < c->out.shape.T) p.h_before[(row + B) * H + u] = x->h_next;
}

/* Sends h of the warp's rows to all blocks: into buffer (t + 1) % 2, counted by inbox t % 2. */
__device__ static void share(forward_memory *s, const mine *m, int t, const cell *x)
{
    float *next = s->next[m->warp];
#pragma unroll
    for (int i = 0; i < EACH; i++) next[i * UNITS + m->lane] = x[i].h_next;
    __syncwarp();
    float4 v = *(const float4 *)&next[m->lane * 4];
    int at = place(row_of(m, m->lane / 8), WIDE, m->block * UNITS + m->lane % 8 * 4);
#pragma unroll
    for (int k = 0; k < BLOCKS; k++)
        send(&s->h[(t + 1) % 2][at], &s->in[t % 2], (m->block + k) % BLOCKS, v);
}

/* c before the first step, of the thread's cells. */
__device__ static void first_c(float *before, const nn_call *c, const mine *m)
{
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        int b = m->row0 + row_of(m, i);
        bool zero = !is_there(c, m, i) || starts(c, m->r, 0, b);
        before[i] = zero ? 0 : cell_before(c, m->r, 0, b, m->unit);
    }
}

template <bool PRECISE> __device__ static void run_forward(const nn_call *c, forward_memory *s)
{
    mine m = mine_of(c);
    int gate = m.warp % GATES, half = m.warp / GATES, H = c->in[1].shape.B, T = c->out.shape.T;
    const float *from = nn_v(&c->in[1], m.r);
    float before[EACH];
    weights W;
    if (m.lane < EACH) s->fresh[row_of(&m, m.lane)] = 0;
    fetch(s, c, &m, 0);
    load<PRECISE>(&W, m.lane, [&](int k, int u) {
        int row = half * DEPTH + k, unit = m.block * UNITS + u;
        return row < H && unit < H ? from[(row * GATES + gate) * H + unit] : 0;
    });
    first_h(s, c, &m);
    first_c(before, c, &m);
    open_inboxes(s->in);
#pragma unroll 1
    for (int t = 0;; t++) {
        sums p = product<PRECISE, WIDE>(s->h[t % 2] + half * DEPTH, m.lane, &W);
        float *sums = s->sums[t % 2][half][gate];
        each_quad(&p, m.lane, [&](int at, float4 v) { *(float4 *)&sums[at] = v; });
        await_copies<0>();
        __syncthreads();
        cell x[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            x[i] = run_cell(s, &m, t, i, before[i]);
            before[i] = s->fresh[row_of(&m, i)] != 0 ? 0 : x[i].c;
        }
        if (t + 1 < T) share(s, &m, t, x);
#pragma unroll
        for (int i = 0; i < EACH; i++) write_cell(c, &m, t, i, &x[i]);
        if (t + 1 == T) return;
        fetch(s, c, &m, t + 1);
        if (threadIdx.x == 0) expect(&s->in[t % 2], SENT);
        await_round(&s->in[t % 2], t / 2);
    }
}

template <bool PRECISE>
__global__ static void __launch_bounds__(THREADS, 1) forward_all(const __grid_constant__ nn_call c)
{
    await_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) char memory[];
    run_forward<PRECISE>(&c, (forward_memory *)memory);
#endif
}

/* ---- backward -------------------------------------------------------------------------------- */

/* What the forward pass kept of a step, and what is asked of its output. */
enum { TANH_C = GATES, BEFORE, DH, DC, KEPT };

typedef struct backward_memory {
    float d[2][ROWS * DEPTH];             /* gradients of the block's gates, by step */
    float flows[2][BLOCKS][ROWS * UNITS]; /* parts of dh, by the block that sent them */
    float kept[KEPT][EACH][THREADS];      /* every thread reads its own */
    float fresh[ROWS];                    /* whether a row starts at this step */
    inbox in[2];
} backward_memory;

/* Begins to copy what is kept of step t. */
__device__ static void fetch(backward_memory *s, const nn_call *c, const mine *m, int t)
{
    size_t H = (size_t)c->in[1].shape.B, B = (size_t)c->out.shape.B, u = (size_t)m->unit;
    parts p = parts_of(c, m->r);
    const float *g = nn_g(&c->out, m->r) + u, *state = NULL;
    if (STATE(c) > 0) state = nn_v(&c->in[STATE(c)], m->r) + H + u;
    const float *out = nn_v(&c->out, m->r) + H + u;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        size_t row = row_at(c, m, t, i);
        bool there = is_there(c, m, i);
        auto copy = [&](int k, const float *from, bool is) {
            copy_one(&s->kept[k][i][threadIdx.x], from, is);
        };
        for (int k = 0; k < GATES; k++) copy(k, p.gates + (row * 4 + (size_t)k) * H + u, there);
        copy(TANH_C, p.tanh_c + row * H + u, there);
        copy(DH, g + row * 2 * H, there);
        copy(DC, g + row * 2 * H + H, there);
        if (t > 0)
            copy(BEFORE, out + (row - B) * 2 * H, there);
        else
            copy(BEFORE, state ? state + row * 2 * H : out, there && state);
    }
    int row = row_of(m, m->lane), b = m->row0 + row;
    if (RESET(c) > 0 && m->lane < EACH)
        copy_one(&s->fresh[row], nn_v(&c->in[RESET(c)], m->r) + (size_t)t * B + b,
                 b < c->out.shape.B);
    end_copies();
}

/* dh that flows out of the step after, from all blocks' gates. */
__device__ static float flow_of(const float (*flows)[ROWS * UNITS], const mine *m, int i)
{
    float sum = 0;
    int at = place(row_of(m, i), UNITS, m->lane);
#pragma unroll
    for (int k = 0; k < BLOCKS; k++) sum += flows[k][at];
    return sum;
}

/* Takes dh and dc of a step to the gates' gradients; returns what flows on to dc. */
__device__ static float cell_back(const backward_memory *s, const mine *m, float *to, int i,
                                  float dh, float dc, bool fresh)
{
    auto kept = [&](int k) { return s->kept[k][i][threadIdx.x]; };
    float gi = kept(0), gf = kept(1), gg = kept(2), go = kept(3), tanh_c = kept(TANH_C);
    float before = fresh ? 0 : kept(BEFORE);
    dh += kept(DH);
    float d = kept(DC) + dc + dh * go * (1 - tanh_c * tanh_c);
    float gradient[GATES] = {d * gg * gi * (1 - gi), d * before * gf * (1 - gf),
                             d * gi * (1 - gg * gg), dh * tanh_c * go * (1 - go)};
#pragma unroll
    for (int k = 0; k < GATES; k++)
        to[place(row_of(m, i), DEPTH, k * UNITS + m->lane)] = gradient[k];
    return d * gf;
}

__device__ static void write_gradients(const nn_call *c, const mine *m, int t, const float *from)
{
    size_t H = (size_t)c->in[1].shape.B;
    const nn_tensor *x = &c->in[0];
    float *gates = parts_of(c, m->r).gates;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (!is_there(c, m, i)) continue;
        for (int k = 0; k < GATES; k++) {
            size_t at = (row_at(c, m, t, i) * 4 + (size_t)k) * H + (size_t)m->unit;
            float d = from[place(row_of(m, i), DEPTH, k * UNITS + m->lane)];
            gates[at] = d;
            if (x->g) NN_PUT(x->add, nn_g(x, m->r)[at], d);
        }
    }
}

/* What flows out of the first step, into the given state. */
__device__ static void write_state(const nn_call *c, const mine *m, int i, float dh, float dc)
{
    const nn_tensor *s = &c->in[STATE(c)];
    size_t H = (size_t)c->in[1].shape.B;
    if (!is_there(c, m, i)) return;
    float *g = nn_g(s, m->r) + row_at(c, m, 0, i) * 2 * H + (size_t)m->unit;
    NN_PUT(s->add, g[0], dh);
    NN_PUT(s->add, g[H], dc);
}

template <bool PRECISE>
__device__ static void run_backward(const nn_call *c, backward_memory *s, bool to_state)
{
    mine m = mine_of(c);
    int H = c->in[1].shape.B, T = c->out.shape.T;
    if (m.lane < EACH) s->fresh[row_of(&m, m.lane)] = 0;
    fetch(s, c, &m, T - 1);
    const float *from = nn_v(&c->in[1], m.r);
    weights W;
    load<PRECISE>(&W, m.lane, [&](int k, int u) {
        int row = m.warp * UNITS + u, unit = m.block * UNITS + k % UNITS;
        return row < H && unit < H ? from[(row * GATES + k / UNITS) * H + unit] : 0;
    });
    open_inboxes(s->in);
    float dh[EACH] = {}, dc[EACH] = {};
#pragma unroll 1
    for (int t = T - 1; t >= 0; t--) {
        bool fresh[EACH], on = t > 0 || to_state; /* something flows on */
        int round = T - 1 - t;
        float *d = s->d[t % 2];
        await_copies<0>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            fresh[i] = s->fresh[row_of(&m, i)] != 0 || (t == 0 && STATE(c) <= 0);
            dc[i] = cell_back(s, &m, d, i, dh[i], dc[i], fresh[i]);
        }
        __syncthreads();
        if (t > 0) fetch(s, c, &m, t - 1);
        if (on) {
            sums p = product<PRECISE, DEPTH>(d, m.lane, &W);
            each_quad(&p, m.lane, [&](int at, float4 v) {
                send(&s->flows[round % 2][m.block][at], &s->in[round % 2], m.warp, v);
            });
        }
        write_gradients(c, &m, t, d);
        if (!on) return;
        if (threadIdx.x == 0) expect(&s->in[round % 2], SENT);
        await_round(&s->in[round % 2], round / 2);
#pragma unroll
        for (int i = 0; i < EACH; i++) { /* nothing flows past a start */
            dh[i] = fresh[i] ? 0 : flow_of(s->flows[round % 2], &m, i);
            dc[i] = fresh[i] ? 0 : dc[i];
        }
    }
    for (int i = 0; i < EACH; i++) write_state(c, &m, i, dh[i], dc[i]);
}

template <bool PRECISE>
__global__ static void __launch_bounds__(THREADS, 1)
    backward_all(const __grid_constant__ nn_call c, bool to_state)
{
    await_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) char memory[];
    run_backward<PRECISE>(&c, (backward_memory *)memory, to_state);
#endif
}

/* ---- the host's part ------------------------------------------------------------------------- */

bool lstm_wide_allow(void)
{
    bool ok = allow(forward_all<true>, sizeof(forward_memory)) &&
              allow(forward_all<false>, sizeof(forward_memory)) &&
              allow(backward_all<true>, sizeof(backward_memory)) &&
              allow(backward_all<false>, sizeof(backward_memory));
    if (!ok) cudaGetLastError(); /* no fault: there is another way */
    return ok;
}

static dim3 grid_of(const nn_call *c)
{
    return dim3(BLOCKS * blocks_of((size_t)c->out.shape.B, ROWS), (unsigned)c->replicas);
}

void lstm_wide_forward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    launch_clusters(self, "lstm",
                    self->precision == NN_FP32 ? forward_all<true> : forward_all<false>, grid_of(c),
                    THREADS, BLOCKS, sizeof(forward_memory), *c);
}

void lstm_wide_backward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    bool to_state = STATE(c) > 0 && c->in[STATE(c)].g;
    launch_clusters(self, "lstm backward",
                    self->precision == NN_FP32 ? backward_all<true> : backward_all<false>,
                    grid_of(c), THREADS, BLOCKS, sizeof(backward_memory), *c, to_state);
}
