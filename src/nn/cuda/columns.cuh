/* columns.cuh - sums over rows, one per column, in a fixed order.
 *
 * A block takes 32 columns and a stretch of the rows; the last block of these columns to finish
 * adds up the stretches in order. How the rows are cut depends on the shape and the GPU. */
#ifndef NN_CUDA_COLUMNS_CUH
#define NN_CUDA_COLUMNS_CUH

#include "nn/cuda/cuda.cuh"

enum { SUM_WARPS = 8, SUM_THREADS = 32 * SUM_WARPS };

/* The block's sum of each warp's `x`, per lane; valid in the first warp. */
__device__ inline float sum_warps(float x)
{
    __shared__ float part[SUM_THREADS];
    __syncthreads();
    part[threadIdx.x] = x;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < SUM_WARPS; w++) sum += part[w * 32 + threadIdx.x % 32];
    return sum;
}

/* f(replica, row, column) is summed over rows; put(replica, column, sum) gets the results. */
template <class F>
__global__ void __launch_bounds__(SUM_THREADS)
    sum_columns(const __grid_constant__ F f, int rows, int width, int height, float *parts,
                unsigned *tickets)
{
    int r = (int)blockIdx.z, warp = (int)threadIdx.x / 32;
    int column = (int)blockIdx.x * 32 + (int)threadIdx.x % 32;
    int from = (int)blockIdx.y * height, to = from + height < rows ? from + height : rows;
    float sum = 0;
    if (column < width) {
#pragma unroll 4
        for (int i = from + warp; i < to; i += SUM_WARPS) sum += f(r, i, column);
    }
    if (!f.wanted) return;
    sum = sum_warps(sum);
    if (gridDim.y > 1) {
        float *mine = parts + (size_t)r * gridDim.y * (size_t)width;
        if (warp == 0 && column < width) mine[(size_t)blockIdx.y * (size_t)width + column] = sum;
        if (!last_block(&tickets[r * (int)gridDim.x + (int)blockIdx.x], gridDim.y)) return;
        sum = 0;
        for (unsigned k = (unsigned)warp; column < width && k < gridDim.y; k += SUM_WARPS)
            sum += mine[(size_t)k * (size_t)width + column];
        sum = sum_warps(sum);
    }
    if (warp == 0 && column < width) f.put(r, column, sum);
}

template <class F>
static void run_sum_columns(gpu *self, const F &f, int rows, int width, int replicas)
{
    int across = (width + 31) / 32, wanted = self->processors * 8;
    int pieces = wanted / (across * replicas) + 1, most = (rows + 63) / 64;
    if (pieces > most) pieces = most;
    int height = (rows + pieces - 1) / pieces;
    pieces = (rows + height - 1) / height;
    dim3 grid((unsigned)across, (unsigned)pieces, (unsigned)replicas);
    sum_columns<F><<<grid, SUM_THREADS, 0, self->now->stream>>>(
        f, rows, width, height, (float *)self->now->workspace, self->now->tickets);
    LAUNCHED(self, "sums of columns");
}

/* Gradients behind an activation, in place, and their sums: those of a bias. */
struct slope_sums {
    nn_tensor out, bias;
    int act;
    bool wanted; /* the sums */
    __device__ float operator()(int r, int row, int column) const
    {
        size_t i = (size_t)row * (size_t)out.shape.D + (size_t)column;
        float *d = nn_g(&out, r) + i;
        if (act == NN_LINEAR) return *d;
        return *d = act_slope(act, nn_v(&out, r)[i], *d);
    }
    __device__ void put(int r, int column, float sum) const
    {
        NN_PUT(bias.add, nn_g(&bias, r)[column], sum);
    }
};

#endif
