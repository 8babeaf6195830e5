/* rows_point.cuh - row steps: element-wise operators and those that move features. `from` and `to`
 * are rows; the threads of a block share their elements. */
#ifndef NN_CUDA_ROWS_POINT_CUH
#define NN_CUDA_ROWS_POINT_CUH

#include "nn/cuda/cuda.cuh"

/* A tensor has fewer than 2^31 numbers per replica, and a division of 64 bits takes five times as
 * long as one of 32. */
typedef unsigned idx;

/* For operators through which no gradient passes: there is no such step. */
#define NO_GRADIENT(name) \
    __device__ static void rows_##name##_back(const nn_call *, int, idx, idx) {}

/* i runs over the elements of rows [from, to), D each. Not unrolled: most threads treat one. */
#define EACH(i, D)                                                                     \
    _Pragma("unroll 1") for (idx i = from * (idx)(D) + threadIdx.x; i < to * (idx)(D); \
                             i += blockDim.x)

__device__ static void rows_activate(const nn_call *c, int r, idx from, idx to)
{
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D) y[i] = act_value(c->attr.i[0], x[i]);
}

__device__ static void rows_activate_back(const nn_call *c, int r, idx from, idx to)
{
    const real *y = nn_v(&c->out, r), *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    EACH(i, c->out.shape.D) NN_PUT(c->in[0].add, g[i], act_slope(c->attr.i[0], y[i], d[i]));
}

/* The place in y of element i of x. */
__device__ static idx repeated(nn_shape y, nn_shape x, idx i)
{
    if (y.D == x.D && y.B == x.B && y.T == x.T) return i;
    idx D = (idx)x.D, row = i / D, column = y.D > 1 ? i - row * D : 0;
    if (y.T == 1)
        row = y.B == 1 ? 0 : row % (idx)x.B;
    else if (y.B == 1)
        row /= (idx)x.B;
    return row * (idx)y.D + column;
}

__device__ static void rows_add(const nn_call *c, int r, idx from, idx to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *x = nn_v(&c->in[0], r), *y = nn_v(&c->in[1], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = x[i] + y[repeated(sy, sx, i)];
}

__device__ static void rows_sub(const nn_call *c, int r, idx from, idx to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *x = nn_v(&c->in[0], r), *y = nn_v(&c->in[1], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = x[i] - y[repeated(sy, sx, i)];
}

__device__ static void rows_broadcast(const nn_call *c, int r, idx from, idx to)
{
    nn_shape sx = c->out.shape, sy = c->in[0].shape;
    const real *y = nn_v(&c->in[0], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = y[repeated(sy, sx, i)];
}

__device__ static void rows_mul(const nn_call *c, int r, idx from, idx to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *x = nn_v(&c->in[0], r), *y = nn_v(&c->in[1], r);
    real *z = nn_v(&c->out, r);
    EACH(i, sx.D) z[i] = x[i] * y[repeated(sy, sx, i)];
}

/* The gradient of y, the last operand, where it repeats along the features at most: times x where
 * there is one, else times `sign`, which is 1 or -1. */
__device__ static void rows_into_y(const nn_call *c, int r, idx from, idx to, const real *x,
                                   real sign)
{
    const nn_tensor *ty = &c->in[c->in_count - 1];
    idx D = (idx)c->out.shape.D;
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(ty, r);
    if (ty->shape.D > 1 || D == 1) {
        EACH(i, D) NN_PUT(ty->add, g[i], d[i] * (x ? x[i] : sign));
        return;
    }
    EACH(row, 1)
    {
        real sum = 0;
        for (idx i = row * D; i < (row + 1) * D; i++) sum += d[i] * (x ? x[i] : sign);
        NN_PUT(ty->add, g[row], sum);
    }
}

/* Whether y has a row for each of z's. */
static __device__ bool rows_agree(const nn_call *c)
{
    nn_shape y = c->in[c->in_count - 1].shape;
    return c->out.shape.T == y.T && c->out.shape.B == y.B;
}

/* Of x + y, or x - y. */
__device__ static void rows_sum_back(const nn_call *c, int r, idx from, idx to, real sign)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    if (c->in[0].g) EACH(i, c->in[0].shape.D) NN_PUT(c->in[0].add, g[i], d[i]);
    __syncthreads(); /* x and y may be the same tensor */
    if (c->in[1].g && rows_agree(c)) rows_into_y(c, r, from, to, NULL, sign);
}

__device__ static void rows_add_back(const nn_call *c, int r, idx from, idx to)
{
    rows_sum_back(c, r, from, to, 1);
}

__device__ static void rows_sub_back(const nn_call *c, int r, idx from, idx to)
{
    rows_sum_back(c, r, from, to, -1);
}

__device__ static void rows_broadcast_back(const nn_call *c, int r, idx from, idx to)
{
    if (rows_agree(c)) rows_into_y(c, r, from, to, NULL, 1);
}

__device__ static void rows_mul_back(const nn_call *c, int r, idx from, idx to)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    const real *y = nn_v(&c->in[1], r), *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    if (c->in[0].g) EACH(i, sx.D) NN_PUT(c->in[0].add, g[i], d[i] * y[repeated(sy, sx, i)]);
    __syncthreads();
    if (c->in[1].g && rows_agree(c)) rows_into_y(c, r, from, to, nn_v(&c->in[0], r), 1);
}

__device__ static void rows_affine(const nn_call *c, int r, idx from, idx to)
{
    real scale = (real)c->attr.f[0], shift = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    EACH(i, c->out.shape.D) y[i] = scale * x[i] + shift;
}

__device__ static void rows_scale_back(const nn_call *c, int r, idx from, idx to, real k)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    EACH(i, c->out.shape.D) NN_PUT(c->in[0].add, g[i], k * d[i]);
}

__device__ static void rows_affine_back(const nn_call *c, int r, idx from, idx to)
{
    rows_scale_back(c, r, from, to, (real)c->attr.f[0]);
}

__device__ static void rows_grad_scale_back(const nn_call *c, int r, idx from, idx to)
{
    rows_scale_back(c, r, from, to, *nn_v(&c->in[1], r));
}

__device__ static void rows_detach(const nn_call *c, int r, idx from, idx to)
{
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D) y[i] = x[i];
}
NO_GRADIENT(detach)

__device__ static void rows_grad_scale(const nn_call *c, int r, idx from, idx to)
{
    rows_detach(c, r, from, to);
}

__device__ static void rows_clip(const nn_call *c, int r, idx from, idx to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    EACH(i, c->out.shape.D)
    {
        real v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
}

__device__ static void rows_clip_back(const nn_call *c, int r, idx from, idx to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *g = nn_g(&c->in[0], r);
    const real *x = nn_v(&c->in[0], r), *d = nn_g(&c->out, r);
    EACH(i, c->out.shape.D)
    NN_PUT(c->in[0].add, g[i], x[i] >= low && x[i] <= high ? d[i] : 0);
}

__device__ static void rows_concat(const nn_call *c, int r, idx from, idx to)
{
    idx width = (idx)c->out.shape.D, at = 0;
    for (int k = 0; k < c->in_count; k++) {
        idx D = (idx)c->in[k].shape.D;
        const real *x = nn_v(&c->in[k], r);
        real *y = nn_v(&c->out, r);
        EACH(i, D) y[i / D * width + at + i % D] = x[i];
        at += D;
    }
}

__device__ static void rows_concat_back(const nn_call *c, int r, idx from, idx to)
{
    idx width = (idx)c->out.shape.D, at = 0;
    const real *d = nn_g(&c->out, r);
    for (int k = 0; k < c->in_count; k++) {
        const nn_tensor *x = &c->in[k];
        idx D = (idx)x->shape.D;
        real *g = nn_g(x, r);
        if (x->g) EACH(i, D) NN_PUT(x->add, g[i], d[i / D * width + at + i % D]);
        at += D;
        __syncthreads();
    }
}

/* A table may have more than 2^32 numbers. */
__device__ static void rows_gather(const nn_call *c, int r, idx from, idx to)
{
    idx D =
        (idx)c->in[0].shape.D; /* rows of the table are joined in those of y: one after the other */
    bool bytes = c->in[0].type == NN_U8;
    const int32_t *at = nn_numbers(&c->in[1], r);
    real *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D)
    {
        int32_t row = at[i / D];
        size_t k = (size_t)(row < 0 ? 0 : row) * D + i % D;
        real x = bytes ? (real)nn_bytes(&c->in[0], r)[k] : nn_v(&c->in[0], r)[k];
        y[i] = row < 0 ? 0 : x;
    }
}
NO_GRADIENT(gather)

__device__ static void rows_slice(const nn_call *c, int r, idx from, idx to)
{
    idx D = (idx)c->in[0].shape.D, n = (idx)c->out.shape.D, at = (idx)c->attr.i[0];
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    EACH(i, n) y[i] = x[i / n * D + at + i % n];
}

__device__ static void rows_slice_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D, n = (idx)c->out.shape.D, at = (idx)c->attr.i[0];
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(x, r);
    if (x->add) {
        EACH(i, n) g[i / n * D + at + i % n] += d[i];
        return;
    }
    EACH(i, D)
    {
        idx j = i % D;
        g[i] = j >= at && j < at + n ? d[i / D * n + j - at] : 0;
    }
}

__device__ static idx smallest(const real *x, idx D)
{
    idx best = 0;
    for (idx j = 1; j < D; j++)
        if (x[j] < x[best]) best = j;
    return best;
}

__device__ static void rows_min(const nn_call *c, int r, idx from, idx to)
{
    idx D = (idx)c->in[0].shape.D;
    real *y = nn_v(&c->out, r);
    EACH(row, 1)
    {
        const real *x = nn_v(&c->in[0], r) + row * D;
        y[row] = x[smallest(x, D)];
    }
}

__device__ static void rows_min_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D;
    EACH(row, 1)
    {
        real d = nn_g(&c->out, r)[row], *g = nn_g(x, r) + row * D;
        idx best = smallest(nn_v(x, r) + row * D, D);
        for (idx j = 0; j < D; j++) NN_PUT(x->add, g[j], j == best ? d : 0);
    }
}

__device__ static void rows_norm(const nn_call *c, int r, idx from, idx to)
{
    idx D = (idx)c->in[0].shape.D;
    real *y = nn_v(&c->out, r);
    EACH(row, 1)
    {
        const real *x = nn_v(&c->in[0], r) + row * D;
        real sum = 0;
        for (idx j = 0; j < D; j++) sum += x[j] * x[j];
        y[row] = nn_sqrt(sum);
    }
}

__device__ static void rows_norm_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D;
    EACH(row, 1)
    {
        const real *v = nn_v(x, r) + row * D;
        real length = nn_v(&c->out, r)[row], *g = nn_g(x, r) + row * D;
        real k = length > 0 ? nn_g(&c->out, r)[row] / length : 0;
        for (idx j = 0; j < D; j++) NN_PUT(x->add, g[j], k * v[j]);
    }
}

__device__ static void rows_td_target(const nn_call *c, int r, idx from, idx to)
{
    const real *reward = nn_v(&c->in[0], r), *end = nn_v(&c->in[1], r), *q = nn_v(&c->in[2], r);
    const real *logp = nn_v(&c->in[3], r), *discount = nn_v(&c->in[5], r);
    real temp = *nn_v(&c->in[4], r), *y = nn_v(&c->out, r);
    bool one = nn_rows(c->in[5].shape) == 1; /* for all rows */
    EACH(i, 1)
    y[i] = reward[i] + discount[one ? 0 : i] * (1 - end[i]) * (q[i] - temp * logp[i]);
}
NO_GRADIENT(td_target)

#endif
