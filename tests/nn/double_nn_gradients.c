/* double_nn_gradients.c - every operator's backward pass against central differences, in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "nn/graph.h"
#include "nn_cases.h"

enum { REPLICAS = 2 };

typedef struct rig {
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    nn_group *params;
    nn_var operands[CASE_OPERANDS], loss;
    nn_plan *plan;
} rig;

/* A fixed, uneven weight for every element of y, so that gradients do not cancel. */
static nn_var weighted_sum(nn_graph *g, nn_var y, const char *name)
{
    nn_shape s = nn_shape_of(y);
    nn_var w = nn_input(g, name, s.T, s.B, s.D);
    return nn_affine(nn_mean(nn_mul(y, w), NN_NONE), s.T * s.B, 0);
}

static void fill(nn_var v, double low, double high, bool binary, rng *r)
{
    nn_shape s = nn_shape_of(v);
    for (int k = 0; k < REPLICAS; k++)
        for (size_t i = 0; i < nn_size(s); i++) {
            double x = rng_between(r, low, high);
            nn_data(v, k)[i] = binary ? x > 0.5 : x;
        }
}

static void fill_index(nn_var v, double low, double high, rng *r)
{
    int32_t at[64];
    size_t n = nn_size(nn_shape_of(v));
    assert_true(n <= 64);
    for (int k = 0; k < REPLICAS; k++) {
        for (size_t i = 0; i < n; i++) at[i] = (int32_t)floor(rng_between(r, low, high));
        nn_write_index(v, k, at);
    }
}

static void fill_operand(nn_var v, const nn_case_operand *o, rng *r)
{
    if (o->bytes)
        case_send(v, o, REPLICAS);
    else if (o->index)
        fill_index(v, o->low, o->high, r);
    else
        fill(v, o->low, o->high, o->binary, r);
}

/* `shared`: each operand has a second reader, recorded after the operator, so that the operator
 * must add to an existing gradient. */
static void set_up(rig *t, const nn_case *k, bool shared)
{
    const uint64_t seeds[REPLICAS] = {1, 2};
    assert_int_equal(pool_new(&t->threads, 2), 0);
    assert_int_equal(nn_cpu_new(&t->cpu, t->threads), 0);
    assert_int_equal(nn_graph_new(&t->g, t->cpu, REPLICAS, seeds), 0);
    t->params = nn_group_new(t->g, "p");
    int n = case_operand_count(k);
    for (int i = 0; i < n; i++) t->operands[i] = case_operand(t->params, t->g, &k->operands[i]);
    nn_var losses[CASE_OPERANDS + 1];
    int count = 0;
    losses[count++] = weighted_sum(t->g, k->build(t->operands), "w");
    for (int i = 0; shared && i < n; i++) {
        char name[16];
        if (k->operands[i].index || k->operands[i].bytes) continue;
        snprintf(name, sizeof name, "w%d", i);
        losses[count++] = weighted_sum(t->g, t->operands[i], name);
    }
    t->loss = losses[0];
    for (int i = 1; i < count; i++) t->loss = nn_add(t->loss, losses[i]);
    if (nn_plan_new(&t->plan, t->g, &t->loss, 1, 1, &t->params, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(nn_graph_commit(t->g), 0);

    rng r = rng_stream(7, k->name, 0);
    for (int i = 0; i < n; i++) fill_operand(t->operands[i], &k->operands[i], &r);
    for (size_t i = 0; i < t->g->count; i++)
        if (t->g->nodes[i].op == LEAF_INPUT) fill((nn_var){t->g, (int)i}, 0.5, 1.5, false, &r);
}

static void tear_down(rig *t)
{
    nn_graph_free(t->g);
    nn_backend_free(t->cpu);
    pool_free(t->threads);
}

/* The random operators draw the same numbers every time. */
static double loss_at(rig *t, int replica)
{
    int n;
    uint64_t *counters = nn_graph_counters(t->g, &n);
    memset(counters, 0, (size_t)n * sizeof *counters);
    assert_int_equal(nn_plan_run(t->plan), 0);
    return nn_scalar_get(t->loss, replica);
}

static void check_operand(rig *t, const nn_case *k, int operand, bool shared)
{
    nn_var v = t->operands[operand];
    size_t n = nn_size(nn_shape_of(v));
    const double h = 1e-5;
    for (int r = 0; r < REPLICAS; r++) {
        double analytic[1024], worst = 0, scale = 1e-6;
        assert_true(n <= 1024);
        loss_at(t, r);
        memcpy(analytic, nn_grad(v, r), n * sizeof *analytic);
        for (size_t i = 0; i < n; i++) {
            real *x = nn_data(v, r) + i, old = *x;
            *x = old + h;
            double above = loss_at(t, r);
            *x = old - h;
            double below = loss_at(t, r);
            *x = old;
            double numeric = (above - below) / (2 * h);
            scale = fmax(scale, fabs(numeric));
            worst = fmax(worst, fabs(numeric - analytic[i]));
        }
        if (worst / scale > 1e-6)
            fail_msg("%s%s: gradient of %s, replica %d: relative error %.2g", k->name,
                     shared ? " (shared)" : "", k->operands[operand].name, r, worst / scale);
    }
}

static void gradients_match_differences(void **state)
{
    (void)state;
    for (int i = 0; i < NN_CASES; i++) {
        for (int shared = 0; shared < 2; shared++) {
            const nn_case *k = &nn_cases[i];
            rig t;
            set_up(&t, k, shared);
            for (int j = 0; j < case_operand_count(k); j++)
                if (k->operands[j].name[0] != '_') check_operand(&t, k, j, shared);
            tear_down(&t);
        }
    }
}

/* Runs the step with NaN in the values that its operator says it ignores. */
static void run_blind(const nn_step *s)
{
    static real nothing[4096];
    nn_call c = s->call;
    for (int i = 0; i < 4096; i++) nothing[i] = NAN;
    for (int k = 0; s->backward && k < c.in_count; k++) {
        assert_true(REPLICAS * c.in[k].stride <= 4096);
        if (s->kind->ignores >> k & 1) c.in[k].v = nothing;
    }
    if (s->backward && s->kind->ignores & NN_RESULT) c.out.v = nothing;
    s->body(&c);
}

/* All gradients of the parameters, as the plan left them. */
static size_t take_gradients(const rig *t, real *to)
{
    size_t n = nn_group_size(t->params);
    assert_true(n <= 2048);
    for (int r = 0; r < REPLICAS; r++)
        memcpy(to + (size_t)r * n, nn_group_data(t->params, NN_GRADIENTS, r), n * sizeof *to);
    return REPLICAS * n * sizeof *to;
}

static void ignored_values_are_not_read(void **state)
{
    (void)state;
    static real expected[REPLICAS * 2048], found[REPLICAS * 2048];
    for (int i = 0; i < NN_CASES; i++) {
        rig t;
        set_up(&t, &nn_cases[i], true);
        loss_at(&t, 0);
        size_t bytes = take_gradients(&t, expected);
        loss_at(&t, 0); /* seeds the loss, draws the same again */
        memset(nn_group_data(t.params, NN_GRADIENTS, 0), 0, bytes);
        int n;
        uint64_t *counters = nn_graph_counters(t.g, &n);
        memset(counters, 0, (size_t)n * sizeof *counters);
        const nn_program *p = &t.plan->program;
        for (size_t k = 0; k < p->step_count; k++) run_blind(&p->steps[k]);
        take_gradients(&t, found);
        if (memcmp(found, expected, bytes))
            fail_msg("%s looks at values that it ignores", nn_cases[i].name);
        tear_down(&t);
    }
}

static void operators_declare_themselves(void **state)
{
    (void)state;
    for (int op = 0; op < NN_OP_COUNT; op++) {
        const nn_op *k = nn_ops[op];
        assert_true(k->name && k->help && k->infer && k->forward);
        assert_int_equal(k->ignores & ~(NN_OPERANDS | NN_RESULT), 0);
    }
}

/* Operators that no case can cover, because they pass no gradient or hide it on purpose: each has
 * its own test below. */
static bool has_own_test(const char *op)
{
    static const char *const own[] = {"detach", "td_target", "grad_scale", "gather"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(op, own[i])) return true;
    return false;
}

static void every_operator_has_a_case(void **state)
{
    (void)state;
    bool seen[NN_OP_COUNT] = {false};
    for (int i = 0; i < NN_CASES; i++) {
        rig t;
        set_up(&t, &nn_cases[i], false);
        int expected =
            case_operand_count(&nn_cases[i]); /* nodes after the operands are the case's */
        for (size_t k = (size_t)expected; k < t.g->count && strcmp(t.g->nodes[k].name, "w"); k++)
            if (t.g->nodes[k].op >= 0) seen[t.g->nodes[k].op] = true;
        tear_down(&t);
    }
    for (int op = 0; op < NN_OP_COUNT; op++)
        if (!seen[op] && !has_own_test(nn_op_name(op)))
            fail_msg("no case covers %s", nn_op_name(op));
}

/* ---- operators that block or bend gradients -------------------------------------------------- */

typedef struct pair {
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    nn_group *params;
    nn_var x, k;
} pair;

static void pair_up(pair *t)
{
    const uint64_t seed = 1;
    pool_new(&t->threads, 1);
    nn_cpu_new(&t->cpu, t->threads);
    nn_graph_new(&t->g, t->cpu, 1, &seed);
    t->params = nn_group_new(t->g, "p");
    t->x = nn_param(t->params, "x", 1, 2, 3, NN_INIT_NORMAL, 1);
    t->k = nn_scalar(t->g, "k", 2.5);
}

static void pair_run(pair *t, nn_var loss)
{
    nn_plan *plan;
    assert_int_equal(nn_plan_new(&plan, t->g, &loss, 1, 1, &t->params, 1), 0);
    assert_int_equal(nn_graph_commit(t->g), 0);
    nn_grad(t->x, 0)[0] = 99; /* a stale value must not survive */
    assert_int_equal(nn_plan_run(plan), 0);
}

static void pair_down(pair *t)
{
    nn_graph_free(t->g);
    nn_backend_free(t->cpu);
    pool_free(t->threads);
}

static void detach_passes_no_gradient(void **state)
{
    (void)state;
    pair t;
    pair_up(&t);
    pair_run(&t, nn_mean(nn_detach(t.x), NN_NONE));
    for (int i = 0; i < 6; i++) assert_true(nn_grad(t.x, 0)[i] == 0);
    pair_down(&t);
}

static void gather_reads_the_callers_rows(void **state)
{
    (void)state;
    real rows[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* four of two */
    pair t;
    pair_up(&t);
    nn_var at = nn_index(t.g, "at", 1, 4, 1);
    nn_var y = nn_gather(nn_table(t.g, "table", 4, 2, NN_F32, rows), at);
    nn_var loss = nn_mean(nn_add(y, nn_slice(t.k, 0, 1)), NN_NONE);
    nn_plan *plan;
    assert_int_equal(nn_plan_new(&plan, t.g, &loss, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(t.g), 0);
    nn_write_index(at, 0, (int32_t[]){3, 2, 1, -1});
    for (int round = 0; round < 2; round++) {
        assert_int_equal(nn_plan_run(plan), 0);
        for (int i = 0; i < 6; i++) assert_true(nn_data(y, 0)[i] == rows[2 * (3 - i / 2) + i % 2]);
        assert_true(nn_data(y, 0)[6] == 0 && nn_data(y, 0)[7] == 0);
        rows[4] = 50; /* seen without sending: it is the same memory */
    }
    pair_down(&t);
}

/* Several rows for each: one after the other, zeros for none. */
static void gather_joins_rows(void **state)
{
    (void)state;
    real rows[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* four of two */
    pair t;
    pair_up(&t);
    nn_var at = nn_index(t.g, "at", 2, 1, 3);
    nn_var y = nn_gather(nn_table(t.g, "table", 4, 2, NN_F32, rows), at);
    nn_plan *plan;
    assert_int_equal(nn_plan_new(&plan, t.g, &y, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(t.g), 0);
    nn_write_index(at, 0, (int32_t[]){3, -1, 0, 1, 1, 2});
    assert_int_equal(nn_plan_run(plan), 0);
    nn_shape z = nn_shape_of(y);
    assert_true(z.T == 2 && z.B == 1 && z.D == 6);
    const real wanted[] = {7, 8, 0, 0, 1, 2, 3, 4, 3, 4, 5, 6};
    assert_memory_equal(nn_data(y, 0), wanted, sizeof wanted);
    pair_down(&t);
}

/* Of bytes, in several replicas. */
static void gather_reads_bytes_as_numbers(void **state)
{
    (void)state;
    static uint8_t bytes[2][256][3];
    const uint64_t seeds[] = {1, 2};
    int32_t at[2][5] = {{0, 85, -1, 255, 7}, {255, 254, 3, -1, 0}};
    pair t;
    nn_plan *plan;
    pool_new(&t.threads, 1);
    nn_cpu_new(&t.cpu, t.threads);
    nn_graph_new(&t.g, t.cpu, 2, seeds);
    for (int i = 0; i < 2 * 256 * 3; i++) bytes[i / 768][i % 768 / 3][i % 3] = (uint8_t)(i * 7);
    nn_var index = nn_index(t.g, "at", 5, 1, 1);
    nn_var y = nn_gather(nn_table(t.g, "pixels", 256, 3, NN_U8, bytes), index);
    assert_int_equal(nn_plan_new(&plan, t.g, &y, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(t.g), 0);
    nn_write_index_all(index, at[0]);
    assert_int_equal(nn_plan_run(plan), 0);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 15; i++) {
            int row = at[r][i / 3];
            assert_true(nn_data(y, r)[i] == (row < 0 ? 0 : bytes[r][row][i % 3]));
        }
    pair_down(&t);
}

/* Only indices work as indices, and they work as nothing else. */
static void indices_and_tables_are_refused_elsewhere(void **state)
{
    (void)state;
    static uint8_t bytes[12];
    for (int k = 0; k < 6; k++) {
        pair t;
        nn_plan *plan;
        pair_up(&t);
        nn_var at = nn_index(t.g, "at", 1, 2, 1), x = nn_input(t.g, "x", 1, 2, 1);
        nn_var table = nn_table(t.g, "pixels", 4, 3, NN_U8, bytes);
        nn_var y = k == 0   ? nn_gather(table, x)
                   : k == 1 ? nn_pick(t.x, x)
                   : k == 2 ? nn_add(t.x, at)
                   : k == 3 ? nn_affine(at, 1, 0)
                   : k == 4 ? nn_affine(table, 1, 0)
                            : nn_gather(at, at);
        assert_true(y.id < 0);
        assert_int_equal(nn_plan_new(&plan, t.g, &y, 1, 0, NULL, 0), FANS_EINVAL);
        assert_non_null(strstr(fans_error(), k < 2    ? "the numbers are not an index"
                                             : k == 4 ? "bytes are read by gather and frames only"
                                                      : "an index is no operand"));
        pair_down(&t);
    }
}

static void grad_scale_multiplies_the_gradient_only(void **state)
{
    (void)state;
    pair t;
    pair_up(&t);
    nn_var y = nn_grad_scale(t.x, t.k);
    pair_run(&t, nn_mean(y, NN_NONE));
    for (int i = 0; i < 6; i++) {
        assert_true(nn_data(y, 0)[i] == nn_data(t.x, 0)[i]);
        assert_true(fabs(nn_grad(t.x, 0)[i] - 2.5 / 2) < 1e-15);
    }
    pair_down(&t);
}

static void td_target_is_the_equation_and_a_constant(void **state)
{
    (void)state;
    pair t;
    pair_up(&t);
    nn_var r = nn_slice(t.x, 0, 1), end = nn_input(t.g, "end", 1, 2, 1), q = nn_slice(t.x, 1, 1);
    nn_var logp = nn_slice(t.x, 2, 1), discount = nn_scalar(t.g, "discount", 0.99);
    nn_var y = nn_td_target(r, end, q, logp, t.k, discount);
    nn_plan *plan;
    nn_var loss = nn_mean(y, NN_NONE);
    assert_int_equal(nn_plan_new(&plan, t.g, &loss, 1, 1, &t.params, 1), 0);
    assert_int_equal(nn_graph_commit(t.g), 0);
    nn_data(end, 0)[1] = 1;
    assert_int_equal(nn_plan_run(plan), 0);
    const real *x = nn_data(t.x, 0);
    assert_true(fabs(nn_data(y, 0)[0] - (x[0] + 0.99 * (x[1] - 2.5 * x[2]))) < 1e-15);
    assert_true(fabs(nn_data(y, 0)[1] - x[3]) < 1e-15);
    for (int i = 0; i < 6; i++) assert_true(nn_grad(t.x, 0)[i] == 0);
    pair_down(&t);
}

/* Of n-step returns: each row has its own. */
static void discounts_may_differ_by_row(void **state)
{
    (void)state;
    pair t;
    nn_plan *plan;
    pair_up(&t);
    nn_var x[] = {nn_slice(t.x, 0, 1), nn_slice(t.x, 1, 1), nn_slice(t.x, 2, 1)};
    nn_var end = nn_input(t.g, "end", 1, 2, 1), discount = nn_input(t.g, "discount", 1, 2, 1);
    nn_var y = nn_td_target(x[0], end, x[1], x[2], t.k, discount);
    assert_int_equal(nn_plan_new(&plan, t.g, &y, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(t.g), 0);
    for (int i = 0; i < 2; i++) nn_data(discount, 0)[i] = i ? 0.9 : 0.5;
    assert_int_equal(nn_plan_run(plan), 0);
    const real *v = nn_data(t.x, 0);
    for (int i = 0; i < 2; i++, v += 3)
        assert_true(nn_data(y, 0)[i] == v[0] + (i ? 0.9 : 0.5) * (v[1] - 2.5 * v[2]));
    pair_down(&t);
}

/* The straight-through gate jumps, so differences cannot follow it: its gradient is that of the
 * smooth sample underneath. */
static void gumbel_gate_is_straight_through(void **state)
{
    (void)state;
    pair t;
    pair_up(&t);
    nn_var frozen = nn_scalar(t.g, "frozen", 0);
    nn_var z = nn_gate(t.x, NN_GATE_GUMBEL, t.k, frozen);
    pair_run(&t, nn_mean(z, NN_NONE));
    const nn_node *gate = &t.g->nodes[z.id];
    for (int i = 0; i < 6; i++) {
        double s = gate->scratch[i], v = nn_data(z, 0)[i];
        assert_true(v == (s > 0.5));
        assert_true(fabs(nn_grad(t.x, 0)[i] - s * (1 - s) / 2.5 / 2) < 1e-15);
    }
    pair_down(&t);
}

static void frozen_gates_decide_without_noise(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        pair t;
        pair_up(&t);
        nn_var frozen = nn_scalar(t.g, "frozen", 1);
        nn_var z = nn_gate(t.x, (nn_gate_kind)kind, t.k, frozen);
        pair_run(&t, nn_mean(z, NN_NONE));
        for (int i = 0; i < 6; i++) {
            double x = nn_data(t.x, 0)[i];
            bool open = kind == NN_GATE_ERF ? fabs(erf(x)) > 0.1 : x > 0;
            assert_true(nn_data(z, 0)[i] == open);
            assert_true(nn_grad(t.x, 0)[i] == 0);
        }
        pair_down(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(ignored_values_are_not_read),
        cmocka_unit_test(operators_declare_themselves),
        cmocka_unit_test(every_operator_has_a_case),
        cmocka_unit_test(detach_passes_no_gradient),
        cmocka_unit_test(gather_reads_the_callers_rows),
        cmocka_unit_test(gather_joins_rows),
        cmocka_unit_test(gather_reads_bytes_as_numbers),
        cmocka_unit_test(indices_and_tables_are_refused_elsewhere),
        cmocka_unit_test(grad_scale_multiplies_the_gradient_only),
        cmocka_unit_test(td_target_is_the_equation_and_a_constant),
        cmocka_unit_test(discounts_may_differ_by_row),
        cmocka_unit_test(gumbel_gate_is_straight_through),
        cmocka_unit_test(frozen_gates_decide_without_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
