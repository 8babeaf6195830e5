/* test_api_worlds.c - worlds opened through the public interface are bit-identical to those of
 * `fans train`. */
#include <math.h>

#include "env/worlds.h"
#include "fans/fans.h"
#include "testing.h"
#include "train/source.h"

static const char FLIP[] = SOURCE_DIR "/configs/pendulum_flip.ini";
enum { N = 3, STEPS = 450 };

static fans_worlds *open_worlds(const char *horizon, fans_view *v)
{
    fans_config *c = NULL;
    fans_worlds *w = NULL;
    v->size = sizeof *v;
    assert_int_equal(fans_config_new(&c, FLIP, NULL), 0);
    assert_int_equal(fans_config_set(c, "env.horizon", horizon), 0);
    assert_int_equal(fans_config_set(c, "train.seed", "7"), 0);
    assert_int_equal(fans_worlds_open(&w, c, N, 2), 0);
    fans_config_free(c); /* the worlds keep what they need */
    assert_int_equal(fans_worlds_view(w, v), 0);
    return w;
}

static void act(fans_view *v, int t)
{
    for (int i = 0; i < N; i++) v->action[i] = (float)sin(0.1 * t + i);
}

static void same_worlds_as_in_training(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("200", &v);
    source from;
    worlds *ws;
    world_buffers b;
    arena *a;
    (void)state;
    assert_int_equal(source_read(&from, FLIP, NULL, NULL), 0);
    assert_int_equal(worlds_new(&ws, (const task *const *)&from.task, NULL, &(uint64_t){7}, 1, N),
                     0);
    assert_int_equal(arena_new(&a), 0);
    assert_int_equal(world_buffers_declare(&b, a, from.task, N, false), 0);
    assert_int_equal(arena_commit(a), 0);
    b.action = v.action;
    assert_int_equal(worlds_start(ws, &b), 0);
    int ends = 0;
    for (int t = 0; t < STEPS; t++) {
        assert_memory_equal(v.obs, b.obs, N * 3 * sizeof *v.obs);
        assert_memory_equal(v.factors, b.factors,
                            N * (size_t)from.task->info.factor_count * sizeof *v.factors);
        assert_memory_equal(v.change, b.change, N);
        act(&v, t);
        assert_int_equal(fans_worlds_step(w), 0);
        assert_int_equal(worlds_step(ws, &b), 0);
        assert_memory_equal(v.reward, b.reward, N * sizeof *v.reward);
        assert_memory_equal(v.final_obs, b.final_obs, N * 3 * sizeof *v.obs);
        assert_memory_equal(v.truncated, b.truncated, N);
        ends += v.truncated[0];
    }
    assert_int_equal(ends, STEPS / 200);
    worlds_free(ws);
    arena_free(a);
    source_free(&from);
    fans_worlds_free(w);
}

static void a_world_can_start_again(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("10", &v);
    float first[3];
    (void)state;
    memcpy(first, v.obs, sizeof first);
    for (int t = 0; t < 13; t++) {
        act(&v, t);
        assert_int_equal(fans_worlds_step(w), 0);
    }
    assert_int_equal(v.segment[0], 1);
    assert_int_equal(fans_worlds_start(w, 1, 7), 0); /* as world 0 of this seed */
    assert_memory_equal(v.obs + 3, first, sizeof first);
    assert_int_equal(v.segment[1], 0);
    assert_int_equal(v.segment[0], 1); /* the others continue */
    assert_int_equal(fans_worlds_start(w, -1, 7), 0);
    assert_memory_equal(v.obs, first, sizeof first);
    assert_true(memcmp(v.obs + 3, first, sizeof first));
    fans_worlds_free(w);
}

static void an_episode_can_be_given_up(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("10", &v);
    float before[3];
    (void)state;
    memcpy(before, v.obs, sizeof before);
    assert_int_equal(fans_worlds_reset(w, 0), 0); /* nothing to give up yet */
    assert_memory_equal(v.obs, before, sizeof before);
    act(&v, 0);
    assert_int_equal(fans_worlds_step(w), 0);
    assert_int_equal(fans_worlds_reset(w, 0), 0);
    assert_int_equal(v.segment[0], 1); /* a change per episode */
    assert_int_equal(v.change[0], 1);
    assert_int_equal(v.segment[1], 0);
    for (int t = 0; t < 9; t++) {
        act(&v, t);
        assert_int_equal(fans_worlds_step(w), 0);
        assert_int_equal(v.truncated[0], 0);
        assert_int_equal(v.truncated[1], t == 8);
    }
    fans_worlds_free(w);
}

static void a_factor_can_be_held(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("3", &v), *free_one;
    fans_view u;
    fans_task t = {.size = sizeof t};
    int torque = 0;
    (void)state;
    free_one = open_worlds("3", &u);
    assert_int_equal(fans_worlds_task(w, &t), 0);
    assert_int_equal(t.obs, 3);
    assert_int_equal(t.act, 1);
    assert_int_equal(t.horizon, 3);
    assert_int_equal(t.worlds, N);
    while (torque < t.factors && strcmp(t.names[torque], "torque")) torque++;
    assert_true(torque < t.factors);
    assert_int_equal(fans_worlds_hold(w, 0, "torque", 0.5), 0);
    assert_true(v.factors[torque] == 0.5);
    for (int k = 0; k < 20; k++) {
        assert_true(v.factors[torque] == 0.5);
        assert_true(v.factors[t.factors + torque] == u.factors[t.factors + torque]);
        assert_memory_equal(v.segment, u.segment, N * sizeof *v.segment);
        act(&v, k);
        act(&u, k);
        assert_int_equal(fans_worlds_step(w), 0);
        assert_int_equal(fans_worlds_step(free_one), 0);
    }
    assert_int_equal(fans_worlds_hold(w, 0, "torque", NAN), 0);
    assert_true(v.factors[torque] == u.factors[torque]);

    /* what is held now counts, not what was held when the world was saved */
    char saved[4096];
    int64_t bytes = fans_worlds_bytes(w);
    double wanted = v.factors[torque];
    assert_true(bytes > 0 && bytes <= (int64_t)sizeof saved);
    assert_int_equal(fans_worlds_hold(w, 0, "torque", 0.5), 0);
    assert_int_equal(fans_worlds_save(w, 0, saved, (size_t)bytes), 0);
    assert_int_equal(fans_worlds_hold(w, 0, "torque", NAN), 0);
    for (int k = 0; k < 7; k++) assert_int_equal(fans_worlds_step(w), 0);
    assert_int_equal(fans_worlds_restore(w, 0, saved, (size_t)bytes), 0);
    assert_true(v.factors[torque] == wanted);
    assert_int_equal(fans_worlds_hold(w, 0, "torque", 0.5), 0);
    assert_int_equal(fans_worlds_restore(w, 0, saved, (size_t)bytes), 0);
    assert_true(v.factors[torque] == 0.5);
    assert_int_equal(fans_worlds_hold(w, 0, "torque", NAN), 0);
    assert_true(v.factors[torque] == wanted);
    assert_fails(fans_worlds_hold(w, 0, "torque", 1e9), FANS_EINVAL, "torque = 1e+09: not from");
    assert_fails(fans_worlds_hold(w, 0, "torqe", 1), FANS_EINVAL, "did you mean 'torque'");
    fans_worlds_free(w);
    fans_worlds_free(free_one);
}

static void pictures_are_drawn(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("10", &v);
    uint8_t rgb[32 * 24 * 3] = {0};
    (void)state;
    int rc = fans_worlds_picture(w, 2, 32, 24, rgb);
    if (rc != FANS_ENOSUP) assert_int_equal(rc, 0);
    assert_int_equal(fans_worlds_draws(w), 1);
    assert_fails(fans_worlds_draws(NULL), FANS_EINVAL, "the set of worlds is NULL");
    assert_fails(fans_worlds_picture(w, 2, 0, 24, rgb), FANS_EINVAL, "0 × 24");
    assert_fails(fans_worlds_picture(w, N, 32, 24, rgb), FANS_EINVAL, "not from 0 to 2");
    fans_worlds_free(w);
}

static void factors_are_described(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("10", &v);
    fans_task t = {.size = sizeof t};
    fans_factor_info f = {.size = sizeof f};
    int moving = 0;
    (void)state;
    assert_int_equal(fans_worlds_task(w, &t), 0);
    for (int k = 0; k < t.factors; k++) {
        assert_int_equal(fans_worlds_factor(w, k, &f), 0);
        assert_string_equal(f.name, t.names[k]);
        assert_true(f.low <= f.from && f.from <= f.to && f.to <= f.high);
        assert_true(f.moves == !strcmp(f.name, "torque"));
        assert_true(f.moves ? f.from == -1 && f.to == 1 : f.from == f.initial && f.to == f.initial);
        moving += f.moves;
    }
    assert_int_equal(moving, 1);
    assert_fails(fans_worlds_factor(w, t.factors, &f), FANS_EINVAL, "not from 0 to");
    f.size = 4;
    assert_fails(fans_worlds_factor(w, 0, &f), FANS_EINVAL, "size");
    fans_worlds_free(w);
}

/* What was saved lives the same life again, in whichever world it is restored. */
static void a_world_can_be_saved(void **state)
{
    enum { MORE = 25 };
    fans_view v, u;
    fans_worlds *w = open_worlds("10", &v), *other = open_worlds("10", &u);
    size_t n = (size_t)fans_worlds_bytes(w);
    char *saved = mem_alloc(n);
    (void)state;
    for (int k = 0; k < 7; k++) {
        act(&v, k);
        assert_int_equal(fans_worlds_step(w), 0);
    }
    assert_int_equal(fans_worlds_save(w, 1, saved, n), 0);
    assert_int_equal(fans_worlds_restore(other, 0, saved, n), 0);
    for (int k = 0; k < MORE; k++) {
        assert_memory_equal(u.obs, v.obs + 3, 3 * sizeof *v.obs);
        assert_int_equal(u.segment[0], v.segment[1]);
        assert_int_equal(u.truncated[0], k == 0 ? 0 : v.truncated[1]);
        act(&v, k);
        u.action[0] = v.action[1];
        assert_int_equal(fans_worlds_step(w), 0);
        assert_int_equal(fans_worlds_step(other), 0);
        assert_true(u.reward[0] == v.reward[1]);
    }
    assert_fails(fans_worlds_save(w, N, saved, n), FANS_EINVAL, "not from 0 to 2");
    assert_fails(fans_worlds_save(w, 0, saved, n - 1), FANS_EINVAL, "a state of this task has");
    assert_fails(fans_worlds_restore(w, 0, NULL, n), FANS_EINVAL, "state is NULL");
    memset(saved, 0xff, n);
    assert_fails(fans_worlds_restore(w, 0, saved, n), FANS_EFORMAT, "saved world");
    assert_fails(fans_worlds_step(w), FANS_EINVAL, "world 0 has failed");
    mem_free(saved);
    fans_worlds_free(w);
    fans_worlds_free(other);
}

/* A failed world is named, and refuses steps until it starts again. */
static void a_failed_world_must_start_again(void **state)
{
    fans_view v;
    fans_worlds *w = open_worlds("10", &v);
    (void)state;
    act(&v, 0);
    v.action[1] = NAN;
    assert_fails(fans_worlds_step(w), FANS_ENUMERIC, "world 1");
    act(&v, 0);
    assert_fails(fans_worlds_step(w), FANS_EINVAL, "world 1 has failed");
    assert_fails(fans_worlds_reset(w, -1), FANS_EINVAL, "world 1 has failed");
    assert_int_equal(fans_worlds_start(w, 1, 3), 0);
    assert_int_equal(fans_worlds_step(w), 0);
    fans_worlds_free(w);
}

static int open_and_step(void)
{
    fans_config *c = NULL;
    fans_worlds *w = NULL;
    int rc = fans_config_new(&c, FLIP, NULL);
    if (rc == 0) rc = fans_worlds_open(&w, c, 2, 1);
    if (rc == 0) rc = fans_worlds_step(w);
    fans_worlds_free(w);
    fans_config_free(c);
    return rc;
}

static void mistakes_are_told(void **state)
{
    fans_config *c = NULL;
    fans_worlds *w = NULL;
    (void)state;
    assert_int_equal(fans_config_new(&c, NULL, NULL), 0);
    assert_fails(fans_worlds_open(&w, c, 1, 1), FANS_EINVAL, "names no environment");
    assert_int_equal(fans_config_set(c, "env.name", "pendulum"), 0);
    assert_int_equal(fans_config_set(c, "env.nothing", "1"), 0);
    assert_fails(fans_worlds_open(&w, c, 1, 1), FANS_EINVAL, "nothing");
    assert_fails(fans_worlds_open(&w, c, 0, 1), FANS_EINVAL, "n = 0");
    assert_fails(fans_worlds_open(&w, NULL, 1, 1), FANS_EINVAL, "the config is NULL");
    assert_fails(fans_worlds_step((fans_worlds *)c), FANS_EINVAL, "this is no set of worlds");
    assert_fails(fans_worlds_step(NULL), FANS_EINVAL, "the set of worlds is NULL");
    fans_config_free(c);
    fail_every_allocation(open_and_step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_worlds_as_in_training),
        cmocka_unit_test(a_world_can_start_again),
        cmocka_unit_test(an_episode_can_be_given_up),
        cmocka_unit_test(a_factor_can_be_held),
        cmocka_unit_test(pictures_are_drawn),
        cmocka_unit_test(factors_are_described),
        cmocka_unit_test(a_world_can_be_saved),
        cmocka_unit_test(a_failed_world_must_start_again),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
