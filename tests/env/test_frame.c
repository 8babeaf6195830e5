/* test_frame.c - a robot that moves stays in its picture, head and feet included. */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "fans/env.h"
#include "testing.h"

extern const fans_env_def env_half_cheetah;

enum { W = 240, H = 160, GAUGES = H / 5, STEPS = 150, ACTIONS = 6 };

static bool is_robot(const uint8_t *p)
{
    return p[0] > 90 && 2 * p[0] > 3 * p[2];
}

/* How much of the robot is to be seen below the gauges; and at the picture's edges. */
static void count(const uint8_t *rgb, int *seen, int *edge)
{
    *seen = *edge = 0;
    for (int y = GAUGES; y < H; y++)
        for (int x = 0; x < W; x++) {
            if (!is_robot(rgb + 3 * (y * W + x))) continue;
            ++*seen;
            *edge += x < 2 || x >= W - 2 || y < GAUGES + 2 || y >= H - 2;
        }
}

static void the_cheetah_stays_in_the_frame(void **state)
{
    static uint8_t rgb[3 * W * H];
    float obs[32], action[ACTIONS];
    double options[16];
    fans_env_info info;
    fans_env_result result;
    void *env;
    int seen, edge;
    rng r = rng_stream(1, "test", 0);
    (void)state;
    setenv("FANS_GL", "none", 1);
    const fans_env_def *def = &env_half_cheetah;
    for (int k = 0; k < def->option_count; k++) options[k] = def->options[k].initial;
    assert_int_equal(def->open(&env, &info, options, 1), 0);
    assert_true(info.obs_dim <= (int)COUNT(obs) && info.act_dim == ACTIONS);
    assert_int_equal(def->reset(env, &r, obs), 0);
    for (int t = 0; t < STEPS; t++) {
        for (int k = 0; k < ACTIONS; k++) action[k] = (float)(0.4 * sin(0.9 * t + k));
        assert_int_equal(def->step(env, &r, action, obs, &result), 0);
        if (t % 10) continue;
        assert_int_equal(def->picture(env, W, H, rgb), 0);
        count(rgb, &seen, &edge);
        assert_true(seen > W * H / 100);
        assert_int_equal(edge, 0);
    }
    def->close(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheetah_stays_in_the_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
