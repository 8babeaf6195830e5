/* test_world.c - worlds: what a step shows, autoreset, saving, threads, and every way to fail. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "env_life.h"
#include "plugins/faulty_env.h"

#define CHANGING_FNMDP                                                                       \
    "[env]\nname = fnmdp\nd = 5\n"                                                           \
    "[change.theta_s0]\nclock = random\nrate = 0.05\nfunction = walk\nlow = -3\nhigh = 3\n"  \
    "step = 0.5\n"                                                                           \
    "[change.theta_s1]\nclock = block\nlength = 7\nfunction = uniform\nlow = -2\nhigh = 2\n" \
    "[change.theta_r0]\nclock = episode\nfunction = choice\nvalues = -1, 0, 2\n"

static void begin(env_life *l, const char *ini, pool *p, int n, uint64_t seed)
{
    if (env_life_begin(l, ini, p, n, seed) < 0) fail_msg("%s", fans_error());
}

static void step(env_life *l)
{
    if (env_life_step(l) < 0) fail_msg("%s", fans_error());
}

/* ---- what a step shows ----------------------------------------------------------------------- */

/* The factors shown before a step are those that it runs under, at every step and across episode
 * ends: the pendulum's equation gives the next speed from them. */
static void factors_are_those_of_the_step(void **state)
{
    (void)state;
    env_life l;
    begin(&l,
          "[env]\nname = pendulum\nhorizon = 30\n[change.gravity]\nclock = step\nfunction = sine\n"
          "offset = 10\namplitude = 9\nfrequency = 0.7\n",
          NULL, 1, 1);
    for (int t = 0; t < 500; t++) {
        double gravity = l.b.factors[0], sine = (double)l.b.obs[1], speed = (double)l.b.obs[2];
        assert_true(fabs(gravity - (10 + 9 * sin(0.7 * t))) < 1e-12);
        assert_int_equal(l.b.segment[0], t);
        assert_int_equal(l.b.change[0], t > 0);
        step(&l);
        double wanted = speed + 0.05 * (1.5 * gravity * sine + 3 * 2 * (double)l.action[0]);
        wanted = fmin(fmax(wanted, -8), 8);
        assert_true(fabs((double)l.b.final_obs[2] - wanted) < 2e-6);
    }
    env_life_end(&l);
}

static void episodes_follow_in_the_same_step(void **state)
{
    (void)state;
    env_life l;
    begin(&l, "[env]\nname = pendulum\nhorizon = 25\n", NULL, 1, 1);
    for (int t = 1; t <= 100; t++) {
        step(&l);
        assert_int_equal(l.b.truncated[0], t % 25 == 0);
        assert_int_equal(l.b.terminated[0], 0);
        assert_true(isnan(l.b.success[0]));
        bool same = !memcmp(l.b.obs, l.b.final_obs, 3 * sizeof(float));
        assert_int_equal(same, t % 25 != 0);
        sched_time now = world_time(worlds_at(l.worlds, 0));
        assert_int_equal(now.t, t);
        assert_int_equal(now.episode, t / 25);
        assert_int_equal(now.tau, t % 25);
    }
    env_life_end(&l);
}

/* The river of examples/custom_env.c ends when the boat lands; that is no truncation. */
static void termination_is_not_truncation(void **state)
{
    (void)state;
    env_life l;
    begin(&l, "[env]\nname = " PLUGIN_DIR "/custom_env.so\nwidth = 5\n", NULL, 1, 1);
    int landed = 0, length = 0;
    for (int t = 0; t < 1000; t++) {
        l.action[0] = 0;
        l.action[1] = 1;
        assert_int_equal(worlds_step(l.worlds, &l.b), 0);
        length++;
        if (l.b.terminated[0]) {
            assert_false(l.b.truncated[0]);
            assert_true(length < 100 && l.b.final_obs[1] >= 1 && l.b.obs[1] == 0);
            assert_true(l.b.success[0] == 0 || l.b.success[0] == 1);
            landed++;
            length = 0;
        }
    }
    assert_true(landed > 10);
    env_life_end(&l);
}

/* What the cameras saw belongs to the same moments as the observations. */
static void pixels_follow_the_observations(void **state)
{
    (void)state;
    env_life l;
    begin(&l, "[env]\nname = " PLUGIN_DIR "/faulty_env.so\nhorizon = 10\n", NULL, 3, 1);
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 12; k++) {
                assert_true(fabs(l.b.pixels[12 * i + k] - (128 + 100 * (double)l.b.obs[2 * i])) <=
                            1);
                double last = 128 + 100 * (double)l.b.final_obs[2 * i];
                assert_true(t == 0 || fabs(l.b.final_pixels[12 * i + k] - last) <= 1);
            }
        step(&l);
    }
    env_life_end(&l);
}

/* ---- preludes -------------------------------------------------------------------------------- */

static void start_anew(env_life *l, int64_t prelude)
{
    worlds_set_prelude(l->worlds, prelude);
    if (worlds_start(l->worlds, &l->b) < 0) fail_msg("%s", fans_error());
}

/* Whatever its clock, a factor is drawn in each episode of the prelude, from its range or its
 * choices. Constants stay. */
static void a_prelude_draws_factors_in_every_episode(void **state)
{
    (void)state;
    enum { EPISODES = 200, H = 20 };
    double sum = 0, last[3] = {0};
    env_life l;
    int twos = 0;
    begin(&l,
          "[env]\nname = fnmdp\nhorizon = 20\n"
          "[change.theta_s0]\nclock = step\nfunction = sine\namplitude = 2\n"
          "[change.theta_s1]\nfunction = constant\noffset = 1.5\n"
          "[change.theta_r0]\nclock = block\nfunction = choice\nvalues = -1, 2\n",
          NULL, 1, 1);
    start_anew(&l, EPISODES * H);
    for (int t = 0; t < EPISODES * H; t++, step(&l)) {
        const double *f = l.b.factors;
        bool first = t % H == 0;
        assert_int_equal(l.b.change[0], first && t > 0);
        assert_int_equal(l.b.segment[0], t / H);
        assert_true(first == (f[0] != last[0]));
        assert_true(fabs(f[0]) <= 2 && f[1] == 1.5 && (f[2] == -1 || f[2] == 2));
        if (t > 0) assert_true(world_was_in_prelude(worlds_at(l.worlds, 0)));
        sum += first ? fabs(f[0]) : 0;
        twos += first && f[2] == 2;
        memcpy(last, f, sizeof last);
    }
    assert_true(fabs(sum / EPISODES - 1) < 0.15); /* of a uniform distribution from -2 to 2 */
    assert_in_range(twos, 70, 130);
    env_life_end(&l);
}

/* Then everything is as in a lifetime that starts here; the steps are rounded up to an episode. */
static void the_schedule_begins_after_the_prelude(void **state)
{
    (void)state;
    env_life l, other;
    begin(&l, CHANGING_FNMDP, NULL, 1, 1);
    begin(&other, CHANGING_FNMDP, NULL, 1, 1);
    start_anew(&l, 60); /* episodes have 50 steps */
    for (int t = 0; t < 100; t++) step(&l);
    assert_true(world_was_in_prelude(worlds_at(l.worlds, 0)));
    assert_int_equal(l.b.change[0], 1);
    for (int t = 0; t < 500; t++) {
        assert_memory_equal(l.b.factors, other.b.factors, 3 * sizeof(double));
        assert_int_equal(l.b.segment[0], other.b.segment[0] + 2);
        if (t > 0) assert_int_equal(l.b.change[0], other.b.change[0]);
        step(&l);
        step(&other);
        assert_false(world_was_in_prelude(worlds_at(l.worlds, 0)));
    }
    env_life_end(&l);
    env_life_end(&other);
}

/* ---- saving, threads, memory ----------------------------------------------------------------- */

static void a_restored_world_goes_on_exactly(void **state)
{
    (void)state;
    enum { STEPS = 1000, D = 5, F = 3 };
    static float obs[STEPS][D], reward[STEPS];
    static double factors[STEPS][F];
    static int64_t segment[STEPS];
    env_life l, other;
    begin(&l, CHANGING_FNMDP, NULL, 1, 1);
    begin(&other, CHANGING_FNMDP, NULL, 1, 99);
    for (int t = 0; t < 173; t++) step(&l); /* step 23 of episode 3 */
    world *w = worlds_at(l.worlds, 0), *o = worlds_at(other.worlds, 0);
    char *bytes = mem_alloc(world_state_bytes(w));
    world_save(w, bytes);
    rng actions = l.actions;
    for (int t = 0; t < STEPS; t++) {
        step(&l);
        memcpy(obs[t], l.b.obs, sizeof obs[t]);
        memcpy(factors[t], l.b.factors, sizeof factors[t]);
        reward[t] = l.b.reward[0];
        segment[t] = l.b.segment[0];
    }
    assert_true(segment[STEPS - 1] > 100);
    assert_int_equal(world_restore(o, bytes, &other.b, 0), 0);
    other.actions = actions;
    for (int t = 0; t < STEPS; t++) {
        step(&other);
        assert_memory_equal(obs[t], other.b.obs, sizeof obs[t]);
        assert_memory_equal(factors[t], other.b.factors, sizeof factors[t]);
        assert_memory_equal(&reward[t], other.b.reward, sizeof reward[t]);
        assert_int_equal(segment[t], other.b.segment[0]);
    }
    mem_free(bytes);
    env_life_end(&l);
    env_life_end(&other);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    enum { N = 37, STEPS = 300, D = 5, F = 3 };
    env_life alone;
    begin(&alone, CHANGING_FNMDP, NULL, N, 5);
    pool *pools[3];
    env_life shared[3];
    for (int k = 0; k < 3; k++) {
        assert_int_equal(pool_new(&pools[k], k + 1), 0);
        begin(&shared[k], CHANGING_FNMDP, pools[k], N, 5);
    }
    for (int t = 0; t < STEPS; t++) {
        step(&alone);
        for (int k = 0; k < 3; k++) {
            const world_buffers *a = &alone.b, *b = &shared[k].b;
            step(&shared[k]);
            assert_memory_equal(a->obs, b->obs, N * D * sizeof(float));
            assert_memory_equal(a->final_obs, b->final_obs, N * D * sizeof(float));
            assert_memory_equal(a->factors, b->factors, N * F * sizeof(double));
            assert_memory_equal(a->reward, b->reward, N * sizeof(float));
            assert_memory_equal(a->segment, b->segment, N * sizeof(int64_t));
            assert_memory_equal(a->change, b->change, N);
            assert_memory_equal(a->truncated, b->truncated, N);
        }
    }
    /* and the worlds are lives of their own */
    for (int i = 1; i < N; i++)
        assert_memory_not_equal(alone.b.obs, alone.b.obs + i * D, D * sizeof(float));
    env_life_end(&alone);
    for (int k = 0; k < 3; k++) {
        env_life_end(&shared[k]);
        pool_free(pools[k]);
    }
}

static void stepping_allocates_nothing(void **state)
{
    (void)state;
    pool *p;
    env_life l;
    assert_int_equal(pool_new(&p, 2), 0);
    begin(&l, CHANGING_FNMDP, p, 20, 1);
    uint64_t before = mem_count();
    for (int t = 0; t < 500; t++) step(&l);
    assert_int_equal(mem_count(), before);
    env_life_end(&l);
    pool_free(p);
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    uint64_t held = mem_held();
    int failures = 0;
    for (uint64_t n = 1;; n++, failures++) {
        env_life l;
        mem_fail_at(n);
        int rc = env_life_begin(&l, CHANGING_FNMDP, NULL, 2, 1);
        mem_fail_at(0);
        if (rc == 0) {
            env_life_end(&l);
            break;
        }
        assert_int_equal(rc, FANS_ENOMEM);
        assert_int_equal(mem_held(), held);
    }
    assert_int_equal(mem_held(), held);
    assert_true(failures > 20);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void numbers_that_are_none_stop_the_world(void **state)
{
    (void)state;
    static const struct {
        int fault, code;
        const char *message;
    } faults[] = {
        {FAULT_NAN_OBS, FANS_ENUMERIC,
         "world 0: faulty, episode 1, step 30: observation 1 (obs1) is nan"},
        {FAULT_INF_REWARD, FANS_ENUMERIC, "world 0: faulty, episode 1, step 30: the reward is inf"},
        {FAULT_ERROR, FANS_EIO, "world 0: faulty, episode 1, step 30: the spring broke"},
        {FAULT_SILENT, FANS_EINVAL,
         "world 0: faulty, episode 1, step 30: step returned -42 and set no message"},
    };
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        char ini[512];
        snprintf(ini, sizeof ini,
                 "[env]\nname = " PLUGIN_DIR "/faulty_env.so\nfault = %d\nwhen = 70\n",
                 faults[k].fault);
        env_life l;
        pool *p;
        assert_int_equal(pool_new(&p, 2), 0);
        begin(&l, ini, p, 5, 1); /* all five fail, maybe on another thread: the first is named */
        for (int t = 0; t < 70; t++) step(&l);
        assert_int_equal(env_life_step(&l), faults[k].code);
        const char *message = fans_error(), *minus = strstr(message, "-nan");
        char plain[256]; /* the sign of a NaN is no concern of ours */
        snprintf(plain, sizeof plain, "%.*s%s", minus ? (int)(minus - message) : 255, message,
                 minus ? minus + 1 : "");
        assert_string_equal(plain, faults[k].message);
        env_life_end(&l);
        pool_free(p);
    }
}

static void an_action_must_be_a_number(void **state)
{
    (void)state;
    env_life l;
    begin(&l, "[env]\nname = pendulum\n", NULL, 1, 1);
    l.action[0] = NAN;
    assert_int_equal(worlds_step(l.worlds, &l.b), FANS_ENUMERIC);
    assert_non_null(strstr(fans_error(), "pendulum, episode 0, step 0: action 0 (torque) is"));
    env_life_end(&l);
}

static void wrong_configs_give_one_clear_line(void **state)
{
    (void)state;
    static const struct {
        const char *ini, *message;
    } wrong[] = {
        {"[env]\nhorizon = 5\n", "the config names no environment: [env] name = ..."},
        {"[env]\nname = pendulun\n",
         "test, line 2: no environment 'pendulun'; did you mean 'pendulum'? (a "
         "library of your own is named by its "
         "path)"},
        {"[env]\nname = fnmdp\ndensty = 0.2\n",
         "test, line 3: [env]: unknown key 'densty'; did you mean 'density'?"},
        {"[env]\nname = fnmdp\ndensity = 2\n",
         "test, line 3: [env]: density = 2: not a number from 0 to 1"},
        {"[env]\nname = fnmdp\nd = 2.5\n", "fnmdp: d = 2.5: not a whole number"},
        {"[env]\nname = fnmdp\np = 1\n[change.theta_s1]\nfunction = sine\n",
         "test, line 5: [change.theta_s1]: fnmdp has no factor 'theta_s1'; did you mean "
         "'theta_s0'?"},
        {"[env]\nname = pendulum\nhorizon = -1\n",
         "test, line 3: [env]: horizon = -1: not a whole number from 0 to 1e+09"},
        {"[env]\nname = pendulum\n[chnge.gravity]\nclock = step\n",
         "test, line 4: unknown section [chnge.gravity]"},
        {"[env]\nname = " PLUGIN_DIR "/faulty_env.so\nfault = 17\n",
         "faulty: obs_dim 2, act_dim 1, horizon 0: must all be positive"},
        {"[env]\nname = " PLUGIN_DIR "/faulty_env.so\nfault = 18\n",
         "faulty: cannot be opened today"},
        {"[env]\nname = " PLUGIN_DIR "/wrong_symbol.so\n",
         "test, line 2: " PLUGIN_DIR "/wrong_symbol.so: exports no 'const fans_env_def fans_env'"},
        {"[env]\nname = " PLUGIN_DIR "/wrong_abi.so\n",
         "test, line 2: " PLUGIN_DIR
         "/wrong_abi.so: built for environment ABI 3, this FANS has 2: rebuild it"},
        {"[env]\nname = " PLUGIN_DIR "/wrong_part.so\n",
         "test, line 2: " PLUGIN_DIR "/wrong_part.so: fans_env.open is missing"},
        {"[env]\nname = ./nowhere.so\n", "test, line 2: ./nowhere.so: cannot load: ./nowhere.so: "
                                         "cannot open shared object file: No such file or "
                                         "directory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        task *t = NULL;
        assert_true(env_task(&t, wrong[i].ini) < 0);
        assert_null(t);
        if (strncmp(fans_error(), wrong[i].message, strlen(wrong[i].message)))
            assert_string_equal(fans_error(), wrong[i].message);
    }
}

static void a_dump_reads_back(void **state)
{
    (void)state;
    task *t, *again;
    text first = {0}, second = {0};
    assert_int_equal(env_task(&t, CHANGING_FNMDP), 0);
    task_dump(t, &first);
    assert_int_equal(env_task(&again, first.s), 0);
    task_dump(again, &second);
    assert_string_equal(first.s, second.s);
    assert_non_null(strstr(first.s, "name = fnmdp\nhorizon = 0\nworld_seed = 0\nd = 5\nm = 2\n"));
    text_free(&first);
    text_free(&second);
    task_free(t);
    task_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_of_the_step),
        cmocka_unit_test(episodes_follow_in_the_same_step),
        cmocka_unit_test(termination_is_not_truncation),
        cmocka_unit_test(pixels_follow_the_observations),
        cmocka_unit_test(a_prelude_draws_factors_in_every_episode),
        cmocka_unit_test(the_schedule_begins_after_the_prelude),
        cmocka_unit_test(a_restored_world_goes_on_exactly),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(stepping_allocates_nothing),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(numbers_that_are_none_stop_the_world),
        cmocka_unit_test(an_action_must_be_a_number),
        cmocka_unit_test(wrong_configs_give_one_clear_line),
        cmocka_unit_test(a_dump_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
