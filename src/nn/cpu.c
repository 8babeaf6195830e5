/* cpu.c - the CPU backend: the operators' own bodies, a thread pool, plain memory. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/gemm.h"
#include "nn/math.h"
#include "nn/op.h"

enum { GRAIN = 8192 }; /* numbers that one item works on */

/* ---- sharing out work ------------------------------------------------------------------------ */

typedef struct ranges_job {
    const nn_call *c;
    nn_range_fn *fn;
    size_t n, piece;
    int pieces;
} ranges_job;

static void run_range(void *arg, int item)
{
    const ranges_job *j = arg;
    size_t from = (size_t)(item % j->pieces) * j->piece, to = from + j->piece;
    j->fn(j->c, item / j->pieces, from, to < j->n ? to : j->n);
}

void nn_ranges(const nn_call *c, size_t n, int width, nn_range_fn *fn)
{
    ranges_job j = {c, fn, n, width < GRAIN ? GRAIN / (size_t)width : 1, 0};
    j.pieces = (int)((n + j.piece - 1) / j.piece);
    nn_items(c, j.pieces * c->replicas, run_range, &j);
}

typedef struct replicas_job {
    const nn_call *c;
    nn_replica_fn *fn;
} replicas_job;

static void run_replica(void *arg, int item)
{
    const replicas_job *j = arg;
    j->fn(j->c, item);
}

void nn_replicas(const nn_call *c, nn_replica_fn *fn)
{
    replicas_job j = {c, fn};
    nn_items(c, c->replicas, run_replica, &j);
}

/* ---- group steps ----------------------------------------------------------------------------- */

typedef struct group_job {
    const nn_adam_step *s;
    real *target;
    const real *source;
    size_t n;
    real tau;
    int pieces;
} group_job;

/* In a fixed order: pieces of GRAIN, eight sums each. */
static void norm_of(void *arg, int replica)
{
    const nn_adam_step *s = arg;
    const real *g = s->g + (size_t)replica * s->n;
    double total = 0;
    for (size_t from = 0; from < s->n; from += GRAIN) {
        size_t to = from + GRAIN < s->n ? from + GRAIN : s->n;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = from; i < to; i++) sum += g[i] * g[i];
        total += (double)sum;
    }
    s->norm[replica] = sqrt(total);
}

static void adam_range(void *arg, int item)
{
    const group_job *j = arg;
    const nn_adam_step *s = j->s;
    int replica = item / j->pieces;
    double norm = s->norm[replica];
    if (!isfinite(norm)) return;
    real scale = s->clip > 0 && norm > s->clip ? (real)(s->clip / norm) : (real)1;
    size_t base = (size_t)replica * s->n, from = (size_t)(item % j->pieces) * GRAIN;
    size_t count = from + GRAIN < s->n ? GRAIN : s->n - from;
    real *restrict w = s->w + base + from, *restrict m = s->m + base + from;
    real *restrict v = s->v + base + from;
    const real *restrict g = s->g + base + from;
    real b1 = s->beta1, b2 = s->beta2, root = s->root, eps = s->eps, rate = s->rate;
    for (size_t i = 0; i < count; i++) {
        real d = g[i] * scale;
        m[i] = b1 * m[i] + (1 - b1) * d;
        v[i] = b2 * v[i] + (1 - b2) * d * d;
        w[i] -= rate * m[i] / (nn_sqrt(v[i]) * root + eps);
    }
}

static int pieces_of(size_t n)
{
    return (int)((n + GRAIN - 1) / GRAIN);
}

static void cpu_adam(void *self, const nn_adam_step *s)
{
    group_job j = {.s = s, .pieces = pieces_of(s->n)};
    nn_adam_step copy = *s;
    pool_run(self, s->replicas, norm_of, &copy);
    pool_run(self, s->replicas * j.pieces, adam_range, &j);
}

static void follow_range(void *arg, int item)
{
    const group_job *j = arg;
    size_t from = (size_t)item * GRAIN, to = from + GRAIN < j->n ? from + GRAIN : j->n;
    for (size_t i = from; i < to; i++)
        j->target[i] =
            j->tau == 1 ? j->source[i] : j->target[i] + j->tau * (j->source[i] - j->target[i]);
}

static void cpu_follow(void *self, real *target, const real *source, size_t n, real tau)
{
    group_job j = {.target = target, .source = source, .n = n, .tau = tau};
    pool_run(self, pieces_of(n), follow_range, &j);
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void *cpu_take(void *self, size_t bytes)
{
    (void)self;
    return mem_alloc(bytes);
}

static void cpu_give(void *self, void *memory)
{
    (void)self;
    mem_free(memory);
}

static void cpu_copy(void *self, void *to, const void *from, size_t bytes)
{
    (void)self;
    memcpy(to, from, bytes);
}

static void cpu_clear(void *self, void *at, size_t bytes)
{
    (void)self;
    memset(at, 0, bytes);
}

static _Thread_local gemm_guard guard;

static void cpu_begin(void *self)
{
    (void)self;
    guard = gemm_enter();
}

static int cpu_end(void *self)
{
    (void)self;
    return gemm_leave(&guard);
}

int nn_cpu_new(nn_backend **out, pool *p)
{
    nn_backend *b = mem_alloc(sizeof *b);
    if (!b) return FANS_ENOMEM;
    *b = (nn_backend){.name = "cpu",
                      .self = p,
                      .memory = {cpu_take, cpu_give, NULL},
                      .copy_in = cpu_copy,
                      .copy_out = cpu_copy,
                      .clear = cpu_clear,
                      .adam = cpu_adam,
                      .follow = cpu_follow,
                      .begin = cpu_begin,
                      .end = cpu_end};
    for (int i = 0; i < NN_OP_COUNT; i++) {
        b->forward[i] = nn_ops[i]->forward;
        b->backward[i] = nn_ops[i]->backward;
    }
    *out = b;
    return 0;
}

void nn_backend_free(nn_backend *b)
{
    if (b && b->free) b->free(b);
    mem_free(b);
}

bool nn_backend_is_async(const nn_backend *b)
{
    return b->run != NULL;
}

const char *nn_backend_name(const nn_backend *b)
{
    return b->name;
}
