/* linear.cu - y = act(x W + b), for a bank of N members and all replicas.
 *
 * Small products (few rows) go through kernels of our own, which apply the activation on writing.
 * All of a layer's gradients (weights, bias, every wanted input) are tiles of one kernel. The
 * slopes that belong to a gradient are multiplied in by the layer that writes it, or else in a pass
 * of their own. Products of one network are too small to fill a GPU, and what counts is how long
 * one tile takes; joined inputs are read where they lie. Those of many replicas stream their
 * operands through wide tiles, and inputs are joined beforehand. Large ones (linear_big.cu) go
 * through cuBLAS, those with one output (linear_head.cu) through no product at all. In the lower
 * precisions the tiles are plain ones. */
#include <type_traits>

#include "nn/cuda/linear.cuh"
#include "nn/cuda/operand.cuh"

/* ---- forward --------------------------------------------------------------------------------- */

/* Joined inputs, read where they lie; the four run along a row. A bank has but one input. */
template <bool ALONG> struct joined {
    enum { along = ALONG, aligned = false };
    const nn_call *c;
    int r;
    __device__ float4 quad(int x, int k, int extent, int depth, bool) const
    {
        int row = ALONG ? x : k, column = ALONG ? k : x, i = 0;
        int inside = row < (ALONG ? extent : depth) ? (ALONG ? depth : extent) - column : 0;
        float v[4] = {};
        for (int e = 0; e < 4 && e < inside; e++, column++) {
            while (column >= c->in[i].shape.D) column -= c->in[i++].shape.D;
            v[e] = nn_v(&c->in[i], r)[(size_t)row * (size_t)c->in[i].shape.D + (size_t)column];
        }
        return {v[0], v[1], v[2], v[3]};
    }
};

/* Calls run(operand) with a member's inputs. */
template <class TILE, bool ALONG, class F>
__device__ static void with_inputs(const nn_call &c, int r, int member, const F &run)
{
    bool several = LINEAR_INPUTS(&c) > 1;
    int own = member * c.in[LINEAR_INPUTS(&c)].shape.B;
    if constexpr (!TILE::STREAMED)
        if (several && !LINEAR_JOINED(&c)) return run(joined<ALONG>{&c, r});
    run(matrix<ALONG>(several ? nn_scratch(&c, r) : nn_v(&c.in[0], r) + own,
                      several ? joined_width(&c) : c.in[0].shape.D));
}

struct finished {
    float *y;
    const float *bias;
    int width, act;
    __device__ float2 before(int, int column, int inside) const
    {
        return bias ? load_pair(bias + column, false, inside) : float2{0, 0};
    }
    __device__ void put(int row, int column, float2 sum, float2 b, int inside) const
    {
        float2 v = {act_value(act, sum.x + b.x), act_value(act, sum.y + b.y)};
        store_pair(y + (size_t)row * (size_t)width + (size_t)column, v, is_even(y, width), inside);
    }
    __device__ void operator()(int row, int column, float sum) const
    {
        if (bias) sum += bias[column];
        y[(size_t)row * (size_t)width + (size_t)column] = act_value(act, sum);
    }
};

template <class TILE>
__global__ void __launch_bounds__(TILE::THREADS, TILE::RESIDENT)
    forward(const __grid_constant__ nn_call c)
{
    await_previous();
    const nn_tensor *W = &c.in[LINEAR_INPUTS(&c)];
    int N = W->shape.T, inputs = W->shape.B, outputs = W->shape.D;
    int rows = (int)nn_rows(c.out.shape), r = (int)blockIdx.z / N, member = (int)blockIdx.z % N;
    int row = (int)blockIdx.y * TILE::HEIGHT, column = (int)blockIdx.x * TILE::WIDTH;
    int first = member * outputs;
    matrix<false> b(nn_v(W, r) + (size_t)first * (size_t)inputs, outputs);
    const float *bias = LINEAR_BIAS(&c) ? nn_v(&c.in[LINEAR_INPUTS(&c) + 1], r) + first : NULL;
    finished out = {nn_v(&c.out, r) + first, bias, c.out.shape.D, LINEAR_ACT(&c)};
    __shared__ typename TILE::memory mem;
    with_inputs<TILE, true>(c, r, member, [&](const auto &a) {
        TILE::run(mem, row, column, rows, outputs, 0, inputs, a, b, out);
    });
}

enum { BUSY = 4 }; /* wide tiles per processor, from which on each need not be quick */

/* Wide tiles per processor, of a product that has as many rows as the output. */
static int fill(const nn_call *c, int columns)
{
    size_t tiles = (size_t)blocks_of(nn_rows(c->out.shape), wide_tile::HEIGHT) *
                   blocks_of((size_t)columns, wide_tile::WIDTH);
    return (int)(tiles * (size_t)(c->in[LINEAR_INPUTS(c)].shape.T * c->replicas) /
                 (size_t)gpu_of(c)->processors);
}

/* The same for the gradients, of which the largest counts. With none of them the tiles are small;
 * else they are streamed, unless few are wanted, and inputs are joined on the way forward. */
static int fill_backward(const nn_call *c)
{
    nn_shape W = c->in[LINEAR_INPUTS(c)].shape;
    return fill(c, W.B > W.D ? W.B : W.D);
}

/* With one output per member: not worth a product, but where there is little to do tiles take less
 * time. */
static bool is_head(const nn_call *c)
{
    return LINEAR_INPUTS(c) == 1 && c->in[1].shape.D == 1 &&
           (linear_is_big(c) || fill_backward(c) > 0);
}

template <class TILE> static void launch_forward(const nn_call *c)
{
    nn_shape W = c->in[LINEAR_INPUTS(c)].shape;
    dim3 grid(blocks_of((size_t)W.D, TILE::WIDTH), blocks_of(nn_rows(c->out.shape), TILE::HEIGHT),
              (unsigned)(W.T * c->replicas));
    void (*kernel)(nn_call) =
        gpu_of(c)->precision == NN_FP32 ? forward<TILE> : forward<typename TILE::plain>;
    launch(gpu_of(c), "linear", kernel, grid, TILE::THREADS, *c);
}

void linear_forward(const nn_call *c)
{
    int outputs = c->in[LINEAR_INPUTS(c)].shape.D, full = fill(c, outputs);
    bool narrow = outputs <= narrow_tile::WIDTH;
    if (is_head(c)) {
        linear_head_forward(c);
        return;
    }
    if (linear_is_big(c)) {
        linear_big_forward(c);
        return;
    }
    if (LINEAR_INPUTS(c) > 1 && fill_backward(c) > 0) join_inputs(c);
    if (full == 0)
        launch_forward<small_tile>(c);
    else if (full < BUSY)
        narrow ? launch_forward<brisk_narrow_tile>(c) : launch_forward<brisk_wide_tile>(c);
    else
        narrow ? launch_forward<narrow_tile>(c) : launch_forward<wide_tile>(c);
}

/* ---- backward: all gradients of a layer are tiles of one kernel ------------------------------ */

/* A kind of gradient: dW, dx of one of the inputs, or the bias; and its tiles. */
typedef struct job {
    enum { WEIGHTS, INPUT, BIAS } kind;
    int k, first; /* which input, and its first row in W */
    int m, n;
    bool narrow;
    int row_tiles, column_tiles, tiles; /* of one member and replica; of all */
} job;

typedef struct jobs {
    job list[NN_MOST_INPUTS + 2];
    int count, tiles;
} jobs;

/* dW = x^T dz */
template <class TILE>
__device__ static void weights(typename TILE::memory &mem, const nn_call &c, const job &j, int r,
                               int member, int row, int column)
{
    const nn_tensor *W = &c.in[LINEAR_INPUTS(&c)];
    int first = member * j.n, rows = (int)nn_rows(c.out.shape);
    matrix<false> b(nn_g(&c.out, r) + first, c.out.shape.D);
    into out = {nn_g(W, r) + (size_t)first * (size_t)j.m, j.n, W->add, NULL, NN_LINEAR};
    with_inputs<TILE, false>(c, r, member, [&](const auto &a) {
        TILE::run(mem, row, column, j.m, j.n, 0, rows, a, b, out);
    });
}

/* dx = dz W^T */
template <class TILE>
__device__ static void input(typename TILE::memory &mem, const nn_call &c, const job &j, int r,
                             int member, int row, int column)
{
    const nn_tensor *W = &c.in[LINEAR_INPUTS(&c)], *x = &c.in[j.k];
    int outputs = W->shape.D;
    size_t at = ((size_t)member * (size_t)W->shape.B + (size_t)j.first) * (size_t)outputs;
    matrix<true> a(nn_g(&c.out, r) + member * outputs, c.out.shape.D);
    matrix<true> b(nn_v(W, r) + at, outputs);
    const float *y = LINEAR_BEFORE(&c) == NN_LINEAR ? NULL : nn_v(x, r) + member * j.n;
    into out = {nn_g(x, r) + member * j.n, x->shape.D, x->add, y, LINEAR_BEFORE(&c)};
    TILE::run(mem, row, column, j.m, j.n, 0, outputs, a, b, out);
}

template <class TILE>
__device__ static void gradient(typename TILE::memory &mem, const nn_call &c, const job &j, int r,
                                int member, int row, int column)
{
    if (j.kind == job::WEIGHTS)
        weights<TILE>(mem, c, j, r, member, row * TILE::HEIGHT, column * TILE::WIDTH);
    else
        input<TILE>(mem, c, j, r, member, row * TILE::HEIGHT, column * TILE::WIDTH);
}

/* Sums of columns: 32 of them per block, its warps taking turns at the rows. */
template <int THREADS> __device__ static void bias(const nn_call &c, int r, int column)
{
    __shared__ float part[THREADS];
    const nn_tensor *b = &c.in[LINEAR_INPUTS(&c) + 1];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, width = c.out.shape.D;
    int at = column + lane, rows = at < width ? (int)nn_rows(c.out.shape) : 0;
    const float *d = nn_g(&c.out, r) + at;
    float sum = 0;
#pragma unroll 8
    for (int i = warp; i < rows; i += THREADS / 32) sum += d[(size_t)i * (size_t)width];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (warp > 0 || at >= width) return;
    sum = 0;
    for (int w = 0; w < THREADS / 32; w++) sum += part[w * 32 + lane];
    NN_PUT(b->add, nn_g(b, r)[at], sum);
}

template <class WIDE, class NARROW>
__global__ void __launch_bounds__(WIDE::THREADS, WIDE::RESIDENT)
    backward(const __grid_constant__ nn_call c, const __grid_constant__ jobs all)
{
    await_previous();
    __shared__ union {
        typename WIDE::memory wide;
        typename NARROW::memory narrow;
    } mem;
    int i = 0, item = (int)blockIdx.x;
    while (item >= all.list[i].tiles) item -= all.list[i++].tiles;
    const job &j = all.list[i];
    int column = item % j.column_tiles, row = item / j.column_tiles % j.row_tiles;
    int which = item / j.column_tiles / j.row_tiles, N = c.in[LINEAR_INPUTS(&c)].shape.T;
    if (j.kind == job::BIAS)
        bias<WIDE::THREADS>(c, which, column * 32);
    else if (!std::is_same<WIDE, NARROW>::value && j.narrow)
        gradient<NARROW>(mem.narrow, c, j, which / N, which % N, row, column);
    else
        gradient<WIDE>(mem.wide, c, j, which / N, which % N, row, column);
}

static jobs list_jobs(const nn_call *c)
{
    jobs all = {};
    const nn_tensor *W = &c->in[LINEAR_INPUTS(c)];
    int rows = (int)nn_rows(c->out.shape), N = W->shape.T;
    if (W->g) all.list[all.count++] = {job::WEIGHTS, 0, 0, W->shape.B, W->shape.D, false, 0, 0, 0};
    for (int k = 0, first = 0; k < LINEAR_INPUTS(c); k++) {
        int D = c->in[k].shape.D / N;
        if (c->in[k].g) all.list[all.count++] = {job::INPUT, k, first, rows, D, false, 0, 0, 0};
        first += D;
    }
    if (LINEAR_BIAS(c) && c->in[LINEAR_INPUTS(c) + 1].g)
        all.list[all.count++] = {job::BIAS, 0, 0, 1, c->out.shape.D, false, 0, 0, 0};
    return all;
}

template <class WIDE, class NARROW> static void launch_backward(const nn_call *c, jobs *all)
{
    int N = c->in[LINEAR_INPUTS(c)].shape.T;
    for (int i = 0; i < all->count; i++) {
        job *j = &all->list[i];
        bool sums = j->kind == job::BIAS;
        j->narrow = j->n <= NARROW::WIDTH;
        int height = j->narrow ? (int)NARROW::HEIGHT : (int)WIDE::HEIGHT;
        int width = sums ? 32 : j->narrow ? (int)NARROW::WIDTH : (int)WIDE::WIDTH;
        j->row_tiles = (j->m + height - 1) / height;
        j->column_tiles = (j->n + width - 1) / width;
        j->tiles = j->row_tiles * j->column_tiles * c->replicas * (sums ? 1 : N);
        all->tiles += j->tiles;
    }
    void (*kernel)(nn_call, jobs) = gpu_of(c)->precision == NN_FP32
                                        ? backward<WIDE, NARROW>
                                        : backward<typename WIDE::plain, typename NARROW::plain>;
    if (all->tiles > 0)
        launch(gpu_of(c), "linear backward", kernel, dim3((unsigned)all->tiles), WIDE::THREADS, *c,
               *all);
}

/* Where the wanted gradients are few small tiles, these are faster, whatever the layer's own
 * product takes. */
static bool are_few(const nn_call *c, const jobs *all)
{
    size_t tiles = 0;
    for (int i = 0; i < all->count; i++)
        if (all->list[i].kind != job::BIAS)
            tiles += (size_t)blocks_of((size_t)all->list[i].m, small_tile::HEIGHT) *
                     blocks_of((size_t)all->list[i].n, small_tile::WIDTH);
    tiles *= (size_t)(c->in[LINEAR_INPUTS(c)].shape.T * c->replicas);
    return tiles <= (size_t)gpu_of(c)->processors * 3;
}

void linear_backward(const nn_call *c)
{
    if (is_head(c)) {
        linear_head_backward(c);
        return;
    }
    if (linear_is_big(c)) {
        linear_big_backward(c);
        return;
    }
    jobs all = list_jobs(c);
    apply_slopes(c, false);
    nn_call known = *c;
    LINEAR_JOINED(&known) = fill_backward(c) > 0;
    if (fill_backward(c) == 0 || are_few(c, &all))
        launch_backward<small_tile, small_tile>(&known, &all);
    else if (fill_backward(c) < BUSY)
        launch_backward<brisk_wide_tile, brisk_narrow_tile>(c, &all);
    else
        launch_backward<wide_tile, narrow_tile>(c, &all);
}

/* ---- slopes ---------------------------------------------------------------------------------- */

/* The only backward step that writes a gradient, or NULL. */
static nn_step *writer_of(nn_program *p, const real *g)
{
    nn_step *found = NULL;
    for (size_t i = 0; i < p->step_count; i++)
        for (int k = 0; p->steps[i].backward && k < p->steps[i].call.in_count; k++) {
            if (p->steps[i].call.in[k].g != g) continue;
            if (found) return NULL;
            found = &p->steps[i];
        }
    return found;
}

/* Its own slopes and the sums of its bias are the head's to find, which reads the layer's output
 * anyhow; the bias becomes one of the head's operands. Not one that is shared with another layer:
 * who adds to its gradient and who writes it depends on the order. */
static void hand_bias(nn_program *p, nn_call *layer, nn_call *head)
{
    nn_tensor *bias = &layer->in[LINEAR_INPUTS(layer) + 1];
    bool own = LINEAR_BIAS(layer) && bias->g && writer_of(p, bias->g);
    head->in[head->in_count++] = own ? *bias : nn_tensor{};
    if (own) bias->g = NULL;
}

void fuse_slopes(nn_program *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        nn_call *c = &p->steps[i].call;
        if (p->steps[i].op != NN_OP_linear || !p->steps[i].backward || LINEAR_DONE(c)) continue;
        nn_step *w = LINEAR_ACT(c) == NN_LINEAR ? NULL : writer_of(p, c->out.g);
        if (!w || w->op != NN_OP_linear || (linear_is_big(c) && !is_head(&w->call))) continue;
        if (LINEAR_INPUTS(&w->call) > 1 || w->call.in[0].g != c->out.g || w->call.in[0].add)
            continue;
        if (is_head(&w->call)) hand_bias(p, c, &w->call);
        LINEAR_BEFORE(&w->call) = LINEAR_ACT(c);
        LINEAR_DONE(c) = 1;
    }
}
