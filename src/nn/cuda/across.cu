/* across.cu - operators in which rows meet: gradients of repeated operands, shifts in time, means
 * over it, partners, masks folded into weights. */
#include "nn/cuda/cuda.cuh"
#include "nn/cuda/rows_point.cuh"
#include "nn/frames.h"

enum { THREADS = 256 };

/* ---- the gradient of a repeated operand ------------------------------------------------------ */

/* One block per element of y, the last operand: all elements of z that it stands for, in a fixed
 * order; times x, or else times `sign`. */
__global__ static void sum_repeats(const __grid_constant__ nn_call c, bool times_x, double sign)
{
    await_previous();
    const nn_tensor *ty = &c.in[c.in_count - 1];
    nn_shape x = c.out.shape, y = ty->shape;
    int r = (int)blockIdx.y;
    size_t e = blockIdx.x, D = (size_t)y.D, b = e / D % (size_t)y.B, t = e / D / (size_t)y.B;
    size_t nt = y.T > 1 ? 1 : (size_t)x.T, nb = y.B > 1 ? 1 : (size_t)x.B;
    size_t nd = y.D > 1 ? 1 : (size_t)x.D, n = nt * nb * nd;
    const real *d = nn_g(&c.out, r), *v = nn_v(&c.in[0], r);
    double sum = 0;
    for (size_t k = threadIdx.x; k < n; k += THREADS) {
        size_t kd = k % nd, kb = k / nd % nb, kt = k / nd / nb;
        size_t row = (t + kt) * (size_t)x.B + b + kb, i = row * (size_t)x.D + e % D + kd;
        sum += times_x ? (double)(d[i] * v[i]) : sign * (double)d[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) NN_PUT(ty->add, nn_g(ty, r)[e], (real)sum);
}

static void sum_into_y(const nn_call *c, bool times_x, double sign)
{
    dim3 grid((unsigned)nn_size(c->in[c->in_count - 1].shape), (unsigned)c->replicas);
    launch(gpu_of(c), "repeated operand", sum_repeats, grid, THREADS, *c, times_x, sign);
}

void add_backward(const nn_call *c)
{
    if (c->in[0].g) run_row_step(c, NN_OP_add, true);
    sum_into_y(c, false, 1);
}

void sub_backward(const nn_call *c)
{
    if (c->in[0].g) run_row_step(c, NN_OP_sub, true);
    sum_into_y(c, false, -1);
}

void mul_backward(const nn_call *c)
{
    if (c->in[0].g) run_row_step(c, NN_OP_mul, true);
    sum_into_y(c, true, 1);
}

void broadcast_backward(const nn_call *c)
{
    sum_into_y(c, false, 1);
}

/* ---- shift: y_t = x_{t-1} -------------------------------------------------------------------- */

__global__ static void shift_on(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t step = (size_t)c.out.shape.B * (size_t)c.out.shape.D, all = nn_size(c.out.shape);
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= all) return;
    const real *x = nn_v(&c.in[0], r);
    nn_v(&c.out, r)[i] = i >= step ? x[i - step] : c.in_count > 1 ? nn_v(&c.in[1], r)[i] : (real)0;
}

__global__ static void shift_back(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    const nn_tensor *x = &c.in[0], *first = &c.in[1];
    size_t step = (size_t)c.out.shape.B * (size_t)c.out.shape.D, all = nn_size(c.out.shape);
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= all) return;
    const real *d = nn_g(&c.out, r);
    if (x->g) {
        real flows = i < all - step ? d[step + i] : (real)0;
        NN_PUT(x->add, nn_g(x, r)[i], flows);
    }
    if (c.in_count > 1 && first->g && i < step) NN_PUT(first->add, nn_g(first, r)[i], d[i]);
}

static dim3 elements(const nn_call *c)
{
    return dim3(blocks_of(nn_size(c->out.shape), THREADS), (unsigned)c->replicas);
}

void shift_forward(const nn_call *c)
{
    launch(gpu_of(c), "shift", shift_on, elements(c), THREADS, *c);
}

void shift_backward(const nn_call *c)
{
    launch(gpu_of(c), "shift backward", shift_back, elements(c), THREADS, *c);
}

/* ---- hold: y_t = x_t where it counts, else y_{t-1} ------------------------------------------- */

/* One thread per column of the B · D that every step has. */
__global__ static void hold_on(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k >= step) return;
    const real *x = nn_v(&c.in[0], r), *when = nn_v(&c.in[1], r);
    real held = 0, *y = nn_v(&c.out, r);
    for (size_t t = 0; t < (size_t)c.out.shape.T; t++) {
        if (when[t * B + k / D] != 0) held = x[t * step + k];
        y[t * step + k] = held;
    }
}

__global__ static void hold_back(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k >= step) return;
    const nn_tensor *x = &c.in[0];
    const real *d = nn_g(&c.out, r), *when = nn_v(&c.in[1], r);
    real held = 0;
    for (size_t t = (size_t)c.out.shape.T; t-- > 0;) {
        bool taken = when[t * B + k / D] != 0;
        held += d[t * step + k];
        NN_PUT(x->add, nn_g(x, r)[t * step + k], taken ? held : (real)0);
        if (taken) held = 0;
    }
}

static dim3 step_columns(const nn_call *c)
{
    size_t step = (size_t)c->out.shape.B * (size_t)c->out.shape.D;
    return dim3(blocks_of(step, THREADS), (unsigned)c->replicas);
}

void hold_forward(const nn_call *c)
{
    launch(gpu_of(c), "hold", hold_on, step_columns(c), THREADS, *c);
}

void hold_backward(const nn_call *c)
{
    if (c->in[0].g) launch(gpu_of(c), "hold backward", hold_back, step_columns(c), THREADS, *c);
}

/* ---- frames: pictures of a table, as planes -------------------------------------------------- */

__device__ static int within(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* One thread per number of y. A table may have more than 2^32 numbers. */
__global__ static void frames_on(const __grid_constant__ nn_call c)
{
    await_previous();
    frames_geometry g = frames_of(&c.attr);
    int r = (int)blockIdx.y;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    size_t D = (size_t)c.in[0].shape.D, area = (size_t)g.height * (size_t)g.width;
    if (i >= nn_size(c.out.shape)) return;
    size_t frame = i / D, plane = i % D / area;
    int y = (int)(i % area) / g.width, x = (int)(i % area) % g.width;
    int row = nn_numbers(&c.in[1], r)[frame];
    if (c.in_count > 2) {
        const int32_t *shift = nn_numbers(&c.in[2], r) + frame / (size_t)c.in[1].shape.D * 2;
        y = within(y + shift[0] - g.pad, g.height);
        x = within(x + shift[1] - g.pad, g.width);
    }
    size_t pixel = plane / FRAMES_CHANNELS * area + (size_t)(y * g.width + x);
    size_t from =
        (size_t)(row < 0 ? 0 : row) * D + pixel * FRAMES_CHANNELS + plane % FRAMES_CHANNELS;
    nn_v(&c.out, r)[i] = row < 0 ? 0 : frames_value(nn_bytes(&c.in[0], r)[from]);
}

void frames_forward(const nn_call *c)
{
    launch(gpu_of(c), "frames", frames_on, elements(c), THREADS, *c);
}

/* A table is data. */
void frames_backward(const nn_call *c)
{
    (void)c;
}

/* ---- pick: y_k = x_t, t = at_k --------------------------------------------------------------- */

__global__ static void pick_on(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= (size_t)c.out.shape.T * step) return;
    int32_t t = nn_numbers(&c.in[1], r)[i / step * B + i % step / D];
    nn_v(&c.out, r)[i] = t < 0 ? (real)0 : nn_v(&c.in[0], r)[(size_t)t * step + i % step];
}

/* One thread per column: what was picked twice is added up in order. */
__global__ static void pick_back(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= step) return;
    const nn_tensor *x = &c.in[0];
    const real *d = nn_g(&c.out, r);
    const int32_t *at = nn_numbers(&c.in[1], r);
    real *g = nn_g(x, r);
    for (size_t t = 0; !x->add && t < (size_t)x->shape.T; t++) g[t * step + i] = 0;
    for (size_t k = 0; k < (size_t)c.out.shape.T; k++) {
        int32_t t = at[k * B + i / D];
        if (t >= 0) g[(size_t)t * step + i] += d[k * step + i];
    }
}

void pick_forward(const nn_call *c)
{
    launch(gpu_of(c), "pick", pick_on, elements(c), THREADS, *c);
}

void pick_backward(const nn_call *c)
{
    launch(gpu_of(c), "pick backward", pick_back, step_columns(c), THREADS, *c);
}

/* ---- pool: y = Σ_t w_t x_t / Σ_t w_t --------------------------------------------------------- */

/* 1 / Σ_t w[t, b], or 0. */
__device__ static real pool_share(const nn_call &c, int r, size_t b)
{
    const real *w = nn_v(&c.in[1], r) + b;
    size_t B = (size_t)c.out.shape.B;
    real sum = 0;
    for (size_t t = 0; t < (size_t)c.in[0].shape.T; t++) sum += w[t * B];
    return sum > 0 ? 1 / sum : 0;
}

/* One thread per column of the B · D that every step has. */
__global__ static void pool_on(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= step) return;
    const real *x = nn_v(&c.in[0], r), *w = nn_v(&c.in[1], r);
    real sum = 0, k = pool_share(c, r, i / D);
    for (size_t t = 0; t < (size_t)c.in[0].shape.T; t++)
        sum += w[t * B + i / D] * k * x[t * step + i];
    nn_v(&c.out, r)[i] = sum;
}

__global__ static void pool_back(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t B = (size_t)c.out.shape.B, D = (size_t)c.out.shape.D, step = B * D;
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i >= step) return;
    const nn_tensor *x = &c.in[0];
    const real *w = nn_v(&c.in[1], r);
    real d = nn_g(&c.out, r)[i], k = pool_share(c, r, i / D);
    for (size_t t = 0; t < (size_t)x->shape.T; t++)
        NN_PUT(x->add, nn_g(x, r)[t * step + i], w[t * B + i / D] * k * d);
}

void pool_forward(const nn_call *c)
{
    launch(gpu_of(c), "pool", pool_on, elements(c), THREADS, *c);
}

void pool_backward(const nn_call *c)
{
    launch(gpu_of(c), "pool backward", pool_back, elements(c), THREADS, *c);
}

/* ---- roll: y_i = x_{i+1} --------------------------------------------------------------------- */

__global__ static void roll_on(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t D = (size_t)c.out.shape.D, all = nn_size(c.out.shape);
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < all) nn_v(&c.out, r)[i] = nn_v(&c.in[0], r)[(i + D) % all];
}

__global__ static void roll_back(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    const nn_tensor *x = &c.in[0];
    size_t D = (size_t)c.out.shape.D, all = nn_size(c.out.shape);
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < all) NN_PUT(x->add, nn_g(x, r)[i], nn_g(&c.out, r)[(i + all - D) % all]);
}

void roll_forward(const nn_call *c)
{
    launch(gpu_of(c), "roll", roll_on, elements(c), THREADS, *c);
}

void roll_backward(const nn_call *c)
{
    launch(gpu_of(c), "roll backward", roll_back, elements(c), THREADS, *c);
}

/* ---- fold_mask: W'[k·H + h] = C[k] W[k·H + h] ------------------------------------------------ */

__global__ static void fold(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t H = (size_t)(c.in[0].shape.D / c.in[1].shape.D), all = nn_size(c.out.shape);
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < all) nn_v(&c.out, r)[i] = nn_v(&c.in[1], r)[i / H] * nn_v(&c.in[0], r)[i];
}

/* One warp per entry of the mask. */
__global__ static void fold_back(const __grid_constant__ nn_call c)
{
    await_previous();
    const nn_tensor *tW = &c.in[0], *tC = &c.in[1];
    int r = (int)blockIdx.y, lane = (int)threadIdx.x % 32;
    size_t H = (size_t)(tW->shape.D / tC->shape.D);
    size_t k = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32;
    if (k >= nn_size(tC->shape)) return;
    const real *W = nn_v(tW, r) + k * H, *d = nn_g(&c.out, r) + k * H;
    real scale = nn_v(tC, r)[k], dot = 0, *g = tW->g ? nn_g(tW, r) + k * H : NULL;
    for (size_t h = (size_t)lane; h < H; h += 32) {
        dot += d[h] * W[h];
        if (g) NN_PUT(tW->add, g[h], scale * d[h]);
    }
    for (int s = 16; s > 0; s /= 2) dot += __shfl_xor_sync(~0u, dot, s);
    if (tC->g && lane == 0) NN_PUT(tC->add, nn_g(tC, r)[k], dot);
}

void fold_mask_forward(const nn_call *c)
{
    launch(gpu_of(c), "fold_mask", fold, elements(c), THREADS, *c);
}

void fold_mask_backward(const nn_call *c)
{
    dim3 grid(blocks_of(nn_size(c->in[1].shape), THREADS / 32), (unsigned)c->replicas);
    launch(gpu_of(c), "fold_mask backward", fold_back, grid, THREADS, *c);
}
