/* test_nn_pieces.c - whole training steps, run piece by piece in any order that the pieces' waits
 * allow: the results are the same bytes as in the order of recording. Values and gradients that are
 * not there yet are no numbers, so that whoever looks at them too early is found out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nn/graph.h"
#include "nn/pieces.h"
#include "nn_steps.h"

enum { ORDERS = 40, MOST_PIECES = 256 };

static nn_backend cpu; /* whose bodies are run */
static rng order;
static const nn_program *latest; /* that was prepared */
static const pieces_memory memory = {mem_alloc, mem_free};

static int prepare(void *self, nn_program *p)
{
    (void)self;
    nn_pieces *x = mem_alloc(sizeof *x);
    assert_true(x && pieces_new(x, p, 8, memory));
    assert_true(x->count <= MOST_PIECES);
    p->compiled = x;
    latest = p;
    return 0;
}

static void forget(void *self, nn_program *p)
{
    (void)self;
    if (!p->compiled) return;
    pieces_free(p->compiled, memory);
    mem_free(p->compiled);
}

static void fill(real *at, size_t n, real x)
{
    for (size_t i = 0; i < n; i++) at[i] = x;
}

/* What the steps will compute is not there yet. */
static void spoil(const nn_program *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        const nn_step *s = &p->steps[i];
        if (s->op >= NN_STEP_CHECK) continue;
        const nn_call *c = &s->call;
        size_t n = nn_size(c->out.shape);
        for (int r = 0; r < c->replicas; r++) {
            if (!s->backward) fill(nn_v(&c->out, r), n, (real)NAN);
            for (int k = 0; s->backward && k < c->in_count; k++)
                if (c->in[k].g) fill(nn_g(&c->in[k], r), nn_size(c->in[k].shape), (real)NAN);
        }
        if (!s->backward && c->scratch)
            fill(c->scratch, (size_t)c->replicas * c->scratch_size, (real)NAN);
    }
}

/* (Bodies of the CPU count random operators themselves: there is nothing to do at the end.) */
static void start(const nn_program *p)
{
    for (int r = 0; r < p->replicas; r++) {
        for (int i = 0; i < p->loss_count; i++) *nn_g(&p->losses[i], r) = 1;
        for (size_t i = 0; i < p->zero_count; i++)
            fill(nn_g(&p->zero[i], r), nn_size(p->zero[i].shape), 0);
    }
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].op == NN_STEP_ADAM) ++*((const nn_adam_step *)p->steps[i].what)->steps;
}

static void run_step(const nn_step *x)
{
    if (x->op == NN_STEP_CHECK) return;
    if (x->op == NN_STEP_FOLLOW) {
        const nn_follow_step *f = x->what;
        cpu.follow(cpu.self, f->target, f->source, f->n, f->tau);
    } else if (x->op == NN_STEP_ADAM) {
        nn_adam_step a = *(const nn_adam_step *)x->what;
        double t = (double)*a.steps;
        a.rate = (real)(a.lr / (1 - pow(a.decay1, t)));
        a.root = (real)(1 / sqrt(1 - pow(a.decay2, t)));
        cpu.adam(cpu.self, &a);
    } else {
        x->body(&x->call);
    }
}

static void run_piece(const nn_program *p, const nn_pieces *x, int i)
{
    if (i == 0) start(p);
    for (int k = 0; k < x->list[i].count; k++) run_step(&p->steps[x->list[i].steps[k]]);
}

static bool is_ready(const nn_pieces *x, const bool *done, int i)
{
    for (int j = 0; j < i; j++)
        if (piece_waits(x, i, j) && !done[j]) return false;
    return !done[i];
}

static void run(void *self, nn_program *p)
{
    const nn_pieces *x = p->compiled;
    bool done[MOST_PIECES] = {false};
    spoil(p);
    cpu.begin(self);
    for (int left = x->count; left > 0; left--) {
        int ready[MOST_PIECES], n = 0;
        for (int i = 0; i < x->count; i++)
            if (is_ready(x, done, i)) ready[n++] = i;
        assert_true(n > 0);
        int i = ready[rng_below(&order, (uint32_t)n)];
        run_piece(p, x, i);
        done[i] = true;
    }
    cpu.end(self);
}

static void no_fault(void *self, bool wait, nn_fault *f)
{
    (void)self;
    (void)wait;
    f->kind = NN_FAULT_NONE;
}

/* ---- the tests ------------------------------------------------------------------------------- */

typedef struct made {
    float values[1 << 16];
    size_t count;
} made;

static void take(made *m, nn_group *g, int replicas)
{
    size_t n = nn_group_size(g);
    for (int r = 0; r < replicas; r++) {
        assert_true(m->count + n <= sizeof m->values / sizeof *m->values);
        memcpy(m->values + m->count, nn_group_data(g, NN_VALUES, r), n * sizeof(float));
        m->count += n;
    }
}

static made expected, found;
static const sac_sizes SAC = {.obs = 5, .act = 2, .width = 16, .batch = 12};
static const fnvae_sizes FNVAE = {
    .d = 3, .m = 2, .p = 2, .q = 2, .encoder = 8, .bank = 6, .dense = 8, .T = 4, .B = 5};
static const uint64_t seeds[] = {3, 4};

static void sac_steps(made *m, nn_backend *b)
{
    sac_step s;
    assert_ok(sac_step_new(&s, b, SAC, 2, seeds));
    for (int i = 0; i < 4; i++) assert_ok(sac_step_run(&s));
    m->count = 0;
    take(m, s.actor, 2);
    take(m, s.critic, 2);
    take(m, s.target, 2);
    take(m, s.temp, 2);
    nn_graph_free(s.g);
}

static void fnvae_steps(made *m, nn_backend *b)
{
    fnvae_step s;
    assert_ok(fnvae_step_new(&s, b, FNVAE, 2, seeds));
    for (int i = 0; i < 4; i++) assert_ok(fnvae_step_run(&s));
    m->count = 0;
    for (size_t i = 0; i < s.g->group_count; i++) take(m, s.g->groups[i], 2);
    nn_graph_free(s.g);
}

typedef struct rig {
    pool *threads;
    nn_backend *plain, shuffled;
} rig;

static void set_up(rig *t)
{
    assert_ok(pool_new(&t->threads, 1));
    assert_ok(nn_cpu_new(&t->plain, t->threads));
    t->shuffled = cpu = *t->plain;
    t->shuffled.prepare = prepare;
    t->shuffled.run = run;
    t->shuffled.forget = forget;
    t->shuffled.fault = no_fault;
}

static void tear_down(rig *t)
{
    nn_backend_free(t->plain);
    pool_free(t->threads);
}

static void any_order(void (*steps)(made *, nn_backend *))
{
    rig t;
    set_up(&t);
    steps(&expected, t.plain);
    for (uint64_t k = 0; k < ORDERS; k++) {
        order = rng_stream(k, "order", 0);
        steps(&found, &t.shuffled);
        assert_int_equal(found.count, expected.count);
        assert_memory_equal(found.values, expected.values, expected.count * sizeof(float));
    }
    tear_down(&t);
}

static void sac_in_any_order(void **state)
{
    (void)state;
    any_order(sac_steps);
}

static void fnvae_in_any_order(void **state)
{
    (void)state;
    any_order(fnvae_steps);
}

static const nn_piece *piece_with(const nn_program *p, int op, bool backward)
{
    const nn_pieces *x = p->compiled;
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < x->list[i].count; k++) {
            const nn_step *s = &p->steps[x->list[i].steps[k]];
            if (s->op == op && s->backward == backward) return &x->list[i];
        }
    return NULL;
}

/* The critics' gradients begin in one kernel with the targets, and the cost is found beside them.
 */
static void gradients_wait_for_no_cost(void **state)
{
    (void)state;
    rig t;
    sac_step s;
    set_up(&t);
    assert_ok(sac_step_new(&s, &t.shuffled, SAC, 2, seeds));
    const nn_program *p = latest; /* the routine comes behind its plans */
    const nn_piece *gradient = piece_with(p, NN_OP_mse, true);
    assert_ptr_equal(gradient, piece_with(p, NN_OP_td_target, false));
    assert_true(gradient->before < piece_with(p, NN_OP_mse, false)->before);
    nn_graph_free(s.g);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sac_in_any_order),
                                       cmocka_unit_test(fnvae_in_any_order),
                                       cmocka_unit_test(gradients_wait_for_no_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
