/* double_nn_a1.c - algorithm A1 in one backward pass gives each group of parameters the gradient of
 * its own costs: five separate passes, in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn_steps.h"

static const fnvae_sizes SIZES = {
    .d = 4, .m = 2, .p = 3, .q = 2, .encoder = 5, .bank = 4, .dense = 6, .T = 6, .B = 3};
static const double K[] = {0.8, 0.7, 0.5, 0.02}; /* rec, pred, kl, smooth */

static void set_edges(fnvae_step *s, bool weighted)
{
    nn_var k[] = {s->k_rec, s->k_pred, s->k_kl, s->k_smooth};
    for (int i = 0; i < 4; i++) nn_scalar_set(k[i], 0, weighted ? K[i] : 1);
}

/* The same samples in every pass. */
static void run_afresh(fnvae_step *s, nn_plan *plan)
{
    int n;
    uint64_t *counters = nn_graph_counters(s->g, &n);
    memset(counters, 0, (size_t)n * sizeof *counters);
    if (nn_plan_run(plan) < 0) fail_msg("%s", fans_error());
}

static nn_var weighted_total(fnvae_step *s)
{
    nn_var *c = s->cost;
    nn_var total = nn_affine(nn_add(c[COST_REC_DYN], c[COST_REC_RW]), K[0], 0);
    total = nn_add(total, nn_affine(nn_add(c[COST_PRED_DYN], c[COST_PRED_RW]), K[1], 0));
    total = nn_add(total, nn_affine(c[COST_KL], K[2], 0));
    return nn_add(total, nn_affine(c[COST_SMOOTH], K[3], 0));
}

static void one_pass_equals_five(void **state)
{
    (void)state;
    pool *threads;
    nn_backend *cpu;
    fnvae_step s;
    const uint64_t seed = 3;
    pool_new(&threads, 2);
    nn_cpu_new(&cpu, threads);
    assert_ok(fnvae_step_record(&s, cpu, SIZES, 1, &seed));

    /* what each group follows (SPEC: phi the total, gamma KL, alpha and beta their reconstruction
     * and prediction, masks reconstruction, KL and sparsity) */
    nn_var *c = s.cost;
    nn_var follows[FNVAE_GROUPS] = {
        [FNVAE_PHI] = weighted_total(&s),
        [FNVAE_GAMMA] = c[COST_KL],
        [FNVAE_ALPHA] = nn_add(c[COST_REC_DYN], c[COST_PRED_DYN]),
        [FNVAE_BETA] = nn_add(c[COST_REC_RW], c[COST_PRED_RW]),
        [FNVAE_MASKS] =
            nn_add(nn_add(c[COST_REC_DYN], c[COST_REC_RW]), nn_add(c[COST_KL], c[COST_SPARSE])),
    };
    nn_plan *apart[FNVAE_GROUPS], *once;
    for (int i = 0; i < FNVAE_GROUPS; i++)
        assert_ok(nn_plan_new(&apart[i], s.g, &follows[i], 1, 1, &s.group[i], 1));
    assert_ok(nn_plan_new(&once, s.g, c, COSTS, COSTS, s.group, FNVAE_GROUPS));
    assert_ok(nn_graph_commit(s.g));
    fnvae_step_inputs(&s, seed);

    real *expected[FNVAE_GROUPS];
    set_edges(&s, false);
    for (int i = 0; i < FNVAE_GROUPS; i++) {
        size_t n = nn_group_size(s.group[i]);
        run_afresh(&s, apart[i]);
        expected[i] = test_malloc(n * sizeof(real));
        memcpy(expected[i], nn_group_data(s.group[i], NN_GRADIENTS, 0), n * sizeof(real));
    }
    set_edges(&s, true);
    run_afresh(&s, once);
    for (int i = 0; i < FNVAE_GROUPS; i++) {
        const real *got = nn_group_data(s.group[i], NN_GRADIENTS, 0);
        double scale = 0, worst = 0;
        for (size_t k = 0; k < nn_group_size(s.group[i]); k++) {
            scale = fmax(scale, fabs(expected[i][k]));
            worst = fmax(worst, fabs(expected[i][k] - got[k]));
        }
        assert_true(scale > 1e-4); /* the gradient is there at all */
        /* rounding alone: weights multiply before or after the sums */
        if (worst > 1e-14 * scale)
            fail_msg("group %s: off by %.2g", nn_group_name(s.group[i]), worst / scale);
        test_free(expected[i]);
    }
    nn_graph_free(s.g);
    nn_backend_free(cpu);
    pool_free(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_pass_equals_five)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
