/* linear.cu - y = act(x W + b), for a bank of N members and all replicas.
 *
 * Small products (few rows) go through kernels of our own: joined inputs are read where they lie,
 * bias and activation are applied on writing, slopes on reading, and all of a layer's gradients
 * (weights, bias, every wanted input) are tiles of one kernel. Large ones (linear_big.cu) go
 * through cuBLAS. */
#include "nn/cuda/linear.cuh"
#include "nn/cuda/tile.cuh"

/* ---- forward --------------------------------------------------------------------------------- */

/* Joined inputs, read where they lie; a bank has but one. */
struct joined {
    enum { along = true };
    typedef float4 raw;
    const nn_call *c;
    int r;
    __device__ float4 ready(const raw &v) const { return v; }
    __device__ bool whole(int, int) const { return false; }
    /* NULL outside */
    __device__ const float *place(int row, int k, int rows, int depth) const
    {
        int i = 0;
        if (row >= rows || k >= depth) return NULL;
        while (k >= c->in[i].shape.D) k -= c->in[i++].shape.D;
        return nn_v(&c->in[i], r) + (size_t)row * (size_t)c->in[i].shape.D + (size_t)k;
    }
    template <bool WHOLE> __device__ raw quad(int row, int k, int rows, int depth) const
    {
        const float *p[4];
        for (int j = 0; j < 4; j++) p[j] = place(row, k + j, rows, depth);
        return {p[0] ? *p[0] : 0, p[1] ? *p[1] : 0, p[2] ? *p[2] : 0, p[3] ? *p[3] : 0};
    }
};

struct finished {
    const nn_call *c;
    int r, first; /* column of y */
    __device__ void operator()(int row, int column, float sum) const
    {
        size_t width = (size_t)c->out.shape.D, at = (size_t)(first + column);
        if (LINEAR_BIAS(c)) sum += nn_v(&c->in[LINEAR_INPUTS(c) + 1], r)[at];
        nn_v(&c->out, r)[(size_t)row * width + at] = act_value(LINEAR_ACT(c), sum);
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
    size_t one = (size_t)inputs * (size_t)outputs;
    matrix<false> b(nn_v(W, r) + (size_t)member * one, outputs);
    matrix<true> a(nn_v(&c.in[0], r) + (size_t)(member * inputs), c.in[0].shape.D);
    finished out = {&c, r, member * outputs};
    __shared__ typename TILE::memory mem;
    int row = (int)blockIdx.y * TILE::HEIGHT, column = (int)blockIdx.x * TILE::WIDTH;
    if (LINEAR_INPUTS(&c) == 1)
        TILE::run(mem, row, column, rows, outputs, 0, inputs, a, b, out);
    else
        TILE::run(mem, row, column, rows, outputs, 0, inputs, joined{&c, r}, b, out);
}

/* Whether tiles of 64 × 64 would keep the GPU busy. */
static bool many(const gpu *self, int m, int n, int count)
{
    return (long)((m + 63) / 64) * ((n + 63) / 64) * count >= self->processors;
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
    nn_shape W = c->in[LINEAR_INPUTS(c)].shape;
    int rows = (int)nn_rows(c->out.shape);
    if (linear_is_big(c))
        linear_big_forward(c);
    else if (many(gpu_of(c), rows, W.D, W.T * c->replicas))
        launch_forward<medium_tile>(c);
    else
        launch_forward<small_tile>(c);
}

/* ---- backward: all gradients of a layer are tiles of one kernel ------------------------------ */

/* A kind of gradient: dW of input k, dx of input k, or the bias; and its tiles. */
typedef struct job {
    enum { WEIGHTS, INPUT, BIAS } kind;
    int k, first; /* which input, and its first row in W */
    int m, n;
    int row_tiles, column_tiles, tiles; /* of one member and replica; of all */
} job;

typedef struct jobs {
    job list[2 * NN_MOST_INPUTS];
    int count, tiles;
} jobs;

template <class TILE>
__device__ static void weights(typename TILE::memory &mem, const nn_call &c, const job &j, int r,
                               int member, int row, int column)
{
    const nn_tensor *W = &c.in[LINEAR_INPUTS(&c)], *x = &c.in[j.k];
    int N = W->shape.T, outputs = W->shape.D, width = c.out.shape.D;
    size_t at = ((size_t)member * (size_t)W->shape.B + (size_t)j.first) * (size_t)outputs;
    size_t own = (size_t)member * (size_t)(x->shape.D / N), to = (size_t)(member * outputs);
    matrix<false> a(nn_v(x, r) + own, x->shape.D);
    sloped<false> b(nn_g(&c.out, r) + to, nn_v(&c.out, r) + to, width, LINEAR_ACT(&c));
    into out = {nn_g(W, r) + at, outputs, W->add};
    TILE::run(mem, row, column, j.m, j.n, 0, (int)nn_rows(c.out.shape), a, b, out);
}

template <class TILE>
__device__ static void input(typename TILE::memory &mem, const nn_call &c, const job &j, int r,
                             int member, int row, int column)
{
    const nn_tensor *W = &c.in[LINEAR_INPUTS(&c)], *x = &c.in[j.k];
    int N = W->shape.T, outputs = W->shape.D, width = c.out.shape.D;
    size_t at = ((size_t)member * (size_t)W->shape.B + (size_t)j.first) * (size_t)outputs;
    size_t own = (size_t)member * (size_t)(x->shape.D / N), to = (size_t)(member * outputs);
    sloped<true> a(nn_g(&c.out, r) + to, nn_v(&c.out, r) + to, width, LINEAR_ACT(&c));
    matrix<true> b(nn_v(W, r) + at, outputs);
    into out = {nn_g(x, r) + own, x->shape.D, x->add};
    TILE::run(mem, row, column, j.m, j.n, 0, outputs, a, b, out);
}

/* Sums of columns: 32 of them per block, its warps taking turns at the rows. */
template <class TILE> __device__ static void bias(const nn_call &c, int r, int column)
{
    __shared__ float part[TILE::THREADS];
    const nn_tensor *b = &c.in[LINEAR_INPUTS(&c) + 1];
    int lane_of = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, width = c.out.shape.D;
    size_t rows = nn_rows(c.out.shape), at = (size_t)(column + lane_of);
    const float *d = nn_g(&c.out, r), *y = nn_v(&c.out, r);
    float sum = 0;
    for (size_t i = (size_t)warp; column + lane_of < width && i < rows; i += TILE::THREADS / 32) {
        size_t e = i * (size_t)width + at;
        sum += LINEAR_ACT(&c) == NN_LINEAR ? d[e] : act_slope(LINEAR_ACT(&c), y[e], d[e]);
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (warp > 0 || column + lane_of >= width) return;
    sum = 0;
    for (int w = 0; w < TILE::THREADS / 32; w++) sum += part[w * 32 + lane_of];
    NN_PUT(b->add, nn_g(b, r)[at], sum);
}

template <class TILE>
__global__ void __launch_bounds__(TILE::THREADS, TILE::RESIDENT)
    backward(const __grid_constant__ nn_call c, const __grid_constant__ jobs all)
{
    await_previous();
    __shared__ typename TILE::memory mem;
    int i = 0, item = (int)blockIdx.x;
    while (item >= all.list[i].tiles) item -= all.list[i++].tiles;
    const job &j = all.list[i];
    int column = item % j.column_tiles, row = item / j.column_tiles % j.row_tiles;
    int which = item / j.column_tiles / j.row_tiles, N = c.in[LINEAR_INPUTS(&c)].shape.T;
    if (j.kind == job::BIAS)
        bias<TILE>(c, which, column * 32);
    else if (j.kind == job::WEIGHTS)
        weights<TILE>(mem, c, j, which / N, which % N, row * TILE::HEIGHT, column * TILE::WIDTH);
    else
        input<TILE>(mem, c, j, which / N, which % N, row * TILE::HEIGHT, column * TILE::WIDTH);
}

static jobs list_jobs(const nn_call *c)
{
    jobs all = {};
    const nn_tensor *W = &c->in[LINEAR_INPUTS(c)];
    int rows = (int)nn_rows(c->out.shape), N = W->shape.T;
    for (int k = 0, first = 0; k < LINEAR_INPUTS(c); k++) {
        int D = c->in[k].shape.D / N;
        if (W->g) all.list[all.count++] = {job::WEIGHTS, k, first, D, W->shape.D, 0, 0, 0};
        if (c->in[k].g) all.list[all.count++] = {job::INPUT, k, first, rows, D, 0, 0, 0};
        first += D;
    }
    if (LINEAR_BIAS(c) && c->in[LINEAR_INPUTS(c) + 1].g)
        all.list[all.count++] = {job::BIAS, 0, 0, 0, c->out.shape.D, 0, 0, 0};
    return all;
}

template <class TILE> static void launch_backward(const nn_call *c, jobs *all)
{
    int N = c->in[LINEAR_INPUTS(c)].shape.T;
    for (int i = 0; i < all->count; i++) {
        job *j = &all->list[i];
        bool sums = j->kind == job::BIAS;
        j->row_tiles = sums ? 1 : (j->m + TILE::HEIGHT - 1) / TILE::HEIGHT;
        j->column_tiles = sums ? (j->n + 31) / 32 : (j->n + TILE::WIDTH - 1) / TILE::WIDTH;
        j->tiles = j->row_tiles * j->column_tiles * c->replicas * (sums ? 1 : N);
        all->tiles += j->tiles;
    }
    if (all->tiles > 0)
        launch(gpu_of(c), "linear backward", backward<TILE>, dim3((unsigned)all->tiles),
               TILE::THREADS, *c, *all);
}

void linear_backward(const nn_call *c)
{
    if (linear_is_big(c)) {
        linear_big_backward(c);
        return;
    }
    jobs all = list_jobs(c);
    bool busy = false;
    for (int i = 0; i < all.count; i++)
        busy = busy || many(gpu_of(c), all.list[i].m, all.list[i].n,
                            c->replicas * c->in[LINEAR_INPUTS(c)].shape.T);
    if (busy)
        launch_backward<medium_tile>(c, &all);
    else
        launch_backward<small_tile>(c, &all);
}
