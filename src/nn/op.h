/* op.h - for those who write operators and backends.
 *
 * An operator is one file in ops/: how it infers its shape, and its CPU bodies. A body works on all
 * replicas of one node; it finds everything in its nn_call. The division of its work among threads
 * may depend on shapes alone, never on the number of threads or replicas, so that results are the
 * same bits however many there are. */
#ifndef NN_OP_H
#define NN_OP_H

#include <assert.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "nn/nn.h"

/* Small functions that kernels call too. */
#ifdef __CUDACC__
#    define NN_FN static inline __host__ __device__
#else
#    define NN_FN static inline
#endif

typedef struct nn_attr {
    int i[8];
    double f[4];
} nn_attr;

/* A tensor as a body sees it. */
typedef struct nn_tensor {
    real *v;       /* value of replica 0; of tables and indices see nn_bytes and nn_numbers */
    real *g;       /* gradient; NULL where none is wanted */
    size_t stride; /* from one replica to the next, in numbers */
    bool add;      /* add to g instead of writing it: another reader was there before */
    uint8_t type;  /* an nn_type; a byte, because calls travel as kernel arguments */
    uint8_t slope; /* an nn_act: the slope at v to multiply g by, once it is complete; see plan.c */
    bool sloped;   /* of a result: its last reader has done so */
    nn_shape shape;
} nn_tensor;

typedef struct nn_call {
    nn_tensor out, in[NN_MOST_INPUTS];
    int in_count;
    nn_attr attr;
    real *scratch; /* per replica `scratch_size` numbers, kept from forward to backward */
    size_t scratch_size;
    uint64_t *counter;     /* random operators: runs so far; in the backend's memory */
    const uint64_t *seeds; /* of the replicas; likewise */
    uint32_t purpose;      /* this node's random stream */
    int replicas;
    void *backend; /* the CPU's is its pool */
} nn_call;

typedef void nn_body_fn(const nn_call *c);

/* While recording: the operands' shapes, the attributes, and what is to be found out. */
typedef struct nn_inference {
    nn_shape in[NN_MOST_INPUTS];
    int in_count;
    nn_attr attr;
    nn_shape out;
    size_t scratch; /* numbers per replica */
    double flops;   /* of one forward pass, matrix products only */
    int skip;       /* bit k: no gradient ever flows into operand k */
} nn_inference;

/* How an operator works: see ops/list.h. */
typedef enum {
    NN_WORK_ROWS,    /* on each row by itself, both ways */
    NN_WORK_REPEATS, /* likewise; but the last operand may repeat, and its gradient sums rows */
    NN_WORK_COST,    /* the mean over rows; its gradient is found row by row */
    NN_WORK_WHOLE,   /* on all rows together */
    NN_WORK_PRODUCT  /* likewise, and takes long: a matrix product */
} nn_work;

/* Values that a backward body may look at: bit k is operand k. */
enum { NN_RESULT = 1 << NN_MOST_INPUTS, NN_OPERANDS = NN_RESULT - 1 };

typedef struct nn_op {
    const char *name, *help;
    /* Returns NULL, or what is wrong with the operands (a constant text). */
    const char *(*infer)(nn_inference *f);
    bool random;
    int indices; /* bit k: operand k is an index, and no other may be one */
    int tables;  /* bit k: operand k may hold bytes */
    int act;     /* 1 + the attribute that is its activation; 0: none, or it is not said */
    bool slopes; /* the CPU's backward does what an operand's `slope` asks for */
    int ignores; /* values that no backward body, of whatever backend, looks at */
    nn_body_fn *forward, *backward; /* the CPU's; backward is NULL where no gradient passes */
} nn_op;

/* One enumerator and one definition per line of ops/list.h. */
enum {
#define X(name, work) NN_OP_##name,
#include "nn/ops/list.h"
#undef X
    NN_OP_COUNT
};
#define X(name, work) extern const nn_op nn_op_##name;
#include "nn/ops/list.h"
#undef X
extern const nn_op *const nn_ops[NN_OP_COUNT];

/* Records a node. `x` must not hold NN_NONE; optional operands are told by the attributes. */
nn_var nn_record(int op, nn_list x, nn_attr attr);

/* ---- backends -------------------------------------------------------------------------------- */

/* Adam on a whole group. Everything that changes between steps is computed once, before the loop. A
 * replica whose gradient is not finite is left as it was, or the part of it that has such a
 * gradient (nn.h); its norm tells, or a fault. All pointers lead to the backend's memory. */
typedef struct nn_adam_step {
    real *w, *m, *v;
    const real *g;
    double *norm; /* out: of each replica's gradient, before clipping; may be left where none is */
    size_t n;     /* numbers per replica */
    int replicas;
    double clip;                        /* 0: none */
    real beta1, beta2, eps, rate, root; /* w -= rate · m / (sqrt(v) · root + eps) */

    /* Backends that run programs find rate and root themselves, from the steps so far, and count
     * them: such a step may be one of a program, which is the same at every run. */
    double lr, decay1, decay2;
    uint64_t *steps;
} nn_adam_step;

/* target += tau (source - target) */
typedef struct nn_follow_step {
    real *target;
    const real *source;
    size_t n;
    real tau;
} nn_follow_step;

/* Steps of a program that are no operators: losses are looked at, a group is moved. */
enum { NN_STEP_CHECK = NN_OP_COUNT, NN_STEP_ADAM, NN_STEP_FOLLOW };

/* One call of a plan. */
typedef struct nn_step {
    const char *name;
    int op;            /* or one of the above */
    const nn_op *kind; /* what the operator declares; NULL for the above */
    bool backward;
    nn_body_fn *body;
    nn_call call;
    const void *what; /* of those: the nn_program whose losses it are, the nn_adam_step … */
} nn_step;

/* A plan as a backend sees it: what happens at every run, in this order. */
typedef struct nn_program {
    nn_tensor *losses; /* their gradients are set to 1 before */
    int loss_count;
    nn_tensor *zero; /* their gradients are cleared */
    size_t zero_count;
    nn_step *steps;
    size_t step_count;
    int replicas;
    void *compiled; /* the backend's own */
} nn_program;

/* What went wrong on a backend that works while the host does something else. */
typedef enum { NN_FAULT_NONE, NN_FAULT_LOSS, NN_FAULT_GRADIENT, NN_FAULT_DEVICE } nn_fault_kind;
typedef struct nn_fault {
    nn_fault_kind kind;
    int index, replica; /* of the loss; of the losing replica */
    const void *owner;  /* the program, or the norms of the group's Adam step */
    float value;
    char why[160]; /* of a device that failed */
} nn_fault;

struct nn_backend {
    const char *name;
    void *self;
    arena_source memory;
    nn_body_fn *forward[NN_OP_COUNT], *backward[NN_OP_COUNT];
    void (*copy_in)(void *self, void *to, const void *from, size_t bytes);
    void (*copy_out)(void *self, void *to, const void *from, size_t bytes);
    void (*clear)(void *self, void *at, size_t bytes);
    /* Copies rows of a caller's table (`rows` of `width` bytes per replica) to the same places of
     * `to`; they are taken before it returns. NULL where plans read the caller's memory. */
    void (*put_rows)(void *self, void *to, const void *from, size_t rows, size_t width,
                     const nn_place *places, int count);
    void (*adam)(void *self, const nn_adam_step *s);
    void (*follow)(void *self, real *target, const real *source, size_t n, real tau);
    void (*begin)(void *self);          /* around the steps of a plan */
    int (*end)(void *self);             /* fails if one of them did */
    void (*free)(struct nn_backend *b); /* what belongs to it; may be NULL */

    /* For backends that run a program as a whole and beside the host; NULL for those whose bodies
     * are simply called in turn. After a fault parameters stay as they are until it was told;
     * `fault` tells it once, and with `wait` only after all work is done. `prepare` comes once,
     * after all pointers are known. */
    int (*prepare)(void *self, nn_program *p);
    void (*run)(void *self, nn_program *p);
    void (*forget)(void *self, nn_program *p);
    void (*fault)(void *self, bool wait, nn_fault *f);
};

/* What a backend in a library of its own needs of the program: memory that is counted, and clear.
 */
typedef struct nn_host {
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
} nn_host;

/* ---- for bodies ------------------------------------------------------------------------------ */

NN_FN real *nn_v(const nn_tensor *t, int r)
{
    return t->v + (size_t)r * t->stride;
}

/* The numbers of an index. */
NN_FN const int32_t *nn_numbers(const nn_tensor *t, int r)
{
    return (const int32_t *)(const void *)t->v + (size_t)r * t->stride;
}

/* A table of bytes. */
NN_FN const uint8_t *nn_bytes(const nn_tensor *t, int r)
{
    return (const uint8_t *)(const void *)t->v + (size_t)r * t->stride;
}

NN_FN real *nn_g(const nn_tensor *t, int r)
{
    return t->g + (size_t)r * t->stride;
}

NN_FN real *nn_scratch(const nn_call *c, int r)
{
    return c->scratch + (size_t)r * c->scratch_size;
}

NN_FN size_t nn_rows(nn_shape s)
{
    return (size_t)s.T * (size_t)s.B;
}

NN_FN size_t nn_size(nn_shape s)
{
    return nn_rows(s) * (size_t)s.D;
}

/* Writes a gradient, or adds to it. */
#define NN_PUT(add, place, amount) ((place) = (add) ? (place) + (amount) : (amount))

#ifndef __cplusplus

/* Shares [0, n) of every replica among the threads: n units of `width` numbers each, in pieces
 * whose size depends on the width alone (with width 1, a multiple of four). */
typedef void nn_range_fn(const nn_call *c, int r, size_t from, size_t to);
void nn_ranges(const nn_call *c, size_t n, int width, nn_range_fn *fn);

/* Runs fn once per replica. */
typedef void nn_replica_fn(const nn_call *c, int r);
void nn_replicas(const nn_call *c, nn_replica_fn *fn);

/* Runs fn(arg, i) for i < items over the threads. */
static inline void nn_items(const nn_call *c, int items, pool_fn *fn, void *arg)
{
    pool_run(c->backend, items, fn, arg);
}

#endif

static inline bool nn_same(nn_shape a, nn_shape b)
{
    return a.T == b.T && a.B == b.B && a.D == b.D;
}

static inline bool nn_is_weight(nn_shape w, nn_shape x)
{
    return w.T == x.T && w.B == x.B && w.D == 1;
}

static inline bool nn_is_scalar(nn_shape s)
{
    return s.T == 1 && s.B == 1 && s.D == 1;
}

#endif
