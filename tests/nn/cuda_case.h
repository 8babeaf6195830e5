/* cuda_case.h - runs a case of nn_cases.h on any backend and reads back all its numbers. */
#ifndef TESTS_CUDA_CASE_H
#define TESTS_CUDA_CASE_H

#include <math.h>

#include "base/error.h"
#include "nn/graph.h"
#include "nn_cases.h"

enum { CASE_REPLICAS = 2, MOST_NUMBERS = 4000000 };

/* Tensor i is numbers[from[i] .. from[i + 1]): the case's value, then its operands' gradients; of
 * all replicas. */
typedef struct run_result {
    real numbers[MOST_NUMBERS];
    size_t from[2 * CASE_OPERANDS + 2];
    int count;
} run_result;

static inline nn_var case_sum(nn_graph *g, nn_var y, const char *name)
{
    nn_shape s = nn_shape_of(y);
    nn_var w = nn_input(g, name, s.T, s.B, s.D);
    return nn_affine(nn_mean(nn_mul(y, w), NN_NONE), s.T * s.B, 0);
}

static inline void case_fill(nn_var v, double low, double high, bool binary, rng *r)
{
    static real numbers[MOST_NUMBERS];
    size_t n = nn_size(nn_shape_of(v));
    assert(n <= MOST_NUMBERS);
    for (int k = 0; k < CASE_REPLICAS; k++) {
        for (size_t i = 0; i < n; i++) {
            double x = rng_between(r, low, high);
            numbers[i] = (real)(binary ? x > 0.5 : x);
        }
        nn_write(v, k, numbers);
    }
}

static inline void case_fill_index(nn_var v, double low, double high, rng *r)
{
    static int32_t numbers[MOST_NUMBERS];
    size_t n = nn_size(nn_shape_of(v));
    assert(n <= MOST_NUMBERS);
    for (int k = 0; k < CASE_REPLICAS; k++) {
        for (size_t i = 0; i < n; i++) numbers[i] = (int32_t)floor(rng_between(r, low, high));
        nn_write_index(v, k, numbers);
    }
}

static inline void case_fill_operand(nn_var v, const nn_case_operand *o, rng *r)
{
    if (o->bytes)
        case_send(v, o, CASE_REPLICAS);
    else if (o->index)
        case_fill_index(v, o->low, o->high, r);
    else
        case_fill(v, o->low, o->high, o->binary, r);
}

static inline void case_take(run_result *out, nn_graph *g, nn_var v, const real *at, size_t stride)
{
    size_t n = nn_size(nn_shape_of(v)), to = out->from[out->count];
    assert(to + CASE_REPLICAS * n <= MOST_NUMBERS);
    for (size_t r = 0; r < CASE_REPLICAS; r++)
        nn_copy_out(g, out->numbers + to + r * n, at + r * stride, n * sizeof *at);
    out->from[++out->count] = to + CASE_REPLICAS * n;
}

/* `shared`: each operand has a second reader, so that gradients must be added to. Runs it several
 * times: all but random operators must give the same each time. */
static inline void run_case(run_result *out, nn_backend *b, const nn_case *k, bool shared, int runs)
{
    const uint64_t seeds[CASE_REPLICAS] = {1, 2};
    nn_graph *g;
    nn_plan *plan;
    nn_var v[CASE_OPERANDS];
    assert_int_equal(nn_graph_new(&g, b, CASE_REPLICAS, seeds), 0);
    nn_group *params = nn_group_new(g, "p");
    int n = case_operand_count(k);
    for (int i = 0; i < n; i++) v[i] = case_operand(params, g, &k->operands[i]);
    nn_var y = k->build(v), loss = case_sum(g, y, "w");
    for (int i = 0; shared && i < n; i++) {
        char name[16];
        if (k->operands[i].index || k->operands[i].bytes) continue;
        snprintf(name, sizeof name, "w%d", i);
        loss = nn_add(loss, case_sum(g, v[i], name));
    }
    if (nn_plan_new(&plan, g, &loss, 1, 1, &params, 1) < 0) fail_msg("%s", fans_error());
    assert_int_equal(nn_graph_commit(g), 0);
    rng r = rng_stream(7, k->name, 0);
    for (int i = 0; i < n; i++) case_fill_operand(v[i], &k->operands[i], &r);
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == LEAF_INPUT) case_fill((nn_var){g, (int)i}, 0.5, 1.5, false, &r);
    for (int i = 0; i < runs; i++)
        if (nn_plan_run(plan) < 0 || nn_graph_check(g) < 0) fail_msg("%s", fans_error());
    out->count = 0;
    case_take(out, g, y, nn_data(y, 0), g->nodes[y.id].stride);
    for (int i = 0; i < n; i++)
        if (k->operands[i].name[0] != '_')
            case_take(out, g, v[i], nn_grad(v[i], 0), g->nodes[v[i].id].stride);
    nn_graph_free(g);
}

#endif
