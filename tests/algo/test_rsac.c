/* test_rsac.c - the memory that an agent acts with is the one it learns with, bit for bit: step by
 * step online, and in windows of the replay; over a lifetime, and where every episode clears it. It
 * includes the file itself, because contexts are private. */
#include "algo/rsac.c" // NOLINT: on purpose

#include "base/pool.h"
#include "base/rng.h"
#include "testing.h"

enum { D = 3, M = 2, UNITS = 8, WINDOW = 40, WINDOWS = 2, STATE = 2 * UNITS };

typedef struct bench {
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    replay *r;
    stage inputs;
    rsac s;
    staged at, next, shift, scale;
    nn_plan *read;
    float obs[D];                   /* where the world is */
    float lived[WINDOW + 1][STATE]; /* online, after each row */
    int count;
} bench;

static void record_bench(bench *t)
{
    context_batch b = {
        .inputs = &t->inputs, .replay = t->r, .T = WINDOW, .B = WINDOWS, .worlds = 1};
    stage_rows(&t->inputs, &t->at, "at", WINDOW, WINDOWS, 1);
    stage_rows(&t->inputs, &t->next, "next", WINDOW, WINDOWS, 1);
    stage_numbers(&t->inputs, &t->shift, "shift", 1, 1, D);
    stage_numbers(&t->inputs, &t->scale, "scale", 1, 1, D);
    b.at = t->at.var;
    b.next = t->next.var;
    b.shift = t->shift.var;
    b.scale = t->scale.var;
    numbers(&t->s, &b, false);
    numbers(&t->s, &b, true);
    assert_int_equal(t->inputs.rc, 0);
    assert_int_equal(nn_plan_new(&t->read, t->g, &t->s.state[POLICY], 1, 0, NULL, 0), 0);
}

static void open_bench(bench *t, const rsac_options *o)
{
    const uint64_t seed = 1;
    sac_also also = {0};
    replay_shape shape = {
        .replicas = 1, .worlds = 1, .steps = 60, .horizon = 7, .obs = D, .act = M};
    *t = (bench){.s = {.o = o, .replicas = 1, .worlds = 1, .rows = 1, .d = D, .m = M}};
    assert_int_equal(pool_new(&t->threads, 1), 0);
    assert_int_equal(nn_cpu_new(&t->cpu, t->threads), 0);
    assert_int_equal(nn_graph_new(&t->g, t->cpu, 1, &seed), 0);
    assert_int_equal(replay_new(&t->r, shape), 0);
    assert_int_equal(arena_new(&t->s.room), 0);
    t->inputs = (stage){.graph = t->g, .memory = t->s.room};
    replay_record(t->r, t->g);
    assert_int_equal(record(&t->s, t->g, t->r), 0);
    record_bench(t);
    assert_int_equal(plan(&t->s, &also), 0);
    assert_int_equal(nn_graph_commit(t->g), 0);
    assert_int_equal(ready(&t->s), 0);
    for (int i = 0; i < D; i++) {
        numbers_of(&t->shift, 0)[i] = (float)i - 1;
        numbers_of(&t->scale, 0)[i] = 1.5f;
    }
}

static void close_bench(bench *t)
{
    nn_graph_free(t->g);
    nn_backend_free(t->cpu);
    pool_free(t->threads);
    replay_free(t->r);
    arena_free(t->s.room);
}

static void draw_all(rng *dice, float *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = (float)rng_normal(dice);
}

static void keep(bench *t)
{
    memcpy(t->lived[t->count++], t->s.stepped, sizeof *t->lived);
}

static void live(bench *t, bool ends, rng *dice)
{
    float action[M], next[D], reward[1], h[UNITS], unused[1];
    int64_t segment[1] = {0};
    uint8_t change[1] = {0}, terminated[1] = {0}, truncated[1] = {ends};
    draw_all(dice, action, M);
    draw_all(dice, next, D);
    draw_all(dice, reward, 1);
    fans_moment now = {t->obs, NULL, segment, change};
    fans_outcome o = {reward, terminated, truncated, next};
    assert_int_equal(look(&t->s, &now, h), 0);
    keep(t);
    assert_memory_equal(h, t->lived[t->count - 1], sizeof h);
    assert_int_equal(note(&t->s, &now, action, &o, true, unused, unused), 0);
    if (ends) keep(t); /* the last observation is a row, too */
    replay_add(t->r, &now, action, &o, NULL, NULL);
    memcpy(t->obs, next, sizeof next);
    if (ends) draw_all(dice, t->obs, D);
}

static void windows_remember_what_was_lived(const rsac_options *o)
{
    static float windows[(WINDOW + 1) * WINDOWS * STATE];
    int32_t at[WINDOW * WINDOWS], next[WINDOW * WINDOWS];
    float weight[WINDOW * WINDOWS];
    rng dice = rng_stream(1, "test", 0);
    bench t;
    open_bench(&t, o);
    stage_send(&t.inputs);
    draw_all(&dice, t.obs, D);
    for (int left = 4; t.count + 8 < WINDOW; left--) {
        live(&t, left == 0, &dice);
        if (left == 0) left = 6;
    }
    assert_int_equal(replay_rows(t.r, 0), t.count); /* fewer than a window has: all are taken */
    draw(&t.s, 0, &dice, at, next, weight);
    stage_send(&t.inputs);
    replay_sync(t.r);
    assert_int_equal(nn_plan_run(t.read), 0);
    nn_read_all(t.s.state[POLICY], windows);
    for (int i = 0; i < t.count; i++)
        for (int b = 0; b < WINDOWS; b++)
            assert_memory_equal(windows + (i * WINDOWS + b) * STATE, t.lived[i], sizeof *t.lived);
    close_bench(&t);
}

static void a_memory_of_the_lifetime(void **state)
{
    (void)state;
    const rsac_options o = {.units = UNITS,
                            .window = WINDOW,
                            .windows = WINDOWS,
                            .burn_in = 4,
                            .carry = true,
                            .rate = 1};
    windows_remember_what_was_lived(&o);
}

static void a_memory_of_the_episode(void **state)
{
    (void)state;
    const rsac_options o = {
        .units = UNITS, .window = WINDOW, .windows = WINDOWS, .burn_in = 4, .rate = 1};
    windows_remember_what_was_lived(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_of_the_lifetime),
        cmocka_unit_test(a_memory_of_the_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
