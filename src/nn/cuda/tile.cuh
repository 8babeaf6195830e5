/* tile.cuh - one tile of a matrix product, whatever its operands are.
 *
 * Products run on the tensor cores, which multiply numbers of 11 significant bits and add in fp32.
 * For fp32 every operand is split into two such numbers, a = high + low, and three products are
 * added: low·high + high·low + high·high; what is left out is some 2^-22 of a product. For the
 * lower precisions every tile has a `plain` twin, which takes one product of rounded operands.
 *
 * The products of a small network are too small to fill a GPU: what counts is how long one block
 * takes. So a block may split the inner dimension among groups of warps, which all work on the same
 * tile and are added up at its end, in order. With many replicas it is the arithmetic that counts:
 * one group, whose slices are copied to shared memory in the background.
 *
 * Operands are functors (operand.cuh), which give four numbers at a time and may join tensors or
 * unfold images on the way; a functor says in `along` whether its four run along k. */
#ifndef NN_CUDA_TILE_CUH
#define NN_CUDA_TILE_CUH

#include "nn/cuda/cuda.cuh"

/* ---- the arithmetic -------------------------------------------------------------------------- */

/* x = high + low; the tensor cores ignore bits that they have no room for. Or x rounded as
 * by cvt.rna, which takes more instructions; x · 0 keeps what is no number from becoming one. */
template <bool PRECISE> __device__ inline void split(float x, unsigned *high, unsigned *low)
{
    unsigned up = __float_as_uint(x) + 0x1000u;
    *high = PRECISE ? up & 0xffffe000u : __float_as_uint(__fmaf_rn(x, 0, __uint_as_float(up)));
    *low = PRECISE ? __float_as_uint(x - __uint_as_float(*high)) : 0;
}

/* sum += a b, 16 × 8 × 8 by a warp. Thread 4g + t holds rows g, g + 8 of a and column g of b, at
 * k = t, t + 4; columns 2t, 2t + 1 of the sum. As k may be in any order, t and t + 4 stand for
 * 2t and 2t + 1 everywhere: then they lie side by side. */
__device__ inline void multiply(float2 *sum, const unsigned *a, const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0].x), "+f"(sum[0].y), "+f"(sum[1].x), "+f"(sum[1].y)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* ---- copies in the background, from global to shared memory ---------------------------------- */

/* One number, or 0. */
__device__ inline void copy_one(float *to, const float *from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(there ? 4 : 0)
                 : "memory");
}

__device__ inline void copy_four(float *to, const float *from)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(__cvta_generic_to_global(from))
        : "memory");
}

/* What was copied since the last end_copies is a batch; waits for all but the last `MOST`. */
__device__ inline void end_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int MOST> __device__ inline void await_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(MOST) : "memory");
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* DEPTH numbers of each of EXTENT rows (or columns), in shared memory: in the order in which they
 * are read, along k or across. Swizzled or padded, so that a warp's reads fall into 32 banks. */
template <int LENGTH, int DEPTH> struct slice {
    enum { EXTENT = LENGTH, STEP = EXTENT + 4, SIZE = DEPTH * STEP, QUADS = EXTENT * DEPTH / 4 };

    __device__ static int swizzle(int x) { return x * DEPTH / 32 % (DEPTH / 8) * 8; }

    /* Where quad number e begins, and its place in shared memory. */
    template <bool ALONG> __device__ static int place(int e, int *x, int *k)
    {
        *x = ALONG ? e / (DEPTH / 4) : e % (EXTENT / 4) * 4;
        *k = ALONG ? e % (DEPTH / 4) * 4 : e / (EXTENT / 4);
        return ALONG ? *x * DEPTH + (*k ^ swizzle(*x)) : *k * STEP + *x;
    }

    /* Reads what a thread needs for `multiply`: numbers k and k + 1 of x, both counted from its
     * own; x and k are multiples of 8. */
    template <bool ALONG> struct reader {
        const float *at;
        int turn;
        __device__ reader(const float *from, int x0, int lane)
        {
            int g = lane / 4, t = lane % 4 * 2;
            at = from + (ALONG ? (x0 + g) * DEPTH + t : t * STEP + x0 + g);
            turn = ALONG ? swizzle(g) : 0;
        }
        __device__ float2 pair(int x, int k) const
        {
            if (ALONG) return *(const float2 *)&at[x * DEPTH + (k ^ turn)];
            return {at[k * STEP + x], at[(k + 1) * STEP + x]};
        }
    };
};

/* ---- tiles ----------------------------------------------------------------------------------- */

/* TALL × WIDE tiles of DOWN × ACROSS warps, GROUPS ways to split k, DEPTH numbers at a time. With
 * one group, operands are copied in the background, STAGES slices at a time. */
template <int TALL, int WIDE, int DOWN, int ACROSS, int GROUPS, int DEPTH, int STAGES,
          bool PRECISE = true>
struct tile {
    typedef tile<TALL, WIDE, DOWN, ACROSS, GROUPS, DEPTH, STAGES, false> plain;
    enum { HEIGHT = TALL, WIDTH = WIDE, TEAM = 32 * DOWN * ACROSS, THREADS = TEAM * GROUPS };
    enum { ROWS = TALL / DOWN / 16, COLUMNS = WIDE / ACROSS / 8 }; /* products of a warp */
    enum { STREAMED = STAGES > 1, REGISTERS = STREAMED && ROWS * COLUMNS < 8 ? 80 : 128 };
    enum { RESIDENT = 65536 / (THREADS * REGISTERS) }; /* blocks that shall fit a processor */
    typedef slice<TALL, DEPTH> left;
    typedef slice<WIDE, DEPTH> right;

    struct slices {
        float a[GROUPS][STAGES][left::SIZE], b[GROUPS][STAGES][right::SIZE];
    };
    union __align__(16) memory
    { /* shared, the kernel's */
        slices s;
        float sum[GROUPS][STREAMED ? 1 : TALL][WIDE + 8];
    };

    /* A warp's part of the tile. The tensor cores cut off what a sum has no room for instead of
     * rounding it: so each slice's sum is begun at 0, and added to the rest by ordinary means. In a
     * plain tile rounded operands cost far more than that: it goes on with the sum it has. */
    struct sums {
        float2 at[ROWS][COLUMNS][2]; /* rows g, g + 8 of 16 × 8 */

        template <bool A_ALONG, bool B_ALONG>
        __device__ void add(const float *a, const float *b, int row0, int column0, int lane)
        {
            typename left::template reader<A_ALONG> from_a(a, row0, lane);
            typename right::template reader<B_ALONG> from_b(b, column0, lane);
            float2 part[ROWS][COLUMNS][2] = {};
#pragma unroll
            for (int k = 0; k < DEPTH; k += 8) {
                unsigned ah[ROWS][4], al[ROWS][4], bh[COLUMNS][2], bl[COLUMNS][2];
#pragma unroll
                for (int i = 0; i < 2 * ROWS; i++) {
                    float2 x = from_a.pair(8 * i, k);
                    split<PRECISE>(x.x, &ah[i / 2][i % 2], &al[i / 2][i % 2]);
                    split<PRECISE>(x.y, &ah[i / 2][i % 2 + 2], &al[i / 2][i % 2 + 2]);
                }
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) {
                    float2 x = from_b.pair(8 * j, k);
                    split<PRECISE>(x.x, &bh[j][0], &bl[j][0]);
                    split<PRECISE>(x.y, &bh[j][1], &bl[j][1]);
                }
                if (PRECISE) multiply_all(part, al, bh);
                if (PRECISE) multiply_all(part, ah, bl);
                multiply_all(PRECISE ? part : at, ah, bh);
            }
            if (!PRECISE) return;
            each([&](int i, int j, int h) {
                at[i][j][h].x += part[i][j][h].x;
                at[i][j][h].y += part[i][j][h].y;
            });
        }

        __device__ static void multiply_all(float2 (*sum)[COLUMNS][2], const unsigned (*a)[4],
                                            const unsigned (*b)[2])
        {
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) multiply(sum[i][j], a[i], b[j]);
        }

        template <class F> __device__ static void each(const F &f)
        {
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                    for (int h = 0; h < 2; h++) f(i, j, h);
        }

        /* What `out` needs to know is read for all numbers before the first is written. */
        template <class Out>
        __device__ void write(int row0, int column0, int m, int n, int lane, const Out &out)
        {
            float2 before[ROWS][COLUMNS][2];
            int row = row0 + lane / 4, column = column0 + lane % 4 * 2;
            each([&](int i, int j, int h) {
                int x = row + 16 * i + 8 * h, y = column + 8 * j;
                before[i][j][h] = out.before(x, y, x < m ? n - y : 0);
            });
            each([&](int i, int j, int h) {
                int x = row + 16 * i + 8 * h, y = column + 8 * j;
                out.put(x, y, at[i][j][h], before[i][j][h], x < m ? n - y : 0);
            });
        }
    };

    /* ---- one group: slices are copied ahead -------------------------------------------------- */

    /* A thread's quads lie at equal distances in both memories. */
    template <class SLICE, class F>
    __device__ static void copy(float *to, const F &f, int x0, int extent, int k0, int depth)
    {
        enum { QUADS = SLICE::QUADS, LINE = (F::along ? DEPTH : SLICE::EXTENT) / 4 };
        enum { APART = TEAM / LINE, STEP = F::along ? DEPTH : SLICE::STEP };
        int me = (int)threadIdx.x, x, k, at = SLICE::template place<F::along>(me, &x, &k);
        if (QUADS < TEAM && me >= QUADS) return;
        if (f.aligned && x0 + SLICE::EXTENT <= extent && k0 + DEPTH <= depth) {
            const float *from = f.place(x0 + x, k0 + k);
#pragma unroll
            for (int i = 0; i * TEAM < QUADS; i++)
                copy_four(to + at + i * APART * STEP, from + (size_t)(i * APART) * (size_t)f.step);
            return;
        }
#pragma unroll 1
        for (int i = 0; i * TEAM < QUADS; i++)
            f.copy(to + at + i * APART * STEP, x0 + x + (F::along ? i * APART : 0),
                   k0 + k + (F::along ? 0 : i * APART), extent, depth);
    }

    template <class A, class B>
    __device__ static void stream(sums *total, slices &s, int row0, int column0, int down,
                                  int across, int m, int n, int from, int depth, const A &a,
                                  const B &b)
    {
        auto copy_slice = [&](int k0, int stage) {
            if (k0 < depth) {
                copy<left>(s.a[0][stage], a, row0, m, k0, depth);
                copy<right>(s.b[0][stage], b, column0, n, k0, depth);
            }
            end_copies();
        };
        for (int i = 0; i < STAGES - 1; i++) copy_slice(from + i * DEPTH, i);
        int now = 0, free = STAGES - 1;
#pragma unroll 1
        for (int k0 = from; k0 < depth; k0 += DEPTH) {
            await_copies<(STAGES > 1 ? STAGES - 2 : 0)>();
            __syncthreads();
            copy_slice(k0 + (STAGES - 1) * DEPTH, free);
            total->template add<A::along, B::along>(s.a[0][now], s.b[0][now], down, across,
                                                    (int)threadIdx.x % 32);
            free = now;
            now = now + 1 == STAGES ? 0 : now + 1;
        }
    }

    /* ---- groups: each takes its own slices by way of registers ------------------------------- */

    template <class SLICE, int QUADS, class F>
    __device__ static void load(float4 *to, const F &f, int x0, int extent, int k0, int depth,
                                int me)
    {
        bool whole = f.aligned && x0 + SLICE::EXTENT <= extent && k0 + DEPTH <= depth;
        int x, k;
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            SLICE::template place<F::along>(me + i * TEAM, &x, &k);
            to[i] = f.quad(x0 + x, k0 + k, extent, depth, whole);
        }
    }

    template <class SLICE, int QUADS, bool ALONG>
    __device__ static void store(float *to, const float4 *from, int me)
    {
        int x, k;
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            int at = SLICE::template place<ALONG>(me + i * TEAM, &x, &k);
            *(float4 *)&to[at] = from[i];
        }
    }

    template <class A, class B>
    __device__ static void gather(sums *total, slices &s, int row0, int column0, int m, int n,
                                  int from, int depth, const A &a, const B &b)
    {
        static_assert(STREAMED || TEAM == 32, "a group is a warp");
        enum { QUADS_A = left::QUADS / 32, QUADS_B = right::QUADS / 32 };
        int group = (int)threadIdx.x / 32, me = (int)threadIdx.x % 32, k0 = from + group * DEPTH;
        float4 next_a[QUADS_A], next_b[QUADS_B];
        load<left, QUADS_A>(next_a, a, row0, m, k0, depth, me);
        load<right, QUADS_B>(next_b, b, column0, n, k0, depth, me);
#pragma unroll 1
        while (k0 < depth) {
            store<left, QUADS_A, A::along>(s.a[group][0], next_a, me);
            store<right, QUADS_B, B::along>(s.b[group][0], next_b, me);
            __syncwarp();
            k0 += GROUPS * DEPTH;
            if (k0 < depth) {
                load<left, QUADS_A>(next_a, a, row0, m, k0, depth, me);
                load<right, QUADS_B>(next_b, b, column0, n, k0, depth, me);
            }
            total->template add<A::along, B::along>(s.a[group][0], s.b[group][0], 0, 0, me);
            __syncwarp();
        }
    }

    /* The groups' sums, added up in order. */
    template <class Out>
    __device__ static void add_up(sums *total, memory &mem, int row0, int column0, int m, int n,
                                  const Out &out)
    {
        float(*mine)[WIDE + 8] = mem.sum[threadIdx.x / 32];
        __syncthreads();
        int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4 * 2;
        total->each([&](int i, int j, int h) {
            *(float2 *)&mine[16 * i + 8 * h + g][8 * j + t] = total->at[i][j][h];
        });
        __syncthreads();
#pragma unroll 1
        for (int e = (int)threadIdx.x; e < TALL * WIDE; e += THREADS) {
            int i = e / WIDE, j = e % WIDE;
            float sum = 0;
            for (int g = 0; g < GROUPS; g++) sum += mem.sum[g][i][j];
            if (row0 + i < m && column0 + j < n) out(row0 + i, column0 + j, sum);
        }
    }

    /* Rows from row0 and columns from column0 of an m × n product; k runs over [from, depth).
     * Groups hand their sums to out(row, column, sum), one group by twos to out.put: see `into`. */
    template <class A, class B, class Out>
    __device__ static void run(memory &mem, int row0, int column0, int m, int n, int from,
                               int depth, const A &a, const B &b, const Out &out)
    {
        sums total = {};
        if constexpr (STREAMED) {
            int warp = (int)threadIdx.x / 32;
            int down = warp / ACROSS * (TALL / DOWN), across = warp % ACROSS * (WIDE / ACROSS);
            stream(&total, mem.s, row0, column0, down, across, m, n, from, depth, a, b);
            total.write(row0 + down, column0 + across, m, n, (int)threadIdx.x % 32, out);
        } else {
            gather(&total, mem.s, row0, column0, m, n, from, depth, a, b);
            add_up(&total, mem, row0, column0, m, n, out);
        }
    }
};

typedef tile<32, 16, 1, 1, 8, 16, 1> small_tile; /* short: for one network */
/* Busy, for many replicas; and with twice the warps, for some: fewer sums per warp are more reads
 * per product, but a tile takes less time. Narrow ones for few columns. */
typedef tile<64, 64, 2, 2, 1, 32, 2> wide_tile;
typedef tile<64, 16, 4, 1, 1, 32, 2> narrow_tile;
typedef tile<64, 64, 2, 4, 1, 32, 2> brisk_wide_tile;
typedef tile<64, 16, 4, 2, 1, 32, 2> brisk_narrow_tile;

#endif
