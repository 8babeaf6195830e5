/* fnvae_rig.h - a small FN-VAE on the CPU, and a small world to feed it, for tests. */
#ifndef TESTS_FNVAE_RIG_H
#define TESTS_FNVAE_RIG_H

#include <math.h>

#include "base/pool.h"
#include "learn/belief.h"
#include "learn/causal_graph.h"
#include "learn/refresh.h"
#include "testing.h"

#define assert_ok(call)                               \
    do {                                              \
        if ((call) < 0) fail_msg("%s", fans_error()); \
    } while (0)

typedef struct rig {
    pool *pool;
    nn_backend *cpu;
    nn_graph *g;
    fnvae *f;
    belief *b;
    refresh *refresh; /* if the replay has a column for beliefs */
} rig;

static inline fnvae_options small_options(void)
{
    fnvae_options o;
    options_default(fnvae_option_group(), &o);
    o.window = 20;
    o.batch = 4;
    o.encoder = o.lstm = o.dense = 12;
    o.bank = o.prior = 8;
    return o;
}

/* ---- a world --------------------------------------------------------------------------------- */

/* Two states, an action and two factors, with an obvious graph:
 *
 *     s0' = 0.6 s0 + 0.8 a              s1' = 0.5 s1 + sin(2 s0) + theta_s
 *     r   = s1 + theta_r
 *
 * Episodes of ten steps are segments; the factors are sines over them. */
enum { TOY_EPISODE = 10, TOY_BELIEFS = 2 };
static const fnvae_dims TOY = {.d = 2, .m = 1, .p = 1, .q = 1};

/* For lifetimes of `steps`; with the factors of each row, and beliefs of `width` numbers. With
 * `doubt`, beliefs may start afresh, and their weights are stored, too. */
static inline replay *toy_replay_of(int replicas, int worlds, int steps, int width, bool doubt)
{
    replay *r;
    replay_shape z = {.replicas = replicas,
                      .worlds = worlds,
                      .steps = steps,
                      .horizon = TOY_EPISODE,
                      .obs = TOY.d,
                      .act = TOY.m,
                      .columns = {{"theta_s", NN_F32, 1}, {"theta_r", NN_F32, 1}},
                      .column_count = 2};
    if (width > 0) z.columns[z.column_count++] = (replay_column){"belief", NN_F32, width};
    if (doubt) z.columns[z.column_count++] = (replay_column){"weights", NN_F32, 2};
    assert_ok(replay_new(&r, z));
    return r;
}

static inline replay *toy_replay(int replicas, int worlds, int steps, int width)
{
    return toy_replay_of(replicas, worlds, steps, width, false);
}

/* One step of a toy lifetime, the same in all lanes. */
typedef struct toy {
    float s[2], a, r, s1[2], theta_s, theta_r;
    bool first, ends;
    int segment;
    rng draws;
} toy;

static inline toy toy_begin(uint64_t seed)
{
    return (toy){.draws = rng_stream(seed, "toy", 0)};
}

static inline void toy_step(toy *x, int t)
{
    x->first = t % TOY_EPISODE == 0;
    x->ends = t % TOY_EPISODE == TOY_EPISODE - 1;
    x->segment = t / TOY_EPISODE;
    if (x->first) {
        for (int i = 0; i < 2; i++) x->s[i] = (float)rng_between(&x->draws, -1, 1);
        x->theta_s = (float)sin(0.5 * x->segment);
        x->theta_r = (float)(0.8 * sin(0.3 * x->segment + 1));
    } else {
        memcpy(x->s, x->s1, sizeof x->s);
    }
    x->a = (float)rng_between(&x->draws, -1, 1);
    x->s1[0] = (float)(0.6 * (double)x->s[0] + 0.8 * (double)x->a + 0.05 * rng_normal(&x->draws));
    x->s1[1] = (float)(0.5 * (double)x->s[1] + sin(2 * (double)x->s[0]) + (double)x->theta_s +
                       0.05 * rng_normal(&x->draws));
    x->r = x->s[1] + x->theta_r;
}

/* Adds it to every lane, with the same belief; its weights follow in `held`. */
static inline void toy_store(replay *r, const toy *x, const float *held, const float *end)
{
    enum { MOST = 8 };
    const replay_shape *z = replay_shape_of(r);
    int lanes = z->replicas * z->worlds, width = z->column_count > 2 ? z->columns[2].width : 0;
    float s[2 * MOST], a[MOST], s1[2 * MOST], reward[MOST], ts[MOST], tr[MOST], b[4 * MOST],
        e[4 * MOST], w[2 * MOST] = {0};
    int64_t segment[MOST];
    uint8_t change[MOST] = {0}, terminated[MOST] = {0}, truncated[MOST];
    assert_true(lanes <= MOST && width <= 4);
    for (int i = 0; i < lanes; i++) {
        memcpy(s + 2 * i, x->s, sizeof x->s);
        memcpy(s1 + 2 * i, x->s1, sizeof x->s1);
        a[i] = x->a;
        reward[i] = x->r;
        ts[i] = x->theta_s;
        tr[i] = x->theta_r;
        segment[i] = x->segment;
        truncated[i] = x->ends;
        if (held) memcpy(b + width * i, held, (size_t)width * sizeof *b);
        if (held && z->column_count > 3) memcpy(w + 2 * i, held + width, 2 * sizeof *w);
        if (end) memcpy(e + width * i, end, (size_t)width * sizeof *e);
    }
    fans_moment now = {s, NULL, segment, change};
    fans_outcome o = {reward, terminated, truncated, s1};
    const void *columns[] = {ts, tr, held ? b : NULL, w}, *ends[] = {ts, tr, end ? e : NULL, w};
    replay_add(r, &now, a, &o, columns, ends);
}

static inline void toy_fill(replay *r, uint64_t seed, int count)
{
    toy x = toy_begin(seed);
    for (int t = 0; t < count; t++) {
        toy_step(&x, t);
        x.ends = x.ends || t == count - 1; /* so that the last step has a successor */
        toy_store(r, &x, NULL, NULL);
    }
}

static inline replay *toy_life(uint64_t seed, int count)
{
    replay *r = toy_replay(1, 1, 2 * count, 0);
    toy_fill(r, seed, count);
    return r;
}

/* ---- a model --------------------------------------------------------------------------------- */

static inline void rig_record(rig *t, nn_backend *b, const fnvae_options *o, fnvae_dims z,
                              const uint64_t *seeds, replay *r)
{
    const replay_shape *shape = replay_shape_of(r);
    bool stores = shape->column_count > 2, doubts = shape->column_count > 3;
    assert_ok(nn_graph_new(&t->g, b, shape->replicas, seeds));
    replay_record(r, t->g);
    assert_ok(fnvae_new(&t->f, t->g, r, o, z));
    assert_ok(belief_new(&t->b, t->f, doubts ? 0.02 : 0, NULL));
    if (stores)
        assert_ok(refresh_new(&t->refresh, t->f, r, 2, shape->columns[2].width > z.p + z.q,
                              doubts ? REFRESH_DOUBTS : REFRESH_CARRIES));
    assert_ok(fnvae_plan(t->f));
    assert_ok(belief_plan(t->b));
    if (stores) assert_ok(refresh_plan(t->refresh));
    assert_ok(nn_graph_commit(t->g));
    assert_ok(fnvae_ready(t->f));
    assert_ok(belief_ready(t->b));
    if (stores) assert_ok(refresh_ready(t->refresh));
}

/* A model of the toy world on a replay of it. */
static inline void rig_new(rig *t, const fnvae_options *o, int threads, const uint64_t *seeds,
                           replay *r)
{
    *t = (rig){0};
    assert_ok(pool_new(&t->pool, threads));
    assert_ok(nn_cpu_new(&t->cpu, t->pool));
    rig_record(t, t->cpu, o, TOY, seeds, r);
}

static inline void rig_free(rig *t)
{
    refresh_free(t->refresh);
    belief_free(t->b);
    fnvae_free(t->f);
    nn_graph_free(t->g);
    nn_backend_free(t->cpu);
    pool_free(t->pool);
}

static inline void observe_all(fnvae *f, int replica, const replay *r)
{
    int lane = replica * replay_shape_of(r)->worlds;
    for (int i = 0; i + 1 < replay_rows(r, lane); i++) {
        replay_row here = replay_at(r, lane, i), next = replay_at(r, lane, i + 1);
        if (here.last) continue;
        fnvae_observe(f, replica, here.obs, here.reward, next.obs);
        fnvae_observe_factors(f, replica, replay_beside(r, lane, i, FNVAE_COLUMN_THETA_S),
                              replay_beside(r, lane, i, FNVAE_COLUMN_THETA_R));
    }
    fnvae_set_units(f);
}

/* Row of the t-th step of a life whose episodes have ten. */
static inline int row_of_step(int t)
{
    return t + t / TOY_EPISODE;
}

/* `count` steps from the t-th on, with the lifetime's changes. */
static inline void life_window(const replay *r, int t, int count, replay_step *steps)
{
    assert_true(replay_window(r, 0, row_of_step(t), count, steps));
}

/* Fills all windows of a replica from random places in a lifetime. */
static inline void draw_windows(fnvae *f, int replica, const replay *r, rng *draw)
{
    replay_step rows[64];
    assert_true(f->o.window <= 64);
    uint32_t n = (uint32_t)replay_rows(r, replica * replay_shape_of(r)->worlds);
    for (int b = 0; b < f->o.batch; b++) {
        while (!replay_window(r, replica * replay_shape_of(r)->worlds, (int)rng_below(draw, n),
                              f->o.window, rows)) {}
        fnvae_window(f, replica, b, rows, draw);
    }
}

#endif
