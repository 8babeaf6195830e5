/* test_past.c - beliefs inferred anew from memory are those that a life would have had. */
#include "fnvae_rig.h"
#include "learn/past.h"

enum { LIFE = 93, MOST = 4 }; /* numbers of a belief: two means, two spreads */

static replay *new_replay(int capacity, int width)
{
    replay *r;
    replay_shape z = {.lanes = 1,
                      .steps = capacity,
                      .horizon = TOY_EPISODE,
                      .obs = TOY.d,
                      .act = TOY.m,
                      .extra = width};
    assert_ok(replay_new(&r, z));
    return r;
}

/* Lives a toy life by a model that does not learn: beliefs are stored as they were held. */
static void live(rig *t, const lifetime *l, replay *r, int width)
{
    belief *b;
    int places[2];
    assert_ok(belief_new(&b, t->f));
    belief_reset(b, 0, 0);
    for (int i = 0; i < LIFE; i++) {
        fnvae_row row = lifetime_at(l, i);
        float held[MOST];
        uint8_t change = row.change = row.change && i > 0; /* as worlds tell it */
        assert_ok(belief_predict(b, &change));
        memcpy(held, belief_mean(b, 0, 0), (size_t)width * sizeof *held);
        belief_note(b, 0, 0, &row);
        assert_ok(belief_correct(b));
        replay_step s = {.obs = row.s,
                         .extra = held,
                         .action = row.a,
                         .next = row.s1,
                         .next_extra = belief_mean(b, 0, 0),
                         .reward = row.r,
                         .ended = i % TOY_EPISODE == TOY_EPISODE - 1,
                         .segment = i / TOY_EPISODE};
        replay_add(r, 0, &s, places);
    }
    belief_free(b);
}

static float difference(replay *r, int i, const float *held, int width)
{
    float most = 0;
    for (int k = 0; k < width; k++)
        most = fmaxf(most, fabsf(replay_at(r, 0, i).extra[k] - held[i * width + k]));
    return most;
}

/* The first window begins with the life, so it must agree to rounding; later ones begin in the
 * middle, and agree as well as an LSTM that has seen half a window can. */
static void check_refresh(bool spread)
{
    int width = spread ? MOST : MOST / 2;
    fnvae_options o = small_options();
    o.encode = 3; /* several runs, the last one not full */
    rig t;
    past *p;
    lifetime *l = toy_life(3, LIFE);
    replay *r = new_replay(LIFE, width);
    fnvae_memory memory = past_memory(r, 1, spread);
    rig_recall(&t, &o, TOY, 2, 1, (uint64_t[]){5}, 1, &memory);
    observe_all(t.f, 0, l);
    fnvae_freeze(t.f);
    live(&t, l, r, width);
    int rows = replay_rows(r, 0), first = o.window + o.window / TOY_EPISODE;
    float *held = mem_alloc((size_t)(rows * width) * sizeof *held);
    for (int i = 0; i < rows; i++) {
        replay_row row = replay_at(r, 0, i);
        memcpy(held + i * width, row.extra, (size_t)width * sizeof *held);
        for (int k = 0; k < width; k++) row.extra[k] += 1; /* stale */
    }
    assert_ok(past_new(&p, t.f, r, 1, t.pool));
    assert_ok(past_refresh(p));
    for (int i = 1; i < rows; i++) { /* the first row has nothing before it, and keeps its own */
        float away = difference(r, i, held, width);
        if (away > (i < first ? 1e-5f : 0.05f))
            fail_msg("row %d of %d: %g away", i, rows, (double)away);
    }
    mem_free(held);
    past_free(p);
    replay_free(r);
    lifetime_free(l);
    rig_free(&t);
}

static void refreshed_beliefs_are_those_that_were_held(void **state)
{
    (void)state;
    check_refresh(false);
    check_refresh(true);
}

/* Windows hold consecutive steps, never an episode's last row, and know where segments begin. */
static void windows_are_stretches_of_life(void **state)
{
    (void)state;
    fnvae_options o = small_options();
    rig t;
    past *p;
    lifetime *l = toy_life(4, LIFE);
    rng draws = rng_stream(1, "test", 0);
    replay *r = new_replay(90, MOST / 2); /* the first steps will be overwritten */
    fnvae_memory memory = past_memory(r, 1, false);
    rig_recall(&t, &o, TOY, 1, 1, (uint64_t[]){5}, 1, &memory);
    live(&t, l, r, MOST / 2);
    assert_ok(past_new(&p, t.f, r, 1, t.pool));
    assert_true(past_ready(p));
    past_fill(p, &draws);
    const float *s = t.f->host[FNVAE_IN_s], *s1 = t.f->host[FNVAE_IN_s1];
    const float *change = t.f->host[FNVAE_IN_change];
    int B = o.batch, changes = 0;
    for (int b = 0; b < B; b++) {
        for (int step = 1; step < o.window; step++) {
            int here = step * B + b, before = here - B;
            changes += change[here] != 0;
            if (change[here] == 0) assert_memory_equal(s + here * 2, s1 + before * 2, 8);
        }
    }
    assert_in_range(changes, B, 2 * B); /* windows of twenty steps, segments of ten */
    past_free(p);
    replay_free(r);
    lifetime_free(l);
    rig_free(&t);
}

/* Which step of a life a row is. */
static int step_of(const rig *t, const lifetime *l, const float *s)
{
    for (int i = 0; i < LIFE; i++) {
        float seen[2];
        fnvae_put(t->f, 0, SCALE_S, lifetime_at(l, i).s, seen);
        if (seen[0] == s[0] && seen[1] == s[1]) return i;
    }
    fail_msg("no such step");
    return -1;
}

/* A window that jumps goes on where some episode begins, and is cut where one would have begun. */
static void windows_may_go_on_elsewhere(void **state)
{
    (void)state;
    fnvae_options o = small_options();
    o.jumps = 0.5;
    rig t;
    past *p;
    lifetime *l = toy_life(4, LIFE);
    rng draws = rng_stream(1, "test", 0);
    replay *r = new_replay(90, MOST / 2);
    fnvae_memory memory = past_memory(r, 1, false);
    rig_recall(&t, &o, TOY, 1, 1, (uint64_t[]){5}, 1, &memory);
    live(&t, l, r, MOST / 2);
    assert_ok(past_new(&p, t.f, r, 1, t.pool));
    int B = o.batch, jumps = 0, fills = 50;
    for (int again = 0; again < fills; again++) {
        past_fill(p, &draws);
        const float *s = t.f->host[FNVAE_IN_s], *together = t.f->host[FNVAE_IN_w_smooth];
        for (int b = 0; b < B; b++) {
            for (int step = 1, i = step_of(&t, l, s + b * 2); step < o.window; step++) {
                int now = step_of(&t, l, s + (step * B + b) * 2);
                if (together[step * B + b] != 0) {
                    assert_int_equal(now, i + 1);
                } else {
                    assert_int_equal((i + 1) % TOY_EPISODE, 0);
                    assert_int_equal(now % TOY_EPISODE, 0);
                    assert_true(t.f->host[FNVAE_IN_change][step * B + b] == 1);
                    jumps++;
                }
                i = now;
            }
        }
    }
    assert_in_range(jumps, B * fills / 4, B * fills * 3 / 4);
    past_free(p);
    replay_free(r);
    lifetime_free(l);
    rig_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refreshed_beliefs_are_those_that_were_held),
        cmocka_unit_test(windows_are_stretches_of_life),
        cmocka_unit_test(windows_may_go_on_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
