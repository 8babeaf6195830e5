/* cuda_ops.c - every operator on a GPU against the CPU: values and gradients, two replicas, alone
 * and with a second reader of every operand; captured in a graph as well as not; layers and LSTMs
 * of many sizes, also in tf32. Prints a table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_case.h"
#include "cuda_pair.h"

enum { RUNS = 3 }; /* the first is not captured, the second is, the third is replayed */
static const double FP32 = 1e-5, TF32 = 1.5e-3; /* allowed errors */

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
    nn_var td = nn_td_target(x, y, z, x, k, discount), own = nn_td_target(x, y, z, x, k, y);
    nn_var sum = nn_add(nn_mul(nn_detach(v[0]), v[0]), nn_grad_scale(v[0], k));
    sum = nn_add(sum, nn_gate(v[0], NN_GATE_GUMBEL, k, free_));
    for (int kind = 0; kind < 3; kind++)
        sum = nn_add(sum, nn_gate(v[0], (nn_gate_kind)kind, k, frozen));
    return nn_add(nn_add(sum, td), own);
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

/* Without ReLU, whose slope may change when a number near 0 is rounded. */
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

/* ---- LSTMs ----------------------------------------------------------------------------------- */

static nn_var build_state_alone(const nn_var *v)
{
    return nn_lstm(v[0], v[1], v[2], NN_NONE);
}
static nn_var build_reset_alone(const nn_var *v)
{
    return nn_lstm(v[0], v[1], NN_NONE, v[2]);
}

typedef struct lstm_size {
    int T, B, H;
    bool state, reset;
} lstm_size;

/* Of both directions of every kind of kernel: units that fill blocks and that do not, rows
 * likewise, single steps. */
static const lstm_size lstm_sizes[] = {
    {5, 7, 40, true, true},     {5, 33, 64, false, true},   {6, 70, 65, true, true},
    {1, 40, 72, true, false},   {1, 32, 130, false, false}, {7, 31, 130, false, true},
    {4, 100, 200, true, false}, {2, 1, 200, true, true},    {9, 64, 256, true, true},
    {6, 45, 256, false, false}, {3, 35, 260, true, true},
};
enum { LSTM_SIZES = sizeof lstm_sizes / sizeof *lstm_sizes };

static void compare_lstm(nn_backend *b, const lstm_size *z, bool shared, double most, double *worst)
{
    static run_result ours, theirs;
    double w = 1 / sqrt(z->H);
    nn_case k = {"lstm", {{"gates", z->T, z->B, 4 * z->H, -1, 1}, {"W", 1, z->H, 4 * z->H, -w, w}}};
    nn_case_operand *rest = &k.operands[2];
    if (z->state) *rest++ = (nn_case_operand){"state", 1, z->B, 2 * z->H, -1, 1};
    if (z->reset) *rest++ = (nn_case_operand){"_reset", z->T, z->B, 1, 0, 0.7, true};
    k.build = z->state ? (z->reset ? case_lstm : build_state_alone)
                       : (z->reset ? build_reset_alone : case_lstm_bare);
    worst[0] = worst[1] = 0;
    run_case(&theirs, cpu, &k, shared, RUNS);
    run_case(&ours, b, &k, shared, RUNS);
    compare_tensor(&theirs, &ours, &k, shared, most, worst);
    print_message("lstm %d x %d x %d%s%s%s: %.1e %.1e\n", z->T, z->B, z->H,
                  z->state ? ", state" : "", z->reset ? ", reset" : "", shared ? ", shared" : "",
                  worst[0], worst[1]);
}

/* For tools that check every access (cuda_sanitizer.sh). */
static void small_lstms_equal_the_cpu(void **state)
{
    (void)state;
    double worst[2];
    const lstm_size sizes[] = {{3, 3, 20, true, true}, {3, 3, 72, true, true}, {4, 33, 200}};
    for (int i = 0; i < 3; i++) compare_lstm(gpu, &sizes[i], false, FP32, worst);
}

static void lstms_of_all_sizes_equal_the_cpu(void **state)
{
    (void)state;
    double worst[2];
    for (int i = 0; i < LSTM_SIZES; i++)
        for (int shared = 0; shared < 2; shared++)
            compare_lstm(gpu, &lstm_sizes[i], shared, FP32, worst);
}

/* Narrow ones are always in fp32. */
static void wide_lstms_in_tf32_are_near_the_cpu(void **state)
{
    (void)state;
    nn_cuda_options o = {.precision = NN_TF32};
    nn_backend *b;
    double worst[2];
    if (nn_cuda_new(&b, &o) < 0) fail_msg("%s", fans_error());
    for (int i = 0; i < LSTM_SIZES; i++) {
        if (lstm_sizes[i].H <= 64) continue;
        compare_lstm(b, &lstm_sizes[i], false, TF32, worst);
        bool carries = lstm_sizes[i].T > 1 || lstm_sizes[i].state; /* else there is no product */
        assert_true(!carries || worst[0] > FP32);
    }
    nn_backend_free(b);
}

/* The same run is bit-identical, whatever the order of blocks. */
static void wide_lstms_repeat_themselves(void **state)
{
    (void)state;
    static run_result first, second;
    nn_case k = {"again",
                 {{"gates", 9, 70, 4 * 136, -1, 1},
                  {"W", 1, 136, 4 * 136, -0.2, 0.2},
                  {"state", 1, 70, 2 * 136, -1, 1},
                  {"_reset", 9, 70, 1, 0, 0.7, true}},
                 case_lstm};
    run_case(&first, gpu, &k, false, RUNS);
    run_case(&second, gpu, &k, false, RUNS);
    assert_memory_equal(first.numbers, second.numbers, first.from[first.count] * sizeof(real));
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_equal_the_cpu),
        cmocka_unit_test(the_rest_equals_the_cpu),
        cmocka_unit_test(layers_of_all_sizes_equal_the_cpu),
        cmocka_unit_test(layers_in_tf32_are_near_the_cpu),
        cmocka_unit_test(small_lstms_equal_the_cpu),
        cmocka_unit_test(lstms_of_all_sizes_equal_the_cpu),
        cmocka_unit_test(wide_lstms_in_tf32_are_near_the_cpu),
        cmocka_unit_test(wide_lstms_repeat_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return cuda_pair_run(argc, argv, run_all);
}
