/* test_fnvae.c - the FN-VAE: windows, the belief against the posterior of a window, bit-identical
 * results for any number of threads and replicas, memory, and a graph that is found. */
#include "fnvae_rig.h"
#include "learn/linear_map.h"

enum { LIFE = 2000 };

static float weight(const fnvae *f, int which, int t, int b)
{
    return numbers_of(&f->w[which], 0)[t * f->o.batch + b];
}

/* Which row of the window is decoded from the posterior of row t. */
static int decoded(const fnvae *f, int t, int b)
{
    return rows_of(&f->decoded, 0)[t * f->o.batch + b];
}

/* ---- windows --------------------------------------------------------------------------------- */

static void windows_know_their_segments(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.observed = true;
    replay *l = toy_life(3, LIFE);
    rig_new(&t, &o, 1, &seed, l);
    observe_all(t.f, 0, l);
    replay_step rows[20];
    life_window(l, 5, 20, rows); /* the segments change at rows 5 and 15 */
    rng pick = rng_stream(0, "pick", 0);
    bool elsewhere = false;
    for (int again = 0; again < 20; again++) {
        fnvae_window(t.f, 0, 1, rows, &pick);
        for (int k = 0; k < 20; k++) {
            bool begins = k == 5 || k == 15;
            bool known =
                k < 5 ? k >= 2 : (k - 5) % 10 >= (k < 15 ? 5 : 2); /* half of its segment seen */
            assert_float_equal(weight(t.f, FNVAE_W_rec, k, 1), known, 0);
            assert_float_equal(weight(t.f, FNVAE_W_next, k, 1), (k >= 15 && known), 0);
            assert_float_equal(weight(t.f, FNVAE_W_move, k, 1), (k == 15), 0); /* order 2 */
            assert_float_equal(weight(t.f, FNVAE_W_stay, k, 1), (!begins), 0);
            assert_float_equal(weight(t.f, FNVAE_W_pred, k, 1), (k > 0 && !begins), 0);

            /* the decoded row is of the same segment */
            int from = k < 5 ? 0 : k < 15 ? 5 : 15, to = k < 5 ? 5 : k < 15 ? 15 : 20;
            int found = decoded(t.f, k, 1);
            assert_in_range(found, from, to - 1);
            elsewhere = elsewhere || found != k;
        }
    }
    assert_true(elsewhere);
    rig_free(&t);
    replay_free(l);
}

static void continuous_change_is_predicted(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.order = 1;
    o.near = 3;
    replay *l = toy_life(3, LIFE);
    rig_new(&t, &o, 1, &seed, l);
    replay_step rows[20];
    life_window(l, 0, 20, rows);
    for (int k = 0; k < 20; k++) rows[k].change = true;
    rng pick = rng_stream(0, "pick", 0);
    int farthest = 0;
    for (int again = 0; again < 20; again++) {
        fnvae_window(t.f, 0, 0, rows, &pick);
        for (int k = 0; k < 20; k++) {
            assert_float_equal(weight(t.f, FNVAE_W_pred, k, 0), (k % TOY_EPISODE != 0), 0);
            assert_float_equal(weight(t.f, FNVAE_W_move, k, 0), (k > 0), 0);
            assert_float_equal(weight(t.f, FNVAE_W_rec, k, 0), (k >= 10 && k < 19), 0);
            assert_float_equal(weight(t.f, FNVAE_W_next, k, 0), (k >= 10 && k < 19), 0);

            /* the decoded row comes soon after */
            int found = decoded(t.f, k, 0);
            if (k < 19) assert_in_range(found, k + 1, k + 3);
            if (abs(found - k) > farthest) farthest = abs(found - k);
        }
    }
    assert_int_equal(farthest, 3);
    rig_free(&t);
    replay_free(l);
}

/* A few updates that learn from the divergences alone, without randomness. */
static replay *learn_divergences(rig *t, int moves, float (*costs)[3])
{
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.gate = 2; /* erf */
    o.k1 = o.k2 = 0;
    o.order = 1;
    o.moves = moves;
    replay *l = toy_life(3, LIFE);
    rig_new(t, &o, 1, &seed, l);
    rng pick = rng_stream(0, "windows", 0);
    observe_all(t->f, 0, l);
    for (int i = 0; i < 3; i++) {
        draw_windows(t->f, 0, l, &pick);
        assert_ok(fnvae_update(t->f));
        for (int k = 0; k < 3; k++) nn_read(t->f->cost[FNVAE_kl_stay + k], 0, &costs[i][k]);
    }
    return l;
}

static void predicting_once_per_segment_learns_the_same(void **state)
{
    (void)state;
    rig all, few;
    float dense[3][3], sparse[3][3];
    replay *lives[] = {learn_divergences(&all, 0, dense), learn_divergences(&few, 4, sparse)};
    for (int i = 0; i < 9; i++) assert_float_equal(dense[i / 3][i % 3], sparse[i / 3][i % 3], 1e-5);
    assert_true(dense[0][1] > 0 && dense[0][2] > 0);
    for (int g = FNVAE_PHI; g <= FNVAE_GAMMA; g++) {
        const real *a = nn_group_data(all.f->group[g], NN_VALUES, 0);
        const real *b = nn_group_data(few.f->group[g], NN_VALUES, 0);
        for (size_t i = 0; i < nn_group_size(all.f->group[g]); i++)
            assert_float_equal(a[i], b[i], 2e-5);
    }
    rig_free(&all);
    rig_free(&few);
    for (int i = 0; i < 2; i++) replay_free(lives[i]);
}

static void at_most_moves_segments_are_predicted(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.order = 1;
    o.moves = 2;
    replay *l = toy_life(3, LIFE);
    rig_new(&t, &o, 1, &seed, l);
    replay_step rows[20];
    life_window(l, 5, 20, rows);
    for (int k = 0; k < 20; k++) rows[k].change = k % 4 == 1; /* segments begin at 1, 5, 9 … */
    rng pick = rng_stream(0, "pick", 0);
    fnvae_window(t.f, 0, 3, rows, &pick);
    assert_int_equal(rows_of(&t.f->begins, 0)[3], 1);
    assert_int_equal(rows_of(&t.f->begins, 0)[o.batch + 3], 5);
    for (int k = 0; k < 20; k++) {
        int of = k < 1 || k > 8 ? -1 : (k - 1) / 4;
        assert_int_equal(rows_of(&t.f->of, 0)[k * o.batch + 3], of);
        assert_float_equal(weight(t.f, FNVAE_W_move, k, 3), (k == 1 || k == 5), 0);
        if (k < 1 || k > 8) assert_float_equal(weight(t.f, FNVAE_W_next, k, 3), 0, 0);
    }
    rig_free(&t);
    replay_free(l);
}

/* Nothing is predicted, compared or decoded across a splice: except for the LSTM, both pieces are
 * separate windows. */
static void windows_may_jump(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.order = 1;
    replay *l = toy_life(3, LIFE);
    rig_new(&t, &o, 1, &seed, l);
    observe_all(t.f, 0, l);
    replay_step rows[20];
    life_window(l, 5, 9, rows);
    life_window(l, 1000, 11, rows + 9);
    for (int k = 0; k < 20; k++) rows[k].change = k % 4 == 1; /* segments begin at 1, 5, 9 … */
    rows[9].jump = true;
    rng pick = rng_stream(0, "pick", 0);
    for (int again = 0; again < 20; again++) {
        fnvae_window(t.f, 0, 0, rows, &pick);
        for (int k = 0; k < 20; k++) {
            bool begins = k % 4 == 1, jumps = k == 9;
            assert_float_equal(weight(t.f, FNVAE_W_move, k, 0), (begins && !jumps), 0);
            assert_float_equal(weight(t.f, FNVAE_W_stay, k, 0), (!begins), 0);
            assert_float_equal(weight(t.f, FNVAE_W_smooth, k, 0), (k > 0 && !jumps), 0);
            if (jumps) assert_float_equal(weight(t.f, FNVAE_W_pred, k, 0), 0, 0);
            if (k >= 9 && k < 13) assert_float_equal(weight(t.f, FNVAE_W_next, k, 0), 0, 0);
            int found = decoded(t.f, k, 0);
            assert_in_range(found, k < 9 ? 0 : 9, k < 9 ? 8 : 19);
        }
    }
    rig_free(&t);
    replay_free(l);
}

/* The predicted segments also count for those beyond o.moves. */
static void what_is_left_out_counts_in_the_weights(void **state)
{
    (void)state;
    const uint64_t seed = 0;
    float weight[2][2];
    for (int moves = 0; moves < 2; moves++) {
        rig t;
        fnvae_options o = small_options();
        o.order = 1;
        o.moves = moves;
        replay *l = toy_life(3, LIFE);
        rig_new(&t, &o, 1, &seed, l);
        replay_step rows[20];
        rng pick = rng_stream(0, "pick", 0);
        observe_all(t.f, 0, l);
        life_window(l, 5, 20, rows);
        for (int k = 0; k < 20; k++) rows[k].change = k % 4 == 1;
        for (int b = 0; b < o.batch; b++) fnvae_window(t.f, 0, b, rows, &pick);
        assert_ok(fnvae_update(t.f));
        weight[moves][0] = t.f->k_host[FNVAE_K_move];
        weight[moves][1] = t.f->k_host[FNVAE_K_stay];
        rig_free(&t);
        replay_free(l);
    }
    assert_true(weight[0][0] > 0);
    assert_float_equal(weight[0][0], weight[1][0], 0);
    assert_float_equal(weight[0][1], weight[1][1], 0);
}

/* The cost of reconstruction, on errors in units of the decoders' spread: half their squares, or
 * with tails log cosh. */
static void errors_cost_what_they_should(void **state)
{
    (void)state;
    const uint64_t seed = 0;
    for (int tails = 0; tails < 2; tails++) {
        rig t;
        fnvae_options o = small_options();
        float rec[20 * 4 * 2], ds[20 * 4 * 2];
        double sum = 0, rows = 0;
        o.tails = tails;
        replay *l = toy_life(3, LIFE);
        rig_new(&t, &o, 1, &seed, l);
        rng pick = rng_stream(0, "windows", 0);
        observe_all(t.f, 0, l);
        draw_windows(t.f, 0, l, &pick);
        assert_ok(fnvae_update(t.f));
        nn_read(t.f->rec, 0, rec);
        nn_read(t.f->dec.ds, 0, ds);
        for (int i = 0; i < o.window * o.batch; i++) {
            bool counts = numbers_of(&t.f->w[FNVAE_W_rec], 0)[i] != 0;
            for (int k = 0; counts && k < TOY.d; k++) {
                int at = i * TOY.d + k;
                double u = ((double)ds[at] - (double)rec[at]) / o.sd;
                sum += tails ? fabs(u) + log1p(exp(-2 * fabs(u))) - log(2) : u * u / 2;
            }
            rows += counts;
        }
        assert_true(rows > 0 && fabs(fnvae_cost(t.f, FNVAE_rec_dyn, 0) / (sum / rows) - 1) < 1e-4);
        rig_free(&t);
        replay_free(l);
    }
}

/* ---- the belief ------------------------------------------------------------------------------ */

/* Notes step i of a lane. */
static void note_step(belief *b, int row, const replay *l, int lane, int i)
{
    replay_row here = replay_at(l, lane, i), next = replay_at(l, lane, i + 1);
    bool change = i > 0 && replay_at(l, lane, i - 1).segment != here.segment;
    belief_note(b, row, here.obs, here.action, here.reward, next.obs, change);
}

/* Steps with a carried state, in several worlds and replicas, equal one window. */
static void filtering_equals_the_posterior(bool mixed)
{
    enum { WORLDS = 3, LONG = 400 };
    rig t;
    const uint64_t seeds[] = {4, 5};
    fnvae_options o = small_options();
    o.mixed = mixed;
    replay *l = toy_replay(2, WORLDS, 2 * LONG, TOY_BELIEFS);
    toy_fill(l, 7, LONG);
    rig_new(&t, &o, 2, seeds, l);
    replay_step rows[40];
    int steps = refresh_length(t.refresh);
    assert_in_range(steps, 1, 40);
    for (int r = 0; r < 2; r++) {
        observe_all(t.f, r, l);
        for (int w = 0; w < WORLDS; w++) {
            int lane = r * WORLDS + w;
            assert_true(replay_window(l, lane, row_of_step(100 * w + 30 * r), steps, rows));
            rows[0].change = lane > 0;
            refresh_window(t.refresh, r, w, rows);
            belief_reset(t.b, lane);
        }
    }
    assert_ok(refresh_encode(t.refresh));
    for (int k = 0; k < steps; k++) {
        for (int row = 0; row < 2 * WORLDS; row++)
            note_step(t.b, row, l, row,
                      row_of_step(100 * (row % WORLDS) + 30 * (row / WORLDS) + k));
        assert_ok(belief_correct(t.b));
        for (int row = 0; row < 2 * WORLDS; row++) {
            const float *mean = belief_mean(t.b, row);
            const float *at_once = refresh_reached(t.refresh, row / WORLDS, row % WORLDS, k);
            assert_float_equal(mean[0], at_once[0], 1e-5);
            assert_float_equal(mean[1], at_once[1], 1e-5);
        }
    }
    rig_free(&t);
    replay_free(l);
}

static void beliefs_are_posteriors(void **state)
{
    (void)state;
    filtering_equals_the_posterior(false);
    filtering_equals_the_posterior(true);
}

/* The prediction depends on the theta of the segment before. */
static void beliefs_know_velocities(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 4;
    fnvae_options o = small_options();
    replay *l = toy_replay(1, 2, 10, 0);
    rig_new(&t, &o, 1, &seed, l);
    fnvae_freeze(t.f);
    const float here[] = {0.3f, -0.4f}, low[] = {0.1f, -0.6f}, high[] = {0.5f, -0.2f};
    belief_set(t.b, 0, low, 2);
    belief_set(t.b, 1, high, 2);
    assert_ok(belief_predict(t.b, (uint8_t[]){1, 1}));
    for (int w = 0; w < 2; w++) belief_set(t.b, w, here, 2);
    assert_ok(belief_predict(t.b, (uint8_t[]){1, 1}));
    assert_true(fabsf(belief_mean(t.b, 0)[0] - belief_mean(t.b, 1)[0]) > 1e-4f);
    float rising = belief_mean(t.b, 0)[0];

    belief_reset(t.b, 0); /* the past is forgotten */
    belief_set(t.b, 0, here, 2);
    assert_ok(belief_predict(t.b, (uint8_t[]){1, 0}));
    assert_true(fabsf(belief_mean(t.b, 0)[0] - rising) > 1e-5f);
    rig_free(&t);
    replay_free(l);
}

static void only_worlds_that_change_are_advanced(void **state)
{
    (void)state;
    rig t;
    const uint64_t seed = 4;
    fnvae_options o = small_options();
    replay *l = toy_replay(1, 2, 10, 0);
    rig_new(&t, &o, 1, &seed, l);
    const float here[] = {0.3f, -0.4f};
    for (int w = 0; w < 2; w++) belief_set(t.b, w, here, 2);
    assert_ok(belief_predict(t.b, (uint8_t[]){0, 1}));
    assert_memory_equal(belief_mean(t.b, 0), here, sizeof here);
    assert_memory_not_equal(belief_mean(t.b, 1), here, sizeof here);
    rig_free(&t);
    replay_free(l);
}

/* ---- bits and memory ------------------------------------------------------------------------- */

enum { STEPS = 30, MOST = 20000 };

/* Learns through pre-training and all three stages of the masks; returns a replica's parameters. */
static size_t learn(int threads, int replicas, uint64_t first, int replica, float *out)
{
    rig t;
    uint64_t seeds[4], made;
    size_t at = 0;
    fnvae_options o = small_options();
    o.updates = STEPS;
    o.head = 0.5;
    o.auto_weights = true;
    for (int r = 0; r < replicas; r++) seeds[r] = first + (uint64_t)r;
    replay *l = toy_replay(replicas, 1, 2 * LIFE, 0);
    toy_fill(l, 1, LIFE);
    rig_new(&t, &o, threads, seeds, l);
    rng picks[4];
    for (int r = 0; r < replicas; r++) {
        observe_all(t.f, r, l);
        picks[r] = rng_stream(seeds[r], "windows", 0);
    }
    made = mem_count();
    while (t.f->update < STEPS) {
        for (int r = 0; r < replicas; r++) draw_windows(t.f, r, l, &picks[r]);
        assert_ok(fnvae_update(t.f));
    }
    assert_int_equal(mem_count(), made);
    for (int k = 0; k < FNVAE_GROUPS; k++) {
        size_t n = nn_group_size(t.f->group[k]);
        assert_true(at + n <= MOST);
        memcpy(out + at, nn_group_data(t.f->group[k], NN_VALUES, replica), n * sizeof *out);
        at += n;
    }
    rig_free(&t);
    replay_free(l);
    return at;
}

static void same_bits_for_threads_and_replicas(void **state)
{
    (void)state;
    static float one[MOST], two[MOST], third[MOST];
    size_t n = learn(1, 1, 12, 0, one);
    assert_int_equal(learn(3, 1, 12, 0, two), n);
    assert_memory_equal(one, two, n * sizeof *one);
    assert_int_equal(learn(2, 3, 10, 2, third), n);
    assert_memory_equal(one, third, n * sizeof *one);
}

static int make_model(rig *t, replay *r)
{
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    int rc = 0;
    TRY(pool_new(&t->pool, 1));
    TRY(nn_cpu_new(&t->cpu, t->pool));
    TRY(nn_graph_new(&t->g, t->cpu, 1, &seed));
    replay_record(r, t->g);
    TRY(fnvae_new(&t->f, t->g, r, &o, TOY));
    TRY(belief_new(&t->b, t->f, 0, NULL));
    TRY(refresh_new(&t->refresh, t->f, r, 0, false, REFRESH_CARRIES));
    TRY(fnvae_plan(t->f));
    TRY(belief_plan(t->b));
    TRY(refresh_plan(t->refresh));
    TRY(nn_graph_commit(t->g));
    TRY(fnvae_ready(t->f));
    TRY(belief_ready(t->b));
    TRY(refresh_ready(t->refresh));
out:
    return rc;
}

static int make_one(void)
{
    rig t = {0};
    replay *r = NULL;
    causal_graph *g = NULL;
    replay_shape z = {.replicas = 1,
                      .worlds = 1,
                      .steps = 90,
                      .horizon = TOY_EPISODE,
                      .obs = TOY.d,
                      .act = TOY.m,
                      .columns = {{"belief", NN_F32, 2}},
                      .column_count = 1};
    int rc = replay_new(&r, z);
    if (rc == 0) rc = make_model(&t, r);
    if (rc == 0) rc = causal_graph_new(&g, TOY);
    causal_graph_free(g);
    rig_free(&t);
    replay_free(r);
    return rc;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    fail_every_allocation(make_one);
}

static void presets_are_known_by_name(void **state)
{
    (void)state;
    const char *ini;
    assert_ok(fnvae_preset("paper", &ini));
    assert_non_null(strstr(ini, "bank = 512"));
    assert_fails(fnvae_preset("papper", &ini), FANS_EINVAL, "did you mean 'paper'?");
}

/* ---- ablations ------------------------------------------------------------------------------- */

static void ablations_do_what_they_say(void **state)
{
    (void)state;
    const uint64_t seed = 0;
    for (int k = 0; k < 6; k++) {
        rig t;
        causal_graph *g;
        fnvae_options o = small_options();
        o.updates = 10;
        o.structure = k != 0;
        o.predict_state = k != 1;
        o.predict_reward = k != 2;
        o.smooth = k == 3 ? SMOOTH_OFF : k == 4 ? SMOOTH_MA : k == 5 ? SMOOTH_EMA : SMOOTH_STEP;
        replay *l = toy_life(1, LIFE);
        rig_new(&t, &o, 1, &seed, l);
        rng pick = rng_stream(0, "windows", 0);
        observe_all(t.f, 0, l);
        for (int i = 0; i < 10; i++) {
            draw_windows(t.f, 0, l, &pick);
            assert_ok(fnvae_update(t.f));
        }
        assert_ok(causal_graph_new(&g, TOY));
        causal_graph_of(g, t.f, 0);
        if (k == 0) assert_float_equal(g->mask[CAUSAL_C_ss][1], 1, 0); /* dense */
        assert_true((fnvae_cost(t.f, FNVAE_pred_dyn, 0) == 0) == (k == 1));
        assert_true((fnvae_cost(t.f, FNVAE_pred_rw, 0) == 0) == (k == 2));
        assert_true((nn_scalar_get(t.f->k[FNVAE_K_smooth], 0) == 0) == (k == 3));
        assert_true(isfinite(fnvae_total(t.f, 0)));
        causal_graph_free(g);
        rig_free(&t);
        replay_free(l);
    }
}

static double r2_of(const float *x, int k, const double *y, int n)
{
    double r2;
    assert_ok(linear_map_r2(&r2, x, k, y, n));
    return r2;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Beliefs at the ends of fresh episodes against the true factors. */
static double r2_at_ends(belief *b, const replay *l, bool reward)
{
    enum { EPISODES = 100 };
    static float beliefs[EPISODES * 2];
    static double truth[EPISODES];
    belief_reset(b, 0);
    for (int i = 0; i < EPISODES * TOY_EPISODE; i++) {
        int row = row_of_step(i), episode = i / TOY_EPISODE;
        note_step(b, 0, l, 0, row);
        assert_ok(belief_correct(b));
        memcpy(beliefs + 2 * episode, belief_mean(b, 0), 2 * sizeof(float));
        truth[episode] = (double)*(float *)replay_beside(
            l, 0, row, reward ? FNVAE_COLUMN_THETA_R : FNVAE_COLUMN_THETA_S);
    }
    return r2_of(beliefs, 2, truth, EPISODES);
}

static void a_small_world_is_learned(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* takes too long: 1500 updates */
#endif
    rig t;
    const uint64_t seed = 0;
    fnvae_options o = small_options();
    o.updates = 1500; /* few: unneeded edges must close quickly */
    o.w_ss = o.w_as = o.w_ts = o.w_sr = o.w_ar = 1;
    o.encoder = o.lstm = 32;
    replay *l = toy_life(1, LIFE), *fresh = toy_life(2, LIFE);
    rig_new(&t, &o, 2, &seed, l);
    rng pick = rng_stream(0, "windows", 0);
    observe_all(t.f, 0, l);
    while (t.f->update < o.updates) {
        draw_windows(t.f, 0, l, &pick);
        assert_ok(fnvae_update(t.f));
    }
    causal_graph *g;
    assert_ok(causal_graph_new(&g, TOY));
    causal_graph_of(g, t.f, 0);
    assert_int_equal(causal_compare(g, CAUSAL_C_ss, (const uint8_t[]){1, 0, 1, 1}).shd, 0);
    assert_int_equal(causal_compare(g, CAUSAL_C_as, (const uint8_t[]){1, 0}).shd, 0);
    assert_int_equal(causal_compare(g, CAUSAL_C_ts, (const uint8_t[]){0, 1}).shd, 0);
    assert_int_equal(causal_compare(g, CAUSAL_c_sr, (const uint8_t[]){0, 1}).shd, 0);
    assert_int_equal(causal_compare(g, CAUSAL_c_ar, (const uint8_t[]){0}).shd, 0);
    double of_s = r2_at_ends(t.b, fresh, false), of_r = r2_at_ends(t.b, fresh, true);
    if (!(of_s > 0.9 && of_r > 0.9)) fail_msg("R² %.3f and %.3f", of_s, of_r);
    causal_graph_free(g);
    rig_free(&t);
    replay_free(l);
    replay_free(fresh);
}

static void a_linear_map_is_scored_on_other_samples(void **state)
{
    (void)state;
    enum { N = 60 };
    float x[N * 2];
    double y[N], noise[N];
    rng r = rng_stream(0, "samples", 0);
    for (int i = 0; i < N; i++) {
        x[2 * i] = (float)rng_normal(&r);
        x[2 * i + 1] = 3; /* a latent that never moves */
        y[i] = 2 - 5 * (double)x[2 * i];
        noise[i] = rng_normal(&r);
    }
    assert_true(r2_of(x, 2, y, N) > 0.9999);
    assert_true(r2_of(x, 2, noise, N) < 0.3);
    for (int i = 0; i < N; i++) y[i] = 1;
    assert_true(isnan(r2_of(x, 2, y, N)));
    assert_true(isnan(r2_of(x, 2, noise, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_know_their_segments),
        cmocka_unit_test(continuous_change_is_predicted),
        cmocka_unit_test(predicting_once_per_segment_learns_the_same),
        cmocka_unit_test(at_most_moves_segments_are_predicted),
        cmocka_unit_test(windows_may_jump),
        cmocka_unit_test(what_is_left_out_counts_in_the_weights),
        cmocka_unit_test(errors_cost_what_they_should),
        cmocka_unit_test(beliefs_are_posteriors),
        cmocka_unit_test(beliefs_know_velocities),
        cmocka_unit_test(only_worlds_that_change_are_advanced),
        cmocka_unit_test(same_bits_for_threads_and_replicas),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(presets_are_known_by_name),
        cmocka_unit_test(ablations_do_what_they_say),
        cmocka_unit_test(a_linear_map_is_scored_on_other_samples),
        cmocka_unit_test(a_small_world_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
