/* test_hypotheses.c - a belief that carries on and one that starts afresh: how they are mixed, and
 * that the one that predicts better wins. */
#include "fnvae_rig.h"
#include "learn/hypotheses.h"

enum { LIFE = 2000, WIDTH = 2 };

static void mixtures_have_the_right_moments(void **state)
{
    (void)state;
    const fnvae_dims z = {.p = 1, .q = 1};
    const float w[] = {0.25F, 0}, a[] = {1, 5, 0, -1}, b[] = {3, 9, logf(2), 1};
    float to[4];
    hypotheses_blend(z, w, a, b, true, to);
    assert_float_equal(to[0], 1.5, 1e-6);                             /* 0.75 · 1 + 0.25 · 3 */
    assert_float_equal(expf(2 * to[2]), 0.75 + 1 + 0.1875 * 4, 1e-5); /* within and between */
    assert_float_equal(to[1], 5, 0);
    assert_float_equal(to[3], -1, 1e-6);
}

static void learn(rig *t, const fnvae_options *o, const replay *l)
{
    rng pick = rng_stream(0, "windows", 0);
    observe_all(t->f, 0, l);
    while (t->f->update < o->updates) {
        draw_windows(t->f, 0, l, &pick);
        assert_ok(fnvae_update(t->f));
    }
}

/* Lives one segment after another. If `wrong`, the belief that carries on is held at a wrong
 * theta_s. Gives the weights at the end of each segment but the first. */
static void live(rig *t, int segments, bool wrong, float (*w)[2])
{
    toy x = toy_begin(7);
    belief_reset(t->b, 0);
    for (int i = 0; i < segments * TOY_EPISODE; i++) {
        toy_step(&x, i);
        bool change = x.first && i > 0;
        assert_ok(belief_predict(t->b, &(uint8_t){change}));
        if (wrong && x.segment > 0) {
            float theta[4];
            memcpy(theta, belief_mean(t->b, 0), sizeof theta);
            theta[0] += 4;
            theta[2] = -3;
            belief_set(t->b, 0, theta, 4);
        }
        belief_note(t->b, 0, x.s, &x.a, x.r, x.s1, change);
        assert_ok(belief_correct(t->b));
        if (x.ends && x.segment > 0) belief_weights(t->b, 0, w[x.segment - 1]);
    }
}

static void the_belief_that_predicts_better_wins(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* takes too long: 1500 updates */
#endif
    enum { SEGMENTS = 40 };
    rig t;
    fnvae_options o = small_options();
    float right[SEGMENTS][2], wrong[SEGMENTS][2];
    o.updates = 1500;
    o.encoder = o.lstm = 32;
    replay *l = toy_replay_of(1, 1, 2 * LIFE, WIDTH, true);
    const float held[WIDTH + 2] = {0};
    toy x = toy_begin(1);
    for (int i = 0; i < LIFE; i++) {
        toy_step(&x, i);
        toy_store(l, &x, held, held);
    }
    rig_new(&t, &o, 2, (uint64_t[]){0}, l);
    learn(&t, &o, l);
    live(&t, SEGMENTS, false, right);
    live(&t, SEGMENTS, true, wrong);
    int afresh = 0;
    float sum = 0;
    for (int i = 0; i < SEGMENTS - 1; i++) {
        for (int k = 0; k < 2; k++) {
            afresh += right[i][k] > 0.5F; /* in a short segment it may be as good by chance */
            sum += right[i][k];
        }
        assert_true(wrong[i][0] > 0.9F); /* theta_s starts afresh … */
        assert_true(wrong[i][1] < 0.5F); /* … and theta_r is not erased with it */
    }
    assert_in_range(afresh, 0, 2);
    assert_true(sum < 0.1F * 2 * (SEGMENTS - 1));
    rig_free(&t);
    replay_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtures_have_the_right_moments),
        cmocka_unit_test(the_belief_that_predicts_better_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
