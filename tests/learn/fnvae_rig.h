/* fnvae_rig.h - a small FN-VAE on the CPU, and a small world to feed it, for tests. */
#ifndef TESTS_FNVAE_RIG_H
#define TESTS_FNVAE_RIG_H

#include <math.h>

#include "base/pool.h"
#include "learn/belief.h"
#include "learn/causal_graph.h"
#include "learn/encode.h"
#include "learn/lifetime.h"
#include "testing.h"

#define assert_ok(call)                               \
    do {                                              \
        if ((call) < 0) fail_msg("%s", fans_error()); \
    } while (0)

typedef struct rig {
    pool *pool;
    nn_backend *cpu;
    fnvae *f;
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

static inline void rig_recall(rig *t, const fnvae_options *o, fnvae_dims z, int threads,
                              int replicas, const uint64_t *seeds, int worlds,
                              const fnvae_memory *past)
{
    assert_ok(pool_new(&t->pool, threads));
    assert_ok(nn_cpu_new(&t->cpu, t->pool));
    assert_ok(fnvae_new(&t->f, t->cpu, o, z, replicas, seeds, worlds, past));
}

static inline void rig_new(rig *t, const fnvae_options *o, fnvae_dims z, int threads, int replicas,
                           const uint64_t *seeds, int worlds)
{
    rig_recall(t, o, z, threads, replicas, seeds, worlds, NULL);
}

static inline void rig_free(rig *t)
{
    fnvae_free(t->f);
    nn_backend_free(t->cpu);
    pool_free(t->pool);
}

/* A world of two states, an action and two factors, whose graph is plain to see:
 *
 *     s0' = 0.6 s0 + 0.8 a              s1' = 0.5 s1 + sin(2 s0) + theta_s
 *     r   = s1 + theta_r
 *
 * Episodes of ten steps are segments; the factors are sines over them. */
enum { TOY_EPISODE = 10 };
static const fnvae_dims TOY = {.d = 2, .m = 1, .p = 1, .q = 1};

static inline lifetime *toy_life(uint64_t seed, int count)
{
    lifetime *l;
    float s[2] = {0}, s1[2], a, theta_s = 0, theta_r = 0;
    rng r = rng_stream(seed, "toy", 0);
    assert_ok(lifetime_new(&l, TOY, count));
    for (int t = 0; t < count; t++) {
        bool first = t % TOY_EPISODE == 0;
        if (first) {
            int episode = t / TOY_EPISODE;
            for (int i = 0; i < 2; i++) s[i] = (float)rng_between(&r, -1, 1);
            theta_s = (float)sin(0.5 * episode);
            theta_r = (float)(0.8 * sin(0.3 * episode + 1));
        }
        a = (float)rng_between(&r, -1, 1);
        s1[0] = (float)(0.6 * (double)s[0] + 0.8 * (double)a + 0.05 * rng_normal(&r));
        s1[1] = (float)(0.5 * (double)s[1] + sin(2 * (double)s[0]) + (double)theta_s +
                        0.05 * rng_normal(&r));
        fnvae_row row = {.s = s,
                         .a = &a,
                         .s1 = s1,
                         .r = s[1] + theta_r,
                         .change = first,
                         .first = first,
                         .theta_s = &theta_s,
                         .theta_r = &theta_r};
        lifetime_add(l, &row);
        memcpy(s, s1, sizeof s);
    }
    return l;
}

static inline void observe_all(fnvae *f, int replica, const lifetime *l)
{
    for (int i = 0; i < lifetime_count(l); i++) {
        fnvae_row row = lifetime_at(l, i);
        fnvae_observe(f, replica, &row);
    }
}

/* Fills all windows of a replica from random places of a lifetime. */
static inline void draw_windows(fnvae *f, int replica, const lifetime *l, rng *r)
{
    fnvae_row rows[64];
    assert_true(f->o.window <= 64);
    uint32_t starts = (uint32_t)(lifetime_count(l) - f->o.window + 1);
    for (int b = 0; b < f->o.batch; b++) {
        lifetime_window(l, (int)rng_below(r, starts), f->o.window, rows);
        fnvae_window(f, replica, b, rows, r);
    }
}

#endif
