/* columns.cuh - sums over rows, one per column, in a fixed order.
 *
 * A block takes 32 columns and a stretch of the rows; the last block of these columns to finish
 * adds up the stretches in order. How the rows are cut depends on the shape and the GPU. */
#ifndef NN_CUDA_COLUMNS_CUH
#define NN_CUDA_COLUMNS_CUH

#include "nn/cuda/cuda.cuh"

enum { SUM_WARPS = 8, SUM_THREADS = 32 * SUM_WARPS };

/* What a thread treats at a time: one column, or four. */
template <int WIDE> struct __align__(WIDE % 4 ? 4 : 16) numbers
{
    float x[WIDE];
};

/* The block's sum of each warp's `mine`, per lane; valid in the first warp. */
template <int WIDE> __device__ inline numbers<WIDE> sum_warps(numbers<WIDE> mine)
{
    __shared__ numbers<WIDE> part[SUM_THREADS];
    __syncthreads();
    part[threadIdx.x] = mine;
    __syncthreads();
    numbers<WIDE> sum = {};
    for (int w = 0; w < SUM_WARPS; w++)
        for (int k = 0; k < WIDE; k++) sum.x[k] += part[w * 32 + threadIdx.x % 32].x[k];
    return sum;
}

/* f.take(replica, row, column) is summed over rows; f.put(replica, column, sums) gets the results:
 * F::SUMS of them for each column. */
template <int WIDE, class F>
__global__ void __launch_bounds__(SUM_THREADS)
    sum_columns(const __grid_constant__ F f, int rows, int width, int height, float *parts,
                unsigned *tickets)
{
    await_previous();
    int r = (int)blockIdx.z, warp = (int)threadIdx.x / 32;
    int column = ((int)blockIdx.x * 32 + (int)threadIdx.x % 32) * WIDE;
    int from = (int)blockIdx.y * height, to = from + height < rows ? from + height : rows;
    enum { MANY = WIDE * F::SUMS };
    numbers<MANY> sum = {};
    if (column < width) {
#pragma unroll 4
        for (int i = from + warp; i < to; i += SUM_WARPS) {
            numbers<MANY> v = f.template take<WIDE>(r, i, column);
            for (int k = 0; k < MANY; k++) sum.x[k] += v.x[k];
        }
    }
    if (!f.wanted) return;
    sum = sum_warps(sum);
    if (gridDim.y > 1) {
        numbers<MANY> *mine =
            (numbers<MANY> *)(parts + (size_t)r * gridDim.y * (size_t)(width * F::SUMS));
        size_t across = (size_t)(width / WIDE), at = (size_t)(column / WIDE);
        if (warp == 0 && column < width) mine[blockIdx.y * across + at] = sum;
        if (!last_block(&tickets[r * (int)gridDim.x + (int)blockIdx.x], gridDim.y)) return;
        sum = {};
        for (unsigned i = (unsigned)warp; column < width && i < gridDim.y; i += SUM_WARPS)
            for (int k = 0; k < MANY; k++) sum.x[k] += mine[i * across + at].x[k];
        sum = sum_warps(sum);
    }
    for (int k = 0; warp == 0 && column < width && k < WIDE; k++)
        f.put(r, column + k, &sum.x[k * F::SUMS]);
}

/* `four`: the width divides by four, and so do all steps between rows and replicas. */
template <class F>
static void run_sum_columns(gpu *self, const F &f, int rows, int width, int replicas, bool four)
{
    int across = four ? (width / 4 + 31) / 32 : (width + 31) / 32, wanted = self->processors * 8;
    int pieces = wanted / (across * replicas) + 1, most = (rows + 63) / 64;
    if (pieces > most) pieces = most;
    int height = (rows + pieces - 1) / pieces;
    pieces = (rows + height - 1) / height;
    dim3 grid((unsigned)across, (unsigned)pieces, (unsigned)replicas);
    launch(self, "sums of columns", four ? sum_columns<4, F> : sum_columns<1, F>, grid, SUM_THREADS,
           f, rows, width, height, (float *)self->now->workspace, self->now->tickets);
}

/* Gradients behind an activation, in place, and their sums: those of a bias. */
struct slope_sums {
    enum { SUMS = 1 };
    nn_tensor out, bias;
    int act;
    bool wanted; /* the sums */
    template <int WIDE> __device__ numbers<WIDE> take(int r, int row, int column) const
    {
        size_t i = (size_t)row * (size_t)out.shape.D + (size_t)column;
        numbers<WIDE> *at = (numbers<WIDE> *)(nn_g(&out, r) + i), d = *at;
        if (act == NN_LINEAR) return d;
        numbers<WIDE> y = *(const numbers<WIDE> *)(nn_v(&out, r) + i);
        for (int k = 0; k < WIDE; k++) d.x[k] = act_slope(act, y.x[k], d.x[k]);
        *at = d;
        return d;
    }
    __device__ void put(int r, int column, const float *sum) const
    {
        NN_PUT(bias.add, nn_g(&bias, r)[column], *sum);
    }
};

#endif
