/* test_nn_steps.c - whole training steps: bit-identical for any number of threads and replicas, no
 * allocation after commit, every failed allocation survived, faults named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nn_steps.h"

static const sac_sizes SAC = {.obs = 17, .act = 6, .width = 80, .batch = 130, .norm = true};
static const fnvae_sizes FNVAE = {
    .d = 5, .m = 2, .p = 3, .q = 2, .encoder = 24, .bank = 16, .dense = 20, .T = 9, .B = 37};
enum { STEPS = 3, MOST = 200000 };

typedef struct rig {
    pool *threads;
    nn_backend *cpu;
} rig;

static void set_up(rig *t, int threads)
{
    assert_int_equal(pool_new(&t->threads, threads), 0);
    assert_int_equal(nn_cpu_new(&t->cpu, t->threads), 0);
}

static void tear_down(rig *t)
{
    nn_backend_free(t->cpu);
    pool_free(t->threads);
}

/* Appends the parameters of a group's replica to `out`. */
static size_t take(nn_group *group, int replica, float *out, size_t at)
{
    size_t n = nn_group_size(group);
    assert_true(at + n <= MOST);
    memcpy(out + at, nn_group_data(group, NN_VALUES, replica), n * sizeof *out);
    return at + n;
}

/* Trains both models for a few steps and returns all parameters of one replica. */
static size_t train(int threads, int replicas, uint64_t first_seed, int replica, float *out)
{
    rig t;
    sac_step sac;
    fnvae_step vae;
    uint64_t seeds[8];
    size_t n = 0;
    for (int i = 0; i < replicas; i++) seeds[i] = first_seed + (uint64_t)i;
    set_up(&t, threads);
    assert_ok(sac_step_new(&sac, t.cpu, SAC, replicas, seeds));
    assert_ok(fnvae_step_new(&vae, t.cpu, FNVAE, replicas, seeds));
    uint64_t made = mem_count();
    for (int i = 0; i < STEPS; i++) {
        assert_ok(sac_step_run(&sac));
        assert_ok(fnvae_step_run(&vae));
    }
    assert_int_equal(mem_count(), made); /* no allocation while training */
    nn_group *groups[] = {sac.actor, sac.critic, sac.target, sac.temp};
    for (int i = 0; i < 4; i++) n = take(groups[i], replica, out, n);
    for (int i = 0; i < FNVAE_GROUPS; i++) n = take(vae.group[i], replica, out, n);
    nn_graph_free(sac.g);
    nn_graph_free(vae.g);
    tear_down(&t);
    return n;
}

static float first[MOST], second[MOST];

static void same_bits_for_any_threads(void **state)
{
    (void)state;
    size_t n = train(1, 1, 5, 0, first);
    for (int threads = 2; threads <= 4; threads += 2) {
        assert_int_equal(train(threads, 1, 5, 0, second), n);
        assert_memory_equal(first, second, n * sizeof *first);
    }
    for (size_t i = 0; i < n; i++) assert_true(isfinite(first[i]));
}

static void replicas_equal_runs_of_their_own(void **state)
{
    (void)state;
    for (int r = 0; r < 4; r++) {
        size_t n = train(2, 4, 5, r, first);
        assert_int_equal(train(2, 1, 5 + (uint64_t)r, 0, second), n);
        assert_memory_equal(first, second, n * sizeof *first);
    }
}

static void seeds_matter(void **state)
{
    (void)state;
    size_t n = train(2, 1, 5, 0, first);
    train(2, 1, 6, 0, second);
    assert_memory_not_equal(first, second, n * sizeof *first);
}

/* Fails the first allocation, then the second, and so on, until a run gets through. */
static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    const uint64_t seed = 1;
    const sac_sizes sac_small = {3, 1, 8, 4, true};
    const fnvae_sizes vae_small = {
        .d = 3, .m = 1, .p = 2, .q = 1, .encoder = 4, .bank = 3, .dense = 4, .T = 3, .B = 2};
    uint64_t before = mem_held();
    for (int model = 0; model < 2; model++) {
        int n = 1, rc = -1;
        for (; rc < 0; n++) {
            pool *threads = NULL;
            nn_backend *cpu = NULL;
            sac_step sac = {0};
            fnvae_step vae = {0};
            mem_fail_at((uint64_t)n);
            rc = pool_new(&threads, 2);
            if (rc == 0) rc = nn_cpu_new(&cpu, threads);
            if (rc == 0)
                rc = model ? fnvae_step_new(&vae, cpu, vae_small, 1, &seed)
                           : sac_step_new(&sac, cpu, sac_small, 1, &seed);
            mem_fail_at(0);
            if (rc == 0) {
                assert_int_equal(model ? fnvae_step_run(&vae) : sac_step_run(&sac), 0);
                nn_graph_free(model ? vae.g : sac.g);
            } else {
                assert_int_equal(rc, FANS_ENOMEM);
                assert_non_null(strstr(fans_error(), "out of memory"));
            }
            nn_backend_free(cpu);
            pool_free(threads);
            assert_int_equal(mem_held(), before); /* no leak */
        }
        assert_true(n > 10);
    }
}

static void not_a_number_is_named(void **state)
{
    (void)state;
    rig t;
    sac_step s;
    const uint64_t seed = 1;
    set_up(&t, 2);
    assert_ok(sac_step_new(&s, t.cpu, SAC, 1, &seed));
    size_t n = take(s.critic, 0, first, 0);
    nn_data(s.reward, 0)[3] = NAN;
    assert_int_equal(sac_step_run(&s), FANS_ENUMERIC);
    assert_non_null(strstr(fans_error(), "loss"));
    take(s.critic, 0, second, 0);
    assert_memory_equal(first, second, n * sizeof *first); /* nothing was spoilt */

    /* a bad gradient of a good loss */
    nn_data(s.reward, 0)[3] = 0;
    assert_ok(nn_plan_run(s.critic_plan));
    nn_grad(nn_group_param(s.critic, 2), 0)[1] = INFINITY;
    nn_adam adam = NN_ADAM_DEFAULT;
    assert_int_equal(nn_group_adam(s.critic, &adam), FANS_ENUMERIC);
    assert_non_null(strstr(fans_error(), nn_name_of(nn_group_param(s.critic, 2))));
    take(s.critic, 0, second, 0);
    assert_memory_equal(first, second, n * sizeof *first);
    nn_graph_free(s.g);
    tear_down(&t);
}

static void wrong_shapes_are_named(void **state)
{
    (void)state;
    rig t;
    nn_graph *g;
    nn_plan *plan;
    const uint64_t seed = 1;
    set_up(&t, 1);
    assert_int_equal(nn_graph_new(&g, t.cpu, 1, &seed), 0);
    nn_group *p = nn_group_new(g, "net");
    nn_var x = nn_input(g, "x", 1, 8, 5);
    nn_var W = nn_param(p, "W", 1, 4, 3, NN_INIT_FAN_IN, 1);
    nn_var y = nn_linear(NN_IN(x), W, NN_NONE, NN_RELU);
    nn_var loss = nn_mean(nn_mul(y, y), NN_NONE); /* recording continues silently */
    assert_int_equal(y.id, -1);
    assert_int_equal(nn_plan_new(&plan, g, &loss, 1, 1, &p, 1), FANS_EINVAL);
    assert_string_equal(fans_error(), "linear(x (1, 8, 5), net.W (1, 4, 3)): the features of the "
                                      "input are not the rows of the weights");
    assert_int_equal(nn_graph_commit(g), FANS_EINVAL);
    nn_graph_free(g);

    assert_int_equal(nn_graph_new(&g, t.cpu, 1, &seed), 0);
    x = nn_input(g, "x", 1, 8, 5);
    assert_int_equal(nn_plan_new(&plan, g, &x, 1, 1, NULL, 0), FANS_EINVAL);
    assert_string_equal(fans_error(), "plan: the loss 'x' has the shape (1, 8, 5), not (1, 1, 1)");
    nn_graph_free(g);
    tear_down(&t);
}

/* Adam and clipping against their equations, in double, over several steps. */
static void adam_follows_its_equations(void **state)
{
    (void)state;
    rig t;
    nn_graph *g;
    nn_plan *plan;
    const uint64_t seed = 4;
    set_up(&t, 2);
    assert_int_equal(nn_graph_new(&g, t.cpu, 1, &seed), 0);
    nn_group *p = nn_group_new(g, "p");
    nn_var x = nn_param(p, "x", 1, 3, 5, NN_INIT_NORMAL, 1);
    nn_var loss = nn_mean(nn_mul(x, nn_mul(x, x)), NN_NONE);
    assert_ok(nn_plan_new(&plan, g, &loss, 1, 1, &p, 1));
    assert_ok(nn_graph_commit(g));
    double w[15], m[15] = {0}, v[15] = {0};
    for (int i = 0; i < 15; i++) w[i] = (double)nn_data(x, 0)[i];
    nn_adam o = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 0.5};
    for (int k = 1; k <= 20; k++) {
        assert_ok(nn_plan_run(plan));
        assert_int_equal(nn_group_adam(p, &o), 0);
        double norm = 0;
        for (int i = 0; i < 15; i++) norm += pow(w[i] * w[i], 2);
        norm = sqrt(norm); /* d/dx of x³ / 3 rows */
        assert_true(fabs(nn_group_grad_norm(p, 0) - norm) < 1e-4 * norm);
        for (int i = 0; i < 15; i++) {
            double d = w[i] * w[i] * fmin(1, o.clip / norm);
            m[i] = o.beta1 * m[i] + (1 - o.beta1) * d;
            v[i] = o.beta2 * v[i] + (1 - o.beta2) * d * d;
            w[i] -= o.lr * (m[i] / (1 - pow(o.beta1, k))) /
                    (sqrt(v[i] / (1 - pow(o.beta2, k))) + o.eps);
            assert_true(fabs(w[i] - (double)nn_data(x, 0)[i]) < 1e-5);
        }
    }
    nn_graph_free(g);
    tear_down(&t);
}

/* Cells start as running means: unit k keeps m / (1 + m) of its value, with m from 1 to the memory.
 */
static void lstms_start_with_a_memory(void **state)
{
    (void)state;
    enum { T = 40, H = 8, MEMORY = 33 };
    rig t;
    nn_graph *g;
    nn_plan *plan;
    const uint64_t seed = 4;
    float none[T] = {0}, cells[2 * H], out[T * 2 * H];
    set_up(&t, 1);
    assert_int_equal(nn_graph_new(&g, t.cpu, 1, &seed), 0);
    nn_group *p = nn_group_new(g, "p");
    nn_var x = nn_input(g, "x", T, 1, 1), before = nn_input(g, "before", 1, 1, 2 * H);
    nn_var y = nn_lstm_layer(p, "lstm", NN_IN(x), H, MEMORY, before, NN_NONE);
    assert_ok(nn_plan_new(&plan, g, &y, 1, 0, NULL, 0));
    assert_ok(nn_graph_commit(g));
    for (int i = 0; i < nn_group_params(p); i++) { /* the biases alone */
        nn_var v = nn_group_param(p, i);
        if (nn_shape_of(v).B == H) memset(nn_data(v, 0), 0, nn_size(nn_shape_of(v)) * sizeof(real));
    }
    for (int k = 0; k < 2 * H; k++) cells[k] = k >= H;
    nn_write(x, 0, none);
    nn_write(before, 0, cells);
    assert_ok(nn_plan_run(plan));
    nn_read(y, 0, out);
    for (int k = 0; k < H; k++) {
        double m = 1 + (MEMORY - 1) * (k + 0.5) / H, kept = pow(m / (1 + m), T);
        assert_true(fabs((double)out[(T - 1) * 2 * H + H + k] - kept) < 1e-5);
    }
    nn_graph_free(g);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(replicas_equal_runs_of_their_own),
        cmocka_unit_test(seeds_matter),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(not_a_number_is_named),
        cmocka_unit_test(wrong_shapes_are_named),
        cmocka_unit_test(adam_follows_its_equations),
        cmocka_unit_test(lstms_start_with_a_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
