/* test_stack.c - stack sees the real last steps: online, and in every row that the replay still
 * has. It includes the file itself, because contexts are private. */
#include "algo/stack.c" // NOLINT: on purpose

#include "base/rng.h"
#include "testing.h"

enum { K = 4, LANES = 2, D = 2, M = 1, STEP = D + M + 2, WIDTH = K * (STEP + 1), LIFE = 40 };

typedef struct lived {
    float numbers[STEP];
    int episode;
} lived;

static lived life[LANES][LIFE];
static int count; /* steps so far */

/* The k-th step before step t of a lane; `forgotten` steps are no longer in the replay. */
static void check_step(int lane, int t, int episode, int k, int forgotten, const float *step,
                       float same)
{
    static const float nothing[STEP];
    int i = t - 1 - k;
    bool there = i >= forgotten;
    assert_memory_equal(step, there ? life[lane][i].numbers : nothing, sizeof nothing);
    assert_true(same == (there && life[lane][i].episode == episode));
}

static void check_online(const float *numbers, int episode)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int k = 0; k < K; k++) {
            const float *x = numbers + lane * WIDTH;
            check_step(lane, count, episode, k, 0, x + k * STEP, x[K * STEP + k]);
        }
}

/* Step t starts in row i of a lane, or ended there. */
static void check_row(const stack *s, const replay *r, int lane, int i, int t, int forgotten)
{
    int32_t at = replay_at(r, lane, i).number;
    int episode = (int)replay_at(r, lane, i).segment;
    fill_rows(s, 0, &at, false);
    for (int k = 0; k < K; k++) {
        int32_t row = rows_of(&s->at[0], 0)[k];
        float step[STEP] = {0};
        for (int j = 0; row >= 0 && j < replay_rows(r, lane); j++) {
            replay_row x = replay_at(r, lane, j);
            if (x.number != row) continue;
            memcpy(step, x.obs, D * sizeof *step);
            memcpy(step + D, x.action, M * sizeof *step);
            step[D + M] = x.reward;
            step[D + M + 1] = x.terminated;
        }
        check_step(lane, t, episode, k, forgotten, step, numbers_of(&s->same[0], 0)[k]);
    }
}

static void check_replay(const stack *s, const replay *r)
{
    for (int lane = 0; lane < LANES; lane++) {
        int steps = 0, n = replay_rows(r, lane);
        for (int i = 0; i < n; i++) steps += !replay_at(r, lane, i).last;
        for (int i = 0, t = count - steps; i < n; i++) {
            check_row(s, r, lane, i, t, count - steps);
            t += !replay_at(r, lane, i).last;
        }
    }
}

/* One step of all lanes; some episodes end, some of these in a terminal state. */
static void live(stack *s, replay *r, float *numbers, int episode, bool ends, rng *draw)
{
    float obs[LANES * D], action[LANES * M], next[LANES * D], reward[LANES], unused[1];
    int64_t segment[LANES] = {episode, episode};
    uint8_t change[LANES] = {0}, terminated[LANES], truncated[LANES];
    for (int i = 0; i < LANES * D; i++) obs[i] = (float)rng_normal(draw);
    for (int i = 0; i < LANES * D; i++) next[i] = (float)rng_normal(draw);
    for (int i = 0; i < LANES * M; i++) action[i] = (float)rng_normal(draw);
    for (int i = 0; i < LANES; i++) {
        lived *x = &life[i][count];
        reward[i] = (float)rng_normal(draw);
        terminated[i] = ends && episode % 2;
        truncated[i] = ends && episode % 2 == 0;
        *x = (lived){.episode = episode};
        memcpy(x->numbers, obs + i * D, D * sizeof(float));
        memcpy(x->numbers + D, action + i * M, M * sizeof(float));
        x->numbers[D + M] = reward[i];
        x->numbers[D + M + 1] = terminated[i];
    }
    fans_moment now = {obs, NULL, segment, change};
    fans_outcome o = {reward, terminated, truncated, next};
    count++;
    assert_int_equal(note(s, &now, action, &o, true, numbers, unused), 0);
    replay_add(r, &now, action, &o, NULL, NULL);
}

static void it_sees_what_was_lived(void **state)
{
    (void)state;
    int32_t at[K];
    float same[K], numbers[LANES * WIDTH] = {0};
    replay *r;
    replay_shape z = {
        .replicas = 1, .worlds = LANES, .steps = 12, .horizon = 7, .obs = D, .act = M};
    stack s = {.k = K, .rows = LANES, .d = D, .m = M, .step = STEP};
    rng draw = rng_stream(1, "test", 0);
    assert_int_equal(replay_new(&r, z), 0);
    s.replay = r;
    s.at[0] = (staged){.host = at, .each = K, .rows = true};
    s.same[0] = (staged){.host = same, .each = K};
    for (int episode = 0, left = 3; count < LIFE; left--) { /* the ring wraps around */
        bool ends = left == 0;
        live(&s, r, numbers, episode, ends, &draw);
        if (ends) episode++, left = episode % 6 + 1;
        check_online(numbers, episode);
        check_replay(&s, r);
    }
    replay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_sees_what_was_lived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
