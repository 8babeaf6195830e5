/* linear.cu - y = act(x W + b), for a bank of N members and all replicas.
 *
 * Small products (few rows) go through kernels of our own, which apply the activation on writing.
 * Of one network they are too small to fill a GPU, and what counts is the number of kernels: joined
 * inputs are read where they lie, slopes applied on reading, and all of a layer's gradients
 * (weights, bias, every wanted input) are tiles of one kernel. Of many replicas they are not: wide
 * tiles stream their operands, which are joined and multiplied by slopes beforehand, in passes of
 * their own. Large ones (linear_big.cu) go through cuBLAS. */
#include <type_traits>

#include "nn/cuda/linear.cuh"
#include "nn/cuda/tile.cuh"

/* ---- forward --------------------------------------------------------------------------------- */

/* Joined inputs, read where they lie; the four run along a row. A bank has but one input. */
template <bool ALONG> struct joined {
    enum { along = ALONG, aligned = false };
    typedef float4 raw;
    const nn_call *c;
    int r;
    __device__ raw quad(int x, int k, int extent, int depth, bool) const
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
    __device__ float4 value(raw v) const { return v; }
};

/* Calls run(operand) with a member's inputs. */
template <class TILE, bool ALONG, class F>
__device__ static void with_inputs(const nn_call &c, int r, int member, const F &run)
{
    bool several = LINEAR_INPUTS(&c) > 1;
    int own = member * c.in[LINEAR_INPUTS(&c)].shape.B;
    if constexpr (TILE::STREAMED)
        run(matrix<ALONG>(several ? nn_scratch(&c, r) : nn_v(&c.in[0], r) + own,
                          several ? joined_width(&c) : c.in[0].shape.D));
    else if (several)
        run(joined<ALONG>{&c, r});
    else
        run(matrix<ALONG>(nn_v(&c.in[0], r) + own, c.in[0].shape.D));
}

/* The gradient of what a member gives, before its activation. */
template <class TILE, bool ALONG>
__device__ static auto behind_activation(const nn_call &c, int r, int first)
{
    if constexpr (TILE::STREAMED)
        return matrix<ALONG>(nn_g(&c.out, r) + first, c.out.shape.D);
    else
        return sloped<ALONG>(nn_g(&c.out, r) + first, nn_v(&c.out, r) + first, c.out.shape.D,
                             LINEAR_ACT(&c));
}

/* Streamed tiles start from the bias; others add it on writing. */
template <class TILE> struct finished {
    float *y;
    const float *bias;
    int width, act;
    __device__ float start(int column) const { return bias ? bias[column] : 0; }
    __device__ void operator()(int row, int column, float sum) const
    {
        if (!TILE::STREAMED) sum += start(column);
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
    finished<TILE> out = {nn_v(&c.out, r) + first, bias, c.out.shape.D, LINEAR_ACT(&c)};
    __shared__ typename TILE::memory mem;
    with_inputs<TILE, true>(c, r, member, [&](const auto &a) {
        TILE::run(mem, row, column, rows, outputs, 0, inputs, a, b, out);
    });
}

/* Whether wide tiles of a rows × columns product would keep the GPU busy. */
static bool is_wide(const nn_call *c, int columns)
{
    return (size_t)blocks_of(nn_rows(c->out.shape), wide_tile::HEIGHT) *
               blocks_of((size_t)columns, wide_tile::WIDTH) *
               (size_t)(c->in[LINEAR_INPUTS(c)].shape.T * c->replicas) >=
           (size_t)gpu_of(c)->processors;
}

/* Whether the gradients are streamed; if so, inputs are joined on the way forward. */
static bool is_streamed(const nn_call *c)
{
    nn_shape W = c->in[LINEAR_INPUTS(c)].shape;
    return is_wide(c, W.B) || is_wide(c, W.D);
}

template <class TILE> static void launch_forward(const nn_call *c)
{
    nn_shape W = c->in[LINEAR_INPUTS(c)].shape;
    dim3 grid(blocks_of((size_t)W.D, TILE::WIDTH), blocks_of(nn_rows(c->out.shape), TILE::HEIGHT),
              (unsigned)(W.T * c->replicas));
    launch(gpu_of(c), "linear", forward<TILE>, grid, TILE::THREADS, *c);
}

void linear_forward(const nn_call *c)
{
    int outputs = c->in[LINEAR_INPUTS(c)].shape.D;
    if (linear_is_big(c)) {
        linear_big_forward(c);
        return;
    }
    if (LINEAR_INPUTS(c) > 1 && is_streamed(c)) join_inputs(c);
    if (!is_wide(c, outputs))
        launch_forward<small_tile>(c);
    else if (outputs > narrow_tile::WIDTH)
        launch_forward<wide_tile>(c);
    else
        launch_forward<narrow_tile>(c);
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
    auto b = behind_activation<TILE, false>(c, r, first);
    into out = {nn_g(W, r) + (size_t)first * (size_t)j.m, j.n, W->add};
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
    auto a = behind_activation<TILE, true>(c, r, member * outputs);
    matrix<true> b(nn_v(W, r) + at, outputs);
    into out = {nn_g(x, r) + (size_t)(member * j.n), x->shape.D, x->add};
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
    int lane_of = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, width = c.out.shape.D;
    size_t rows = nn_rows(c.out.shape), at = (size_t)(column + lane_of);
    const float *d = nn_g(&c.out, r), *y = nn_v(&c.out, r);
    float sum = 0;
    for (size_t i = (size_t)warp; column + lane_of < width && i < rows; i += THREADS / 32) {
        size_t e = i * (size_t)width + at;
        sum += LINEAR_ACT(&c) == NN_LINEAR ? d[e] : act_slope(LINEAR_ACT(&c), y[e], d[e]);
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (warp > 0 || column + lane_of >= width) return;
    sum = 0;
    for (int w = 0; w < THREADS / 32; w++) sum += part[w * 32 + lane_of];
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
    if (!WIDE::STREAMED && j.kind == job::BIAS)
        bias<WIDE::THREADS>(c, which, column * 32);
    else if (!std::is_same<WIDE, NARROW>::value && j.narrow)
        gradient<NARROW>(mem.narrow, c, j, which / N, which % N, row, column);
    else
        gradient<WIDE>(mem.wide, c, j, which / N, which % N, row, column);
}

static jobs list_jobs(const nn_call *c, bool sums)
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
    if (sums && LINEAR_BIAS(c) && c->in[LINEAR_INPUTS(c) + 1].g)
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
    if (all->tiles > 0)
        launch(gpu_of(c), "linear backward", backward<WIDE, NARROW>, dim3((unsigned)all->tiles),
               WIDE::THREADS, *c, *all);
}

void linear_backward(const nn_call *c)
{
    if (linear_is_big(c)) {
        linear_big_backward(c);
        return;
    }
    bool streamed = is_streamed(c);
    jobs all = list_jobs(c, !streamed);
    if (streamed) apply_slopes(c);
    if (streamed)
        launch_backward<wide_tile, narrow_tile>(c, &all);
    else
        launch_backward<small_tile, small_tile>(c, &all);
}
