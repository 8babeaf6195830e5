/* test_refresh.c - refreshed beliefs are those that the model would have had online; windows are
 * contiguous. */
#include "fnvae_rig.h"

enum { LIFE = 93, MOST = 4 }; /* numbers of a belief: two means, two spreads */

/* A toy lifetime under a model that does not learn: stores its beliefs. */
static void live(rig *t, replay *r, uint64_t seed, int width)
{
    toy x = toy_begin(seed);
    belief_reset(t->b, 0);
    for (int i = 0; i < LIFE; i++) {
        float held[MOST + 2];
        toy_step(&x, i);
        bool change = x.first && i > 0; /* as worlds report it */
        assert_ok(belief_predict(t->b, &(uint8_t){change}));
        memcpy(held, belief_mean(t->b, 0), (size_t)width * sizeof *held);
        if (replay_shape_of(r)->column_count > 3) belief_weights(t->b, 0, held + width);
        belief_note(t->b, 0, x.s, &x.a, x.r, x.s1, change);
        assert_ok(belief_correct(t->b));
        toy_store(r, &x, held, belief_mean(t->b, 0));
    }
}

/* Statistics of a lifetime that the model has not seen yet. */
static void observe_life(fnvae *f, uint64_t seed)
{
    replay *l = toy_life(seed, LIFE);
    observe_all(f, 0, l);
    replay_free(l);
}

static float difference(const replay *r, int i, const float *held, int width)
{
    float most = 0;
    const float *now = replay_beside(r, 0, i, 2);
    for (int k = 0; k < width; k++) most = fmaxf(most, fabsf(now[k] - held[i * width + k]));
    return most;
}

/* The first window starts with the lifetime, so it must agree up to rounding; later ones start in
 * the middle, and agree as well as an LSTM can after half a window. */
static void check_refresh(bool spread, bool doubt)
{
    int width = spread ? MOST : MOST / 2;
    fnvae_options o = small_options();
    o.encode = 3; /* several runs, the last one not full */
    rig t;
    replay *r = toy_replay_of(1, 1, LIFE, width, doubt);
    rig_new(&t, &o, 2, (uint64_t[]){5}, r);
    observe_life(t.f, 3);
    fnvae_freeze(t.f);
    live(&t, r, 3, width);
    int rows = replay_rows(r, 0), first = o.window + o.window / TOY_EPISODE;
    float *held = mem_alloc((size_t)(rows * width) * sizeof *held);
    for (int i = 0; i < rows; i++) {
        float *stored = replay_beside(r, 0, i, 2);
        memcpy(held + i * width, stored, (size_t)width * sizeof *held);
        for (int k = 0; k < width; k++) stored[k] += 1; /* stale */
    }
    assert_ok(refresh_run(t.refresh, t.pool));
    for (int i = 1; i < rows; i++) { /* the first row has nothing before it, and keeps its own */
        float away = difference(r, i, held, width);
        if (away > (i < first ? 1e-5f : 0.05f))
            fail_msg("row %d of %d: %g away", i, rows, (double)away);
    }
    mem_free(held);
    rig_free(&t);
    replay_free(r);
}

static void refreshed_beliefs_are_those_that_were_held(void **state)
{
    (void)state;
    check_refresh(false, false);
    check_refresh(true, false);
    check_refresh(false, true);
    check_refresh(true, true);
}

/* The step of the lifetime in row t of window b. */
static int step_of(const rig *t, const replay *r, int step, int b)
{
    int32_t at = rows_of(&t->f->at, 0)[step * t->f->o.batch + b];
    int forgotten = LIFE + LIFE / TOY_EPISODE - replay_rows(r, 0);
    for (int i = 0; i < replay_rows(r, 0); i++)
        if (replay_at(r, 0, i).number == at) {
            int row = forgotten + i; /* of the whole lifetime, with a last row after each episode */
            return row - row / (TOY_EPISODE + 1);
        }
    fail_msg("no such step");
    return -1;
}

/* Windows hold consecutive steps, never an episode's last row, and mark where segments start. */
static void windows_are_stretches_of_life(void **state)
{
    (void)state;
    fnvae_options o = small_options();
    rig t;
    rng draws = rng_stream(1, "test", 0);
    replay *r = toy_replay(1, 1, 80, MOST / 2); /* the first steps will be overwritten */
    rig_new(&t, &o, 1, (uint64_t[]){5}, r);
    live(&t, r, 4, MOST / 2);
    assert_true(fnvae_can_fill(t.f));
    fnvae_fill(t.f, &draws, t.pool);
    const int32_t *at = rows_of(&t.f->at, 0), *next = rows_of(&t.f->next, 0);
    const float *change = numbers_of(&t.f->change, 0);
    int B = o.batch, changes = 0;
    for (int b = 0; b < B; b++) {
        for (int step = 1; step < o.window; step++) {
            int here = step * B + b, before = here - B;
            changes += change[here] != 0;
            assert_int_equal(step_of(&t, r, step, b), step_of(&t, r, step - 1, b) + 1);
            if (change[here] == 0) assert_int_equal(at[here], next[before]);
        }
    }
    assert_in_range(changes, B, 2 * B); /* windows of twenty steps, segments of ten */
    rig_free(&t);
    replay_free(r);
}

/* A spliced window is cut where an episode starts, and continues where another one starts. */
static void windows_may_jump(void **state)
{
    (void)state;
    fnvae_options o = small_options();
    o.jumps = 0.5;
    rig t;
    rng draws = rng_stream(1, "test", 0);
    replay *r = toy_replay(1, 1, 80, MOST / 2);
    rig_new(&t, &o, 1, (uint64_t[]){5}, r);
    live(&t, r, 4, MOST / 2);
    int B = o.batch, jumps = 0, fills = 50;
    for (int again = 0; again < fills; again++) {
        fnvae_fill(t.f, &draws, t.pool);
        const float *together = numbers_of(&t.f->w[FNVAE_W_smooth], 0);
        for (int b = 0; b < B; b++) {
            for (int step = 1, i = step_of(&t, r, 0, b); step < o.window; step++) {
                int now = step_of(&t, r, step, b);
                if (together[step * B + b] != 0) {
                    assert_int_equal(now, i + 1);
                } else {
                    assert_int_equal((i + 1) % TOY_EPISODE, 0);
                    assert_int_equal(now % TOY_EPISODE, 0);
                    assert_true(numbers_of(&t.f->change, 0)[step * B + b] == 1);
                    jumps++;
                }
                i = now;
            }
        }
    }
    assert_in_range(jumps, B * fills / 4, B * fills * 3 / 4);
    rig_free(&t);
    replay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refreshed_beliefs_are_those_that_were_held),
        cmocka_unit_test(windows_are_stretches_of_life),
        cmocka_unit_test(windows_may_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
