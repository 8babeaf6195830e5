/* operand.cuh - what tiles multiply, and where products go: see tile.cuh. */
#ifndef NN_CUDA_OPERAND_CUH
#define NN_CUDA_OPERAND_CUH

#include "nn/cuda/tile.cuh"

/* ---- operands -------------------------------------------------------------------------------- */

/* Four numbers, of which the first `inside` are there; at once where they are aligned. */
__device__ inline float4 load_quad(const float *p, bool aligned, int inside)
{
    if (aligned && inside >= 4) return *(const float4 *)p;
    float4 v = {0, 0, 0, 0};
    if (inside > 0) v.x = p[0];
    if (inside > 1) v.y = p[1];
    if (inside > 2) v.z = p[2];
    if (inside > 3) v.w = p[3];
    return v;
}

__device__ inline bool is_aligned(const float *at, int step)
{
    return ((uintptr_t)at & 15) == 0 && step % 4 == 0;
}

/* Two numbers, likewise. */
__device__ inline bool is_even(const float *at, int step)
{
    return ((uintptr_t)at & 7) == 0 && step % 2 == 0;
}

__device__ inline float2 load_pair(const float *p, bool even, int inside)
{
    if (even && inside >= 2) return *(const float2 *)p;
    return {inside > 0 ? p[0] : 0, inside > 1 ? p[1] : 0};
}

__device__ inline void store_pair(float *p, float2 v, bool even, int inside)
{
    if (even && inside >= 2) {
        *(float2 *)p = v;
        return;
    }
    if (inside > 0) p[0] = v.x;
    if (inside > 1) p[1] = v.y;
}

/* A matrix of which element (x, k) lies at x·step + k, or at k·step + x. In a slice that is `whole`
 * nothing is outside. */
template <bool ALONG> struct matrix {
    enum { along = ALONG };
    const float *at;
    int step;
    bool aligned;
    __device__ matrix(const float *where, int apart)
        : at(where), step(apart), aligned(is_aligned(where, apart))
    {
    }
    __device__ const float *place(int x, int k) const
    {
        return at + (size_t)(ALONG ? x : k) * (size_t)step + (size_t)(ALONG ? k : x);
    }
    /* how many of the four from here on are there */
    __device__ int inside(int x, int k, int extent, int depth) const
    {
        if (x >= extent || k >= depth) return 0;
        return ALONG ? depth - k : extent - x;
    }
    __device__ float4 quad(int x, int k, int extent, int depth, bool whole) const
    {
        if (whole) return *(const float4 *)place(x, k);
        return load_quad(place(x, k), aligned, inside(x, k, extent, depth));
    }
    __device__ void copy(float *to, int x, int k, int extent, int depth) const
    {
        int there = inside(x, k, extent, depth);
        if (aligned && there >= 4)
            copy_four(to, place(x, k));
        else
            for (int e = 0; e < 4; e++) copy_one(to + e, place(x, k) + e, e < there);
    }
};

/* An operand that is computed number by number: f(x, k). */
template <class F> struct one_by_one {
    enum { along = F::along, aligned = true };
    F f;
    __device__ float4 quad(int x, int k, int extent, int depth, bool whole) const
    {
        enum { dx = F::along ? 0 : 1, dk = F::along ? 1 : 0 };
        float v[4];
        for (int e = 0; e < 4; e++) {
            bool there = whole || (x + e * dx < extent && k + e * dk < depth);
            v[e] = there ? f(x + e * dx, k + e * dk) : 0;
        }
        return {v[0], v[1], v[2], v[3]};
    }
};

/* Where a product goes: C += or C =, or times the slopes of the layer that gave y. What is there
 * before is read (two numbers, of which the first `inside` are there), then all is written. */
struct into {
    float *C;
    int ldc;
    bool add;
    const float *y;
    int act;
    __device__ size_t place(int row, int column) const
    {
        return (size_t)row * (size_t)ldc + (size_t)column;
    }
    __device__ float2 before(int row, int column, int inside) const
    {
        const float *from = y ? y : C;
        return y || add ? load_pair(from + place(row, column), is_even(from, ldc), inside)
                        : float2{0, 0};
    }
    __device__ float result(float sum, float there) const
    {
        return y ? act_slope(act, there, sum) : add ? there + sum : sum;
    }
    __device__ void put(int row, int column, float2 sum, float2 there, int inside) const
    {
        store_pair(C + place(row, column), {result(sum.x, there.x), result(sum.y, there.y)},
                   is_even(C, ldc), inside);
    }
    __device__ void operator()(int row, int column, float sum) const
    {
        size_t i = place(row, column);
        C[i] = result(sum, y ? y[i] : add ? C[i] : 0);
    }
};

#endif
