/* cuda_steps.c - whole training steps on a GPU: against the CPU, against themselves, replicas
 * together against one by one, faults, lower precisions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_pair.h"
#include "nn_steps.h"

static const sac_sizes SAC = {.obs = 17, .act = 6, .width = 80, .batch = 130, .norm = true};
static const fnvae_sizes SMALL = {
    .d = 5, .m = 2, .p = 3, .q = 2, .encoder = 24, .bank = 16, .dense = 20, .T = 9, .B = 37};
static const fnvae_sizes LARGE = {
    .d = 7, .m = 3, .p = 6, .q = 4, .encoder = 64, .bank = 48, .dense = 64, .T = 24, .B = 128};
enum { STEPS = 4, MOST = 400000, MOST_GROUPS = 16 };
enum { MANY = 48 }; /* replicas: some layers use wide tiles, some brisk ones */

/* The result of a training: parameters and last gradients by group, losses of the last step. */
typedef struct outcome {
    float values[MOST], grads[MOST];
    size_t from[MOST_GROUPS + 1];
    int groups;
    double loss[COSTS + 3];
    int losses;
} outcome;

static void take_group(outcome *o, nn_group *group, int replica)
{
    size_t n = nn_group_size(group), at = o->from[o->groups];
    nn_graph *g = nn_group_param(group, 0).graph;
    assert_true(at + n <= MOST && o->groups < MOST_GROUPS);
    nn_copy_out(g, o->values + at, nn_group_data(group, NN_VALUES, replica), n * sizeof(float));
    nn_copy_out(g, o->grads + at, nn_group_data(group, NN_GRADIENTS, replica), n * sizeof(float));
    o->from[++o->groups] = at + n;
}

static void train_sac(outcome *o, nn_backend *b, sac_sizes z, int replicas, uint64_t seed,
                      int replica)
{
    sac_step s;
    uint64_t seeds[MANY];
    for (int i = 0; i < replicas; i++) seeds[i] = seed + (uint64_t)i;
    assert_ok(sac_step_new(&s, b, z, replicas, seeds));
    uint64_t made = mem_count();
    for (int i = 0; i < STEPS; i++) assert_ok(sac_step_run(&s));
    assert_int_equal(mem_count(), made); /* no allocation while training */
    assert_ok(nn_graph_check(s.g));
    nn_group *groups[] = {s.actor, s.critic, s.target, s.temp};
    nn_var losses[] = {s.q_loss, s.pi_loss, s.temp_loss};
    for (int i = 0; i < 4; i++) take_group(o, groups[i], replica);
    for (int i = 0; i < 3; i++) o->loss[o->losses++] = nn_scalar_get(losses[i], replica);
    nn_graph_free(s.g);
}

static void train_fnvae(outcome *o, nn_backend *b, fnvae_sizes z, int steps, int replicas,
                        uint64_t seed, int replica)
{
    fnvae_step s;
    uint64_t seeds[8];
    for (int i = 0; i < replicas; i++) seeds[i] = seed + (uint64_t)i;
    assert_ok(fnvae_step_new(&s, b, z, replicas, seeds));
    for (int i = 0; i < steps; i++) assert_ok(fnvae_step_run(&s));
    assert_ok(nn_graph_check(s.g));
    for (int i = 0; i < FNVAE_GROUPS; i++) take_group(o, s.group[i], replica);
    for (int i = 0; i < COSTS; i++) o->loss[o->losses++] = nn_scalar_get(s.cost[i], replica);
    nn_graph_free(s.g);
}

static void train(outcome *o, nn_backend *b, int replicas, uint64_t seed, int replica)
{
    memset(o, 0, sizeof *o);
    train_sac(o, b, SAC, replicas, seed, replica);
    train_fnvae(o, b, SMALL, STEPS, replicas, seed, replica);
}

/* ‖a - b‖ / ‖a‖ of a group */
static double distance(const outcome *a, const float *x, const float *y, int group)
{
    double off = 0, all = 1e-20;
    for (size_t i = a->from[group]; i < a->from[group + 1]; i++) {
        off += pow((double)x[i] - (double)y[i], 2);
        all += pow((double)x[i], 2);
    }
    return sqrt(off / all);
}

static double loss_distance(const outcome *a, const outcome *b)
{
    double worst = 0;
    for (int i = 0; i < a->losses; i++)
        worst = fmax(worst, fabs(a->loss[i] - b->loss[i]) / fmax(0.1, fabs(a->loss[i])));
    return worst;
}

/* Losses and gradients within `grads`, parameters within `values`, all relative. */
static void compare(const outcome *a, const outcome *b, double values, double grads,
                    const char *what)
{
    double worst[3] = {0};
    assert_int_equal(a->groups, b->groups);
    for (int i = 0; i < a->groups; i++) {
        worst[0] = fmax(worst[0], distance(a, a->values, b->values, i));
        worst[1] = fmax(worst[1], distance(a, a->grads, b->grads, i));
    }
    worst[2] = loss_distance(a, b);
    print_message("%s: parameters %.1e, gradients %.1e, losses %.1e\n", what, worst[0], worst[1],
                  worst[2]);
    assert_true(worst[0] <= values && worst[1] <= grads && worst[2] <= grads);
}

static outcome first, second;

static void steps_equal_the_cpu(void **state)
{
    (void)state;
    train(&first, cpu, 2, 5, 1);
    train(&second, gpu, 2, 5, 1);
    compare(&first, &second, 1e-4, 1e-3, "small steps, CPU against GPU");
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    train_sac(&first, cpu, SAC, MANY, 5, MANY - 1);
    train_sac(&second, gpu, SAC, MANY, 5, MANY - 1);
    compare(&first, &second, 1e-4, 1e-3, "many replicas, CPU against GPU");
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    train_fnvae(&first, cpu, LARGE, 3, 1, 5, 0);
    train_fnvae(&second, gpu, LARGE, 3, 1, 5, 0);
    compare(&first, &second, 1e-4, 1e-3, "larger steps, CPU against GPU");
}

/* As small as possible, for tools that check every access (cuda_sanitizer.sh). */
static void tiny_steps_equal_the_cpu(void **state)
{
    (void)state;
    sac_sizes sac = {.obs = 5, .act = 2, .width = 16, .batch = 12, .norm = true};
    fnvae_sizes z = {
        .d = 2, .m = 1, .p = 2, .q = 1, .encoder = 72, .bank = 6, .dense = 8, .T = 3, .B = 4};
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    train_sac(&first, cpu, sac, 2, 5, 1);
    train_sac(&second, gpu, sac, 2, 5, 1);
    train_fnvae(&first, cpu, z, STEPS, 2, 5, 1);
    train_fnvae(&second, gpu, z, STEPS, 2, 5, 1);
    compare(&first, &second, 1e-4, 1e-3, "tiny steps, CPU against GPU");
}

static void the_same_run_is_bit_identical(void **state)
{
    (void)state;
    train(&first, gpu, 2, 5, 0);
    train(&second, gpu, 2, 5, 0);
    assert_memory_equal(&first, &second, sizeof first);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    train_sac(&first, gpu, SAC, MANY, 5, MANY - 1);
    train_sac(&second, gpu, SAC, MANY, 5, MANY - 1);
    assert_memory_equal(&first, &second, sizeof first);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    train_fnvae(&first, gpu, LARGE, 3, 1, 5, 0);
    train_fnvae(&second, gpu, LARGE, 3, 1, 5, 0);
    assert_memory_equal(&first, &second, sizeof first);
}

/* Many replicas use other tiles than few, and cuBLAS may choose another kernel for another number
 * of matrices. So replicas agree up to rounding, but are not bit-identical. */
static void replicas_agree_with_runs_of_their_own(void **state)
{
    (void)state;
    for (int r = 0; r < 4; r++) {
        train(&first, gpu, 4, 5, r);
        train(&second, gpu, 1, 5 + (uint64_t)r, 0);
        compare(&second, &first, 1e-5, 1e-4, "one by one against four together");
        print_message("  %s\n",
                      memcmp(&first, &second, sizeof first) ? "differs" : "bit-identical");
    }
}

/* Losses within `most` of fp32's, but not equal: the lower precision is really used. */
static void assert_near(const outcome *full, const outcome *lower, double most, const char *what)
{
    double worst = loss_distance(full, lower);
    print_message("%s: losses within %.1e of fp32\n", what, worst);
    assert_true(worst <= most && worst > 0);
}

/* Operands are off by up to 2^-11 (tf32) or 2^-8 (bf16). Adam's first steps are about as long
 * whatever the gradient, so parameters may be some rates apart where a gradient is near 0: of that,
 * losses see little. In SAC's steps few replicas take small tiles, many brisk and wide ones. */
static void lower_precisions_stay_near(void **state)
{
    (void)state;
    static const struct {
        nn_precision precision;
        const char *name;
        double losses;
    } kinds[] = {{NN_TF32, "tf32", 2e-3}, {NN_BF16, "bf16", 2e-2}};
    static const int replicas[] = {3, MANY};
    for (int k = 0; k < 2; k++) {
        nn_cuda_options o = {.precision = kinds[k].precision};
        nn_backend *b;
        char what[64];
        assert_ok(nn_cuda_new(&b, &o));
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        train_fnvae(&first, gpu, LARGE, 3, 1, 5, 0);
        train_fnvae(&second, b, LARGE, 3, 1, 5, 0);
        assert_near(&first, &second, kinds[k].losses, kinds[k].name);
        for (int i = 0; i < 2; i++) {
            memset(&first, 0, sizeof first);
            memset(&second, 0, sizeof second);
            train_sac(&first, gpu, SAC, replicas[i], 5, replicas[i] - 1);
            train_sac(&second, b, SAC, replicas[i], 5, replicas[i] - 1);
            snprintf(what, sizeof what, "%s, SAC, %d replicas", kinds[k].name, replicas[i]);
            assert_near(&first, &second, 2e-2, what);
        }
        nn_backend_free(b);
    }
}

/* Rounding by adding to the bits would turn a GPU's NaN into a number. */
static void lower_precisions_keep_what_is_no_number(void **state)
{
    (void)state;
    const uint64_t seed = 1;
    const uint32_t none = 0x7fffffff;
    nn_cuda_options o = {.precision = NN_TF32};
    nn_backend *b;
    sac_step s;
    assert_ok(nn_cuda_new(&b, &o));
    assert_ok(sac_step_new(&s, b, SAC, 1, &seed));
    assert_ok(sac_step_run(&s));
    assert_ok(nn_graph_check(s.g));
    nn_copy_in(s.g, nn_data(s.obs, 0) + 3, &none, sizeof none);
    int rc = sac_step_run(&s);
    if (rc == 0) rc = nn_graph_check(s.g);
    assert_int_equal(rc, FANS_ENUMERIC);
    print_message("%s\n", fans_error());
    nn_graph_free(s.g);
    nn_backend_free(b);
}

/* Counters that are reset draw the same numbers again. */
static void counters_are_the_randomness(void **state)
{
    (void)state;
    const uint64_t seed = 3;
    float a[64], b[64], c[64];
    nn_graph *g;
    nn_plan *plan;
    int n;
    assert_ok(nn_graph_new(&g, gpu, 1, &seed));
    nn_var x = nn_input(g, "x", 1, 8, 8), y = nn_gauss_sample(x, x);
    assert_ok(nn_plan_new(&plan, g, &y, 1, 0, NULL, 0));
    assert_ok(nn_graph_commit(g));
    uint64_t *counters = nn_graph_counters(g, &n);
    assert_int_equal(n, 1);
    float *draws[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        if (i == 2) counters[0] = 0;
        assert_ok(nn_plan_run(plan));
        assert_int_equal(counters[0], i == 1 ? 2 : 1);
        nn_read(y, 0, draws[i]);
    }
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    nn_graph_free(g);
}

static void not_a_number_is_named_and_spoils_nothing(void **state)
{
    (void)state;
    const uint64_t seed = 1;
    sac_step s;
    float bad = NAN, good = 0;
    assert_ok(sac_step_new(&s, gpu, SAC, 1, &seed));
    assert_ok(sac_step_run(&s));
    assert_ok(nn_graph_check(s.g));
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    take_group(&first, s.critic, 0);
    nn_copy_in(s.g, nn_data(s.reward, 0) + 3, &bad, sizeof bad);
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) rc = sac_step_run(&s);
    if (rc == 0) rc = nn_graph_check(s.g);
    assert_int_equal(rc, FANS_ENUMERIC);
    print_message("%s\n", fans_error());
    assert_non_null(strstr(fans_error(), "loss"));
    assert_ok(nn_graph_check(s.g)); /* reported once */
    take_group(&second, s.critic, 0);
    size_t n = nn_group_size(s.critic);
    assert_memory_equal(first.values, second.values, n * sizeof(float));

    /* a bad gradient of a good loss: with clipping nothing changes … */
    nn_copy_in(s.g, nn_data(s.reward, 0) + 3, &good, sizeof good);
    nn_adam adam = NN_ADAM_DEFAULT;
    for (int i = 0; i < 2; i++) {
        adam.clip = 1 - i;
        assert_ok(nn_plan_run(s.critic_plan));
        bad = INFINITY;
        nn_copy_in(s.g, nn_grad(nn_group_param(s.critic, 2), 0) + 1, &bad, sizeof bad);
        rc = nn_group_adam(s.critic, &adam);
        if (rc == 0) rc = nn_graph_check(s.g);
        assert_int_equal(rc, FANS_ENUMERIC);
        print_message("%s\n", fans_error());
        assert_non_null(strstr(fans_error(), nn_name_of(nn_group_param(s.critic, 2))));
        memset(&second, 0, sizeof second);
        take_group(&second, s.critic, 0);
        if (adam.clip > 0) assert_memory_equal(first.values, second.values, n * sizeof(float));
    }
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(second.values[i])); /* … else nothing becomes NaN */
    assert_ok(sac_step_run(&s));                 /* and it continues */
    assert_ok(nn_graph_check(s.g));
    nn_graph_free(s.g);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_steps_equal_the_cpu),
        cmocka_unit_test(steps_equal_the_cpu),
        cmocka_unit_test(the_same_run_is_bit_identical),
        cmocka_unit_test(replicas_agree_with_runs_of_their_own),
        cmocka_unit_test(lower_precisions_stay_near),
        cmocka_unit_test(lower_precisions_keep_what_is_no_number),
        cmocka_unit_test(counters_are_the_randomness),
        cmocka_unit_test(not_a_number_is_named_and_spoils_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return cuda_pair_run(argc, argv, run_all);
}
