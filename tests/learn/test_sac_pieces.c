/* test_sac_pieces.c - SAC's update on rows of a replay, as trainings use it, in any order that its
 * pieces' waits allow. It includes the file itself, because its groups are private. */
#include "learn/sac.c" // NOLINT: on purpose

#include "base/pool.h"
#include "base/rng.h"
#include "nn_shuffled.h"
#include "sac_rig.h"
#include "testing.h"

enum { REPLICAS = 2, UPDATES = 5, ORDERS = 30, MOST = 1 << 14 };

typedef struct learned {
    float values[MOST];
    size_t count;
} learned;

static void learn(learned *out, nn_backend *b, bool hindsight)
{
    sac_rig t;
    sac_options o;
    const uint64_t seeds[REPLICAS] = {3, 4};
    options_default(sac_option_group(), &o);
    o.width = 16;
    o.batch = RIG_BATCH;
    o.lr = 0.01;
    o.layer_norm = hindsight ? NORM_ALL : NORM_OFF;
    rng r = rng_stream(2, "batches", 0), life = rng_stream(1, "life", 0);
    assert_int_equal(sac_rig_new(&t, b, &o, REPLICAS, seeds), 0);
    sac_rig_live(&t, REPLICAS, &life);
    for (int i = 0; i < UPDATES; i++) {
        sac_rig_draw(&t, REPLICAS, hindsight, &r);
        assert_int_equal(sac_update(t.sac), 0);
    }
    nn_group *groups[] = {t.sac->actor, t.sac->critic, t.sac->target, t.sac->temp};
    out->count = 0;
    for (int i = 0; i < 4 * REPLICAS; i++) {
        size_t n = nn_group_size(groups[i / REPLICAS]);
        assert_true(out->count + n <= MOST);
        memcpy(out->values + out->count,
               nn_group_data(groups[i / REPLICAS], NN_VALUES, i % REPLICAS), n * sizeof(float));
        out->count += n;
    }
    sac_rig_free(&t);
}

static void the_update_in_any_order(void **state)
{
    (void)state;
    static learned expected[2], found;
    pool *threads;
    nn_backend *cpu;
    assert_int_equal(pool_new(&threads, 1), 0);
    assert_int_equal(nn_cpu_new(&cpu, threads), 0);
    nn_backend shuffled = shuffled_of(cpu, 1);
    for (int hindsight = 0; hindsight < 2; hindsight++) {
        learned *wanted = &expected[hindsight];
        learn(wanted, cpu, hindsight);
        for (int i = 0; i < ORDERS; i++) {
            learn(&found, &shuffled, hindsight);
            assert_int_equal(found.count, wanted->count);
            assert_memory_equal(found.values, wanted->values, wanted->count * sizeof(float));
        }
    }
    assert_memory_not_equal(expected[0].values, expected[1].values,
                            expected[0].count * sizeof(float));
    nn_backend_free(cpu);
    pool_free(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_update_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
