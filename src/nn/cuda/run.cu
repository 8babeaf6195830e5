/* run.cu - runs a plan: step by step the first time, from then on as one CUDA graph.
 *
 * Consecutive row steps become one piece, every other step is a piece by itself. Which pieces must
 * wait for which follows from the memory they read and write; pieces that need not wait for each
 * other go to different lanes, and capturing the lanes gives a graph with exactly these edges: in a
 * SAC update the critics' own pass runs beside the policy's. The first run is not captured, because
 * libraries load their kernels then. */
#include "nn/cuda/cuda.cuh"

enum { MOST_ENDS = 32 }; /* losses or counters that one kernel looks at */

typedef struct piece {
    int first, count; /* steps; count 0: the two ends */
    bool rows;
    int lane;
    bool *after; /* by earlier piece: directly or through others */
    bool *waits; /* by earlier piece: directly */
    cudaEvent_t done;
} piece;

typedef struct compiled {
    piece *pieces;
    int count;
    bool *marks; /* the pieces' */
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

static void run_start(gpu *self, const nn_program *p)
{
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

static void run_end(gpu *self, const nn_program *p)
{
    counters c = {};
    for (size_t i = 0; i < p->step_count; i++) {
        if (!p->steps[i].call.counter || p->steps[i].backward) continue;
        c.list[c.count++] = p->steps[i].call.counter;
        if (c.count < MOST_ENDS) continue;
        launch(self, "counters", count, dim3(1), 64, c);
        c.count = 0;
    }
    if (c.count > 0) launch(self, "counters", count, dim3(1), 64, c);
}

static void run_step(gpu *self, const nn_step *s)
{
    const nn_follow_step *f = (const nn_follow_step *)s->what;
    switch (s->op) {
    case NN_STEP_CHECK:
        launch_losses(self, "checks", check, (const nn_program *)s->what);
        break;
    case NN_STEP_ADAM:
        gpu_adam(self, (const nn_adam_step *)s->what);
        break;
    case NN_STEP_FOLLOW:
        gpu_follow(self, f->target, f->source, f->n, f->tau);
        break;
    default:
        s->body(&s->call);
    }
}

static void run_piece(gpu *self, const nn_program *p, const piece *x)
{
    if (x->count == 0)
        x->first < 0 ? run_start(self, p) : run_end(self, p);
    else if (x->rows)
        run_row_steps(self, &p->steps[x->first], x->count);
    else
        run_step(self, &p->steps[x->first]);
}

/* ---- pieces and what they wait for ----------------------------------------------------------- */

static int cut(const nn_program *p, piece *out)
{
    int n = 0, steps = (int)p->step_count;
    out[n++].first = -1;
    for (int i = 0; i < steps;) {
        piece *x = &out[n++];
        size_t rows = row_count(&p->steps[i]);
        x->first = i;
        x->rows = rows > 0;
        do {
            x->count++;
            i++;
        } while (rows > 0 && i < steps && x->count < MOST_ROW_STEPS &&
                 row_count(&p->steps[i]) == rows &&
                 p->steps[i].backward == p->steps[i - 1].backward);
    }
    out[n++].first = steps;
    return n;
}

/* Memory of a group: all parameters of all replicas. */
typedef struct stretch {
    const char *from, *to;
} stretch;

typedef struct accesses {
    const void *reads[MOST_ROW_STEPS * (2 * NN_MOST_INPUTS + 4) + 4 + MOST_ENDS];
    const void *writes[MOST_ROW_STEPS * (NN_MOST_INPUTS + 4) + 4 + MOST_ENDS];
    int read_count, write_count;
    stretch read, written; /* a group's; empty for most */
} accesses;

static stretch stretch_of(const real *at, size_t n)
{
    return {(const char *)at, (const char *)(at + n)};
}

static void note_group(accesses *a, const nn_step *s)
{
    if (s->op == NN_STEP_ADAM) {
        const nn_adam_step *x = (const nn_adam_step *)s->what;
        size_t n = x->n * (size_t)x->replicas;
        a->read = stretch_of(x->g, n); /* moments are nobody else's */
        a->written = stretch_of(x->w, n);
    } else {
        const nn_follow_step *x = (const nn_follow_step *)s->what;
        a->read = stretch_of(x->source, x->n);
        a->written = stretch_of(x->target, x->n);
    }
}

static void note_step(accesses *a, const nn_step *s)
{
    const nn_call *c = &s->call;
    if (s->op == NN_STEP_CHECK) {
        const nn_program *p = (const nn_program *)s->what;
        for (int i = 0; i < p->loss_count && i < MOST_ENDS; i++)
            a->reads[a->read_count++] = p->losses[i].v;
        return;
    }
    if (s->op > NN_STEP_CHECK) {
        note_group(a, s);
        return;
    }
    for (int k = 0; k < c->in_count; k++) {
        a->reads[a->read_count++] = c->in[k].v;
        if (s->backward && c->in[k].g) a->writes[a->write_count++] = c->in[k].g;
    }
    if (c->scratch) a->writes[a->write_count++] = c->scratch;
    if (s->backward) {
        a->reads[a->read_count++] = c->out.v;
        a->writes[a->write_count++] = c->out.g; /* slopes are applied in place */
    } else {
        if (c->counter) a->reads[a->read_count++] = c->counter;
        a->writes[a->write_count++] = c->out.v;
    }
}

static bool meet(const void *const *a, int n, const void *const *b, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (a[i] == b[j]) return true;
    return false;
}

static bool inside(stretch s, const void *const *a, int n)
{
    for (int i = 0; i < n; i++)
        if ((const char *)a[i] >= s.from && (const char *)a[i] < s.to) return true;
    return false;
}

static bool overlap(stretch a, stretch b)
{
    return a.from < b.to && b.from < a.to;
}

/* Does one write what the other reads or writes? */
static bool disturbs(const accesses *a, const accesses *b)
{
    return meet(a->writes, a->write_count, b->reads, b->read_count) ||
           meet(a->writes, a->write_count, b->writes, b->write_count) ||
           inside(a->written, b->reads, b->read_count) ||
           inside(a->written, b->writes, b->write_count) ||
           inside(b->read, a->writes, a->write_count) ||
           inside(b->written, a->writes, a->write_count) || overlap(a->written, b->read) ||
           overlap(a->written, b->written);
}

static bool depends(const accesses *later, const accesses *earlier)
{
    return disturbs(earlier, later) || disturbs(later, earlier);
}

/* The last piece moves counters on, which may be long before the end. */
static void note_end(accesses *a, const nn_program *p)
{
    const int most = sizeof a->writes / sizeof *a->writes;
    for (size_t i = 0; i < p->step_count && a->write_count < most; i++)
        if (p->steps[i].call.counter) a->writes[a->write_count++] = p->steps[i].call.counter;
}

/* A group is moved only after its gradients' losses were looked at. */
static bool guards(const nn_program *p, const piece *earlier, const piece *later)
{
    return earlier->count > 0 && later->count > 0 && p->steps[earlier->first].op == NN_STEP_CHECK &&
           p->steps[later->first].op == NN_STEP_ADAM;
}

static bool find_waits(gpu *self, compiled *x, const nn_program *p)
{
    accesses *all = (accesses *)self->host.alloc((size_t)x->count * sizeof *all);
    if (!all) return false;
    for (int i = 0; i < x->count; i++) {
        piece *q = &x->pieces[i];
        for (int k = 0; k < q->count; k++) note_step(&all[i], &p->steps[q->first + k]);
        if (i == x->count - 1) note_end(&all[i], p);
        for (int j = i - 1; j >= 0; j--) {
            bool needs_seeds = j == 0 && q->count > 0 && p->steps[q->first].backward;
            if (q->after[j] ||
                !(needs_seeds || guards(p, &x->pieces[j], q) || depends(&all[i], &all[j])))
                continue;
            q->waits[j] = q->after[j] = true;
            for (int k = 0; k < j; k++) q->after[k] = q->after[k] || x->pieces[j].after[k];
        }
    }
    self->host.free(all);
    return true;
}

/* Behind a piece that it waits for; else on a lane where it does not wait needlessly. */
static void choose_lanes(compiled *x)
{
    int last[LANES];
    for (int l = 0; l < LANES; l++) last[l] = -1;
    for (int i = 0; i < x->count; i++) {
        piece *q = &x->pieces[i];
        int best = -1;
        for (int l = 0; l < LANES; l++)
            if (last[l] >= 0 && q->waits[last[l]] && (best < 0 || last[l] > last[best])) best = l;
        for (int l = 0; best < 0 && l < LANES; l++)
            if (last[l] < 0 || q->after[last[l]]) best = l;
        for (int l = 0; best < 0 && l < LANES; l++) {
            bool oldest = true;
            for (int m = 0; m < LANES; m++) oldest = oldest && last[l] <= last[m];
            if (oldest) best = l;
        }
        q->lane = best;
        last[q->lane] = i;
    }
}

int gpu_prepare(void *arg, nn_program *p)
{
    gpu *self = (gpu *)arg;
    size_t most = p->step_count + 2;
    compiled *x = (compiled *)self->host.alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    p->compiled = x;
    fuse_slopes(p);
    x->pieces = (piece *)self->host.alloc(most * sizeof *x->pieces);
    x->marks = (bool *)self->host.alloc(most * most * 2);
    if (!x->pieces || !x->marks) return FANS_ENOMEM;
    x->count = cut(p, x->pieces);
    for (int i = 0; i < x->count; i++) {
        piece *q = &x->pieces[i];
        q->after = x->marks + (size_t)i * most * 2;
        q->waits = q->after + most;
        gpu_ok(self, cudaEventCreateWithFlags(&q->done, cudaEventDisableTiming), "an event");
    }
    gpu_ok(self, cudaEventCreateWithFlags(&x->start, cudaEventDisableTiming), "an event");
    if (!find_waits(self, x, p)) return FANS_ENOMEM;
    choose_lanes(x);
    return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void queue_pieces(gpu *self, const nn_program *p, compiled *x)
{
    int last[LANES];
    for (int l = 0; l < LANES; l++) last[l] = -1;
    gpu_ok(self, cudaEventRecord(x->start, self->lanes[0].stream), "recording");
    for (int i = 0; i < x->count; i++) {
        piece *q = &x->pieces[i];
        lane *l = self->now = &self->lanes[q->lane];
        if (last[q->lane] < 0 && q->lane > 0)
            gpu_ok(self, cudaStreamWaitEvent(l->stream, x->start, 0), "waiting");
        last[q->lane] = i;
        for (int j = 0; j < i; j++)
            if (q->waits[j] && x->pieces[j].lane != q->lane)
                gpu_ok(self, cudaStreamWaitEvent(l->stream, x->pieces[j].done, 0), "waiting");
        run_piece(self, p, q);
        gpu_ok(self, cudaEventRecord(q->done, l->stream), "recording");
    }
    self->now = &self->lanes[0];
    for (int l = 1; l < LANES; l++) /* all is done when the first lane is */
        if (last[l] >= 0)
            gpu_ok(self, cudaStreamWaitEvent(self->now->stream, x->pieces[last[l]].done, 0),
                   "waiting");
}

static void capture(gpu *self, const nn_program *p, compiled *x)
{
    cudaGraph_t graph = NULL;
    cudaStream_t stream = self->lanes[0].stream;
    if (!gpu_ok(self, cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing"))
        return;
    queue_pieces(self, p, x);
    if (!gpu_ok(self, cudaStreamEndCapture(stream, &graph), "capturing")) return;
    gpu_ok(self, cudaGraphInstantiate(&x->graph, graph, 0), "making a graph");
    cudaGraphDestroy(graph);
}

void gpu_run(void *arg, nn_program *p)
{
    gpu *self = (gpu *)arg;
    gpu_ok(self, cudaSetDevice(self->device), "choosing the device");
    compiled *x = (compiled *)p->compiled;
    if (x->ran && !x->graph) capture(self, p, x);
    if (x->graph)
        gpu_ok(self, cudaGraphLaunch(x->graph, self->lanes[0].stream), "running a graph");
    else
        queue_pieces(self, p, x);
    x->ran = true;
}

void gpu_forget(void *arg, nn_program *p)
{
    gpu *self = (gpu *)arg;
    compiled *x = (compiled *)p->compiled;
    if (!x) return;
    gpu_ok(self, cudaStreamSynchronize(self->lanes[0].stream), "waiting");
    if (x->graph) cudaGraphExecDestroy(x->graph);
    for (int i = 0; i < x->count; i++)
        if (x->pieces[i].done) cudaEventDestroy(x->pieces[i].done);
    if (x->start) cudaEventDestroy(x->start);
    self->host.free(x->marks);
    self->host.free(x->pieces);
    self->host.free(x);
    p->compiled = NULL;
}
