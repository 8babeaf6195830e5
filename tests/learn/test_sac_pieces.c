/* test_sac_pieces.c - SAC's update on rows of a memory, as trainings use it, in any order that its
 * pieces' waits allow. It includes the file itself, for its groups are nobody else's business. */
#include "learn/sac.c" // NOLINT: on purpose

#include "base/pool.h"
#include "base/rng.h"
#include "nn_shuffled.h"
#include "testing.h"

enum { OBS = 5, EXTRA = 3, ACTIONS = 2, BATCH = 12, ROWS = 40, REPLICAS = 2, UPDATES = 5 };
enum { WIDTH = OBS + ACTIONS + 2, ORDERS = 30, MOST = 1 << 14 };

typedef struct learned {
    float values[MOST];
    size_t count;
} learned;

static float steps[REPLICAS * ROWS * WIDTH], extra[REPLICAS * ROWS * EXTRA];

static void fill_memory(void)
{
    rng r = rng_stream(1, "memory", 0);
    for (size_t i = 0; i < COUNT(steps); i++) steps[i] = (float)rng_between(&r, -1, 1);
    for (size_t i = 0; i < COUNT(extra); i++) extra[i] = (float)rng_normal(&r);
    for (size_t i = WIDTH - 1; i < COUNT(steps); i += WIDTH) steps[i] = steps[i] > 0.8f;
}

static void draw(sac *s, rng *r)
{
    for (int k = 0; k < REPLICAS; k++) {
        sac_batch b = sac_batch_of(s, k);
        int32_t *const to[] = {b.at, b.next, b.judged_at, b.judged_next};
        for (int i = 0; i < 4 * BATCH; i++) to[i / BATCH][i % BATCH] = (int32_t)rng_below(r, ROWS);
    }
}

static void learn(learned *out, nn_backend *b, bool hindsight)
{
    sac *s;
    sac_options o;
    const uint64_t seeds[REPLICAS] = {3, 4};
    sac_shape z = {.obs = OBS,
                   .extra = EXTRA,
                   .actions = ACTIONS,
                   .rows = 1,
                   .replicas = REPLICAS,
                   .memory = ROWS,
                   .hindsight = hindsight};
    options_default(sac_option_group(), &o);
    o.width = 16;
    o.batch = BATCH;
    o.lr = 0.01;
    rng r = rng_stream(2, "batches", 0);
    assert_int_equal(sac_new(&s, b, &o, z, steps, extra, seeds), 0);
    sac_changed_all(s);
    for (int i = 0; i < UPDATES; i++) {
        draw(s, &r);
        assert_int_equal(sac_update(s), 0);
    }
    nn_group *groups[] = {s->actor, s->critic, s->target, s->temp};
    out->count = 0;
    for (int i = 0; i < 4 * REPLICAS; i++) {
        size_t n = nn_group_size(groups[i / REPLICAS]);
        assert_true(out->count + n <= MOST);
        memcpy(out->values + out->count,
               nn_group_data(groups[i / REPLICAS], NN_VALUES, i % REPLICAS), n * sizeof(float));
        out->count += n;
    }
    sac_free(s);
}

static void the_update_in_any_order(void **state)
{
    (void)state;
    static learned expected[2], found;
    pool *threads;
    nn_backend *cpu;
    fill_memory();
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
