/* tile.cuh - one tile of a matrix product, whatever its operands are.
 *
 * The products of a small network are too small to fill a GPU: what counts is how long one block
 * takes. So a block splits the inner dimension among groups of threads, which all work on the same
 * tile and are added up at its end, in order. Operands are functors, which give four numbers at a
 * time and may multiply slopes in, join tensors or unfold images on the way; a functor says in
 * `along` whether its four run along k. out(row, column, sum) may add a bias. */
#ifndef NN_CUDA_TILE_CUH
#define NN_CUDA_TILE_CUH

#include "nn/cuda/cuda.cuh"

/* TALL × WIDE tiles, MICRO × 4 numbers per thread, GROUPS ways to split k. */
template <int TALL, int WIDE, int MICRO, int GROUPS> struct tile {
    enum { DEPTH = 16, PAD = 4 };
    enum { TEAM = TALL / MICRO * (WIDE / 4), THREADS = TEAM * GROUPS };
    enum { HEIGHT = TALL, WIDTH = WIDE };
    enum { LOADS_A = TALL * DEPTH / 4 / TEAM, LOADS_B = WIDE * DEPTH / 4 / TEAM }; /* quads */

    struct slices {
        float a[GROUPS][DEPTH][TALL + PAD], b[GROUPS][DEPTH][WIDE + PAD];
    };
    union __align__(16) memory
    { /* shared, the kernel's */
        slices s;
        float sum[GROUPS][GROUPS > 1 ? TALL : 1][WIDE];
    };

    /* Quad number e of a slice: four numbers along k, or along the rows. */
    template <int EXTENT, bool ALONG> __device__ static void place(int e, int *x, int *k)
    {
        *x = ALONG ? e / (DEPTH / 4) : e % (EXTENT / 4) * 4;
        *k = ALONG ? e % (DEPTH / 4) * 4 : e / (EXTENT / 4);
    }

    template <int EXTENT, int LOADS, class F>
    __device__ static void fetch(float4 *to, const F &f, int x0, int extent, int k0, int depth,
                                 int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, F::along>(me + i * TEAM, &x, &k);
            to[i] = f.quad(x0 + x, k0 + k, extent, depth);
        }
    }

    template <int EXTENT, int LOADS, bool ALONG>
    __device__ static void store(float (*to)[EXTENT + PAD], const float4 *from, int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, ALONG>(me + i * TEAM, &x, &k);
            if (ALONG) {
                to[k][x] = from[i].x;
                to[k + 1][x] = from[i].y;
                to[k + 2][x] = from[i].z;
                to[k + 3][x] = from[i].w;
            } else {
                *(float4 *)&to[k][x] = from[i];
            }
        }
    }

    /* Rows from row0 and columns from column0 of an m × n product; k runs over [from, depth). */
    template <class A, class B, class Out>
    __device__ static void run(memory &mem, int row0, int column0, int m, int n, int from,
                               int depth, const A &a, const B &b, const Out &out)
    {
        int group = (int)threadIdx.x / TEAM, me = (int)threadIdx.x % TEAM;
        int tx = me % (WIDE / 4) * 4, ty = me / (WIDE / 4) * MICRO;
        float acc[MICRO][4] = {};
        float4 next_a[LOADS_A], next_b[LOADS_B];
        int k0 = from + group * DEPTH;
        fetch<TALL, LOADS_A>(next_a, a, row0, m, k0, depth, me);
        fetch<WIDE, LOADS_B>(next_b, b, column0, n, k0, depth, me);
        for (int base = from; base < depth; base += GROUPS * DEPTH) {
            store<TALL, LOADS_A, A::along>(mem.s.a[group], next_a, me);
            store<WIDE, LOADS_B, B::along>(mem.s.b[group], next_b, me);
            __syncthreads();
            k0 += GROUPS * DEPTH;
            if (base + GROUPS * DEPTH < depth) {
                fetch<TALL, LOADS_A>(next_a, a, row0, m, k0, depth, me);
                fetch<WIDE, LOADS_B>(next_b, b, column0, n, k0, depth, me);
            }
#pragma unroll
            for (int k = 0; k < DEPTH; k++) {
                float4 right = *(const float4 *)&mem.s.b[group][k][tx];
                float left[MICRO];
#pragma unroll
                for (int i = 0; i < MICRO; i += 4)
                    *(float4 *)&left[i] = *(const float4 *)&mem.s.a[group][k][ty + i];
#pragma unroll
                for (int i = 0; i < MICRO; i++) {
                    acc[i][0] = fmaf(left[i], right.x, acc[i][0]);
                    acc[i][1] = fmaf(left[i], right.y, acc[i][1]);
                    acc[i][2] = fmaf(left[i], right.z, acc[i][2]);
                    acc[i][3] = fmaf(left[i], right.w, acc[i][3]);
                }
            }
            __syncthreads();
        }
        finish(mem, acc, group, ty, tx, row0, column0, m, n, out);
    }

    template <class Out>
    __device__ static void finish(memory &mem, float (*acc)[4], int group, int ty, int tx, int row0,
                                  int column0, int m, int n, const Out &out)
    {
        if constexpr (GROUPS == 1) {
            for (int i = 0; i < MICRO; i++)
                for (int j = 0; j < 4; j++)
                    if (row0 + ty + i < m && column0 + tx + j < n)
                        out(row0 + ty + i, column0 + tx + j, acc[i][j]);
        } else {
            for (int i = 0; i < MICRO; i++)
                for (int j = 0; j < 4; j++) mem.sum[group][ty + i][tx + j] = acc[i][j];
            __syncthreads();
            for (int e = (int)threadIdx.x; e < TALL * WIDE; e += THREADS) {
                int i = e / WIDE, j = e % WIDE;
                float sum = 0;
                for (int g = 0; g < GROUPS; g++) sum += mem.sum[g][i][j];
                if (row0 + i < m && column0 + j < n) out(row0 + i, column0 + j, sum);
            }
            __syncthreads();
        }
    }
};

#ifndef VARIANT
#    define VARIANT 0
#endif
#if VARIANT == 0
typedef tile<32, 16, 4, 8> small_tile;
typedef tile<64, 64, 8, 1> medium_tile;
#elif VARIANT == 1
typedef tile<32, 32, 4, 4> small_tile;
typedef tile<64, 64, 8, 2> medium_tile;
#else
typedef tile<16, 16, 4, 16> small_tile;
typedef tile<64, 32, 8, 2> medium_tile;
#endif

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

/* A matrix of which element (x, k) lies at x·step + k, or at k·step + x. */
template <bool ALONG> struct matrix {
    enum { along = ALONG };
    const float *at;
    int step;
    bool aligned;
    __device__ matrix(const float *where, int apart)
        : at(where), step(apart), aligned(is_aligned(where, apart))
    {
    }
    __device__ float4 quad(int x, int k, int extent, int depth) const
    {
        int far = ALONG ? x : k, near = ALONG ? k : x;
        bool there = ALONG ? x < extent : k < depth;
        return load_quad(at + (size_t)far * (size_t)step + (size_t)near, aligned,
                         there ? (ALONG ? depth - k : extent - x) : 0);
    }
};

/* The same for a gradient behind an activation: d · act'. */
template <bool ALONG> struct sloped {
    enum { along = ALONG };
    matrix<ALONG> d, y;
    int act;
    __device__ sloped(const float *gradient, const float *value, int apart, int activation)
        : d(gradient, apart), y(value, apart), act(activation)
    {
    }
    __device__ float4 quad(int x, int k, int extent, int depth) const
    {
        float4 g = d.quad(x, k, extent, depth);
        if (act == NN_LINEAR) return g;
        float4 v = y.quad(x, k, extent, depth);
        g.x = act_slope(act, v.x, g.x);
        g.y = act_slope(act, v.y, g.y);
        g.z = act_slope(act, v.z, g.z);
        g.w = act_slope(act, v.w, g.w);
        return g;
    }
};

/* An operand that is computed number by number: f(x, k). */
template <class F> struct one_by_one {
    enum { along = F::along };
    F f;
    __device__ float4 quad(int x, int k, int extent, int depth) const
    {
        enum { dx = F::along ? 0 : 1, dk = F::along ? 1 : 0 };
        float4 v = {0, 0, 0, 0};
        if (x < extent && k < depth) v.x = f(x, k);
        if (x + dx < extent && k + dk < depth) v.y = f(x + dx, k + dk);
        if (x + 2 * dx < extent && k + 2 * dk < depth) v.z = f(x + 2 * dx, k + 2 * dk);
        if (x + 3 * dx < extent && k + 3 * dk < depth) v.w = f(x + 3 * dx, k + 3 * dk);
        return v;
    }
};

/* Where a product goes: C += or C =. */
struct into {
    float *C;
    int ldc;
    bool add;
    __device__ void operator()(int row, int column, float sum) const
    {
        float *c = C + (size_t)row * (size_t)ldc + (size_t)column;
        NN_PUT(add, *c, sum);
    }
};

#endif
