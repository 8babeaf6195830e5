/* test_fnvae_pieces.c - the model's own programs in any order that their pieces' waits allow. */
#include "fnvae_rig.h"
#include "nn_shuffled.h"

enum { UPDATES = 6, LIFE = 200, ORDERS = 6, MOST = 1 << 16 };

typedef struct learned {
    float values[MOST];
    size_t count;
} learned;

/* Through all stages of learning. */
static void learn(learned *out, nn_backend *b, const fnvae_options *o)
{
    rig t = {0};
    const uint64_t seeds[] = {3, 4};
    replay *l = toy_replay(2, 1, 2 * LIFE, 0);
    rng picks[] = {rng_stream(3, "windows", 0), rng_stream(4, "windows", 0)};
    toy_fill(l, 1, LIFE);
    rig_record(&t, b, o, TOY, seeds, l);
    fnvae *f = t.f;
    replay_sync(l);
    for (int r = 0; r < 2; r++) observe_all(f, r, l);
    while (f->update < UPDATES) {
        for (int r = 0; r < 2; r++) draw_windows(f, r, l, &picks[r]);
        assert_ok(fnvae_update(f));
    }
    out->count = 0;
    for (int k = 0; k < FNVAE_GROUPS; k++)
        for (int r = 0; r < 2; r++) {
            size_t n = nn_group_size(f->group[k]);
            assert_true(out->count + n <= MOST);
            memcpy(out->values + out->count, nn_group_data(f->group[k], NN_VALUES, r),
                   n * sizeof *out->values);
            out->count += n;
        }
    rig_free(&t);
    replay_free(l);
}

static void any_order(const fnvae_options *o)
{
    static learned expected, found;
    pool *threads;
    nn_backend *cpu;
    assert_ok(pool_new(&threads, 1));
    assert_ok(nn_cpu_new(&cpu, threads));
    learn(&expected, cpu, o);
    nn_backend shuffled = shuffled_of(cpu, 1);
    for (int i = 0; i < ORDERS; i++) {
        learn(&found, &shuffled, o);
        assert_int_equal(found.count, expected.count);
        assert_memory_equal(found.values, expected.values, expected.count * sizeof(float));
    }
    nn_backend_free(cpu);
    pool_free(threads);
}

static fnvae_options short_options(void)
{
    fnvae_options o = small_options();
    o.updates = UPDATES;
    return o;
}

static void the_model_in_any_order(void **state)
{
    (void)state;
    fnvae_options o = short_options();
    any_order(&o);
}

static void with_all_options_in_any_order(void **state)
{
    (void)state;
    fnvae_options o = short_options();
    o.head = 0.5;
    o.moves = 4;
    o.tails = true;
    o.auto_weights = true;
    any_order(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_model_in_any_order),
                                       cmocka_unit_test(with_all_options_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
