/* run.cu - runs a plan: step by step the first time, from then on as one CUDA graph.
 *
 * Pieces of a program (nn/pieces.c) that need not wait for each other go to different queues, and
 * capturing the queues gives a graph with exactly these edges: in a SAC update the critics' own
 * pass runs beside the policy's. The first run is not captured, because libraries load their
 * kernels then. */
#include "nn/cuda/cuda.cuh"
#include "nn/pieces.h"

enum { MOST_ENDS = 32 }; /* losses or counters that one kernel looks at */

typedef struct compiled {
    nn_pieces pieces;
    cudaEvent_t *done; /* by piece */
    cudaGraphExec_t graph;
    cudaEvent_t start;
    bool ran;
} compiled;

/* ---- before and after the steps -------------------------------------------------------------- */

typedef struct losses {
    nn_tensor list[MOST_ENDS];
    int count, first, replicas; /* first: of those that one kernel had no room for */
    const void *owner;
    fault_word *fault, *told;
} losses;

typedef struct counters {
    uint64_t *list[MOST_ENDS];
    int count;
} counters;

__global__ static void seed(const __grid_constant__ losses e)
{
    await_previous();
    for (int i = (int)threadIdx.x; i < e.count * e.replicas; i += (int)blockDim.x) {
        const nn_tensor *t = &e.list[i / e.replicas];
        if (t->g) *nn_g(t, i % e.replicas) = 1;
    }
}

__global__ static void check(const __grid_constant__ losses e)
{
    await_previous();
    for (int i = (int)threadIdx.x; i < e.count * e.replicas; i += (int)blockDim.x) {
        float x = *nn_v(&e.list[i / e.replicas], i % e.replicas);
        if (!isfinite(x))
            report_fault(e.fault, e.told, NN_FAULT_LOSS, e.first + i / e.replicas, i % e.replicas,
                         e.owner, x);
    }
}

__global__ static void count(const __grid_constant__ counters c)
{
    await_previous();
    if ((int)threadIdx.x < c.count) ++*c.list[threadIdx.x];
}

void count_on(gpu *self, uint64_t *const *list, int n)
{
    counters c = {};
    for (int i = 0; i < n; i++) c.list[c.count++] = list[i];
    if (n > 0) launch(self, "counters", count, dim3(1), 64, c);
}

/* Queues the kernel for all losses of a program. */
static void launch_losses(gpu *self, const char *what, void (*kernel)(losses), const nn_program *p)
{
    for (int first = 0; first < p->loss_count; first += MOST_ENDS) {
        losses e = {};
        e.first = first;
        e.replicas = p->replicas;
        e.owner = p;
        e.fault = self->fault;
        e.told = self->told;
        for (int i = first; i < p->loss_count && i < first + MOST_ENDS; i++)
            e.list[e.count++] = p->losses[i];
        launch(self, what, kernel, dim3(1), 64, e);
    }
}

/* Random operators at the end; optimiser steps at the start, since a step knows its number. */
static void count_steps(gpu *self, const nn_program *p, bool adam)
{
    uint64_t *list[MOST_ENDS];
    int n = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const nn_step *s = &p->steps[i];
        bool random = s->call.counter && !s->backward;
        if (adam ? s->op != NN_STEP_ADAM : !random) continue;
        list[n++] = adam ? ((const nn_adam_step *)s->what)->steps : s->call.counter;
        if (n < MOST_ENDS) continue;
        count_on(self, list, n);
        n = 0;
    }
    count_on(self, list, n);
}

static void run_start(gpu *self, const nn_program *p)
{
    count_steps(self, p, true);
    launch_losses(self, "seeds", seed, p);
    for (size_t i = 0; i < p->zero_count; i++) {
        const nn_tensor *t = &p->zero[i];
        gpu_ok(
            self,
            cudaMemset2DAsync(t->g, t->stride * sizeof(real), 0, nn_size(t->shape) * sizeof(real),
                              (size_t)p->replicas, self->now->stream),
            "clearing gradients");
    }
}

static void run_step(gpu *self, const nn_step *s)
{
    const nn_follow_step *f = (const nn_follow_step *)s->what;
    switch (s->op) {
    case NN_STEP_CHECK:
        launch_losses(self, "checks", check, (const nn_program *)s->what);
        break;
    case NN_STEP_ADAM:
        run_adam(self, (const nn_adam_step *)s->what);
        break;
    case NN_STEP_FOLLOW:
        gpu_follow(self, f->target, f->source, f->n, f->tau);
        break;
    default:
        s->body(&s->call);
    }
}

static void run_piece(gpu *self, const nn_program *p, const nn_piece *x, bool start)
{
    static thread_local nn_step list[PIECE_STEPS]; /* large */
    for (int i = 0; i < x->count; i++) list[i] = p->steps[x->steps[i]];
    if (x->count == 0)
        start ? run_start(self, p) : count_steps(self, p, false);
    else if (x->rows > 0)
        run_row_steps(self, list, x->count, x->rows);
    else
        run_step(self, list);
}

/* ---- preparing ------------------------------------------------------------------------------- */

int gpu_prepare(void *arg, nn_program *p)
{
    gpu *self = gpu_here(arg);
    compiled *x = (compiled *)self->host.alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    p->compiled = x;
    fuse_slopes(p);
    if (!pieces_new(&x->pieces, p, QUEUES, &self->host)) return FANS_ENOMEM;
    x->done = (cudaEvent_t *)self->host.alloc((size_t)x->pieces.count * sizeof *x->done);
    if (!x->done) return FANS_ENOMEM;
    for (int i = 0; i < x->pieces.count; i++)
        gpu_ok(self, cudaEventCreateWithFlags(&x->done[i], cudaEventDisableTiming), "an event");
    gpu_ok(self, cudaEventCreateWithFlags(&x->start, cudaEventDisableTiming), "an event");
    return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void queue_piece(gpu *self, const nn_program *p, compiled *x, int i, bool first_there)
{
    const nn_piece *q = &x->pieces.list[i];
    queue *to = self->now = &self->queues[q->queue];
    if (first_there && q->queue > 0)
        gpu_ok(self, cudaStreamWaitEvent(to->stream, x->start, 0), "waiting");
    for (int j = 0; j < i; j++)
        if (piece_waits(&x->pieces, i, j) && x->pieces.list[j].queue != q->queue)
            gpu_ok(self, cudaStreamWaitEvent(to->stream, x->done[j], 0), "waiting");
    run_piece(self, p, q, i == 0);
    gpu_ok(self, cudaEventRecord(x->done[i], to->stream), "recording");
}

static void queue_pieces(gpu *self, const nn_program *p, compiled *x)
{
    int last[QUEUES];
    for (int l = 0; l < QUEUES; l++) last[l] = -1;
    gpu_ok(self, cudaEventRecord(x->start, self->queues[0].stream), "recording");
    for (int i = 0; i < x->pieces.count; i++) {
        int l = x->pieces.list[i].queue;
        queue_piece(self, p, x, i, last[l] < 0);
        last[l] = i;
    }
    self->now = &self->queues[0];
    for (int l = 1; l < QUEUES; l++) /* all is done when the first queue is */
        if (last[l] >= 0)
            gpu_ok(self, cudaStreamWaitEvent(self->now->stream, x->done[last[l]], 0), "waiting");
}

static void capture(gpu *self, const nn_program *p, compiled *x)
{
    cudaGraph_t graph = NULL;
    cudaStream_t stream = self->queues[0].stream;
    if (!gpu_ok(self, cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing"))
        return;
    queue_pieces(self, p, x);
    if (!gpu_ok(self, cudaStreamEndCapture(stream, &graph), "capturing")) return;
    gpu_ok(self, cudaGraphInstantiate(&x->graph, graph, 0), "making a graph");
    cudaGraphDestroy(graph);
}

void gpu_run(void *arg, nn_program *p)
{
    gpu *self = gpu_here(arg);
    compiled *x = (compiled *)p->compiled;
    if (x->ran && !x->graph) capture(self, p, x);
    if (x->graph)
        gpu_ok(self, cudaGraphLaunch(x->graph, self->queues[0].stream), "running a graph");
    else
        queue_pieces(self, p, x);
    x->ran = true;
}

void gpu_forget(void *arg, nn_program *p)
{
    gpu *self = gpu_here(arg);
    compiled *x = (compiled *)p->compiled;
    if (!x) return;
    gpu_ok(self, cudaStreamSynchronize(self->queues[0].stream), "waiting");
    if (x->graph) cudaGraphExecDestroy(x->graph);
    for (int i = 0; x->done && i < x->pieces.count; i++)
        if (x->done[i]) cudaEventDestroy(x->done[i]);
    if (x->start) cudaEventDestroy(x->start);
    self->host.free(x->done);
    pieces_free(&x->pieces, &self->host);
    self->host.free(x);
    p->compiled = NULL;
}
