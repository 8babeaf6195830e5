/* group.cu - optimiser steps over a whole group: one kernel each.
 *
 * Adam needs the norm of all gradients before it may change anything. Instead of three kernels, one
 * whose blocks wait for each other in between: partial sums, then everyone adds them up in the same
 * order, then the step. Where a block is all there is of a replica it waits for nobody. How many
 * steps were taken is counted here, so that a captured step is the same at every run. */
#include <cooperative_groups.h>

#include "nn/cuda/cuda.cuh"

enum { THREADS = 256, PIECE = 2048 }; /* numbers that one block treats at a time */

typedef struct adam_args {
    nn_adam_step s;
    double *parts;
    unsigned *ticket;
    size_t pieces; /* of a replica */
    fault_word *fault, *told;
} adam_args;

__device__ static double sum_squares(const float *g, size_t n)
{
    double sum = 0;
    for (size_t i = threadIdx.x * 4; i < n; i += THREADS * 4) {
        float4 x = *(const float4 *)(g + i);
        sum += (double)x.x * x.x + (double)x.y * x.y + (double)x.z * x.z + (double)x.w * x.w;
    }
    return block_sum(sum);
}

/* What depends on the number of the step. */
typedef struct rates {
    float rate, root;
} rates;

__device__ static rates rates_of(const nn_adam_step *s)
{
    double t = (double)(*s->steps + 1);
    return {(float)(s->lr / (1 - pow(s->decay1, t))), (float)(1 / sqrt(1 - pow(s->decay2, t)))};
}

__device__ static void step_number(const nn_adam_step *s, rates now, float scale, float g, float *w,
                                   float *m, float *v)
{
    float d = g * scale;
    *m = s->beta1 * *m + (1 - s->beta1) * d;
    *v = s->beta2 * *v + (1 - s->beta2) * d * d;
    *w -= now.rate * *m / (sqrtf(*v) * now.root + s->eps);
}

__device__ static void step_piece(const nn_adam_step *s, rates now, float scale, size_t at,
                                  size_t n)
{
    for (size_t i = at + threadIdx.x * 4; i < at + n; i += THREADS * 4) {
        float4 g = *(const float4 *)(s->g + i), w = *(float4 *)(s->w + i);
        float4 m = *(float4 *)(s->m + i), v = *(float4 *)(s->v + i);
        step_number(s, now, scale, g.x, &w.x, &m.x, &v.x);
        step_number(s, now, scale, g.y, &w.y, &m.y, &v.y);
        step_number(s, now, scale, g.z, &w.z, &m.z, &v.z);
        step_number(s, now, scale, g.w, &w.w, &m.w, &v.w);
        *(float4 *)(s->w + i) = w;
        *(float4 *)(s->m + i) = m;
        *(float4 *)(s->v + i) = v;
    }
}

/* The norm of a replica's gradient: every block finds the same bits. */
__device__ static double norm_of(const adam_args *a, size_t replica)
{
    double sum = 0;
    for (size_t k = threadIdx.x; k < a->pieces; k += THREADS)
        sum += a->parts[replica * a->pieces + k];
    return sqrt(block_sum(sum));
}

template <bool ALONE> __global__ static void adam(const __grid_constant__ adam_args a)
{
    if (ALONE) await_previous();
    const nn_adam_step *s = &a.s;
    size_t all = a.pieces * (size_t)s->replicas;
    bool stopped = *(volatile unsigned *)&a.fault->taken != 0; /* some earlier step went wrong */
    __shared__ rates now;
    if (threadIdx.x == 0) now = rates_of(s);
    for (size_t p = blockIdx.x; p < all; p += gridDim.x) {
        size_t at = p % a.pieces * PIECE, n = s->n - at < PIECE ? s->n - at : PIECE;
        double sum = sum_squares(s->g + p / a.pieces * s->n + at, n);
        if (threadIdx.x == 0) a.parts[p] = sum;
    }
    if (ALONE)
        __syncthreads();
    else
        cooperative_groups::this_grid().sync();
    double norm = 0;
    size_t of = (size_t)-1;
    for (size_t p = blockIdx.x; p < all && !stopped; p += gridDim.x) {
        size_t r = p / a.pieces, at = p % a.pieces * PIECE;
        if (r != of) norm = norm_of(&a, r);
        of = r;
        if (at == 0 && threadIdx.x == 0) {
            s->norm[r] = norm;
            if (!isfinite(norm))
                report_fault(a.fault, a.told, NN_FAULT_GRADIENT, 0, (int)r, s->norm, (float)norm);
        }
        if (!isfinite(norm)) continue;
        float scale = s->clip > 0 && norm > s->clip ? (float)(s->clip / norm) : 1.0f;
        step_piece(s, now, scale, r * s->n + at, s->n - at < PIECE ? s->n - at : PIECE);
    }
    bool last = ALONE ? last_block(a.ticket, gridDim.x) : blockIdx.x == 0;
    if (last && threadIdx.x == 0 && !stopped) ++*s->steps; /* all have read it */
}

void gpu_adam(void *arg, const nn_adam_step *s)
{
    gpu *self = (gpu *)arg;
    adam_args a = {*s,
                   (double *)self->now->workspace,
                   self->now->tickets,
                   blocks_of(s->n, PIECE),
                   self->fault,
                   self->told};
    size_t blocks = a.pieces * (size_t)s->replicas, most = (size_t)self->processors * 4;
    if (s->n == 0) return;
    if (a.pieces == 1) {
        launch(self, "Adam", adam<true>, dim3((unsigned)s->replicas), THREADS, a);
        return;
    }
    if (blocks > most) blocks = most;
    void *args[] = {&a};
    gpu_ok(self,
           cudaLaunchCooperativeKernel((const void *)adam<false>, dim3((unsigned)blocks),
                                       dim3(THREADS), args, 0, self->now->stream),
           "Adam");
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
    gpu *self = (gpu *)arg;
    unsigned blocks = blocks_of(n, THREADS * 4), most = (unsigned)self->processors * 8;
    if (n == 0) return;
    if (blocks > most) blocks = most;
    launch(self, "follow", follow, dim3(blocks), THREADS, target, source, n, tau, self->fault);
}
