/* cuda_ops.c - every operator on a GPU against the CPU: values and gradients, two replicas, alone
 * and with a second reader of every operand; captured in a graph as well as not; layers also in
 * tf32. Prints a table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_case.h"
#include "cuda_pair.h"

enum { RUNS = 3 }; /* the first is not captured, the second is, the third only replayed */
static const double FP32 = 1e-5, TF32 = 1.5e-3; /* how far numbers may be off */

static void compare_tensor(const run_result *a, const run_result *b, const nn_case *k, bool shared,
                           double most, double *worst)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        double scale = 1e-6, off = 0;
        for (size_t j = a->from[i]; j < a->from[i + 1]; j++) {
            scale = fmax(scale, fabs((double)a->numbers[j]));
            off = fmax(off, fabs((double)a->numbers[j] - (double)b->numbers[j]));
            if (!isfinite(b->numbers[j])) off = INFINITY;
        }
        int kind = i == 0 ? 0 : 1; /* the value, then gradients */
        if (scale < 1) scale = 1;
        worst[kind] = fmax(worst[kind], off / scale);
        if (!(off / scale <= most))
            fail_msg("%s%s: tensor %d is off by %.2g", k->name, shared ? " (shared)" : "", i,
                     off / scale);
    }
}

static void operators_equal_the_cpu(void **state)
{
    (void)state;
    static run_result ours, theirs;
    print_message("%-26s %12s %12s\n", "case", "value", "gradients");
    for (int i = 0; i < NN_CASES; i++) {
        double worst[2] = {0};
        for (int shared = 0; shared < 2; shared++) {
            run_case(&theirs, cpu, &nn_cases[i], shared, RUNS);
            run_case(&ours, gpu, &nn_cases[i], shared, RUNS);
            compare_tensor(&theirs, &ours, &nn_cases[i], shared, FP32, worst);
        }
        print_message("%-26s %12.1e %12.1e\n", nn_cases[i].name, worst[0], worst[1]);
    }
}

/* Operators that cases do not cover: detach, td_target, grad_scale, gumbel and frozen gates. */
static nn_var build_rest(const nn_var *v)
{
    nn_var k = nn_scalar(v[0].graph, "k", 2.5), frozen = nn_scalar(v[0].graph, "frozen", 1);
    nn_var free_ = nn_scalar(v[0].graph, "free", 0), discount = nn_scalar(v[0].graph, "d", 0.99);
    nn_var x = nn_slice(v[0], 0, 1), y = nn_slice(v[0], 1, 1), z = nn_slice(v[0], 2, 1);
    nn_var td = nn_td_target(x, y, z, x, k, discount);
    nn_var sum = nn_add(nn_mul(nn_detach(v[0]), v[0]), nn_grad_scale(v[0], k));
    sum = nn_add(sum, nn_gate(v[0], NN_GATE_GUMBEL, k, free_));
    for (int kind = 0; kind < 3; kind++)
        sum = nn_add(sum, nn_gate(v[0], (nn_gate_kind)kind, k, frozen));
    return nn_add(sum, td);
}

static void the_rest_equals_the_cpu(void **state)
{
    (void)state;
    static const nn_case rest = {"rest", {{"x", ROWS, 3, -1, 1}}, build_rest};
    static run_result ours, theirs;
    double worst[2] = {0};
    for (int shared = 0; shared < 2; shared++) {
        run_case(&theirs, cpu, &rest, shared, RUNS);
        run_case(&ours, gpu, &rest, shared, RUNS);
        compare_tensor(&theirs, &ours, &rest, shared, FP32, worst);
    }
}

/* Layers at sizes where tiles are cut, many tiles are taken (of one slice and of several), and the
 * library's products begin. */
static nn_var build_layers(const nn_var *v)
{
    nn_var h = nn_linear(NN_IN(v[0], v[1]), v[2], v[3], NN_RELU);
    h = nn_linear(NN_IN(h), v[4], v[5], NN_TANH);
    return nn_linear(NN_IN(h), v[6], v[7], NN_LINEAR);
}

/* Without ReLU, whose slope is another as soon as a number near 0 is rounded. */
static nn_var build_smooth(const nn_var *v)
{
    nn_var h = nn_linear(NN_IN(v[0], v[1]), v[2], v[3], NN_TANH);
    h = nn_linear(NN_IN(h), v[4], v[5], NN_TANH);
    return nn_linear(NN_IN(h), v[6], v[7], NN_LINEAR);
}

/* The largest differences, of values and gradients. */
static void compare_layers(nn_backend *b, nn_var (*build)(const nn_var *), int rows, int out,
                           double most, double *worst)
{
    static run_result ours, theirs;
    int wide = rows == 1900 ? 256 : 72, next = rows == 1900 ? 256 : 40;
    nn_case k = {"layers",
                 {{"x", 1, rows, 17, -1, 1},
                  {"y", 1, rows, 6, -1, 1},
                  {"W1", 1, 23, 3 * wide, -0.2, 0.2},
                  {"b1", 3, 1, wide, -1, 1},
                  {"W2", 3, wide, next, -0.1, 0.1},
                  {"b2", 3, 1, next, -1, 1},
                  {"W3", 3, next, out, -0.1, 0.1},
                  {"b3", 3, 1, out, -1, 1}},
                 build};
    worst[0] = worst[1] = 0;
    run_case(&theirs, cpu, &k, false, RUNS);
    run_case(&ours, b, &k, false, RUNS);
    compare_tensor(&theirs, &ours, &k, false, most, worst);
    print_message("layers on %d rows, %d out: %.1e %.1e\n", rows, out, worst[0], worst[1]);
}

static void layers_of_all_sizes_equal_the_cpu(void **state)
{
    (void)state;
    static const int rows[] = {1, 70, 900, 1900, 2100, 5000};
    double worst[2];
    for (int i = 0; i < 6; i++)
        for (int out = 1; out < 4; out += 2)
            compare_layers(gpu, build_layers, rows[i], out, FP32, worst);
}

/* Every kind of tile computes in tf32: off by more than fp32 would be. */
static void layers_in_tf32_are_near_the_cpu(void **state)
{
    (void)state;
    static const int rows[] = {70, 900, 1900};
    nn_cuda_options o = {.precision = NN_TF32};
    nn_backend *b;
    double worst[2];
    if (nn_cuda_new(&b, &o) < 0) fail_msg("%s", fans_error());
    for (int i = 0; i < 3; i++)
        for (int out = 1; out < 4; out += 2) {
            compare_layers(b, build_smooth, rows[i], out, TF32, worst);
            assert_true(worst[0] > FP32 && worst[1] > FP32);
        }
    nn_backend_free(b);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_equal_the_cpu),
        cmocka_unit_test(the_rest_equals_the_cpu),
        cmocka_unit_test(layers_of_all_sizes_equal_the_cpu),
        cmocka_unit_test(layers_in_tf32_are_near_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return cuda_pair_run(argc, argv, run_all);
}
