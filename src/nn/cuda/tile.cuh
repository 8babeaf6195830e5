/* tile.cuh - one tile of a matrix product, whatever its operands are.
 *
 * The products of a small network are too small to fill a GPU: what counts is how long one block
 * takes. So a block splits the inner dimension among groups of threads, which all work on the same
 * tile and are added up at its end, in order. Operands are functors, which give four numbers at a
 * time (`quad` asks for them, `ready` takes them when they are there) and may multiply slopes in,
 * join tensors or unfold images on the way; a functor says in `along` whether its four run along k.
 * out(row, column, sum) may add a bias. */
#ifndef NN_CUDA_TILE_CUH
#define NN_CUDA_TILE_CUH

#include <mma.h>

#include "nn/cuda/cuda.cuh"

namespace wmma = nvcuda::wmma;

/* TALL × WIDE tiles, MICRO × SPAN numbers per thread, GROUPS ways to split k. A thread's columns
 * lie in fours, 4 · ACROSS apart: reading four at a time is what shared memory likes. The more
 * numbers per thread, the fewer reads per product: 4 × 4 is bound by shared memory, 8 × 8 is not.
 */
template <int TALL, int WIDE, int MICRO, int SPAN, int GROUPS> struct tile {
    enum { DEPTH = 16, PAD = 4 };
    enum { ACROSS = WIDE / SPAN, TEAM = TALL / MICRO * ACROSS, THREADS = TEAM * GROUPS };
    enum { HEIGHT = TALL, WIDTH = WIDE };
    /* Whether to load the next slice while this one is multiplied. Not where one or two rounds are
     * all there is: then the kernel's length in instructions counts. */
    static const bool AHEAD = GROUPS < 8;
    static const int UNROLL = AHEAD ? DEPTH : 4;
    /* blocks that shall fit a processor, by the registers that they need */
    enum { REGISTERS = MICRO * SPAN > 32 ? 168 : MICRO *SPAN > 16 ? 112 : 80 };
    enum { RESIDENT = 65536 / (THREADS * REGISTERS) };
    enum { LOADS_A = TALL * DEPTH / 4 / TEAM, LOADS_B = WIDE * DEPTH / 4 / TEAM }; /* quads */

    struct slices {
        float a[GROUPS][DEPTH][TALL + PAD], b[GROUPS][DEPTH][WIDE + PAD];
    };
    union __align__(16) memory
    { /* shared, the kernel's */
        slices s;
        float sum[GROUPS][TALL][WIDE];
    };

    /* Quad number e of a slice: four numbers along k, or along the rows. */
    template <int EXTENT, bool ALONG> __device__ static void place(int e, int *x, int *k)
    {
        *x = ALONG ? e / (DEPTH / 4) : e % (EXTENT / 4) * 4;
        *k = ALONG ? e % (DEPTH / 4) * 4 : e / (EXTENT / 4);
    }

    template <bool WHOLE, int EXTENT, int LOADS, class F>
    __device__ static void fetch(typename F::raw *to, const F &f, int x0, int extent, int k0,
                                 int depth, int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, F::along>(me + i * TEAM, &x, &k);
            to[i] = f.template quad<WHOLE>(x0 + x, k0 + k, extent, depth);
        }
    }

    template <int EXTENT, int LOADS, class F>
    __device__ static void store(float (*to)[EXTENT + PAD], const typename F::raw *from, const F &f,
                                 int me)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int x, k;
            place<EXTENT, F::along>(me + i * TEAM, &x, &k);
            float4 v = f.ready(from[i]);
            if (F::along) {
                to[k][x] = v.x;
                to[k + 1][x] = v.y;
                to[k + 2][x] = v.z;
                to[k + 3][x] = v.w;
            } else {
                *(float4 *)&to[k][x] = v;
            }
        }
    }

    template <bool WHOLE, class A, class B>
    __device__ static void load(typename A::raw *to_a, typename B::raw *to_b, const A &a,
                                const B &b, int row0, int column0, int m, int n, int k0, int depth,
                                int me)
    {
        fetch<WHOLE, TALL, LOADS_A>(to_a, a, row0, m, k0, depth, me);
        fetch<WHOLE, WIDE, LOADS_B>(to_b, b, column0, n, k0, depth, me);
    }

    /* A group's sums, by ordinary arithmetic or (each group a warp) by the tensor cores. */
    template <bool TF32, int UNUSED = 0> struct sums {
        float acc[MICRO][SPAN] = {};

        __device__ void add(const float (*a)[TALL + PAD], const float (*b)[WIDE + PAD], int me)
        {
            int tx = me % ACROSS * 4, ty = me / ACROSS * MICRO;
#pragma unroll UNROLL
            for (int k = 0; k < DEPTH; k++) {
                float left[MICRO], right[SPAN];
#pragma unroll
                for (int j = 0; j < SPAN; j += 4)
                    *(float4 *)&right[j] = *(const float4 *)&b[k][tx + j * ACROSS];
#pragma unroll
                for (int i = 0; i < MICRO; i += 4)
                    *(float4 *)&left[i] = *(const float4 *)&a[k][ty + i];
#pragma unroll
                for (int i = 0; i < MICRO; i++)
#pragma unroll
                    for (int j = 0; j < SPAN; j++) acc[i][j] = fmaf(left[i], right[j], acc[i][j]);
            }
        }

        __device__ void put(float (*to)[WIDE], int me) const
        {
            int tx = me % ACROSS * 4, ty = me / ACROSS * MICRO;
#pragma unroll
            for (int i = 0; i < MICRO; i++)
#pragma unroll
                for (int j = 0; j < SPAN; j++)
                    to[ty + i][tx + j / 4 * 4 * ACROSS + j % 4] = acc[i][j];
        }
    };

    template <int UNUSED> struct sums<true, UNUSED> {
        enum { DOWN = TALL / 16, RIGHT = WIDE / 16 };
        wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc[DOWN][RIGHT];

        __device__ sums()
        {
            static_assert(TEAM == 32, "a group is a warp");
            for (int i = 0; i < DOWN; i++)
                for (int j = 0; j < RIGHT; j++) wmma::fill_fragment(acc[i][j], 0.0f);
        }

        __device__ void add(const float (*a)[TALL + PAD], const float (*b)[WIDE + PAD], int)
        {
#pragma unroll
            for (int k = 0; k < DEPTH; k += 8) {
                wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::col_major>
                    left[DOWN];
                wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>
                    right;
                for (int i = 0; i < DOWN; i++) {
                    wmma::load_matrix_sync(left[i], &a[k][16 * i], TALL + PAD);
                    for (int e = 0; e < left[i].num_elements; e++)
                        left[i].x[e] = wmma::__float_to_tf32(left[i].x[e]);
                }
                for (int j = 0; j < RIGHT; j++) {
                    wmma::load_matrix_sync(right, &b[k][16 * j], WIDE + PAD);
                    for (int e = 0; e < right.num_elements; e++)
                        right.x[e] = wmma::__float_to_tf32(right.x[e]);
                    for (int i = 0; i < DOWN; i++)
                        wmma::mma_sync(acc[i][j], left[i], right, acc[i][j]);
                }
            }
        }

        __device__ void put(float (*to)[WIDE], int) const
        {
            for (int i = 0; i < DOWN; i++)
                for (int j = 0; j < RIGHT; j++)
                    wmma::store_matrix_sync(&to[16 * i][16 * j], acc[i][j], WIDE,
                                            wmma::mem_row_major);
        }
    };

    template <bool TF32, bool WHOLE, class A, class B, class Out>
    __device__ static void multiply(memory &mem, int row0, int column0, int m, int n, int from,
                                    int depth, const A &a, const B &b, const Out &out)
    {
        int group = (int)threadIdx.x / TEAM, me = (int)threadIdx.x % TEAM;
        sums<TF32> total;
        typename A::raw next_a[LOADS_A];
        typename B::raw next_b[LOADS_B];
        int k0 = from + group * DEPTH;
        if (AHEAD) load<WHOLE>(next_a, next_b, a, b, row0, column0, m, n, k0, depth, me);
#pragma unroll 1
        for (int base = from; base < depth; base += GROUPS * DEPTH) {
            if (!AHEAD) load<WHOLE>(next_a, next_b, a, b, row0, column0, m, n, k0, depth, me);
            store<TALL, LOADS_A>(mem.s.a[group], next_a, a, me);
            store<WIDE, LOADS_B>(mem.s.b[group], next_b, b, me);
            __syncthreads();
            k0 += GROUPS * DEPTH;
            if (AHEAD && base + GROUPS * DEPTH < depth)
                load<WHOLE>(next_a, next_b, a, b, row0, column0, m, n, k0, depth, me);
            total.add(mem.s.a[group], mem.s.b[group], me);
            __syncthreads();
        }
        total.put(mem.sum[group], me);
        __syncthreads();
#pragma unroll 1
        for (int e = (int)threadIdx.x; e < TALL * WIDE; e += THREADS) {
            int i = e / WIDE, j = e % WIDE;
            float sum = 0;
            for (int g = 0; g < GROUPS; g++) sum += mem.sum[g][i][j];
            if (row0 + i < m && column0 + j < n) out(row0 + i, column0 + j, sum);
        }
        __syncthreads();
    }

    /* Rows from row0 and columns from column0 of an m × n product; k runs over [from, depth). */
    template <bool TF32 = false, class A, class B, class Out>
    __device__ static void run(memory &mem, int row0, int column0, int m, int n, int from,
                               int depth, const A &a, const B &b, const Out &out)
    {
        if (a.whole(m, depth) && b.whole(n, depth))
            multiply<TF32, true>(mem, row0, column0, m, n, from, depth, a, b, out);
        else
            multiply<TF32, false>(mem, row0, column0, m, n, from, depth, a, b, out);
    }
};

typedef tile<32, 16, 4, 4, 8> small_tile;  /* short: for one network */
typedef tile<64, 64, 8, 8, 2> medium_tile; /* busy: for many */

/* Four numbers, of which the first `inside` are there. WHOLE: all or none, and aligned. There must
 * be no branch around a load: it would be waited for before the next is asked for. */
template <bool WHOLE> __device__ inline float4 load_quad(const float *p, int inside)
{
    float4 v = {0, 0, 0, 0};
    if (WHOLE) {
        if (inside > 0) v = *(const float4 *)p;
        return v;
    }
    v.x = inside > 0 ? p[0] : 0;
    v.y = inside > 1 ? p[1] : 0;
    v.z = inside > 2 ? p[2] : 0;
    v.w = inside > 3 ? p[3] : 0;
    return v;
}

__device__ inline bool is_aligned(const float *at, int step)
{
    return ((uintptr_t)at & 15) == 0 && step % 4 == 0;
}

/* A matrix of which element (x, k) lies at x·step + k, or at k·step + x. */
template <bool ALONG> struct matrix {
    enum { along = ALONG };
    typedef float4 raw;
    __device__ float4 ready(const raw &v) const { return v; }
    const float *at;
    int step;
    __device__ matrix(const float *where, int apart) : at(where), step(apart) {}
    __device__ bool whole(int extent, int depth) const
    {
        return is_aligned(at, step) && (ALONG ? depth : extent) % 4 == 0;
    }
    template <bool WHOLE> __device__ float4 quad(int x, int k, int extent, int depth) const
    {
        int far = ALONG ? x : k, near = ALONG ? k : x;
        bool there = ALONG ? x < extent : k < depth;
        return load_quad<WHOLE>(at + (size_t)far * (size_t)step + (size_t)near,
                                there ? (ALONG ? depth - k : extent - x) : 0);
    }
};

/* The same for a gradient behind an activation: d · act'. */
template <bool ALONG> struct sloped {
    enum { along = ALONG };
    struct raw {
        float4 d, y;
    };
    matrix<ALONG> d, y;
    int act;
    __device__ sloped(const float *gradient, const float *value, int apart, int activation)
        : d(gradient, apart), y(value, apart), act(activation)
    {
    }
    __device__ bool whole(int extent, int depth) const
    {
        return d.whole(extent, depth) && y.whole(extent, depth);
    }
    template <bool WHOLE> __device__ raw quad(int x, int k, int extent, int depth) const
    {
        return {d.template quad<WHOLE>(x, k, extent, depth),
                y.template quad<WHOLE>(x, k, extent, depth)};
    }
    __device__ float4 ready(const raw &v) const
    {
        float4 g = v.d;
        if (act == NN_LINEAR) return g;
        g.x = act_slope(act, v.y.x, g.x);
        g.y = act_slope(act, v.y.y, g.y);
        g.z = act_slope(act, v.y.z, g.z);
        g.w = act_slope(act, v.y.w, g.w);
        return g;
    }
};

/* An operand that is computed number by number: f(x, k). */
template <class F> struct one_by_one {
    enum { along = F::along };
    typedef float4 raw;
    __device__ float4 ready(const raw &v) const { return v; }
    F f;
    __device__ bool whole(int, int) const { return false; }
    template <bool WHOLE> __device__ float4 quad(int x, int k, int extent, int depth) const
    {
        enum { dx = F::along ? 0 : 1, dk = F::along ? 1 : 0 };
        float4 v = {0, 0, 0, 0};
        if (WHOLE) return v;
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
