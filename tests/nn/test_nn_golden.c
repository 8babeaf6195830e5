/* test_nn_golden.c - every operator, values and gradients, against PyTorch's (golden/nn.json). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "nn/op.h"
#include "nn_cases.h"

static void load(json_t *numbers, real *to, size_t n, const char *what)
{
    if (json_array_size(numbers) != n) fail_msg("%s: %zu numbers expected", what, n);
    for (size_t i = 0; i < n; i++) to[i] = (real)json_number_value(json_array_get(numbers, i));
}

static void load_operand(json_t *numbers, nn_var v, const nn_case_operand *o)
{
    size_t n = nn_size(nn_shape_of(v));
    real values[1024];
    int32_t at[1024];
    assert_true(n <= 1024);
    load(numbers, values, n, o->name);
    for (size_t i = 0; o->index && i < n; i++) at[i] = (int32_t)values[i];
    for (size_t i = 0; o->bytes && i < n; i++) assert_true(values[i] == case_bytes()[i]);
    if (o->bytes)
        case_send(v, o, 1);
    else if (o->index)
        nn_write_index(v, 0, at);
    else
        nn_write(v, 0, values);
}

/* Within 1e-5 of the largest number of the tensor, or of 1. */
static void compare(json_t *numbers, const real *ours, size_t n, const char *what)
{
    double scale = 1, worst = 0;
    if (json_array_size(numbers) != n) fail_msg("%s: %zu numbers expected", what, n);
    for (size_t i = 0; i < n; i++) {
        double x = json_number_value(json_array_get(numbers, i));
        scale = fmax(scale, fabs(x));
        worst = fmax(worst, fabs(x - (double)ours[i]));
    }
    if (!(worst / scale <= 1e-5)) fail_msg("%s: off by %.2g", what, worst / scale);
}

static void check_case(const nn_case *k, json_t *golden)
{
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    nn_plan *plan;
    const uint64_t seed = 1;
    char what[96];
    assert_int_equal(pool_new(&threads, 2), 0);
    assert_int_equal(nn_cpu_new(&cpu, threads), 0);
    assert_int_equal(nn_graph_new(&g, cpu, 1, &seed), 0);
    nn_group *params = nn_group_new(g, "p");
    nn_var v[CASE_OPERANDS];
    int n = case_operand_count(k);
    for (int i = 0; i < n; i++) v[i] = case_operand(params, g, &k->operands[i]);
    nn_var y = k->build(v);
    nn_shape s = nn_shape_of(y);
    nn_var w = nn_input(g, "w", s.T, s.B, s.D);
    nn_var loss = nn_affine(nn_mean(nn_mul(y, w), NN_NONE), s.T * s.B, 0);
    if (nn_plan_new(&plan, g, &loss, 1, 1, &params, 1) < 0) fail_msg("%s", fans_error());
    assert_int_equal(nn_graph_commit(g), 0);

    json_t *operands = json_object_get(golden, "operands");
    for (int i = 0; i < n; i++)
        load_operand(json_object_get(json_object_get(operands, k->operands[i].name), "value"), v[i],
                     &k->operands[i]);
    load(json_object_get(golden, "w"), nn_data(w, 0), nn_size(s), k->name);
    assert_int_equal(nn_plan_run(plan), 0);

    snprintf(what, sizeof what, "%s: value", k->name);
    compare(json_object_get(golden, "value"), nn_data(y, 0), nn_size(s), what);
    for (int i = 0; i < n; i++) {
        json_t *grad = json_object_get(json_object_get(operands, k->operands[i].name), "grad");
        if (!grad) continue;
        snprintf(what, sizeof what, "%s: gradient of %s", k->name, k->operands[i].name);
        compare(grad, nn_grad(v[i], 0), nn_size(nn_shape_of(v[i])), what);
    }
    nn_graph_free(g);
    nn_backend_free(cpu);
    pool_free(threads);
}

static void operators_equal_pytorch(void **state)
{
    (void)state;
    json_t *file;
    if (json_read_file(&file, SOURCE_DIR "/tests/golden/nn.json") < 0) fail_msg("%s", fans_error());
    json_t *cases = json_object_get(file, "cases");
    assert_int_equal(json_object_size(cases), NN_CASES);
    for (int i = 0; i < NN_CASES; i++) {
        json_t *golden = json_object_get(cases, nn_cases[i].name);
        if (!golden) fail_msg("golden/nn.json has no case %s", nn_cases[i].name);
        check_case(&nn_cases[i], golden);
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_equal_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
