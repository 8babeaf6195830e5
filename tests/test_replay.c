/* test_replay.c - replay hands out real transitions and nothing else; running statistics are right.
 */
#include <math.h>

#include "rl/norm.h"
#include "rl/replay.h"
#include "testing.h"

/* A lifetime in which every observation is a number of its own: obs = 1000 · episode + step. The
 * last observation of an episode of n steps is 1000 · episode + n. */
static const int LENGTHS[] = {5, 3, 5, 1, 4, 5, 2};
enum { EPISODES = 7, HORIZON = 5 };

static void live(replay *r, int lane, int episodes)
{
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
            replay_add(r, lane, &s);
        }
    }
}

static void sampled_transitions_are_real(void **unused)
{
    (void)unused;
    enum { N = 20000 };
    static float obs[N], extra[N], action[N], reward[N], end[N], next[N], next_extra[N];
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
    replay_sample(r, 0, 2, &stream, N,
                  &(replay_batch){obs, extra, action, reward, end, next, next_extra});
    for (int i = 0; i < N; i++) {
        int e = (int)obs[i] / 1000, t = (int)obs[i] % 1000, n = LENGTHS[e % EPISODES];
        assert_true(t < n); /* never a last observation */
        assert_true(next[i] == obs[i] + 1 && extra[i] == obs[i] + 0.5f &&
                    next_extra[i] == next[i] + 0.5f);
        assert_true(action[i] == obs[i] + 0.25f && reward[i] == obs[i] + 0.75f);
        /* a time limit is no termination */
        assert_true(end[i] == (t == n - 1 && n < HORIZON));
        seen[(int)obs[i]]++;
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

static void running_statistics_equal_the_direct_ones(void **unused)
{
    (void)unused;
    enum { N = 3000 };
    double mean[2] = {0}, m2[2] = {0}, direct[2] = {0}, square[2] = {0};
    static float x[N][2];
    norm z = {.n = 2, .mean = mean, .m2 = m2};
    rng r = rng_stream(2, "test", 0);
    float before[2] = {3, 4};
    norm_apply(&z, before, 1);
    assert_true(before[0] == 3 && before[1] == 4); /* nothing is known yet */
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) x[i][k] = (float)(100 * k + (k + 1) * rng_normal(&r));
        norm_add(&z, x[i]);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++) direct[k] += (double)x[i][k] / N;
        for (int i = 0; i < N; i++) square[k] += pow((double)x[i][k] - direct[k], 2) / N;
        assert_true(fabs(mean[k] - direct[k]) < 1e-9 && fabs(m2[k] / N - square[k]) < 1e-8);
    }
    float v[2] = {x[7][0], 1e6f};
    norm_apply(&z, v, 1);
    assert_true(fabs((double)v[0] - ((double)x[7][0] - direct[0]) / sqrt(square[0])) < 1e-5);
    assert_true(v[1] == 10); /* cut off */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_transitions_are_real),
        cmocka_unit_test(rows_come_back_in_the_order_they_were_lived),
        cmocka_unit_test(running_statistics_equal_the_direct_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
