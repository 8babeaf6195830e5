/* test_nn_routine.c - plans, optimiser steps and target updates as one program: bit-identical to
 * running them one by one, on a backend that runs programs. Here that is the CPU, step by step. */
#include <math.h>

#include "nn/op.h"
#include "testing.h"

enum { RUNS = 4, REPLICAS = 2, ROWS = 6, WIDTH = 5 };

/* ---- a backend that runs programs ------------------------------------------------------------ */

typedef struct programs {
    nn_backend *cpu;
    size_t steps; /* of the last program */
} programs;

static void seed_losses(const nn_program *p)
{
    for (int i = 0; i < p->loss_count; i++)
        for (int r = 0; p->losses[i].g && r < p->replicas; r++) *nn_g(&p->losses[i], r) = 1;
    for (size_t i = 0; i < p->zero_count; i++)
        for (int r = 0; r < p->replicas; r++)
            memset(nn_g(&p->zero[i], r), 0, nn_size(p->zero[i].shape) * sizeof(real));
}

static void run_adam(const programs *x, nn_adam_step s)
{
    double t = (double)(++*s.steps);
    s.rate = (real)(s.lr / (1 - pow(s.decay1, t)));
    s.root = (real)(1 / sqrt(1 - pow(s.decay2, t)));
    x->cpu->adam(x->cpu->self, &s);
}

static void run_step(const programs *x, const nn_step *s)
{
    const nn_follow_step *f = s->what;
    if (s->op < NN_OP_COUNT) s->body(&s->call);
    if (s->op == NN_STEP_ADAM) run_adam(x, *(const nn_adam_step *)s->what);
    if (s->op == NN_STEP_FOLLOW) x->cpu->follow(x->cpu->self, f->target, f->source, f->n, f->tau);
}

/* Bodies expect the CPU's pool as their backend's self, so hooks find their own self here. */
static programs here;

static void run_program(void *self, nn_program *p)
{
    (void)self;
    here.steps = p->step_count;
    seed_losses(p);
    here.cpu->begin(here.cpu->self);
    for (size_t i = 0; i < p->step_count; i++) run_step(&here, &p->steps[i]);
    here.cpu->end(here.cpu->self); /* the bodies have advanced the counters */
}

static void no_fault(void *self, bool wait, nn_fault *f)
{
    (void)self;
    (void)wait;
    f->kind = NN_FAULT_NONE;
}

static nn_backend programs_on(nn_backend *cpu)
{
    nn_backend b = *cpu;
    here = (programs){.cpu = cpu};
    b.run = run_program;
    b.fault = no_fault;
    b.free = NULL;
    return b;
}

/* ---- a graph with two plans that share much -------------------------------------------------- */

typedef struct subject {
    nn_graph *g;
    nn_var x, target, loss_a, loss_b;
    nn_group *a, *b, *c;
    nn_plan *plan_a, *plan_b;
    nn_routine *routine;
} subject;

static void make(subject *s, nn_backend *backend, bool move_between)
{
    const uint64_t seeds[REPLICAS] = {3, 4};
    nn_adam adam = NN_ADAM_DEFAULT;
    assert_int_equal(nn_graph_new(&s->g, backend, REPLICAS, seeds), 0);
    s->a = nn_group_new(s->g, "a");
    s->b = nn_group_new(s->g, "b");
    s->c = nn_group_new(s->g, "c");
    s->x = nn_input(s->g, "x", 1, ROWS, WIDTH);
    s->target = nn_input(s->g, "target", 1, ROWS, 1);
    nn_var scaled = nn_affine(s->x, 2, 1); /* neither group reaches it */
    nn_var y = nn_mlp(s->a, "net", NN_IN(scaled), 1, 1, 8, NN_TANH, 1);
    nn_var z = nn_mlp(s->b, "net", NN_IN(scaled, nn_detach(y)), 1, 1, 8, NN_TANH, 1);
    nn_var noisy = nn_gauss_sample(z, nn_affine(z, 0, -1));
    nn_mlp(s->c, "net", NN_IN(scaled), 1, 1, 8, NN_TANH, 1);
    s->loss_a = nn_mse(y, s->target, NN_NONE);
    s->loss_b = nn_mse(noisy, s->target, NN_NONE);
    assert_int_equal(nn_plan_new(&s->plan_a, s->g, &s->loss_a, 1, 1, &s->a, 1), 0);
    assert_int_equal(nn_plan_new(&s->plan_b, s->g, &s->loss_b, 1, 1, &s->b, 1), 0);
    assert_int_equal(nn_routine_new(&s->routine, s->g), 0);
    nn_routine_plan(s->routine, s->plan_a);
    if (move_between) nn_routine_adam(s->routine, s->a, &adam);
    nn_routine_plan(s->routine, s->plan_b);
    if (!move_between) nn_routine_adam(s->routine, s->a, &adam);
    nn_routine_adam(s->routine, s->b, &adam);
    nn_routine_follow(s->routine, s->c, s->a, 0.1);
    assert_int_equal(nn_graph_commit(s->g), 0);
}

static void feed(const subject *s, int run)
{
    rng r = rng_stream(1, "feed", (uint32_t)run);
    real x[REPLICAS * ROWS * WIDTH], target[REPLICAS * ROWS];
    for (size_t i = 0; i < COUNT(x); i++) x[i] = (real)rng_normal(&r);
    for (size_t i = 0; i < COUNT(target); i++) target[i] = (real)rng_normal(&r);
    nn_write_all(s->x, x);
    nn_write_all(s->target, target);
}

static void same_groups(nn_group *p, nn_group *q)
{
    for (int block = NN_VALUES; block <= NN_MOMENT_2; block++)
        for (int r = 0; r < REPLICAS; r++)
            assert_memory_equal(nn_group_data(p, (nn_block)block, r),
                                nn_group_data(q, (nn_block)block, r),
                                nn_group_size(p) * sizeof(real));
    assert_true(*nn_group_steps(p) == *nn_group_steps(q));
}

/* Returns how many steps the program had. */
static size_t compare(bool move_between)
{
    pool *threads;
    nn_backend *cpu;
    subject one, other;
    assert_int_equal(pool_new(&threads, 1), 0);
    assert_int_equal(nn_cpu_new(&cpu, threads), 0);
    nn_backend b = programs_on(cpu);
    make(&one, cpu, move_between);
    make(&other, &b, move_between);
    for (int i = 0; i < RUNS; i++) {
        feed(&one, i);
        feed(&other, i);
        if (i == 2) *nn_group_steps(one.a) = *nn_group_steps(other.a) = 100; /* as if loaded */
        assert_int_equal(nn_routine_run(one.routine), 0);
        assert_int_equal(nn_routine_run(other.routine), 0);
    }
    same_groups(one.a, other.a);
    same_groups(one.b, other.b);
    same_groups(one.c, other.c);
    assert_true(nn_scalar_get(one.loss_b, 1) == nn_scalar_get(other.loss_b, 1));
    size_t steps = here.steps;
    nn_graph_free(one.g);
    nn_graph_free(other.g);
    nn_backend_free(cpu);
    pool_free(threads);
    return steps;
}

static void one_program_does_what_its_parts_do(void **state)
{
    (void)state;
    compare(true);
    compare(false);
}

/* The scaled x is computed once; the network of `a` again after its parameters moved: two layers.
 */
static void what_is_known_is_not_computed_again(void **state)
{
    (void)state;
    assert_int_equal(compare(true) - compare(false), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_program_does_what_its_parts_do),
        cmocka_unit_test(what_is_known_is_not_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
