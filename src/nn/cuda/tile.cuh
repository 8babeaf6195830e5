/* tile.cuh - one tile of a matrix product, whatever its operands are.
 *
 * The products of a small network are too small to fill a GPU: what counts is how long one block
 * takes. So a block splits the inner dimension among groups of threads, which all work on the same
 * tile and are added up at its end, in order. Operands are functors: a(row, k) and b(column, k) may
 * multiply slopes in, join tensors or unfold images on the way, and out(row, column, sum) may add a
 * bias. A functor says in `along` whether its memory runs along k. */
#ifndef NN_CUDA_TILE_CUH
#define NN_CUDA_TILE_CUH

#include "nn/cuda/cuda.cuh"

/* TALL × WIDE tiles, MICRO × 4 numbers per thread, GROUPS ways to split k. */
template <int TALL, int WIDE, int MICRO, int GROUPS> struct tile {
    enum { DEPTH = 16, PAD = 4 };
    enum { TEAM = TALL / MICRO * (WIDE / 4), THREADS = TEAM * GROUPS };
    enum { HEIGHT = TALL, WIDTH = WIDE };
    enum { LOADS_A = TALL * DEPTH / TEAM, LOADS_B = WIDE * DEPTH / TEAM };

    struct slices {
        float a[GROUPS][DEPTH][TALL + PAD], b[GROUPS][DEPTH][WIDE + PAD];
    };
    union __align__(16) memory
    { /* shared, the kernel's */
        slices s;
        float sum[GROUPS][GROUPS > 1 ? TALL : 1][WIDE];
    };

    /* Element number e of a slice: along k first, or along the rows first. */
    template <int EXTENT, bool ALONG> __device__ static void place(int e, int *x, int *k)
    {
        *x = ALONG ? e / DEPTH : e % EXTENT;
        *k = ALONG ? e % DEPTH : e / EXTENT;
    }

    template <int EXTENT, int LOADS, class F>
    __device__ static void fetch(float *to, const F &f, int x0, int extent, int k0, int depth,
                                 int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, F::along>(me + i * TEAM, &x, &k);
            to[i] = x0 + x < extent && k0 + k < depth ? f(x0 + x, k0 + k) : 0;
        }
    }

    template <int EXTENT, int LOADS, bool ALONG>
    __device__ static void store(float (*to)[EXTENT + PAD], const float *from, int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, ALONG>(me + i * TEAM, &x, &k);
            to[k][x] = from[i];
        }
    }

    /* Rows from row0 and columns from column0 of an m × n product; k runs over [from, depth). */
    template <class A, class B, class Out>
    __device__ static void run(memory &mem, int row0, int column0, int m, int n, int from,
                               int depth, const A &a, const B &b, const Out &out)
    {
        int group = (int)threadIdx.x / TEAM, me = (int)threadIdx.x % TEAM;
        int tx = me % (WIDE / 4) * 4, ty = me / (WIDE / 4) * MICRO;
        float acc[MICRO][4] = {}, next_a[LOADS_A], next_b[LOADS_B];
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

typedef tile<32, 32, 4, 4> small_tile;  /* short: for one network */
typedef tile<64, 64, 8, 1> medium_tile; /* busy: for many */

/* A matrix of which element (x, k) lies at x·x_step + k·k_step; the smaller step is 1. */
template <bool ALONG> struct matrix {
    enum { along = ALONG };
    const float *at;
    int step; /* the other one */
    __device__ float operator()(int x, int k) const
    {
        return ALONG ? at[(size_t)x * (size_t)step + (size_t)k]
                     : at[(size_t)k * (size_t)step + (size_t)x];
    }
};

/* The same for a gradient behind an activation: d · act'. */
template <bool ALONG> struct sloped {
    enum { along = ALONG };
    const float *d, *y;
    int step, act;
    __device__ float operator()(int x, int k) const
    {
        size_t i =
            ALONG ? (size_t)x * (size_t)step + (size_t)k : (size_t)k * (size_t)step + (size_t)x;
        return act == NN_LINEAR ? d[i] : act_slope(act, y[i], d[i]);
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
