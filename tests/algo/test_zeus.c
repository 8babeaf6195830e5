/* test_zeus.c - contexts that an agent acts on are those that it learns from, bit for bit; two rows
 * with the same past have the same context. It includes the file itself, because contexts are
 * private. */
#include "algo/zeus.c" // NOLINT: on purpose

#include <math.h>

#include "base/rng.h"
#include "train_rig.h"

enum { K = 4, LANES = 2, D = 2, M = 1, LATENTS = 3, LIFE = 40 };

typedef struct bench {
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    replay *r;
    stage inputs;
    zeus z;
    nn_var c; /* (1, LANES, LATENTS): of a batch of one row per lane */
    nn_plan *plan;
    staged at, next;
    float obs[LANES * D]; /* where the worlds are */
} bench;

static const zeus_options options = {.latents = LATENTS, .coder = 5, .width = 6, .weight = 0.01};

static void open_bench(bench *t)
{
    const uint64_t seed = 1;
    replay_shape shape = {
        .replicas = 1, .worlds = LANES, .steps = 12, .horizon = 7, .obs = D, .act = M};
    sac_also also = {0};
    *t = (bench){.z = {.o = &options,
                       .replicas = 1,
                       .worlds = LANES,
                       .rows = LANES,
                       .k = K,
                       .d = D,
                       .m = M,
                       .step = 2 * D + M + 2}};
    assert_int_equal(pool_new(&t->threads, 1), 0);
    assert_int_equal(nn_cpu_new(&t->cpu, t->threads), 0);
    assert_int_equal(nn_graph_new(&t->g, t->cpu, 1, &seed), 0);
    assert_int_equal(replay_new(&t->r, shape), 0);
    assert_int_equal(arena_new(&t->z.memory), 0);
    t->inputs = (stage){.graph = t->g, .memory = t->z.memory};
    replay_record(t->r, t->g);
    assert_int_equal(record(&t->z, t->g, t->r), 0);
    stage_rows(&t->inputs, &t->at, "at", 1, LANES, 1);
    stage_rows(&t->inputs, &t->next, "next", 1, LANES, 1);
    context_batch b = {.inputs = &t->inputs,
                       .replay = t->r,
                       .T = 1,
                       .B = LANES,
                       .worlds = LANES,
                       .at = t->at.var,
                       .next = t->next.var};
    t->c = numbers(&t->z, &b, false).critic;
    numbers(&t->z, &b, true);
    assert_int_equal(plan(&t->z, &also), 0);
    nn_var wanted[] = {also.costs[0],       also.costs[1],         also.costs[2],
                       t->z.costs.distance, t->z.costs.difference, t->c};
    assert_int_equal(nn_plan_new(&t->plan, t->g, wanted, 6, 3, also.with_critic, 2), 0);
    assert_int_equal(nn_graph_commit(t->g), 0);
    assert_int_equal(ready(&t->z), 0);
}

static void close_bench(bench *t)
{
    nn_graph_free(t->g);
    nn_backend_free(t->cpu);
    pool_free(t->threads);
    replay_free(t->r);
    seen_units_free(&t->z.units);
    arena_free(t->z.memory);
}

/* The context of these rows, and all costs. */
static void learn_from(bench *t, const int32_t *at, const int32_t *next)
{
    memcpy(rows_of(&t->at, 0), at, LANES * sizeof *at);
    memcpy(rows_of(&t->next, 0), next, LANES * sizeof *next);
    fill(&t->z, 0, at, next);
    stage_send(&t->inputs);
    replay_sync(t->r);
    assert_int_equal(nn_plan_run(t->plan), 0);
}

/* The latest step of every lane whose episode just ended, and its successor. */
static void newest(const bench *t, int32_t *at, int32_t *next)
{
    for (int lane = 0; lane < LANES; lane++) {
        int i = replay_rows(t->r, lane) - 2;
        at[lane] = replay_at(t->r, lane, i).number;
        next[lane] = replay_at(t->r, lane, i + 1).number;
    }
}

static void draw_all(rng *draw, float *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = (float)rng_normal(draw);
}

/* One step of all lanes. Within an episode, it starts where the step before ended. */
static void live(bench *t, bool ends, rng *draw)
{
    float action[LANES * M], next[LANES * D], reward[LANES], unused[1];
    int64_t segment[LANES] = {0};
    uint8_t change[LANES] = {0}, terminated[LANES] = {0}, truncated[LANES] = {ends, ends};
    draw_all(draw, action, LANES * M);
    draw_all(draw, next, LANES * D);
    draw_all(draw, reward, LANES);
    fans_moment now = {t->obs, NULL, segment, change};
    fans_outcome o = {reward, terminated, truncated, next};
    assert_int_equal(note(&t->z, &now, action, &o, true, unused, unused), 0);
    replay_add(t->r, &now, action, &o, NULL, NULL);
    memcpy(t->obs, next, sizeof next);
    if (ends) draw_all(draw, t->obs, LANES * D);
}

static void it_learns_from_what_it_acts_on(void **state)
{
    (void)state;
    float acted[LANES * LATENTS];
    rng draw = rng_stream(1, "test", 0);
    bench t;
    open_bench(&t);
    start(&t.z);
    for (int i = 0; i < LIFE; i++) {
        bool ends = i % 5 == 4;
        int32_t at[LANES], next[LANES];
        assert_int_equal(update(&t.z), 0);
        assert_int_equal(look(&t.z, NULL, acted), 0);
        live(&t, ends, &draw);
        assert_true((i > 0) == (acted[0] != 0)); /* nothing was lived before the first step */
        if (!ends) continue;
        newest(&t, at, next);
        learn_from(&t, at, next);
        assert_memory_equal(nn_data(t.c, 0), acted, sizeof acted);
    }
    close_bench(&t);
}

static void the_same_past_is_the_same_context(void **state)
{
    (void)state;
    rng draw = rng_stream(2, "test", 0);
    nn_adam adam = NN_ADAM_DEFAULT;
    int32_t at[LANES], next[LANES];
    bench t;
    open_bench(&t);
    start(&t.z);
    for (int i = 0; i < 10; i++) live(&t, i == 9, &draw);
    newest(&t, at, next);
    learn_from(&t, at, next); /* two lanes */
    assert_true(nn_scalar_get(t.z.costs.distance, 0) > 0);
    assert_true(nn_scalar_get(t.z.costs.difference, 0) > 0);
    at[1] = at[0];
    next[1] = next[0];
    learn_from(&t, at, next);
    assert_true(nn_scalar_get(t.z.costs.distance, 0) == 0);
    assert_true(nn_scalar_get(t.z.costs.difference, 0) == 0);
    assert_int_equal(nn_group_adam(t.z.net.context, &adam), 0); /* gradients are finite */
    close_bench(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_from_what_it_acts_on),
        cmocka_unit_test(the_same_past_is_the_same_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
