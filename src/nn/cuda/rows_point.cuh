/* rows_point.cuh - row steps: element-wise operators and those that move features. `from` and `to`
 * are rows; the threads of a block share their elements. */
#ifndef NN_CUDA_ROWS_POINT_CUH
#define NN_CUDA_ROWS_POINT_CUH

#include "nn/broadcast.h"
#include "nn/cuda/cuda.cuh"

/* i runs over the elements of rows [from, to), D each. Not unrolled: most threads treat one. */
#define EACH(i, D)                                                                              \
    _Pragma("unroll 1") for (size_t i = from * (size_t)(D) + threadIdx.x; i < to * (size_t)(D); \
                             i += blockDim.x)

__device__ static void rows_activate(const nn_call *c, int r, size_t from, size_t to)
{
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D) y[i] = act_value(c->attr.i[0], x[i]);
}

__device__ static void rows_activate_back(const nn_call *c, int r, size_t from, size_t to)
{
    const real *y = nn_v(&c->out, r), *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    EACH(i, c->out.shape.D) NN_PUT(c->in[0].add, g[i], act_slope(c->attr.i[0], y[i], d[i]));
}

/* The place in y of element i of x. */
__device__ static size_t repeated(nn_shape y, nn_shape x, size_t i)
{
    size_t D = (size_t)x.D;
    return broadcast_row(y, x, i / D) + i % D * broadcast_step(y);
}

__device__ static void rows_add(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *x = nn_v(&c->in[0], r), *y = nn_v(&c->in[1], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = x[i] + y[repeated(sy, sx, i)];
}

__device__ static void rows_mul(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *x = nn_v(&c->in[0], r), *y = nn_v(&c->in[1], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = x[i] * y[repeated(sy, sx, i)];
}

/* The gradient of y where it repeats along the features at most; with `x`, times that. */
__device__ static void rows_into_y(const nn_call *c, int r, size_t from, size_t to, const real *x)
{
    const nn_tensor *ty = &c->in[1];
    size_t D = (size_t)c->in[0].shape.D, step = broadcast_step(ty->shape);
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(ty, r);
    if (step || D == 1) {
        EACH(i, D) NN_PUT(ty->add, g[i], x ? d[i] * x[i] : d[i]);
        return;
    }
    EACH(row, 1)
    {
        real sum = 0;
        for (size_t i = row * D; i < (row + 1) * D; i++) sum += x ? d[i] * x[i] : d[i];
        NN_PUT(ty->add, g[row], sum);
    }
}

static __device__ bool rows_agree(const nn_call *c)
{
    return c->in[0].shape.T == c->in[1].shape.T && c->in[0].shape.B == c->in[1].shape.B;
}

__device__ static void rows_add_back(const nn_call *c, int r, size_t from, size_t to)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    if (c->in[0].g) EACH(i, c->in[0].shape.D) NN_PUT(c->in[0].add, g[i], d[i]);
    __syncthreads(); /* x and y may be the same tensor */
    if (c->in[1].g && rows_agree(c)) rows_into_y(c, r, from, to, NULL);
}

__device__ static void rows_mul_back(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *y = nn_v(&c->in[1], r), *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    if (c->in[0].g) EACH(i, sx.D) NN_PUT(c->in[0].add, g[i], d[i] * y[repeated(sy, sx, i)]);
    __syncthreads();
    if (c->in[1].g && rows_agree(c)) rows_into_y(c, r, from, to, nn_v(&c->in[0], r));
}

__device__ static void rows_affine(const nn_call *c, int r, size_t from, size_t to)
{
    real scale = (real)c->attr.f[0], shift = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    EACH(i, c->out.shape.D) y[i] = scale * x[i] + shift;
}

__device__ static void rows_scale_back(const nn_call *c, int r, size_t from, size_t to, real k)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    EACH(i, c->out.shape.D) NN_PUT(c->in[0].add, g[i], k * d[i]);
}

__device__ static void rows_copy(const nn_call *c, int r, size_t from, size_t to)
{
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D) y[i] = x[i];
}

__device__ static void rows_clip(const nn_call *c, int r, size_t from, size_t to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    EACH(i, c->out.shape.D)
    {
        real v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
}

__device__ static void rows_clip_back(const nn_call *c, int r, size_t from, size_t to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *g = nn_g(&c->in[0], r);
    const real *x = nn_v(&c->in[0], r), *d = nn_g(&c->out, r);
    EACH(i, c->out.shape.D)
    NN_PUT(c->in[0].add, g[i], x[i] >= low && x[i] <= high ? d[i] : 0);
}

__device__ static void rows_concat(const nn_call *c, int r, size_t from, size_t to)
{
    size_t width = (size_t)c->out.shape.D, at = 0;
    for (int k = 0; k < c->in_count; k++) {
        size_t D = (size_t)c->in[k].shape.D;
        const real *x = nn_v(&c->in[k], r);
        real *y = nn_v(&c->out, r);
        EACH(i, D) y[i / D * width + at + i % D] = x[i];
        at += D;
    }
}

__device__ static void rows_concat_back(const nn_call *c, int r, size_t from, size_t to)
{
    size_t width = (size_t)c->out.shape.D, at = 0;
    const real *d = nn_g(&c->out, r);
    for (int k = 0; k < c->in_count; k++) {
        const nn_tensor *x = &c->in[k];
        size_t D = (size_t)x->shape.D;
        real *g = nn_g(x, r);
        if (x->g) EACH(i, D) NN_PUT(x->add, g[i], d[i / D * width + at + i % D]);
        at += D;
        __syncthreads();
    }
}

__device__ static void rows_gather(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->out.shape.D;
    const real *table = nn_v(&c->in[0], r), *at = nn_v(&c->in[1], r);
    real *y = nn_v(&c->out, r);
    EACH(i, D) y[i] = table[(size_t)at[i / D] * D + i % D];
}

__device__ static void rows_slice(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->in[0].shape.D, n = (size_t)c->out.shape.D, at = (size_t)c->attr.i[0];
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, n) y[i] = x[i / n * D + at + i % n];
}

__device__ static void rows_slice_back(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D, n = (size_t)c->out.shape.D, at = (size_t)c->attr.i[0];
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(x, r);
    if (x->add) {
        EACH(i, n) g[i / n * D + at + i % n] += d[i];
        return;
    }
    EACH(i, D)
    {
        size_t j = i % D;
        g[i] = j >= at && j < at + n ? d[i / D * n + j - at] : 0;
    }
}

__device__ static size_t smallest(const real *x, size_t D)
{
    size_t best = 0;
    for (size_t j = 1; j < D; j++)
        if (x[j] < x[best]) best = j;
    return best;
}

__device__ static void rows_min(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->in[0].shape.D;
    real *y = nn_v(&c->out, r);
    EACH(row, 1)
    {
        const real *x = nn_v(&c->in[0], r) + row * D;
        y[row] = x[smallest(x, D)];
    }
}

__device__ static void rows_min_back(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D;
    EACH(row, 1)
    {
        real d = nn_g(&c->out, r)[row], *g = nn_g(x, r) + row * D;
        size_t best = smallest(nn_v(x, r) + row * D, D);
        for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], j == best ? d : 0);
    }
}

__device__ static void rows_td_target(const nn_call *c, int r, size_t from, size_t to)
{
    const real *reward = nn_v(&c->in[0], r), *end = nn_v(&c->in[1], r), *q = nn_v(&c->in[2], r);
    const real *logp = nn_v(&c->in[3], r);
    real temp = *nn_v(&c->in[4], r), discount = *nn_v(&c->in[5], r), *y = nn_v(&c->out, r);
    EACH(i, 1) y[i] = reward[i] + discount * (1 - end[i]) * (q[i] - temp * logp[i]);
}

#endif
