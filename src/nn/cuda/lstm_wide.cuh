/* lstm_wide.cuh - blocks that work together on a wide LSTM: who does what, how they wait for each
 * other, and the products that they have in common. See lstm_wide.cu. */
#ifndef NN_CUDA_LSTM_WIDE_CUH
#define NN_CUDA_LSTM_WIDE_CUH

#include "nn/cuda/lstm.cuh"
#include "nn/cuda/tile.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#    pragma nv_diag_suppress 177 /* kernels have no body there: nothing is used */
#endif

enum { BLOCKS = 8, ROWS = 32, UNITS = 32, GATES = 4, THREADS = 256 };
enum { EACH = ROWS * UNITS / THREADS };    /* cells of a thread */
enum { DEPTH = 128, CHUNKS = DEPTH / 16 }; /* of a warp's product */
enum { SENT = ROWS * WIDE * 4 };           /* bytes that a block gets per step */
static_assert(BLOCKS * UNITS == WIDE && THREADS / 32 == BLOCKS && GATES * UNITS == DEPTH, "shapes");

/* ---- what blocks of a cluster send each other ------------------------------------------------ */

/* Counts what has come. A round is over when `expect` was called and that many bytes are there. */
typedef unsigned long long inbox;

__device__ static unsigned address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

/* Opens two, and waits until all blocks have: what a block wrote before, its threads see then. */
__device__ static void open_inboxes(inbox *two)
{
    for (int i = 0; i < 2 && threadIdx.x == 0; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&two[i])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ static void expect(inbox *in, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(in)),
                 "r"(bytes)
                 : "memory");
}

/* Waits for the end of round 0, 1, 2 … */
__device__ static void await_round(const inbox *in, int round)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(address(in)), "r"((unsigned)round % 2)
                     : "memory");
}

/* Writes to where `to` is in another block (or this), and counts there. */
__device__ static void send(float *to, inbox *in, int block, float4 v)
{
    asm volatile("{\n\t.reg .u32 to, in;\n\t"
                 "mapa.shared::cluster.u32 to, %0, %2;\n\t"
                 "mapa.shared::cluster.u32 in, %1, %2;\n\t"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [to], "
                 "{%3, %4, %5, %6}, [in];\n\t}" ::"r"(address(to)),
                 "r"(address(in)), "r"(block), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
}

/* Who a thread is. In products it is one of a warp; in between it owns a unit of EACH rows. */
typedef struct mine {
    int r, block, warp, lane, row0, unit;
    bool there; /* the unit; rows may be missing still */
} mine;

__device__ static mine mine_of(const nn_call *c)
{
    int block = (int)blockIdx.x % BLOCKS, lane = (int)threadIdx.x % 32;
    int unit = block * UNITS + lane;
    int row0 = (int)blockIdx.x / BLOCKS * ROWS, warp = (int)threadIdx.x / 32;
    return {(int)blockIdx.y, block, warp, lane, row0, unit, unit < c->in[1].shape.B};
}

__device__ static int row_of(const mine *m, int i)
{
    return m->warp * EACH + i;
}

/* The same over time and batch. */
__device__ static size_t row_at(const nn_call *c, const mine *m, int t, int i)
{
    return (size_t)t * (size_t)c->out.shape.B + (size_t)(m->row0 + row_of(m, i));
}

__device__ static bool is_there(const nn_call *c, const mine *m, int i)
{
    return m->there && m->row0 + row_of(m, i) < c->out.shape.B;
}

/* Where number k of a row lies in shared memory. Odd rows are turned by half of 32: then a quarter
 * of a warp that takes four numbers per thread, of two rows, finds them in 32 banks. */
__device__ static int place(int row, int width, int k)
{
    return row * width + (k ^ (row & 1) << 4);
}

/* ---- products of a warp: 32 rows, 128 numbers each, by 32 columns of weights ----------------- */

/* A thread's weights: numbers 4t .. 4t + 3 of every sixteen, of column g of tile j. */
typedef struct weights {
    float at[CHUNKS][4][4];
} weights;

typedef struct sums {
    float2 at[2][4][2]; /* by 16 rows, tile of columns, and rows g, g + 8: see `multiply` */
} sums;

/* The unit that column c of tile j stands for: so that a thread's four columns of two tiles are
 * units side by side. */
__device__ static int unit_of(int j, int c)
{
    return j / 2 * 16 + c / 2 * 4 + j % 2 * 2 + c % 2;
}

/* from(k, unit). What is multiplied only once is rounded here. */
template <bool PRECISE, class F> __device__ static void load(weights *W, int lane, const F &from)
{
#pragma unroll
    for (int i = 0; i < CHUNKS * 16; i++) {
        float w = from(i / 16 * 16 + lane % 4 * 4 + i % 4, unit_of(i / 4 % 4, lane / 4));
        unsigned high = __float_as_uint(w), low;
        if (!PRECISE) split<false>(w, &high, &low);
        W->at[i / 16][i / 4 % 4][i % 4] = __uint_as_float(high);
    }
}

/* Both halves of eight k: number 2s of a thread's four, and the next. */
template <bool PRECISE>
__device__ static void multiply_eight(float2 (*sum)[4][2], const float4 *a, weights *W, int c,
                                      int s)
{
    unsigned ah[2][4], al[2][4], bh[2], bl[2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        split<PRECISE>(s ? a[i].z : a[i].x, &ah[i / 2][i % 2], &al[i / 2][i % 2]);
        split<PRECISE>(s ? a[i].w : a[i].y, &ah[i / 2][i % 2 + 2], &al[i / 2][i % 2 + 2]);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float *w = &W->at[c][j][2 * s + e];
            bh[e] = __float_as_uint(*w);
            if (!PRECISE) continue;
            asm volatile("" : "+f"(*w)); /* there is no room to keep both parts over time */
            split<true>(*w, &bh[e], &bl[e]);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (PRECISE) multiply(sum[i][j], al[i], bh);
            if (PRECISE) multiply(sum[i][j], ah[i], bl);
            multiply(sum[i][j], ah[i], bh);
        }
    }
}

__device__ static void add(sums *to, const sums *part)
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        to->at[i / 8][i / 2 % 4][i % 2].x += part->at[i / 8][i / 2 % 4][i % 2].x;
        to->at[i / 8][i / 2 % 4][i % 2].y += part->at[i / 8][i / 2 % 4][i % 2].y;
    }
}

/* As in a tile, sums are begun at 0 for every 32 of k, and added by ordinary means. */
template <bool PRECISE, int WIDTH>
__device__ static sums product(const float *a, int lane, weights *W)
{
    sums total = {}, part;
    int g = lane / 4, t = lane % 4;
    const float *even = a + place(g, WIDTH, 4 * t), *odd = a + place(g, WIDTH, 4 * t + 16);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        float4 x[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = *(const float4 *)&(c % 2 ? odd : even)[8 * i * WIDTH + c / 2 * 32];
        if (c % 2 == 0) part = {};
        multiply_eight<PRECISE>(PRECISE ? part.at : total.at, x, W, c, 0);
        multiply_eight<PRECISE>(PRECISE ? part.at : total.at, x, W, c, 1);
        if (PRECISE && c % 2 == 1) add(&total, &part);
    }
    return total;
}

/* Hands them out by fours: put(place, sums). */
template <class F> __device__ static void each_quad(const sums *s, int lane, const F &put)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 *one = &s->at[i / 4][i % 2 * 2][i / 2 % 2];
        const float2 *two = &s->at[i / 4][i % 2 * 2 + 1][i / 2 % 2];
        put(place(i / 2 * 8 + lane / 4, UNITS, i % 2 * 16 + lane % 4 * 4),
            make_float4(one->x, one->y, two->x, two->y));
    }
}

/* ---- the host's part ------------------------------------------------------------------------- */

/* Lets the kernel have its memory. What a driver made of the PTX for older devices has no body. */
template <class F> static bool allow(F *kernel, size_t shared)
{
    cudaFuncAttributes has;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = cluster_of(BLOCKS);
    int most = 0;
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = shared;
    config.attrs = &cluster;
    config.numAttrs = 1;
    return cudaFuncGetAttributes(&has, kernel) == cudaSuccess && has.ptxVersion >= 90 &&
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) ==
               cudaSuccess &&
           cudaOccupancyMaxActiveClusters(&most, kernel, &config) == cudaSuccess && most > 0;
}

#endif
