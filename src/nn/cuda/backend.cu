/* backend.cu - opens a device, and tells of faults. */
#include <stdio.h>
#include <string.h>

#include "nn/cuda/cuda.cuh"

bool gpu_ok(gpu *self, cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return true;
    if (!self->why[0])
        snprintf(self->why, sizeof self->why, "cuda: %s: %s", what, cudaGetErrorString(e));
    return false;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void tell_fault(void *arg, bool wait, nn_fault *f)
{
    gpu *self = (gpu *)arg;
    cudaStream_t stream = self->queues[0].stream;
    f->kind = NN_FAULT_NONE;
    if (wait) gpu_ok(self, cudaStreamSynchronize(stream), "waiting");
    if (self->why[0]) {
        f->kind = NN_FAULT_DEVICE;
        snprintf(f->why, sizeof f->why, "%s", self->why);
        return;
    }
    if (!*(volatile unsigned *)&self->told->taken) return;
    gpu_ok(self, cudaStreamSynchronize(stream), "waiting");
    f->kind = self->told->kind == NN_FAULT_LOSS ? NN_FAULT_LOSS : NN_FAULT_GRADIENT;
    f->index = self->told->index;
    f->replica = self->told->replica;
    f->owner = self->told->owner;
    f->value = self->told->value;
    memset(self->told, 0, sizeof *self->told);
    gpu_ok(self, cudaMemsetAsync(self->fault, 0, sizeof *self->fault, stream), "clearing a fault");
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void close_device(gpu *self)
{
    for (int i = 0; i < QUEUES; i++) {
        queue *q = &self->queues[i];
        if (q->stream) cudaStreamSynchronize(q->stream);
        if (q->workspace) cudaFree(q->workspace);
        if (q->tickets) cudaFree(q->tickets);
        if (q->stream) cudaStreamDestroy(q->stream);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (self->slots[i].memory) cudaFreeHost(self->slots[i].memory);
        if (self->slots[i].done) cudaEventDestroy(self->slots[i].done);
    }
    if (self->fault) cudaFree(self->fault);
    if (self->told) cudaFreeHost(self->told);
    if (self->lt) cublasLtDestroy(self->lt);
    self->host.free(self);
}

static void close_backend(nn_backend *b)
{
    close_device((gpu *)b->self);
}

static bool open_slots(gpu *self)
{
    bool ok = true;
    for (int i = 0; ok && i < SLOTS; i++) {
        slot *s = &self->slots[i];
        ok = gpu_ok(self, cudaHostAlloc((void **)&s->memory, SLOT, 0), "memory") &&
             gpu_ok(self, cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming), "an event");
    }
    return ok;
}

static bool open_device(gpu *self)
{
    bool ok =
        gpu_ok(self, cudaSetDevice(self->device), "choosing the device") &&
        gpu_ok(self, cudaMalloc((void **)&self->fault, sizeof *self->fault), "memory") &&
        gpu_ok(self, cudaMemset(self->fault, 0, sizeof *self->fault), "memory") &&
        gpu_ok(self, cudaHostAlloc((void **)&self->told, sizeof *self->told, cudaHostAllocMapped),
               "memory");
    for (int i = 0; ok && i < QUEUES; i++) {
        queue *q = &self->queues[i];
        size_t tickets = TICKETS * sizeof *q->tickets;
        ok = gpu_ok(self, cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking), "queues") &&
             gpu_ok(self, cudaMalloc(&q->workspace, WORKSPACE), "memory") &&
             gpu_ok(self, cudaMalloc((void **)&q->tickets, tickets), "memory") &&
             gpu_ok(self, cudaMemset(q->tickets, 0, tickets), "memory");
    }
    ok = ok && open_slots(self);
    if (ok) memset(self->told, 0, sizeof *self->told);
    if (ok && cublasLtCreate(&self->lt) != CUBLAS_STATUS_SUCCESS) {
        snprintf(self->why, sizeof self->why, "cuBLAS does not start");
        ok = false;
    }
    self->now = &self->queues[0];
    return ok && gpu_ok(self, cudaDeviceSynchronize(), "starting");
}

/* A row step is never run by its body. */
static void no_body(const nn_call *c)
{
    gpu *self = gpu_of(c);
    snprintf(self->why, sizeof self->why, "cuda: a row step was run by itself");
}

typedef struct bodies {
    nn_body_fn *forward, *backward;
} bodies;

#define OF_ROWS(name)    \
    {                    \
        no_body, no_body \
    }
#define OF_REPEATS(name)         \
    {                            \
        no_body, name##_backward \
    }
#define OF_COST(name)           \
    {                           \
        name##_forward, no_body \
    }
#define OF_WHOLE(name)                  \
    {                                   \
        name##_forward, name##_backward \
    }
#define OF_PRODUCT(name)                \
    {                                   \
        name##_forward, name##_backward \
    }
#define X(name, work) OF_##work(name),
static const bodies cuda_bodies[NN_OP_COUNT] = {
#include "nn/ops/list.h"
};
#undef X

static void fill_bodies(nn_backend *b)
{
    for (int i = 0; i < NN_OP_COUNT; i++) {
        b->forward[i] = cuda_bodies[i].forward;
        b->backward[i] = cuda_bodies[i].backward;
    }
}

static void fill(nn_backend *b, gpu *self)
{
    memset(b, 0, sizeof *b);
    b->name = self->name;
    b->self = self;
    b->memory = {gpu_take, gpu_give, self};
    b->copy_in = gpu_copy_in;
    b->copy_out = gpu_copy_out;
    b->clear = gpu_clear;
    b->put_rows = gpu_put_rows;
    b->adam = gpu_adam;
    b->follow = gpu_follow;
    b->prepare = gpu_prepare;
    b->run = gpu_run;
    b->forget = gpu_forget;
    b->fault = tell_fault;
    b->free = close_backend;
    fill_bodies(b);
}

/* Says which device it is; -1 where there is none. */
static int describe(int device, cudaDeviceProp *d, char *why, size_t size)
{
    int count = 0, driver = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    cudaDriverGetVersion(&driver);
    if (e == cudaErrorInsufficientDriver) {
        if (driver == 0)
            snprintf(why, size, "no NVIDIA driver (libcuda.so.1)");
        else
            snprintf(why, size, "the NVIDIA driver is for CUDA %d.%d, older than this build needs",
                     driver / 1000, driver % 1000 / 10);
        return -1;
    }
    if (e != cudaSuccess || count == 0) {
        snprintf(why, size, "no CUDA device (%s)",
                 e == cudaSuccess ? "none is there" : cudaGetErrorString(e));
        return -1;
    }
    if (device < 0 || device >= count) {
        snprintf(why, size, "no CUDA device %d: there are %d", device, count);
        return -1;
    }
    if (cudaGetDeviceProperties(d, device) != cudaSuccess) {
        snprintf(why, size, "CUDA device %d does not answer", device);
        return -1;
    }
    snprintf(why, size, "%d × %s, %.0f GiB, compute capability %d.%d, driver for CUDA %d.%d", count,
             d->name, (double)d->totalGlobalMem / 0x1p30, d->major, d->minor, driver / 1000,
             driver % 1000 / 10);
    return 0;
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int fans_cuda_open(const nn_cuda_abi *abi, const nn_host *host, nn_backend *b,
                          const nn_cuda_options *o, char *why, size_t size)
{
    const nn_cuda_abi ours = nn_cuda_abi_here();
    cudaDeviceProp d;
    if (memcmp(abi, &ours, sizeof ours)) {
        snprintf(why, size, "libfans_cuda.so is of another version than the program");
        return -1;
    }
    if (describe(o->device, &d, why, size) < 0) return -1;
    if (!b) return 0;
    gpu *self = (gpu *)host->alloc(sizeof *self);
    if (!self) {
        snprintf(why, size, "out of memory");
        return -1;
    }
    self->host = *host;
    self->device = o->device;
    self->precision = o->precision;
    self->processors = d.multiProcessorCount;
    self->early = d.major >= 9;
    snprintf(self->name, sizeof self->name, "cuda (%s)", d.name);
    if (!open_device(self)) {
        snprintf(why, size, "%s", self->why);
        close_device(self);
        return -1;
    }
    self->wide = lstm_wide_allow();
    fill(b, self);
    return 0;
}
