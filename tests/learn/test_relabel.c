/* test_relabel.c - experience under other factors: what is relabelled, what it is worth, and a gate
 * that closes on a wrong reward model. It includes the file that draws, because draws are private.
 */
#include "learn/relabel.c" // NOLINT: on purpose

#include "learn/sac.h"
#include "relabel_agents.h"
#include "testing.h"

/* ---- a world whose reward is known ------------------------------------------------------------
 */

/* s' = a · theta_s + noise and r = s' + a · theta_r + noise. The context is [theta_s, theta_r / 2,
 * theta_r / 2]. Segments have 12 steps, episodes one. */
enum { WORLDS = 2, BATCH = 64, WIDTH = 3, SEGMENT = 12 };

typedef struct toy {
    pool *pool;
    nn_backend *cpu;
    nn_graph *g;
    replay *replay;
    stage batch;
    staged at, next;
    nn_var numbers[2], reward, moved;
    nn_plan *plan;
    relabel_options o;
    sac_options so;
    double share;
    text warning;
    fans_taken taken[3];
    relabel *x;
    nn_var wrong; /* added to the model's effect of theta_r: 0, or 3 */
    rng draws;
    int64_t steps;
} toy;

static const double NOISE = 0.05;

static nn_var expect(void *self, nn_var now, nn_var next, nn_var numbers)
{
    toy *t = self;
    nn_var theta = nn_add(nn_slice(numbers, 1, 1), nn_slice(numbers, 2, 1));
    nn_var effect = nn_mul(replay_action(t->replay, now), theta);
    return nn_add(nn_add(nn_slice(next, 0, 1), effect), nn_mul(theta, t->wrong));
}

static nn_var expect_step(void *self, nn_var now, nn_var next, nn_var numbers)
{
    (void)next;
    return nn_mul(replay_action(((toy *)self)->replay, now), nn_slice(numbers, 0, 1));
}

static nn_var observed_step(void *self, nn_var now, nn_var next)
{
    (void)self, (void)now;
    return nn_slice(next, 0, 1);
}

static void reach(const void *self, int replica, float *to)
{
    (void)self, (void)replica;
    *to = 1;
}

static nn_var observed(void *self, nn_var now)
{
    return replay_reward(((toy *)self)->replay, now);
}

static void last_two(const void *self, int replica, float *which)
{
    (void)self, (void)replica;
    which[0] = 0;
}

static float noise(toy *t)
{
    return (float)(NOISE * rng_normal(&t->draws));
}

static void live(toy *t, int steps)
{
    for (int k = 0; k < steps; k++, t->steps++) {
        float obs[WORLDS], next[WORLDS], action[WORLDS], reward[WORLDS], numbers[WORLDS][WIDTH];
        uint8_t no[WORLDS] = {0}, ended[WORLDS], change[WORLDS];
        int64_t segment[WORLDS];
        for (int w = 0; w < WORLDS; w++) {
            segment[w] = t->steps / SEGMENT;
            float theta_s = (float)cos(0.3 * (double)segment[w]);
            float theta_r = (float)sin(0.7 * (double)segment[w]);
            obs[w] = (float)rng_normal(&t->draws);
            action[w] = (float)rng_between(&t->draws, -1, 1);
            next[w] = action[w] * theta_s + noise(t);
            reward[w] = next[w] + action[w] * theta_r + noise(t);
            change[w] = t->steps % SEGMENT == 0;
            ended[w] = 1; /* every step ends an episode: its successor is its own */
            numbers[w][0] = theta_s;
            numbers[w][1] = numbers[w][2] = theta_r / 2;
        }
        fans_moment m = {.obs = obs, .segment = segment, .change = change};
        fans_outcome o = {reward, no, ended, next};
        replay_add(t->replay, &m, action, &o, (const void *[]){numbers}, (const void *[]){numbers});
    }
    replay_sync(t->replay);
}

static void toy_open(toy *t, int factors, bool dynamics)
{
    static const uint64_t seeds[] = {7};
    *t = (toy){.share = 0.5, .draws = rng_stream(1, "toy", 0)};
    options_default(relabel_option_group(), &t->o);
    options_default(sac_option_group(), &t->so);
    t->o.factors = factors;
    t->o.dynamics = dynamics;
    t->taken[0] = (fans_taken){relabel_option_group(), &t->o};
    t->taken[1] = (fans_taken){sac_option_group(), &t->so};
    fans_algo_setup s = {.replicas = 1, .seeds = seeds, .taken = t->taken, .warning = &t->warning};
    relabel_model m = {t, expect, observed, NULL, last_two, expect_step, observed_step, reach};
    arena *memory;
    replay_shape z = {.replicas = 1,
                      .worlds = WORLDS,
                      .steps = 4000,
                      .horizon = 1,
                      .obs = 1,
                      .act = 1,
                      .columns = {{"context", NN_F32, WIDTH}},
                      .column_count = 1};
    assert_int_equal(pool_new(&t->pool, 1), 0);
    assert_int_equal(nn_cpu_new(&t->cpu, t->pool), 0);
    assert_int_equal(nn_graph_new(&t->g, t->cpu, 1, seeds), 0);
    assert_int_equal(replay_new(&t->replay, z), 0);
    assert_int_equal(arena_new(&memory), 0);
    assert_int_equal(relabel_new(&t->x, &s, &t->share, "test", m), 0);
    t->batch = (stage){.graph = t->g, .memory = memory};
    replay_record(t->replay, t->g);
    t->wrong = nn_scalar(t->g, "wrong", 0);
    stage_rows(&t->batch, &t->at, "at", 1, BATCH, 1);
    stage_rows(&t->batch, &t->next, "next", 1, BATCH, 1);
    nn_var now = replay_gather(t->replay, t->at.var), next = replay_gather(t->replay, t->next.var);
    assert_int_equal(relabel_record(t->x, &t->batch, t->replay, BATCH, now, &next), 0);
    t->numbers[0] = relabel_numbers(t->x, replay_gather_column(t->replay, 0, t->at.var));
    t->numbers[1] = relabel_numbers(t->x, replay_gather_column(t->replay, 0, t->next.var));
    t->reward = relabel_reward(t->x, replay_reward(t->replay, now));
    assert_int_equal(relabel_plan(t->x, &(sac_also){0}), 0);
    t->moved = replay_obs(t->replay, next);
    nn_var wanted[] = {t->numbers[0], t->numbers[1], t->reward, t->moved};
    assert_int_equal(nn_plan_new(&t->plan, t->g, wanted, 4, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(t->g), 0);
    assert_int_equal(arena_commit(memory), 0);
    assert_int_equal(relabel_ready(t->x), 0);
}

static void toy_close(toy *t)
{
    relabel_free(t->x);
    arena_free(t->batch.memory);
    nn_graph_free(t->g);
    replay_free(t->replay);
    nn_backend_free(t->cpu);
    pool_free(t->pool);
    text_free(&t->warning);
}

/* Lives for a while, looking every ten steps. */
static void look(toy *t, int times)
{
    for (int k = 0; k < times; k++) {
        live(t, 10);
        assert_int_equal(relabel_look(t->x, t->steps * WORLDS), 0);
    }
}

static void batch(toy *t)
{
    static rng draws;
    if (draws.seed == 0) draws = rng_stream(3, "batch", 0);
    replay_draw(t->replay, 0, &draws, BATCH, rows_of(&t->at, 0), rows_of(&t->next, 0));
    relabel_draw(t->x, 0, rows_of(&t->at, 0));
    stage_send(&t->batch);
    assert_int_equal(nn_plan_run(t->plan), 0);
}

/* The values of a row, by its number. */
static replay_row row_of(const toy *t, int32_t number, const float **numbers)
{
    int lane = number / replay_capacity(t->replay), i = number % replay_capacity(t->replay);
    *numbers = replay_beside(t->replay, lane, i, 0);
    return replay_at(t->replay, lane, i);
}

/* ---- what is relabelled ------------------------------------------------------------------------
 */

/* Both ends get the same other factors; state and reward change by what these do, and keep their
 * noise. Without dynamics theta_s stays. */
static void check_row(toy *t, int k, bool dynamics, float most)
{
    const float *was, *end, *now = nn_data(t->numbers[0], 0) + k * WIDTH;
    const float *next = nn_data(t->numbers[1], 0) + k * WIDTH;
    replay_row row = row_of(t, rows_of(&t->at, 0)[k], &was);
    replay_row after = row_of(t, rows_of(&t->next, 0)[k], &end);
    float step = row.action[0] * (now[0] - was[0]);
    float more = step + 2 * row.action[0] * (now[1] - was[1]);
    for (int i = 0; i < WIDTH; i++) assert_float_equal(now[i], next[i], 1e-6);
    assert_float_equal(now[1], now[2], 1e-5);
    assert_true(fabsf(now[1]) <= most);
    if (!dynamics) assert_true(now[0] == was[0] && next[0] == end[0] && step == 0);
    assert_float_equal(nn_data(t->moved, 0)[k], after.obs[0] + step, 1e-5);
    assert_float_equal(nn_data(t->reward, 0)[k], row.reward + more, 1e-5);
    if (numbers_of(&t->x->batch_if.how, 0)[k * HOWS + CHOSEN] == 0)
        assert_true(step == 0 && more == 0 && nn_data(t->reward, 0)[k] == row.reward);
}

/* Returns how many rows are relabelled. */
static int check_batch(toy *t, bool dynamics, float most)
{
    int relabelled = 0;
    for (int k = 0; k < BATCH; k++) {
        check_row(t, k, dynamics, most);
        relabelled += numbers_of(&t->x->batch_if.how, 0)[k * HOWS + CHOSEN] > 0;
    }
    return relabelled;
}

static void both_ends_get_other_factors_and_what_fits_them(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        toy t;
        int relabelled = 0, factors = k / 2;
        bool dynamics = k % 2;
        toy_open(&t, factors, dynamics);
        look(&t, 20);
        for (int i = 0; i < 8; i++) {
            batch(&t);
            relabelled += check_batch(&t, dynamics, factors == BEYOND ? 1.01f : 0.51f);
        }
        assert_in_range(relabelled, 3 * BATCH, 5 * BATCH); /* half of 8 batches */
        toy_close(&t);
    }
}

/* ---- the gate ----------------------------------------------------------------------------------
 */

static void a_wrong_model_closes_the_gate(void **state)
{
    (void)state;
    toy t;
    toy_open(&t, LIVED, false);
    gate *g = reward_gate(t.x, 0);
    look(&t, 4);
    assert_true(g->open == 0); /* too few steps to say */
    look(&t, 10);
    assert_true(g->open == 1);
    assert_float_equal(sqrt(g->error), NOISE, 0.3 * NOISE);
    nn_scalar_set(t.wrong, 0, 3);
    look(&t, 60);
    assert_true(g->open == 0);
    batch(&t);
    assert_int_equal(check_batch(&t, false, 1), 0);
    nn_scalar_set(t.wrong, 0, 0);
    look(&t, 300);
    assert_true(g->open == 1);
    toy_close(&t);
}

/* Where no factor changes the reward there is nothing to gain: the gate stays closed. */
static void factors_that_change_nothing_keep_it_closed(void **state)
{
    (void)state;
    toy t;
    toy_open(&t, LIVED, false);
    memset(numbers_of(&t.x->look_if.which, 0), 0, WIDTH * sizeof(float));
    staged_send(&t.x->look_if.which);
    look(&t, 30);
    assert_true(t.x->gates[0].change == 0 && t.x->gates[0].open == 0);
    toy_close(&t);
}

static void sums_of_rewards_are_not_relabelled(void **state)
{
    (void)state;
    relabel *x = NULL;
    relabel_options o;
    sac_options so;
    text warning = {0};
    double share = 0.5;
    options_default(relabel_option_group(), &o);
    options_default(sac_option_group(), &so);
    so.n_step = 3;
    fans_taken taken[] = {{relabel_option_group(), &o}, {sac_option_group(), &so}, {0}};
    uint64_t seed = 1;
    fans_algo_setup s = {.replicas = 1, .seeds = &seed, .taken = taken, .warning = &warning};
    assert_int_equal(relabel_new(&x, &s, &share, "fans.relabel", (relabel_model){0}), 0);
    assert_null(x);
    assert_true(share == 0);
    assert_non_null(strstr(warning.s, "fans.relabel = 0.5"));
    text_free(&warning);
}

/* ---- whole agents ------------------------------------------------------------------------------
 */

static void runs_resume_bit_identically(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(METHODS); k++) check_resumes(&METHODS[k]);
}

/* ... and whether the backend has a copy of the replay. */
static void seeds_and_threads_do_not_matter(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(METHODS); k++) {
        rig x, y;
        train(&x, METHODS[k].ini, METHODS[k].algo, NULL, 1, 1);
        rig_copies = true;
        train(&y, METHODS[k].ini, METHODS[k].algo, NULL, 2, 2);
        rig_copies = false;
        rig_same_state(x.training, 0, y.training, 0);
        rig_close(&x);
        rig_close(&y);
    }
}

/* The actor's parameters of replica 0, which every action has shaped. */
static void same_actor(const rig *x, const rig *y, bool same)
{
    const state_list *s[] = {training_state(x->training, 0), training_state(y->training, 0)};
    for (size_t i = 0, j = 0; i < s[0]->count; i++) {
        if (strncmp(s[0]->items[i].name, "actor/", 6) != 0) continue;
        while (strcmp(s[0]->items[i].name, s[1]->items[j].name) != 0) j++;
        void *one = rig_bytes(&s[0]->items[i]), *two = rig_bytes(&s[1]->items[j]);
        bool equal = memcmp(one, two, state_item_bytes(&s[0]->items[i])) == 0;
        mem_free(one);
        mem_free(two);
        if (equal != same) fail_msg("%s %s", s[0]->items[i].name, same ? "differs" : "is equal");
    }
}

/* p_beta never learns: the gate stays closed, and the agent is the one that does not relabel. */
static void with_a_spoiled_model_the_agent_is_as_without(void **state)
{
    (void)state;
#define SPOILED TASK "[fnvae]\npredict_reward = false\n[fans]\nreward_model = decoder\n"
    rig without, spoiled, opened;
    train(&without, SPOILED "[fans]\nrelabel = 0\n", "fans", NULL, 1, 1);
    train(&spoiled, SPOILED "[fans]\nrelabel = 0.7\n", "fans", NULL, 1, 1);
    train(&opened, SPOILED OPEN "[fans]\nrelabel = 0.7\n", "fans", NULL, 1, 1);
    assert_true(state_number(&spoiled, "relabel/reward/open") == 0);
    same_actor(&without, &spoiled, true);
    same_actor(&without, &opened, false);
    rig_close(&without);
    rig_close(&spoiled);
    rig_close(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_get_other_factors_and_what_fits_them),
        cmocka_unit_test(a_wrong_model_closes_the_gate),
        cmocka_unit_test(factors_that_change_nothing_keep_it_closed),
        cmocka_unit_test(sums_of_rewards_are_not_relabelled),
        cmocka_unit_test(runs_resume_bit_identically),
        cmocka_unit_test(seeds_and_threads_do_not_matter),
        cmocka_unit_test(with_a_spoiled_model_the_agent_is_as_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
