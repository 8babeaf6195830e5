/* nn_shuffled.h - a backend that runs programs piece by piece, in any order that the pieces' waits
 * allow, by the CPU's bodies. Values and gradients are NaN until they are computed, so that reading
 * them too early shows. */
#ifndef TESTS_NN_SHUFFLED_H
#define TESTS_NN_SHUFFLED_H

#include <math.h>

#include "nn/pieces.h"
#include "nn/uses.h"
#include "testing.h"

enum { SHUFFLED_MOST = 1024 }; /* pieces */

static nn_backend shuffled_cpu; /* the backend whose bodies run */
static rng shuffled_order;
static const nn_program *shuffled_latest; /* the last that was prepared */
static const nn_host shuffled_memory = {mem_alloc, mem_free};

/* No wait is missing: what must come later is in a later place of the same piece, or in a piece
 * that waits for the other, directly or through others. */
static inline void shuffled_check(const nn_program *p, const nn_pieces *x)
{
    static bool after[SHUFFLED_MOST][SHUFFLED_MOST];
    static int piece[SHUFFLED_MOST], place[SHUFFLED_MOST];
    assert_true(p->step_count <= SHUFFLED_MOST && x->count <= SHUFFLED_MOST);
    for (int i = 0; i < x->count; i++) {
        for (int k = 0; k < x->list[i].count; k++) {
            piece[x->list[i].steps[k]] = i;
            place[x->list[i].steps[k]] = k;
        }
        memset(after[i], 0, sizeof after[i]);
        for (int j = 0; j < i; j++)
            for (int k = 0; piece_waits(x, i, j) && k <= j; k++)
                after[i][k] = after[i][k] || k == j || after[j][k];
    }
    for (int i = 0; i < (int)p->step_count; i++) {
        const nn_step *s = &p->steps[i];
        step_uses a = uses_of(s);
        if (s->backward || s->op == NN_STEP_ADAM) assert_true(after[piece[i]][0]);
        if (s->call.counter && !s->backward) assert_true(after[x->count - 1][piece[i]]);
        for (int j = i + 1; j < (int)p->step_count; j++) {
            step_uses b = uses_of(&p->steps[j]);
            if (!must_follow(s, &a, &p->steps[j], &b)) continue;
            assert_true(piece[i] == piece[j] ? place[i] < place[j] : after[piece[j]][piece[i]]);
        }
    }
}

static inline int shuffled_prepare(void *self, nn_program *p)
{
    (void)self;
    nn_pieces *x = mem_alloc(sizeof *x);
    assert_true(x && pieces_new(x, p, 8, &shuffled_memory));
    shuffled_check(p, x);
    p->compiled = x;
    shuffled_latest = p;
    return 0;
}

static inline void shuffled_forget(void *self, nn_program *p)
{
    (void)self;
    if (!p->compiled) return;
    pieces_free(p->compiled, &shuffled_memory);
    mem_free(p->compiled);
}

static inline void shuffled_fill(real *at, size_t n, real x)
{
    for (size_t i = 0; i < n; i++) at[i] = x;
}

/* Sets what the steps will compute to NaN. */
static inline void shuffled_spoil(const nn_program *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        const nn_step *s = &p->steps[i];
        if (s->op >= NN_STEP_CHECK) continue;
        const nn_call *c = &s->call;
        size_t n = nn_size(c->out.shape);
        for (int r = 0; r < c->replicas; r++) {
            if (!s->backward) shuffled_fill(nn_v(&c->out, r), n, (real)NAN);
            for (int k = 0; s->backward && k < c->in_count; k++)
                if (c->in[k].g)
                    shuffled_fill(nn_g(&c->in[k], r), nn_size(c->in[k].shape), (real)NAN);
        }
        if (!s->backward && c->scratch)
            shuffled_fill(c->scratch, (size_t)c->replicas * c->scratch_size, (real)NAN);
    }
}

/* (The CPU's bodies count random operators themselves: nothing to do at the end.) */
static inline void shuffled_start(const nn_program *p)
{
    for (int r = 0; r < p->replicas; r++) {
        for (int i = 0; i < p->loss_count; i++) *nn_g(&p->losses[i], r) = 1;
        for (size_t i = 0; i < p->zero_count; i++)
            shuffled_fill(nn_g(&p->zero[i], r), nn_size(p->zero[i].shape), 0);
    }
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].op == NN_STEP_ADAM) ++*((const nn_adam_step *)p->steps[i].what)->steps;
}

static inline void shuffled_run_step(const nn_step *x)
{
    if (x->op == NN_STEP_CHECK) return;
    if (x->op == NN_STEP_FOLLOW) {
        const nn_follow_step *f = x->what;
        shuffled_cpu.follow(shuffled_cpu.self, f->target, f->source, f->n, f->tau);
    } else if (x->op == NN_STEP_ADAM) {
        nn_adam_step a = *(const nn_adam_step *)x->what;
        double t = (double)*a.steps;
        a.rate = (real)(a.lr / (1 - pow(a.decay1, t)));
        a.root = (real)(1 / sqrt(1 - pow(a.decay2, t)));
        shuffled_cpu.adam(shuffled_cpu.self, &a);
    } else {
        x->body(&x->call);
    }
}

static inline void shuffled_run_piece(const nn_program *p, const nn_pieces *x, int i)
{
    if (i == 0) shuffled_start(p);
    for (int k = 0; k < x->list[i].count; k++) shuffled_run_step(&p->steps[x->list[i].steps[k]]);
}

static inline bool shuffled_is_ready(const nn_pieces *x, const bool *done, int i)
{
    for (int j = 0; j < i; j++)
        if (piece_waits(x, i, j) && !done[j]) return false;
    return !done[i];
}

static inline void shuffled_run(void *self, nn_program *p)
{
    const nn_pieces *x = p->compiled;
    bool done[SHUFFLED_MOST] = {false};
    shuffled_spoil(p);
    shuffled_cpu.begin(self);
    for (int left = x->count; left > 0; left--) {
        int ready[SHUFFLED_MOST], n = 0;
        for (int i = 0; i < x->count; i++)
            if (shuffled_is_ready(x, done, i)) ready[n++] = i;
        assert_true(n > 0);
        int i = ready[rng_below(&shuffled_order, (uint32_t)n)];
        shuffled_run_piece(p, x, i);
        done[i] = true;
    }
    shuffled_cpu.end(self);
}

static inline void shuffled_no_fault(void *self, bool wait, nn_fault *f)
{
    (void)self;
    (void)wait;
    f->kind = NN_FAULT_NONE;
}

/* Bodies are those of `cpu`, a plain CPU backend that must outlive it; `seed` chooses the orders.
 */
static inline nn_backend shuffled_of(const nn_backend *cpu, uint64_t seed)
{
    nn_backend b = shuffled_cpu = *cpu;
    shuffled_order = rng_stream(seed, "order", 0);
    b.prepare = shuffled_prepare;
    b.run = shuffled_run;
    b.forget = shuffled_forget;
    b.fault = shuffled_no_fault;
    return b;
}

#endif
