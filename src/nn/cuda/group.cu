/* group.cu - optimiser steps over a whole group: one kernel each.
 *
 * A step is done in pieces, a block each. Where gradients are clipped, nothing may change before
 * the norm of all is known: there the blocks of a kernel wait for each other in between, and
 * everyone adds up the same sums in the same order. How many steps were taken is counted on the
 * device, before the step, so that a captured one is the same at every run. */
#include <cooperative_groups.h>

#include "nn/cuda/cuda.cuh"

enum { THREADS = 256, PIECE = 2048 }; /* numbers that one block treats at a time */
enum { QUADS = PIECE / THREADS / 4 }; /* of a thread */
enum { RESIDENT = 4 };                /* blocks of a processor that wait for each other */

typedef struct adam_args {
    nn_adam_step s;
    double *parts;
    size_t pieces; /* of a replica */
    fault_word *fault, *told;
} adam_args;

/* What depends on the number of the step. */
typedef struct rates {
    float rate, root;
} rates;

__device__ static double power(double x, uint64_t n)
{
    double y = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

__device__ static rates rates_of(const nn_adam_step *s)
{
    uint64_t t = *s->steps;
    return {(float)(s->lr / (1 - power(s->decay1, t))), (float)(1 / sqrt(1 - power(s->decay2, t)))};
}

/* A thread's share of a piece: the numbers of a replica from `at` on, of which n are there. */
struct share {
    float4 g[QUADS], w[QUADS], m[QUADS], v[QUADS];

    template <class F> __device__ static void each(size_t n, const F &f)
    {
#pragma unroll
        for (int k = 0; k < QUADS; k++) {
            size_t i = ((size_t)k * THREADS + threadIdx.x) * 4;
            if (i < n) f(k, i);
        }
    }

    __device__ void read_gradient(const float *from, size_t n)
    {
        for (int k = 0; k < QUADS; k++) g[k] = {0, 0, 0, 0};
        each(n, [&](int k, size_t i) { g[k] = *(const float4 *)(from + i); });
    }

    __device__ void read_rest(const nn_adam_step *s, size_t at, size_t n)
    {
        each(n, [&](int k, size_t i) {
            w[k] = *(const float4 *)(s->w + at + i);
            m[k] = *(const float4 *)(s->m + at + i);
            v[k] = *(const float4 *)(s->v + at + i);
        });
    }

    __device__ double squares() const
    {
        double sum = 0;
        for (int k = 0; k < QUADS; k++)
            sum += (double)g[k].x * g[k].x + (double)g[k].y * g[k].y + (double)g[k].z * g[k].z +
                   (double)g[k].w * g[k].w;
        return sum;
    }

    __device__ static void move(const nn_adam_step *s, rates now, float d, float *w, float *m,
                                float *v)
    {
        *m = s->beta1 * *m + (1 - s->beta1) * d;
        *v = s->beta2 * *v + (1 - s->beta2) * d * d;
        *w -= now.rate * *m / (sqrtf(*v) * now.root + s->eps);
    }

    __device__ void step(const nn_adam_step *s, rates now, float scale, size_t at, size_t n)
    {
        each(n, [&](int k, size_t i) {
            move(s, now, g[k].x * scale, &w[k].x, &m[k].x, &v[k].x);
            move(s, now, g[k].y * scale, &w[k].y, &m[k].y, &v[k].y);
            move(s, now, g[k].z * scale, &w[k].z, &m[k].z, &v[k].z);
            move(s, now, g[k].w * scale, &w[k].w, &m[k].w, &v[k].w);
            *(float4 *)(s->w + at + i) = w[k];
            *(float4 *)(s->m + at + i) = m[k];
            *(float4 *)(s->v + at + i) = v[k];
        });
    }
};

__device__ static size_t size_of(const adam_args &a, size_t piece)
{
    size_t left = a.s.n - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

__device__ static bool is_stopped(const adam_args &a) /* some earlier step went wrong */
{
    return *(volatile unsigned *)&a.fault->taken != 0;
}

__device__ static void blame(const adam_args &a, size_t r, double norm)
{
    if (threadIdx.x == 0)
        report_fault(a.fault, a.told, NN_FAULT_GRADIENT, 0, (int)r, a.s.norm, (float)norm);
}

/* Nothing is clipped: every piece by itself. One with a gradient that is no number stays as it is.
 */
__global__ static void adam(const __grid_constant__ adam_args a)
{
    await_previous();
    size_t r = blockIdx.x / a.pieces, p = blockIdx.x % a.pieces, n = size_of(a, p);
    size_t at = r * a.s.n + p * PIECE;
    __shared__ rates now;
    __shared__ bool stopped; /* by one for all: another queue may raise the flag at any moment */
    share x;
    x.read_gradient(a.s.g + at, n);
    x.read_rest(&a.s, at, n);
    if (threadIdx.x == 0) {
        stopped = is_stopped(a);
        now = rates_of(&a.s);
    }
    double squares = x.squares(); /* cannot overflow */
    if (__syncthreads_or(!isfinite(squares)))
        blame(a, r, NAN);
    else if (!stopped)
        x.step(&a.s, now, 1, at, n);
}

/* The norm of a replica's gradient: every block finds the same bits. */
__device__ static double norm_of(const adam_args &a, size_t r)
{
    double sum = 0;
    for (size_t k = threadIdx.x; k < a.pieces; k += THREADS) sum += a.parts[r * a.pieces + k];
    return sqrt(block_sum(sum));
}

/* Clipped; blocks take several pieces where there are more of them than can run at once. */
__global__ static void __launch_bounds__(THREADS, RESIDENT)
    adam_clipped(const __grid_constant__ adam_args a)
{
    size_t all = a.pieces * (size_t)a.s.replicas;
    __shared__ rates now;
    __shared__ bool stopped;
    share x;
    if (threadIdx.x == 0) {
        stopped = is_stopped(a);
        now = rates_of(&a.s);
    }
    for (size_t i = blockIdx.x; i < all; i += gridDim.x) {
        size_t r = i / a.pieces, p = i % a.pieces;
        x.read_gradient(a.s.g + r * a.s.n + p * PIECE, size_of(a, p));
        double sum = block_sum(x.squares());
        if (threadIdx.x == 0) a.parts[i] = sum;
    }
    cooperative_groups::this_grid().sync();
    for (size_t i = blockIdx.x; i < all && !stopped; i += gridDim.x) {
        size_t r = i / a.pieces, p = i % a.pieces, n = size_of(a, p), at = r * a.s.n + p * PIECE;
        double norm = norm_of(a, r);
        if (p == 0 && threadIdx.x == 0) a.s.norm[r] = norm;
        if (!isfinite(norm)) {
            if (p == 0) blame(a, r, norm);
            continue;
        }
        x.read_gradient(a.s.g + at, n);
        x.read_rest(&a.s, at, n);
        x.step(&a.s, now, norm > a.s.clip ? (float)(a.s.clip / norm) : 1, at, n);
    }
}

void run_adam(gpu *self, const nn_adam_step *s)
{
    size_t pieces = blocks_of(s->n, PIECE), all = pieces * (size_t)s->replicas;
    size_t most = (size_t)self->processors * RESIDENT;
    adam_args a = {*s, (double *)self->now->workspace, pieces, self->fault, self->told};
    if (s->n == 0) return;
    if (!(s->clip > 0)) {
        launch(self, "Adam", adam, dim3((unsigned)all), THREADS, a);
        return;
    }
    void *args[] = {&a};
    gpu_ok(self,
           cudaLaunchCooperativeKernel((const void *)adam_clipped,
                                       dim3((unsigned)(all < most ? all : most)), dim3(THREADS),
                                       args, 0, self->now->stream),
           "Adam");
}

void gpu_adam(void *arg, const nn_adam_step *s)
{
    gpu *self = gpu_here(arg);
    count_on(self, &s->steps, 1);
    run_adam(self, s);
}

__global__ static void follow(float *target, const float *source, size_t n, float tau,
                              const fault_word *fault)
{
    await_previous();
    if (fault->taken && tau != 1) return;
    for (size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) * 4; i < n;
         i += (size_t)gridDim.x * THREADS * 4) {
        float4 t = *(float4 *)(target + i), s = *(const float4 *)(source + i);
        t.x = tau == 1 ? s.x : t.x + tau * (s.x - t.x);
        t.y = tau == 1 ? s.y : t.y + tau * (s.y - t.y);
        t.z = tau == 1 ? s.z : t.z + tau * (s.z - t.z);
        t.w = tau == 1 ? s.w : t.w + tau * (s.w - t.w);
        *(float4 *)(target + i) = t;
    }
}

void gpu_follow(void *arg, real *target, const real *source, size_t n, real tau)
{
    gpu *self = gpu_here(arg);
    unsigned blocks = blocks_of(n, THREADS * 4), most = (unsigned)self->processors * 8;
    if (n == 0) return;
    if (blocks > most) blocks = most;
    launch(self, "follow", follow, dim3(blocks), THREADS, target, source, n, tau, self->fault);
}
