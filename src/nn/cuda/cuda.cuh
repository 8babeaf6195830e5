/* cuda.cuh - what the files of the CUDA backend share.
 *
 * Bodies put kernels on the current queue. A queue is a stream with memory of its own: pieces of a
 * plan that do not depend on each other go to different queues and are captured into one graph.
 * No kernel adds floats atomically: every sum has a fixed order, so the same run gives the same
 * bytes. */
#ifndef NN_CUDA_CUDA_CUH
#define NN_CUDA_CUDA_CUH

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "nn/cuda_abi.h"
#include "nn/math.h"
#include "nn/op.h"

enum { QUEUES = 8, TICKETS = 1 << 16 };
static const size_t WORKSPACE = (size_t)32 << 20;

typedef struct queue {
    cudaStream_t stream;
    void *workspace;   /* cuBLAS's, or partial sums of ours */
    unsigned *tickets; /* zero between kernels: see last_block */
} queue;

/* Page-locked memory that copies pass through; free again when `done` has come. */
enum { SLOTS = 32 };
static const size_t SLOT = (size_t)1 << 20, TAKEN_AT_ONCE = (size_t)64 << 10;
typedef struct slot {
    char *memory;
    cudaEvent_t done;
} slot;

/* The first fault: in device memory, where kernels look, and mapped, where the host looks. */
typedef struct fault_word {
    unsigned taken;
    int kind, index, replica;
    const void *owner;
    float value;
} fault_word;

typedef struct gpu {
    nn_host host;
    int device, processors;
    nn_precision precision;
    bool early; /* kernels may be started before those they wait for are done */
    bool wide;  /* wide LSTMs run in clusters of blocks: lstm_wide.cu */
    cublasLtHandle_t lt;
    queue queues[QUEUES];
    queue *now;
    slot slots[SLOTS]; /* used in turn */
    int next_slot;
    fault_word *fault, *told;
    char why[160]; /* the first call that failed */
    char name[300];
} gpu;

static inline gpu *gpu_of(const nn_call *c)
{
    return (gpu *)c->backend;
}

/* Keeps the first failure; returns whether this one is none. */
bool gpu_ok(gpu *self, cudaError_t e, const char *what);

/* The backend, its device chosen for the calling thread. */
static inline gpu *gpu_here(void *arg)
{
    gpu *self = (gpu *)arg;
    gpu_ok(self, cudaSetDevice(self->device), "choosing the device");
    return self;
}

static inline unsigned blocks_of(size_t n, size_t each)
{
    return (unsigned)((n + each - 1) / each);
}

/* ---- memory.cu, run.cu, group.cu ------------------------------------------------------------- */

void *gpu_take(void *self, size_t bytes);
void gpu_give(void *self, void *memory);
void gpu_clear(void *self, void *at, size_t bytes);
void gpu_copy_in(void *self, void *to, const void *from, size_t bytes);
void gpu_copy_out(void *self, void *to, const void *from, size_t bytes);
void gpu_put_rows(void *self, void *to, const void *from, size_t rows, size_t width,
                  const nn_place *places, int count);

int gpu_prepare(void *self, nn_program *p);
void gpu_run(void *self, nn_program *p);
void gpu_forget(void *self, nn_program *p);
void count_on(gpu *self, uint64_t *const *counters, int count);
void gpu_adam(void *self, const nn_adam_step *s);
void run_adam(gpu *self, const nn_adam_step *s); /* whose steps were counted already */
void gpu_follow(void *self, real *target, const real *source, size_t n, real tau);

/* ---- operators ------------------------------------------------------------------------------- */

/* Steps that work on each row by itself, all on as many rows: rows.cu. Those behind a policy have
 * kernels of their own (rows_policy.cu), which the second queues if these are such steps. */
void run_row_steps(gpu *self, const nn_step *steps, int count, size_t rows);
bool run_policy_steps(gpu *self, const nn_step *steps, int count);

/* A single step of a body, for those that are made of a row step and something else. */
void run_row_step(const nn_call *c, int op, bool backward);

/* A gradient that one small layer alone writes is written times the slopes that belong to it, and
 * marked so: the layer that reads it (for its weights, bias and inputs) need not look at them. */
void fuse_slopes(nn_program *p);

bool lstm_wide_allow(void); /* prepares those kernels; whether the device can run them */

/* The other steps, by operator. A body that is missing is an error of the linker; rows.cu does the
 * row steps, and does not compile where one is missing. */
#define BODIES_ROWS(name)
#define BODIES_REPEATS(name) nn_body_fn name##_backward;
#define BODIES_COST(name)    nn_body_fn name##_forward;
#define BODIES_WHOLE(name)   nn_body_fn name##_forward, name##_backward;
#define BODIES_PRODUCT(name) nn_body_fn name##_forward, name##_backward;
#define X(name, work)        BODIES_##work(name)
#include "nn/ops/list.h"
#undef X

/* ---- for kernels ----------------------------------------------------------------------------- */

#ifdef __CUDACC__

/* Blocks of a grid that run at the same time and reach each other's shared memory. */
static inline cudaLaunchAttribute cluster_of(unsigned blocks)
{
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = blocks;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    return a;
}

/* Puts a kernel on the current queue. It is started while its predecessor still runs, and must
 * wait for it by await_previous: this hides the better part of a launch, which is most of the time
 * that a small kernel takes. In clusters of blocks, each with `shared` bytes that are not declared.
 */
template <class... P, class... A>
static inline void launch_clusters(gpu *self, const char *what, void (*kernel)(P...), dim3 grid,
                                   unsigned threads, unsigned cluster, size_t shared,
                                   const A &...args)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute list[2], early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = self->now->stream;
    config.attrs = list;
    if (self->early) list[config.numAttrs++] = early;
    if (cluster > 1) list[config.numAttrs++] = cluster_of(cluster);
    gpu_ok(self, cudaLaunchKernelEx(&config, kernel, P(args)...), what);
}

/* The same, each block by itself. */
template <class... P, class... A>
static inline void launch(gpu *self, const char *what, void (*kernel)(P...), dim3 grid,
                          unsigned threads, const A &...args)
{
    launch_clusters(self, what, kernel, grid, threads, 1, 0, args...);
}

/* The first thing that every kernel does: lets the next one start, and waits for the last. */
__device__ inline void await_previous(void)
{
#    if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#    endif
}

__device__ inline void report_fault(fault_word *fault, fault_word *told, int kind, int index,
                                    int replica, const void *owner, float value)
{
    if (atomicCAS(&fault->taken, 0u, 1u) != 0u) return;
    told->kind = kind;
    told->index = index;
    told->replica = replica;
    told->owner = owner;
    told->value = value;
    __threadfence_system();
    *(volatile unsigned *)&told->taken = 1u;
}

/* Whether this block is the last of `count` that share a ticket: it then sees what the others
 * wrote. Called by all threads. */
__device__ inline bool last_block(unsigned *ticket, unsigned count)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1u) == count - 1;
        if (last) *ticket = 0;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/* The sum of x over a block of 32·n threads, in a fixed order; every thread gets it. */
__device__ inline double block_sum(double x)
{
    __shared__ double part[32];
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0;
    for (unsigned i = 0; i < blockDim.x / 32; i++) sum += part[i];
    return sum;
}

/* Activations. All but the common ones stay out of line: a kernel that must be fetched before it
 * can run should be short. */
__device__ __noinline__ static float act_value_rest(int act, float x)
{
    switch (act) {
    case NN_LEAKY_RELU:
        return x > 0 ? x : 0.2f * x;
    case NN_ELU:
        return x > 0 ? x : nn_exp(x) - 1;
    case NN_TANH:
        return nn_tanh(x);
    case NN_SIGMOID:
        return nn_sigmoid(x);
    case NN_SOFTPLUS:
        return nn_softplus(x);
    case NN_EXP:
        return nn_exp(x);
    }
    return x;
}

__device__ inline float act_value(int act, float x)
{
    if (act == NN_LINEAR) return x;
    return act == NN_RELU ? (x > 0 ? x : 0) : act_value_rest(act, x);
}

__device__ __noinline__ static float act_slope_rest(int act, float y, float d)
{
    switch (act) {
    case NN_LEAKY_RELU:
        return d * (y > 0 ? 1 : 0.2f);
    case NN_ELU:
        return d * (y > 0 ? 1 : y + 1);
    case NN_TANH:
        return d * (1 - y * y);
    case NN_SIGMOID:
        return d * (y * (1 - y));
    case NN_SOFTPLUS:
        return d * (1 - nn_exp(-y));
    case NN_EXP:
        return d * y;
    }
    return d;
}

/* d · act'(x), where y = act(x) */
__device__ inline float act_slope(int act, float y, float d)
{
    return act == NN_RELU ? (y > 0 ? d : 0) : act_slope_rest(act, y, d);
}

#endif

#endif
