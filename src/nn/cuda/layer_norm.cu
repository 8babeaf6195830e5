/* layer_norm.cu - rows with mean 0 and variance 1: ops/layer_norm.c has the equations.
 *
 * A warp takes one member of one row. On the way back some blocks find dx, and others, beside them,
 * the sums over rows for gains and shifts: both read dy, so slopes are not applied in place. */
#include "nn/cuda/cuda.cuh"

enum { WARPS = 8, THREADS = 32 * WARPS };
static const float EPS = 1e-5f;

#define ACT(c)     ((c).attr.i[0])
#define MEMBERS(c) ((c).in[1].shape.T)
#define WIDTH(c)   ((c).in[1].shape.D)

__device__ static float warp_sum(float x)
{
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    return x;
}

/* ---- forward --------------------------------------------------------------------------------- */

__global__ static void __launch_bounds__(THREADS) normalise(const __grid_constant__ nn_call c)
{
    await_previous();
    int r = (int)blockIdx.y, D = WIDTH(c), lane = (int)threadIdx.x % 32;
    size_t i = blockIdx.x * (size_t)WARPS + threadIdx.x / 32;
    if (i >= nn_rows(c.out.shape) * (size_t)MEMBERS(c)) return;
    size_t member = i % (size_t)MEMBERS(c) * (size_t)D;
    const float *x = nn_v(&c.in[0], r) + i * (size_t)D;
    const float *gain = nn_v(&c.in[1], r) + member, *shift = nn_v(&c.in[2], r) + member;
    float *y = nn_v(&c.out, r) + i * (size_t)D, *stats = nn_scratch(&c, r) + 2 * i;
    float sum = 0, squares = 0;
#pragma unroll 8
    for (int j = lane; j < D; j += 32) sum += x[j];
    float mean = warp_sum(sum) / (float)D;
#pragma unroll 8
    for (int j = lane; j < D; j += 32) squares += (x[j] - mean) * (x[j] - mean);
    float scale = 1 / sqrtf(warp_sum(squares) / (float)D + EPS);
#pragma unroll 8
    for (int j = lane; j < D; j += 32)
        y[j] = act_value(ACT(c), (x[j] - mean) * scale * gain[j] + shift[j]);
    if (lane == 0) stats[0] = mean;
    if (lane == 1) stats[1] = scale;
}

static unsigned row_blocks(const nn_call *c)
{
    return blocks_of(nn_rows(c->out.shape) * (size_t)MEMBERS(*c), WARPS);
}

void layer_norm_forward(const nn_call *c)
{
    launch(gpu_of(c), "layer norm", normalise, dim3(row_blocks(c), (unsigned)c->replicas), THREADS,
           *c);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient before the activation. */
__device__ static float before_act(const nn_call &c, const float *y, const float *dy, size_t j)
{
    return ACT(c) == NN_LINEAR ? dy[j] : act_slope(ACT(c), y[j], dy[j]);
}

__device__ static void input_gradient(const nn_call &c, int r, size_t i)
{
    int D = WIDTH(c), lane = (int)threadIdx.x % 32;
    if (i >= nn_rows(c.out.shape) * (size_t)MEMBERS(c)) return;
    size_t at = i * (size_t)D, member = i % (size_t)MEMBERS(c) * (size_t)D;
    const float *x = nn_v(&c.in[0], r) + at, *gain = nn_v(&c.in[1], r) + member;
    const float *y = nn_v(&c.out, r) + at, *dy = nn_g(&c.out, r) + at;
    const float *stats = nn_scratch(&c, r) + 2 * i;
    float mean = stats[0], scale = stats[1], sum = 0, along = 0;
#pragma unroll 8
    for (int j = lane; j < D; j += 32) {
        float d = gain[j] * before_act(c, y, dy, (size_t)j);
        sum += d;
        along += d * (x[j] - mean);
    }
    sum = warp_sum(sum) / (float)D;
    along = warp_sum(along) * scale * scale / (float)D;
    float *g = nn_g(&c.in[0], r) + at;
#pragma unroll 8
    for (int j = lane; j < D; j += 32) {
        float d = gain[j] * before_act(c, y, dy, (size_t)j);
        NN_PUT(c.in[0].add, g[j], (d - sum - (x[j] - mean) * along) * scale);
    }
}

/* Gains and shifts of 32 columns, of all members side by side; the warps take turns at the rows. */
__device__ static void column_sums(const nn_call &c, int r, int first)
{
    __shared__ float part[2][THREADS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, width = c.out.shape.D;
    int at = first + lane, rows = at < width ? (int)nn_rows(c.out.shape) : 0;
    int N = MEMBERS(c), member = at / WIDTH(c);
    const float *x = nn_v(&c.in[0], r) + at, *stats = nn_scratch(&c, r) + 2 * member;
    const float *y = nn_v(&c.out, r) + at, *dy = nn_g(&c.out, r) + at;
    float gain = 0, shift = 0;
#pragma unroll 8
    for (int i = warp; i < rows; i += WARPS) {
        size_t k = (size_t)i * (size_t)width;
        const float *s = stats + 2 * (size_t)i * (size_t)N;
        float dz = before_act(c, y, dy, k);
        gain += dz * (x[k] - s[0]) * s[1];
        shift += dz;
    }
    part[0][threadIdx.x] = gain;
    part[1][threadIdx.x] = shift;
    __syncthreads();
    if (warp > 1 || at >= width) return;
    const nn_tensor *t = &c.in[1 + warp]; /* one warp adds up the gains, one the shifts */
    float sum = 0;
    for (int w = 0; w < WARPS; w++) sum += part[warp][w * 32 + lane];
    if (t->g) NN_PUT(t->add, nn_g(t, r)[at], sum);
}

__global__ static void __launch_bounds__(THREADS)
    gradients(const __grid_constant__ nn_call c, unsigned column_blocks)
{
    await_previous();
    if (blockIdx.x < column_blocks) /* they take longest */
        column_sums(c, (int)blockIdx.y, (int)blockIdx.x * 32);
    else
        input_gradient(c, (int)blockIdx.y,
                       (blockIdx.x - column_blocks) * (size_t)WARPS + threadIdx.x / 32);
}

void layer_norm_backward(const nn_call *c)
{
    bool sums = c->in[1].g || c->in[2].g;
    unsigned columns = sums ? blocks_of((size_t)c->out.shape.D, 32) : 0;
    unsigned rows = c->in[0].g ? row_blocks(c) : 0;
    launch(gpu_of(c), "layer norm backward", gradients, dim3(columns + rows, (unsigned)c->replicas),
           THREADS, *c, columns);
}
