/* test_replay.c - replay hands out real transitions and nothing else; running statistics are right.
 */
#include <math.h>
#include <string.h>

#include "data/norm.h"
#include "data/replay.h"
#include "testing.h"

/* A lifetime in which every observation is a number of its own: obs = 1000 · episode + step. The
 * last observation of an episode of n steps is 1000 · episode + n. */
static const int LENGTHS[] = {5, 3, 5, 1, 4, 5, 2};
enum { EPISODES = 7, HORIZON = 5 };

static void live(replay *r, int lane, int episodes)
{
    int places[2];
    for (int e = 0; e < episodes; e++) {
        int n = LENGTHS[e % EPISODES];
        for (int t = 0; t < n; t++) {
            float obs = (float)(1000 * e + t), next = obs + 1, action = obs + 0.25f,
                  extra = obs + 0.5f, next_extra = next + 0.5f;
            bool ended = t == n - 1, terminated = ended && n < HORIZON;
            replay_step s = {.obs = &obs,
                             .extra = &extra,
                             .action = &action,
                             .next = &next,
                             .next_extra = &next_extra,
                             .reward = obs + 0.75f,
                             .terminated = terminated,
                             .ended = ended,
                             .segment = e};
            assert_int_equal(replay_add(r, lane, &s, places), ended ? 2 : 1);
        }
    }
}

static void sampled_transitions_are_real(void **unused)
{
    (void)unused;
    enum { N = 20000 };
    static int32_t at[N], next_at[N];
    static int seen[20000];
    replay *r;
    assert_int_equal(
        replay_new(
            &r,
            (replay_shape){
                .lanes = 2, .steps = 12, .horizon = HORIZON, .obs = 1, .act = 1, .extra = 1}),
        0);
    live(r, 0, 9); /* the ring has gone round */
    live(r, 1, 1);
    rng stream = rng_stream(1, "test", 0);
    replay_draw(r, 0, 2, &stream, N, at, next_at);
    replay_memory m = replay_memory_of(r);
    assert_int_equal(m.width, 4);
    for (int i = 0; i < N; i++) {
        const float *step = m.steps + 4 * at[i], *next = m.steps + 4 * next_at[i];
        float obs = step[0], extra = m.extra[at[i]], next_extra = m.extra[next_at[i]];
        int e = (int)obs / 1000, t = (int)obs % 1000, n = LENGTHS[e % EPISODES];
        assert_true(t < n); /* never a last observation */
        assert_true(next[0] == obs + 1 && extra == obs + 0.5f && next_extra == next[0] + 0.5f);
        assert_true(step[1] == obs + 0.25f && step[2] == obs + 0.75f);
        /* a time limit is no termination */
        assert_true(step[3] == (t == n - 1 && n < HORIZON));
        seen[(int)obs]++;
    }
    /* old ones are gone, and those that are left come equally often: each lane gets half of the
     * draws */
    assert_int_equal(seen[0] + seen[1] + seen[2] + seen[3] + seen[4] > 0, 1); /* lane 1 */
    int kinds = 0;
    for (int i = 1000; i < 20000; i++) kinds += seen[i] > 0;
    for (int i = 1000; i < 20000; i++)
        if (seen[i]) assert_true(fabs(seen[i] - N / 2.0 / kinds) < 6 * sqrt(N / 2.0 / kinds));
    replay_free(r);
}

static void rows_come_back_in_the_order_they_were_lived(void **unused)
{
    (void)unused;
    replay *r;
    assert_int_equal(
        replay_new(
            &r,
            (replay_shape){
                .lanes = 1, .steps = 10, .horizon = HORIZON, .obs = 1, .act = 1, .extra = 1}),
        0);
    live(r, 0, 8);
    int rows = replay_rows(r, 0);
    assert_int_equal(rows, 14); /* 10 steps, 2 last rows, and 2 more */
    for (int i = 1; i < rows; i++) {
        replay_row a = replay_at(r, 0, i - 1), b = replay_at(r, 0, i);
        if (a.last)
            assert_true(*b.obs == (float)(1000 * b.segment) && b.segment == a.segment + 1);
        else
            assert_true(*b.obs == *a.obs + 1 && b.segment == a.segment);
    }
    replay_free(r);
}

/* Rows of two lanes whose rings have gone round: the first ones of a segment (here an episode, of
 * which the oldest may have lost its beginning) move behind themselves, but never past the segment
 * or what was lived so far; all others stay. */
static void first_rows_settle_in_their_segment(void **unused)
{
    (void)unused;
    replay *r;
    replay_shape z = {.lanes = 3, .steps = 12, .horizon = HORIZON, .obs = 1, .act = 1, .extra = 1};
    assert_int_equal(replay_new(&r, z), 0);
    for (int lane = 0; lane < 3; lane++) live(r, lane, 8 + lane);
    int capacity = replay_capacity(r), moved = 0, stayed = 0;
    float *rows = replay_memory_of(r).steps + capacity * 4;
    for (int steps = 0; steps < 7; steps++)
        for (int32_t at = 0, to; at < 2 * capacity; at++) { /* of lanes 1 and 2 */
            replay_settled(r, 1, 1, &at, steps, &to);
            assert_int_equal(to / capacity, at / capacity);
            int here = (int)rows[at * 4], there = (int)rows[to * 4], e = here / 1000;
            int oldest = (int)*replay_at(r, 1 + at / capacity, 0).obs;
            int first = oldest / 1000 == e ? oldest : 1000 * e;
            int last = 1000 * e + LENGTHS[e % EPISODES];
            int settled = first + steps < last ? first + steps : last;
            assert_int_equal(there, here < settled ? settled : here);
            moved += there > here;
            stayed += there == here && steps > 0;
        }
    assert_true(moved > 20 && stayed > 20);
    replay_free(r);
}

/* Segments that end within an episode, and that last over several: from an episode's last row to
 * the first of the next nothing is lived. */
static void segments_need_not_be_episodes(void **unused)
{
    (void)unused;
    replay *r;
    int places[2];
    float x = 0;
    replay_shape z = {.lanes = 1, .steps = 30, .horizon = 5, .obs = 1, .act = 1, .extra = 1};
    assert_int_equal(replay_new(&r, z), 0);
    for (int t = 0; t < 20; t++) { /* rows 0 to 4, 5 last; 6 to 10, 11 last; ... */
        replay_step s = {.obs = &x,
                         .extra = &x,
                         .action = &x,
                         .next = &x,
                         .next_extra = &x,
                         .ended = t % 5 == 4,
                         .segment = t / 7};
        replay_add(r, 0, &s, places);
    }
    const struct {
        int32_t at, settled;
        int steps;
    } cases[] = {/* the first segment is rows 0 to 7, of which 5 is a last one */
                 {0, 2, 2},
                 {1, 2, 2},
                 {3, 3, 2},
                 {4, 5, 5},
                 {5, 5, 5},
                 {6, 6, 5},
                 {5, 7, 6},
                 {7, 7, 6},
                 /* the second 8 to 15, with 11 */
                 {8, 9, 1},
                 {9, 9, 1},
                 {8, 11, 3},
                 {8, 13, 4},
                 {11, 11, 3},
                 {11, 13, 4}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t settled;
        replay_settled(r, 0, 1, &cases[i].at, cases[i].steps, &settled);
        assert_int_equal(settled, cases[i].settled);
    }
    replay_free(r);
}

/* The newest row has nothing behind it, even if an older one of the same segment lies there. */
static void nothing_is_later_than_the_newest_row(void **unused)
{
    (void)unused;
    replay *r;
    int places[2];
    int32_t at, to;
    float x = 0;
    replay_step s = {.obs = &x, .extra = &x, .action = &x, .next = &x, .next_extra = &x};
    replay_shape z = {.lanes = 1, .steps = 4, .horizon = 100, .obs = 1, .act = 1, .extra = 1};
    assert_int_equal(replay_new(&r, z), 0);
    for (int i = 0; i < 9; i++) replay_add(r, 0, &s, places);
    at = places[0];
    replay_settled(r, 0, 1, &at, 100, &to);
    assert_int_equal(to, at);
    replay_free(r);
}

/* Whoever has a copy learns of every row once, however far the ring has turned meanwhile. */
static void news_are_what_was_written_since(void **unused)
{
    (void)unused;
    replay *r;
    replay_stretch news[2];
    int64_t seen = 0;
    replay_shape z = {.lanes = 1, .steps = 10, .horizon = HORIZON, .obs = 1, .act = 1, .extra = 1};
    assert_int_equal(replay_new(&r, z), 0);
    replay_memory m = replay_memory_of(r);
    float copy[14 * 4] = {0};
    assert_int_equal(m.capacity, 14);
    assert_int_equal(replay_news(r, 0, &seen, news), 0);
    for (int episodes = 1; episodes < 8; episodes++) {
        live(r, 0, episodes);
        int n = replay_news(r, 0, &seen, news), rows = 0;
        for (int k = 0; k < n; k++) {
            memcpy(copy + news[k].first * 4, m.steps + news[k].first * 4,
                   (size_t)news[k].count * 4 * sizeof *copy);
            rows += news[k].count;
        }
        assert_in_range(rows, 6, 14);
        assert_memory_equal(copy, m.steps, (size_t)replay_rows(r, 0) * 4 * sizeof *copy);
    }
    assert_int_equal(replay_news(r, 0, &seen, news), 0);
    replay_free(r);
}

static void running_statistics_equal_the_direct_ones(void **unused)
{
    (void)unused;
    enum { N = 3000 };
    double mean[2] = {0}, m2[2] = {0}, direct[2] = {0}, square[2] = {0};
    static float x[N][2];
    norm z = {.n = 2, .mean = mean, .m2 = m2};
    rng r = rng_stream(2, "test", 0);
    float shift[2], scale[2];
    norm_units(&z, shift, scale);
    for (int k = 0; k < 2; k++) assert_true(shift[k] == 0 && scale[k] == 1); /* nothing is known */
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) x[i][k] = (float)(100 * k + (k + 1) * rng_normal(&r));
        norm_add(&z, x[i]);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++) direct[k] += (double)x[i][k] / N;
        for (int i = 0; i < N; i++) square[k] += pow((double)x[i][k] - direct[k], 2) / N;
        assert_true(fabs(mean[k] - direct[k]) < 1e-9 && fabs(m2[k] / N - square[k]) < 1e-8);
    }
    norm_units(&z, shift, scale);
    for (int k = 0; k < 2; k++) {
        double wanted = ((double)x[7][k] - direct[k]) / sqrt(square[k]);
        assert_true(fabs((double)((x[7][k] + shift[k]) * scale[k]) - wanted) < 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_transitions_are_real),
        cmocka_unit_test(rows_come_back_in_the_order_they_were_lived),
        cmocka_unit_test(first_rows_settle_in_their_segment),
        cmocka_unit_test(segments_need_not_be_episodes),
        cmocka_unit_test(nothing_is_later_than_the_newest_row),
        cmocka_unit_test(news_are_what_was_written_since),
        cmocka_unit_test(running_statistics_equal_the_direct_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
