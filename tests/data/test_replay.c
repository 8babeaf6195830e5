/* test_replay.c - the replay gives real transitions and nothing else; running statistics are right.
 */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "data/norm.h"
#include "data/replay.h"
#include "nn/op.h"
#include "testing.h"

/* A lifetime in which every observation is unique: obs = 1000 · episode + step. The
 * last observation of an episode of n steps is 1000 · episode + n. */
static const int LENGTHS[] = {5, 3, 5, 1, 4, 5, 2};
enum { EPISODES = 7, HORIZON = 5 };

/* One replica; every row also has a column with a number and one with a byte. */
enum { NUMBER, BYTE };

static replay *new_replay(int worlds, int steps, int horizon)
{
    replay *r;
    replay_shape z = {.replicas = 1,
                      .worlds = worlds,
                      .steps = steps,
                      .horizon = horizon,
                      .obs = 1,
                      .act = 1,
                      .columns = {{"number", NN_F32, 1}, {"byte", NN_U8, 2}},
                      .column_count = 2};
    assert_int_equal(replay_new(&r, z), 0);
    return r;
}

enum { LANES = 3 };

/* All worlds live the same, except for an offset of 10,000 each. */
static void live(replay *r, int episodes)
{
    int lanes = replay_shape_of(r)->worlds;
    for (int e = 0; e < episodes; e++) {
        int n = LENGTHS[e % EPISODES];
        for (int t = 0; t < n; t++) {
            float obs[LANES], next[LANES], action[LANES], reward[LANES], number[LANES], end[LANES];
            uint8_t byte[2 * LANES], terminated[LANES], truncated[LANES], change[LANES] = {0};
            int64_t segment[LANES];
            for (int i = 0; i < lanes; i++) {
                obs[i] = (float)(10000 * i + 1000 * e + t);
                next[i] = obs[i] + 1;
                action[i] = obs[i] + 0.25f;
                reward[i] = obs[i] + 0.75f;
                number[i] = obs[i] + 0.5f;
                end[i] = next[i] + 0.5f;
                byte[2 * i] = (uint8_t)t;
                byte[2 * i + 1] = (uint8_t)e;
                terminated[i] = t == n - 1 && n < HORIZON;
                truncated[i] = t == n - 1 && n == HORIZON; /* a time limit is not a termination */
                segment[i] = e;
            }
            fans_moment now = {obs, NULL, segment, change};
            fans_outcome o = {reward, terminated, truncated, next};
            const void *columns[] = {number, byte}, *ends[] = {end, byte};
            replay_add(r, &now, action, &o, columns, ends);
        }
    }
}

/* The frames of a row are the last rows of its episode; its first row stands in for missing ones.
 */
static void films_stay_in_their_episode(void **unused)
{
    (void)unused;
    enum { FRAMES = 3 };
    int32_t film[FRAMES];
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 9); /* the ring has wrapped around */
    for (int lane = 0; lane < 2; lane++)
        for (int i = 0; i < replay_rows(r, lane); i++) {
            replay_row row = replay_at(r, lane, i);
            int since = (int)*row.obs % 1000; /* steps since the episode began */
            if (since > i) since = i;         /* … that are kept */
            replay_film(r, 0, 1, &row.number, FRAMES, film);
            for (int k = 0; k < FRAMES; k++) {
                int back = FRAMES - 1 - k < since ? FRAMES - 1 - k : since;
                assert_int_equal(film[k], replay_at(r, lane, i - back).number);
            }
        }
    replay_free(r);
}

/* A step of a single lane, of which only the segment matters. */
static void step(replay *r, bool ended, int64_t segment)
{
    float x = 0;
    uint8_t bytes[2] = {0}, no = 0, end = ended;
    fans_moment now = {&x, NULL, &segment, &no};
    fans_outcome o = {&x, &no, &end, &x};
    const void *columns[] = {&x, bytes};
    replay_add(r, &now, &x, &o, columns, columns);
}

/* Row i of a lane, by its number. */
static int row_of(const replay *r, int lane, int32_t number)
{
    for (int i = 0; i < replay_rows(r, lane); i++)
        if (replay_at(r, lane, i).number == number) return i;
    fail_msg("no row %d", (int)number);
    return -1;
}

static int lane_of(const replay *r, int32_t number)
{
    return number / replay_capacity(r);
}

static float obs_of(const replay *r, int32_t number)
{
    return *replay_at(r, lane_of(r, number), row_of(r, lane_of(r, number), number)).obs;
}

static void sampled_transitions_are_real(void **unused)
{
    (void)unused;
    enum { N = 20000 };
    static int32_t at[N], next[N];
    static int seen[30000];
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 9); /* the ring has wrapped around */
    rng stream = rng_stream(1, "test", 0);
    replay_draw(r, 0, &stream, N, at, next);
    for (int i = 0; i < N; i++) {
        int lane = lane_of(r, at[i]), k = row_of(r, lane, at[i]);
        replay_row row = replay_at(r, lane, k);
        float obs = *row.obs;
        int e = (int)obs % 10000 / 1000, t = (int)obs % 1000, n = LENGTHS[e % EPISODES];
        assert_true(t < n && !row.last); /* never a last observation */
        assert_true(*row.action == obs + 0.25f && row.reward == obs + 0.75f);
        assert_true(row.terminated == (t == n - 1 && n < HORIZON));
        assert_true(obs_of(r, next[i]) == obs + 1);
        assert_true(*(float *)replay_beside(r, lane, k, NUMBER) == obs + 0.5f);
        assert_true(*(float *)replay_beside(r, lane, k + 1, NUMBER) == obs + 1.5f);
        assert_int_equal(((uint8_t *)replay_beside(r, lane, k, BYTE))[0], t);
        assert_int_equal(((uint8_t *)replay_beside(r, lane, k, BYTE))[1], e);
        seen[(int)obs]++;
    }
    /* old rows are gone, and the rest are drawn equally often */
    int kinds = 0;
    for (int i = 0; i < 30000; i++) kinds += seen[i] > 0;
    assert_in_range(kinds, 20, 28);
    for (int i = 0; i < 30000; i++)
        if (seen[i]) assert_true(fabs(seen[i] - (double)N / kinds) < 6 * sqrt((double)N / kinds));
    replay_free(r);
}

static void steps_of_an_episode_are_drawn_together(void **unused)
{
    (void)unused;
    enum { N = 500, EACH = 6 };
    static int32_t at[N * EACH], next[N * EACH];
    int others = 0, firsts = 0;
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 9); /* the ring has wrapped around */
    rng stream = rng_stream(1, "test", 0);
    replay_draw_episodes(r, 0, &stream, N, EACH, at, next);
    for (int i = 0; i < N * EACH; i++) {
        int obs = (int)obs_of(r, at[i]), drawn = (int)obs_of(r, at[i % N]);
        assert_int_equal(lane_of(r, at[i]), lane_of(r, at[i % N]));
        assert_int_equal(obs / 1000, drawn / 1000); /* the same episode */
        assert_true(!replay_at(r, lane_of(r, at[i]), row_of(r, lane_of(r, at[i]), at[i])).last);
        assert_true(obs_of(r, next[i]) == (float)(obs + 1));
        others += obs != drawn;
        firsts += obs % 1000 == 0;
    }
    assert_true(others > N && firsts > N / 2);
    replay_free(r);
}

static void the_step_under_way_is_not_drawn(void **unused)
{
    (void)unused;
    int32_t at[8], next[8];
    replay *r = new_replay(1, 12, HORIZON);
    rng stream = rng_stream(1, "test", 0);
    for (int t = 0; t < 3; t++) step(r, false, 0); /* the newest row has no successor yet */
    for (int k = 0; k < 20; k++) {
        replay_draw_episodes(r, 0, &stream, 2, 4, at, next);
        for (int i = 0; i < 8; i++) assert_true(at[i] < 2 && next[i] == at[i] + 1);
    }
    replay_free(r);
}

static void rows_come_back_in_the_order_they_were_lived(void **unused)
{
    (void)unused;
    replay *r = new_replay(1, 10, HORIZON);
    live(r, 8);
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

/* In rings that have wrapped around: the first rows of a segment (here an episode; the oldest may
 * have lost its start) see later rows, but never past the segment or the newest row; all others see
 * themselves. */
static void first_rows_see_later_ones_of_their_segment(void **unused)
{
    (void)unused;
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 8);
    int moved = 0, stayed = 0;
    for (int steps = 0; steps < 7; steps++)
        for (int lane = 0; lane < 2; lane++)
            for (int i = 0; i < replay_rows(r, lane); i++) {
                int32_t at = replay_at(r, lane, i).number, to;
                replay_hindsight(r, 0, 1, &at, steps, &to);
                assert_int_equal(lane_of(r, to), lane);
                int here = (int)obs_of(r, at) % 10000, there = (int)obs_of(r, to) % 10000;
                int e = here / 1000, oldest = (int)*replay_at(r, lane, 0).obs % 10000;
                int first = oldest / 1000 == e ? oldest : 1000 * e;
                int last = 1000 * e + LENGTHS[e % EPISODES];
                int later = first + steps < last ? first + steps : last;
                assert_int_equal(there, here < later ? later : here);
                moved += there > here;
                stayed += there == here && steps > 0;
            }
    assert_true(moved > 20 && stayed > 20);
    replay_free(r);
}

/* Segments may end within an episode, or span several; an episode's last row is not a step. */
static void segments_need_not_be_episodes(void **unused)
{
    (void)unused;
    replay *r = new_replay(1, 30, 5);
    for (int t = 0; t < 20; t++) step(r, t % 5 == 4, t / 7); /* rows 0 to 4, 5 last; 6 to 10, … */
    const struct {
        int32_t at, to;
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
                 /* the second is rows 8 to 15, of which 11 is a last one */
                 {8, 9, 1},
                 {9, 9, 1},
                 {8, 11, 3},
                 {8, 13, 4},
                 {11, 11, 3},
                 {11, 13, 4}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t to;
        replay_hindsight(r, 0, 1, &cases[i].at, cases[i].steps, &to);
        assert_int_equal(to, cases[i].to);
    }
    replay_free(r);
}

/* Where a segment ends within an episode, a row stands for its successor; unless it is the first of
 * its segment. */
static void a_context_persists_beyond_its_segment(void **unused)
{
    (void)unused;
    replay *r = new_replay(1, 30, 5);
    static const int64_t segments[] = {0, 0, 0, 1, 2, 2, 2, 2, 2, 2};
    for (int t = 0; t < 10; t++) step(r, t % 5 == 4, segments[t]); /* rows 0 to 4, 5 last; 6 to … */
    static const int32_t at[] = {0, 1, 2, 3, 4, 6, 7, 1}, next[] = {1, 2, 3, 4, 5, 7, 8, 4};
    static const int32_t wanted[] = {1, 2, 2, 4, 5, 7, 8, 1};
    int32_t to[COUNT(at)];
    replay_persist(r, 0, COUNT(at), at, next, to);
    for (size_t i = 0; i < COUNT(at); i++) assert_int_equal(to[i], wanted[i]);
    replay_free(r);
}

/* Nothing follows the newest row, even if the next place holds an older row of the same segment. */
static void nothing_is_later_than_the_newest_row(void **unused)
{
    (void)unused;
    replay *r = new_replay(1, 4, 100);
    for (int i = 0; i < 9; i++) step(r, false, 0);
    int32_t at = replay_at(r, 0, replay_rows(r, 0) - 1).number, to;
    replay_hindsight(r, 0, 1, &at, 100, &to);
    assert_int_equal(to, at);
    replay_free(r);
}

/* n-step successors stay within the episode and the ring; rewards are summed. */
static void successors_lie_ahead_in_the_episode(void **unused)
{
    (void)unused;
    enum { AHEAD = 3 };
    const double discount = 0.5;
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 9);
    for (int lane = 0; lane < 2; lane++)
        for (int i = 0; i + 1 < replay_rows(r, lane); i++) {
            replay_row row = replay_at(r, lane, i);
            if (row.last) continue;
            int32_t next;
            float reward, rest;
            replay_ahead(r, 0, 1, &row.number, AHEAD, discount, &next, &reward, &rest);
            int obs = (int)*row.obs % 10000, e = obs / 1000, t = obs % 1000;
            int n = LENGTHS[e % EPISODES], steps = t + AHEAD < n ? AHEAD : n - t;
            double sum = 0, weight = 1;
            for (int k = 0; k < steps; k++, weight *= discount)
                sum += weight * ((double)*row.obs + k + 0.75);
            assert_true(obs_of(r, next) == *row.obs + (float)steps);
            assert_true(fabs((double)reward - sum) <= 1e-6 * fabs(sum));
            bool terminated = t + steps == n && n < HORIZON;
            assert_true(fabs((double)rest - (terminated ? 0 : weight)) < 1e-6);
        }
    replay_free(r);
}

/* Steps before a row, the latest first: across last rows and the ring's seam, to the oldest row. */
static void steps_before_a_row_are_those_that_were_lived(void **unused)
{
    (void)unused;
    enum { BACK = 30 };
    int32_t rows[BACK], next[BACK];
    bool same[BACK];
    replay *r = new_replay(2, 12, HORIZON);
    live(r, 9);
    for (int lane = 0; lane < 2; lane++)
        for (int i = 0; i < replay_rows(r, lane); i++) {
            int left = 0, k = 0;
            bool here = true;
            replay_before(r, 0, replay_at(r, lane, i).number, BACK, rows, next, same);
            for (left = i - 1; left >= 0; left--) {
                replay_row row = replay_at(r, lane, left);
                if (row.last) {
                    here = false;
                    continue;
                }
                assert_int_equal(rows[k], row.number);
                assert_int_equal(next[k], replay_at(r, lane, left + 1).number);
                assert_int_equal(same[k++], here);
            }
            for (; k < BACK; k++) assert_true(rows[k] == -1 && next[k] == -1 && !same[k]);
        }
    replay_free(r);
}

/* ---- the backend's copy ---------------------------------------------------------------------- */

/* A CPU backend with a copy of the tables, like a GPU: what is not sent stays old. */
static void put_rows(void *self, void *to, const void *from, size_t rows, size_t width,
                     const nn_place *places, int count)
{
    (void)self;
    for (int i = 0; i < count; i++) {
        size_t row = (size_t)places[i].replica * rows + (size_t)places[i].row;
        memcpy((char *)to + row * width, (const char *)from + row * width, width);
    }
}

/* Gathers all rows of the replica and compares them with the replay itself. */
static void check_copy(const replay *r, nn_plan *look, nn_var obs, nn_var number, nn_var byte,
                       nn_var at)
{
    enum { MOST = 64 };
    int32_t rows[MOST];
    float x[MOST], y[MOST], z[2 * MOST];
    int n = replay_rows(r, 0), B = nn_shape_of(at).B;
    assert_true(B <= MOST);
    for (int i = 0; i < B; i++) rows[i] = i < n ? replay_at(r, 0, i).number : -1;
    nn_write_index_all(at, rows);
    assert_int_equal(nn_plan_run(look), 0);
    nn_read_all(obs, x);
    nn_read_all(number, y);
    nn_read_all(byte, z);
    for (int i = 0; i < B; i++) {
        assert_true(x[i] == (i < n ? *replay_at(r, 0, i).obs : 0));
        assert_true(y[i] == (i < n ? *(float *)replay_beside(r, 0, i, NUMBER) : 0));
        for (int k = 0; k < 2; k++)
            assert_true(z[2 * i + k] ==
                        (float)(i < n ? ((uint8_t *)replay_beside(r, 0, i, BYTE))[k] : 0));
    }
}

static void the_copy_has_every_row(void **unused)
{
    (void)unused;
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    nn_plan *look;
    replay *r = new_replay(1, 10, HORIZON);
    assert_int_equal(pool_new(&threads, 1), 0);
    assert_int_equal(nn_cpu_new(&cpu, threads), 0);
    cpu->put_rows = put_rows;
    assert_int_equal(nn_graph_new(&g, cpu, 1, &(uint64_t){0}), 0);
    replay_record(r, g);
    nn_var at = nn_index(g, "at", 1, replay_capacity(r) + 2, 1);
    nn_var obs = replay_obs(r, replay_gather(r, at));
    nn_var number = replay_gather_column(r, NUMBER, at), byte = replay_gather_column(r, BYTE, at);
    nn_var wanted[] = {obs, number, byte};
    assert_int_equal(nn_plan_new(&look, g, wanted, 3, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(g), 0);
    for (int episodes = 1; episodes < 8; episodes++) { /* many rows between syncs, or few */
        live(r, episodes % 3);
        replay_sync(r);
        check_copy(r, look, obs, number, byte, at);
        step(r, false, 77);
        replay_sync(r);
        check_copy(r, look, obs, number, byte, at);
    }
    *(float *)replay_beside(r, 0, 2, NUMBER) = 5;
    replay_column_changed(r, NUMBER);
    replay_sync(r);
    check_copy(r, look, obs, number, byte, at);
    nn_graph_free(g);
    nn_backend_free(cpu);
    pool_free(threads);
    replay_free(r);
}

static void running_statistics_equal_the_direct_ones(void **unused)
{
    (void)unused;
    enum { N = 3000 };
    double direct[3] = {0}, square[3] = {0};
    static float x[N][3];
    norm z;
    arena *memory;
    assert_int_equal(arena_new(&memory), 0);
    assert_int_equal(norm_declare(&z, memory, 3), 0);
    assert_int_equal(arena_commit(memory), 0);
    rng r = rng_stream(2, "test", 0);
    float shift[3], scale[3];
    norm_units(&z, shift, scale);
    for (int k = 0; k < 3; k++) assert_true(shift[k] == 0 && scale[k] == 1); /* nothing is known */
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) x[i][k] = (float)(100 * k + (k + 1) * rng_normal(&r));
        x[i][2] = 7; /* never moves */
        norm_add(&z, x[i], NULL);
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++) direct[k] += (double)x[i][k] / N;
        for (int i = 0; i < N; i++) square[k] += pow((double)x[i][k] - direct[k], 2) / N;
        assert_true(fabs(z.mean[k] - direct[k]) < 1e-9 && fabs(z.m2[k] / N - square[k]) < 1e-8);
    }
    norm_units(&z, shift, scale);
    for (int k = 0; k < 2; k++) {
        double wanted = ((double)x[7][k] - direct[k]) / sqrt(square[k]);
        assert_true(fabs((double)((x[7][k] + shift[k]) * scale[k]) - wanted) < 1e-4);
    }
    assert_true(scale[2] == 1 && shift[2] == -7); /* its first movement will not be huge */
    arena_free(memory);
}

static void differences_have_statistics_too(void **unused)
{
    (void)unused;
    norm z;
    arena *memory;
    assert_int_equal(arena_new(&memory), 0);
    assert_int_equal(norm_declare(&z, memory, 1), 0);
    assert_int_equal(arena_commit(memory), 0);
    for (int i = 0; i < 4; i++) norm_add(&z, (float[]){(float)(3 * i)}, (float[]){(float)i});
    assert_float_equal(z.mean[0], 3, 1e-9); /* of 0, 2, 4, 6 */
    assert_float_equal(z.m2[0], 20, 1e-9);
    arena_free(memory);
}

static void rows_know_when_they_were_written(void **state)
{
    (void)state;
    replay *r = new_replay(2, 12, HORIZON);
    for (int episodes = 1; episodes < 9; episodes++) {
        live(r, episodes);
        for (int lane = 0; lane < 2; lane++) {
            int rows = replay_rows(r, lane);
            int64_t oldest = replay_written(r, lane) - rows;
            for (int i = 0; i < rows; i++)
                assert_int_equal(replay_when(r, 0, replay_at(r, lane, i).number), oldest + i);
        }
    }
    replay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_know_when_they_were_written),
        cmocka_unit_test(sampled_transitions_are_real),
        cmocka_unit_test(films_stay_in_their_episode),
        cmocka_unit_test(steps_of_an_episode_are_drawn_together),
        cmocka_unit_test(the_step_under_way_is_not_drawn),
        cmocka_unit_test(rows_come_back_in_the_order_they_were_lived),
        cmocka_unit_test(first_rows_see_later_ones_of_their_segment),
        cmocka_unit_test(segments_need_not_be_episodes),
        cmocka_unit_test(a_context_persists_beyond_its_segment),
        cmocka_unit_test(nothing_is_later_than_the_newest_row),
        cmocka_unit_test(successors_lie_ahead_in_the_episode),
        cmocka_unit_test(steps_before_a_row_are_those_that_were_lived),
        cmocka_unit_test(the_copy_has_every_row),
        cmocka_unit_test(running_statistics_equal_the_direct_ones),
        cmocka_unit_test(differences_have_statistics_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
