/* test_schedule.c - every schedule of the configs against its closed form over 3,000 episodes, the
 * clocks and their segments, the random functions, and the messages of wrong sections. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "env/schedule.h"

/* Stands for any environment: all factors that the configs name, with wide ranges. */
static const fans_factor factors[] = {
    {"wind", FANS_DYNAMICS, -50, 50, 0, ""},    {"gravity", FANS_DYNAMICS, 0, 30, 9.81, ""},
    {"speed", FANS_REWARD, -5, 5, 1.5, ""},     {"joint", FANS_DYNAMICS, 0, 6, 0, ""},
    {"motor", FANS_DYNAMICS, -1, 2, 1, ""},     {"friction", FANS_DYNAMICS, 0, 4, 1, ""},
    {"mass", FANS_DYNAMICS, 0.1, 10, 2, ""},    {"target_x", FANS_REWARD, -1, 1, 0, ""},
    {"target_y", FANS_REWARD, -1, 1, 0.75, ""}, {"target_z", FANS_REWARD, -1, 1, 0.2, ""},
    {"box", FANS_REWARD, 0, 3, 0, ""},          {"theta_s0", FANS_DYNAMICS, -3, 3, 0, ""},
    {"theta_s1", FANS_DYNAMICS, -3, 3, 0, ""},  {"theta_r0", FANS_REWARD, -3, 3, 0, ""},
    {"torque", FANS_DYNAMICS, -2, 2, 1, ""},
};
static const fans_env_info info = {.factors = factors,
                                   .factor_count = sizeof factors / sizeof *factors};

static schedule *load(const char *ini, const char *file)
{
    config *c;
    schedule *s = NULL;
    assert_int_equal(config_new(&c), 0);
    char path[512];
    snprintf(path, sizeof path, SOURCE_DIR "/configs/%s.ini", file ? file : "");
    int rc = ini ? config_add_text(c, "test", ini) : config_add_file(c, path);
    if (rc == 0) rc = schedule_load(&s, c, &info, "test_env");
    if (rc < 0) fail_msg("%s", fans_error());
    config_free(c);
    return s;
}

static int rule_of(const schedule *s, const char *factor)
{
    for (int k = 0; k < schedule_rules(s); k++)
        if (!strcmp(factors[schedule_factor(s, k)].name, factor)) return k;
    fail_msg("no rule for %s", factor);
    return -1;
}

/* ---- a lifetime ------------------------------------------------------------------------------ */

enum { MOST_RULES = 4 };

typedef struct life {
    const schedule *s;
    sched_life id;
    int horizon;
    sched_time now;
    sched_state states[MOST_RULES];
    double values[MOST_RULES];
    bool changed;
    int64_t segment;
} life;

static life begin(const schedule *s, uint64_t seed, int horizon)
{
    life l = {.s = s, .id = {seed, 0}, .horizon = horizon};
    l.changed = schedule_advance(s, l.id, &l.now, l.states, l.values);
    return l;
}

static void next(life *l)
{
    l->now.t++;
    if (++l->now.tau == l->horizon) {
        l->now.tau = 0;
        l->now.episode++;
    }
    l->changed = schedule_advance(l->s, l->id, &l->now, l->states, l->values);
    l->segment += l->changed;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

#define FORM(name, expression)                         \
    static double name(double i, double t, double tau) \
    {                                                  \
        (void)i, (void)t, (void)tau;                   \
        return expression;                             \
    }
FORM(wind_sine, 10 + 10 * sin(0.5 * i))
FORM(wind_damped, 10 + 3 * pow(1.01, -ceil(i / 10)) * sin(0.5 * i))
FORM(wind_piecewise, 5 + 0.02 * fabs(i - 1500))
FORM(wind_block, 10 + 10 * sin(0.4 * floor(tau / 10)))
FORM(wind_step, 10 + 10 * sin(0.005 * t))
FORM(speed_slow, 1.5 + 1.5 * sin(0.2 * i))
FORM(speed_fast, 1.5 + 1.5 * sin(0.5 * i))
FORM(gravity, 9.81 * (1 + 0.3 * sin(0.35 * i)))
FORM(motor, cos(0.5 * i))
FORM(friction, 1 + 0.9 * sin(0.5 * i))
FORM(target_x, 0.1 * fabs(cos(0.2 * i)))
FORM(target_y, 0.75 + 0.1 * sin(0.5 * i))
FORM(target_z, 0.2)
FORM(mass_step, 2 * (1 + 0.75 * sin(0.005 * t)))
FORM(mass_block, 2 * (1 + 0.75 * sin(0.3 * floor(tau / 20))))
FORM(mass_episode, 2 * (1 + 0.5 * sin(0.5 * i)))
FORM(minitaur_speed, 0.3 + 0.2 * sin(0.5 * i))
FORM(pendulum_gravity, 9.81 * (1 + 0.5 * sin(0.5 * i)))
FORM(theta_step, 2 * sin(0.0035 * t))
FORM(theta_block, 2 * sin(1.4 * floor(tau / 10) + 1))
FORM(theta_episode, 2 * sin(0.35 * i))

static const struct {
    const char *config, *factor;
    int horizon;
    double (*form)(double i, double t, double tau);
} rows[] = {
    {"half_cheetah_aep_d_sine", "wind", 50, wind_sine},
    {"half_cheetah_aep_d_damped", "wind", 50, wind_damped},
    {"half_cheetah_aep_d_piecewise", "wind", 50, wind_piecewise},
    {"half_cheetah_wep_d", "wind", 50, wind_block},
    {"half_cheetah_cont_d", "wind", 50, wind_step},
    {"half_cheetah_aep_r", "speed", 50, speed_slow},
    {"half_cheetah_aep_rd", "wind", 50, wind_sine},
    {"half_cheetah_aep_rd", "speed", 50, speed_fast},
    {"half_cheetah_1d", "wind", 50, wind_sine},
    {"half_cheetah_2d", "wind", 50, wind_sine},
    {"half_cheetah_2d", "gravity", 50, gravity},
    {"half_cheetah_1d1r", "wind", 50, wind_sine},
    {"half_cheetah_1d1r", "speed", 50, speed_fast},
    {"half_cheetah_2d1r", "wind", 50, wind_sine},
    {"half_cheetah_2d1r", "gravity", 50, gravity},
    {"half_cheetah_2d1r", "speed", 50, speed_fast},
    {"half_cheetah_aep_d_motor", "motor", 50, motor},
    {"half_cheetah_aep_d_friction", "friction", 50, friction},
    {"sawyer_reach_aep_r", "target_x", 150, target_x},
    {"sawyer_reach_aep_r", "target_y", 150, target_y},
    {"sawyer_reach_aep_r", "target_z", 150, target_z},
    {"minitaur_cont_d", "mass", 100, mass_step},
    {"minitaur_wep_d", "mass", 100, mass_block},
    {"minitaur_aep_r", "speed", 100, minitaur_speed},
    {"minitaur_aep_rd", "speed", 100, minitaur_speed},
    {"minitaur_aep_rd", "mass", 100, mass_episode},
    {"pendulum_gravity", "gravity", 200, pendulum_gravity},
    {"pendulum_torque", "torque", 200, motor},
    {"fnmdp_cont", "theta_s1", 50, theta_step},
    {"fnmdp_wep", "theta_s1", 50, theta_block},
    {"fnmdp_aep", "theta_s1", 50, theta_episode},
};

static void every_row_equals_its_closed_form(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        schedule *s = load(NULL, rows[r].config);
        int k = rule_of(s, rows[r].factor);
        for (life l = begin(s, 1, rows[r].horizon); l.now.episode < 3000; next(&l)) {
            double wanted = rows[r].form((double)l.now.episode, (double)l.now.t, (double)l.now.tau);
            if (fabs(l.values[k] - wanted) > 1e-12)
                fail_msg("%s, %s: %.17g instead of %.17g in episode %lld", rows[r].config,
                         rows[r].factor, l.values[k], wanted, (long long)l.now.episode);
        }
        schedule_free(s);
    }
}

/* The paper's figure (e) names these episodes of the A-EP(R) task with their target speeds. */
static void printed_speeds_come_out(void **state)
{
    (void)state;
    static const struct {
        int episode;
        double speed;
    } printed[] = {{148, 0.04}, {279, 0.48}, {155, 0.89}, {159, 2.06}, {230, 2.85}};
    schedule *s = load(NULL, "half_cheetah_aep_r");
    for (life l = begin(s, 1, 50); l.now.episode < 300; next(&l))
        for (int k = 0; k < 5; k++)
            if (l.now.episode == printed[k].episode)
                assert_true(fabs(l.values[0] - printed[k].speed) < 0.005);
    schedule_free(s);
}

/* ---- segments -------------------------------------------------------------------------------- */

static int64_t segments_after(const char *ini, const char *file, int horizon, int64_t steps)
{
    schedule *s = load(ini, file);
    life l = begin(s, 1, horizon);
    assert_false(l.changed); /* nothing was before the first step */
    while (l.now.t < steps) next(&l);
    schedule_free(s);
    return l.segment;
}

static void segments_follow_the_clocks(void **state)
{
    (void)state;
    assert_int_equal(segments_after(NULL, "half_cheetah", 50, 1000), 0);
    assert_int_equal(segments_after(NULL, "half_cheetah_aep_d_sine", 50, 1000), 20);
    assert_int_equal(segments_after(NULL, "half_cheetah_aep_a", 50, 1000), 20); /* equal ones too */
    assert_int_equal(segments_after(NULL, "half_cheetah_wep_d", 50, 1000), 100);
    assert_int_equal(segments_after(NULL, "half_cheetah_cont_d", 50, 1000), 1000);
    /* a constant never ticks, nor does it hide the others' ticks */
    assert_int_equal(segments_after(NULL, "sawyer_reach_aep_r", 50, 1000), 20);
    /* two clocks: episodes of 50, blocks of 20 (at 0, 20, 40 of each) */
    const char *both = "[change.wind]\nfunction = sine\n"
                       "[change.mass]\nclock = block\nlength = 20\nfunction = uniform\nlow = 1\n"
                       "high = 2\n";
    assert_int_equal(segments_after(both, NULL, 50, 1000), 60);
    /* one block an episode still ends with it */
    const char *longer = "[change.wind]\nclock = block\nlength = 80\nfunction = sine\n";
    assert_int_equal(segments_after(longer, NULL, 50, 1000), 20);
}

static void steps_tick_at_their_points_only(void **state)
{
    (void)state;
    schedule *s = load("[change.wind]\nclock = step\nfunction = steps\npoints = 0:1, 7:2, 10:-3\n"
                       "period = 15\n",
                       NULL);
    for (life l = begin(s, 1, 50); l.now.t < 300; next(&l)) {
        int64_t n = l.now.t % 15;
        assert_true(l.values[0] == (n < 7 ? 1 : n < 10 ? 2 : -3));
        assert_int_equal(l.changed, l.now.t > 0 && (n == 0 || n == 7 || n == 10));
    }
    schedule_free(s);
}

static void listed_change_points_are_kept(void **state)
{
    (void)state;
    schedule *s = load("[change.wind]\nclock = random\nat = 3, 40, 41, 120\nfunction = linear\n"
                       "points = 0:0, 4:40\n",
                       NULL);
    for (life l = begin(s, 1, 50); l.now.t < 200; next(&l)) {
        int64_t t = l.now.t;
        assert_int_equal(l.changed, t == 3 || t == 40 || t == 41 || t == 120);
        assert_true(l.values[0] == 10.0 * ((t >= 3) + (t >= 40) + (t >= 41) + (t >= 120)));
    }
    schedule_free(s);
}

static void measured_points_may_be_many(void **state)
{
    (void)state;
    enum { N = 2000 };
    text ini = {0};
    text_add(&ini, "[change.wind]\nclock = random\nat = ");
    for (int i = 1; i < N; i++) text_add(&ini, "%d,\n  ", 3 * i);
    text_add(&ini, "%d\nfunction = linear\npoints = ", 3 * N);
    for (int i = 0; i < N; i++) text_add(&ini, "%d:%d, ", 2 * i, i % 40);
    text_add(&ini, "%d:0\n", 2 * N);
    schedule *s = load(ini.s, NULL);
    for (life l = begin(s, 1, 50); l.now.t < 3 * N; next(&l)) {
        int64_t n = l.now.t / 3;
        assert_int_equal(l.changed, l.now.t > 0 && l.now.t % 3 == 0);
        double a = (double)(n / 2 % 40), b = n / 2 + 1 == N ? 0 : (double)((n / 2 + 1) % 40);
        assert_true(l.values[0] == (n % 2 ? (a + b) / 2 : a));
    }
    schedule_free(s);
    text_free(&ini);
}

static void random_change_points_have_their_rate(void **state)
{
    (void)state;
    enum { N = 200000 };
    schedule *s = load("[change.wind]\nclock = random\nrate = 0.02\nfunction = uniform\nlow = -5\n"
                       "high = 15\n",
                       NULL);
    life l = begin(s, 5, 50);
    double before = l.values[0], sum = l.values[0], squares = 0;
    while (l.now.t < N) {
        next(&l);
        assert_true((l.values[0] != before) == l.changed);
        assert_true(l.values[0] > -5 && l.values[0] < 15);
        if (l.changed) {
            sum += l.values[0];
            squares += (l.values[0] - 5) * (l.values[0] - 5);
        }
        before = l.values[0];
    }
    /* five standard errors each: changes, mean 5 and variance 400/12 of the samples */
    double n = (double)l.segment;
    assert_true(fabs(n - 0.02 * N) < 5 * sqrt(0.02 * 0.98 * N));
    assert_true(fabs(sum / n - 5) < 5 * sqrt(400 / 12.0 / n));
    assert_true(fabs(squares / n - 400 / 12.0) < 5 * 400 * sqrt((1 / 80.0 - 1 / 144.0) / n));
    schedule_free(s);
}

/* ---- random functions ------------------------------------------------------------------------ */

static void joints_are_chosen_evenly(void **state)
{
    (void)state;
    schedule *s = load(NULL, "half_cheetah_aep_a");
    int count[7] = {0}, same = 0;
    double last = 0, before = -1;
    for (life l = begin(s, 3, 50); l.now.episode < 3000; next(&l)) {
        if (l.now.tau > 0) {
            assert_true(l.values[0] == last);
            continue;
        }
        last = l.values[0];
        assert_true(last == floor(last) && last >= 1 && last <= 6);
        count[(int)last]++;
        same += last == before;
        before = last;
    }
    for (int k = 1; k <= 6; k++) assert_true(abs(count[k] - 500) < 5 * 20.4);
    assert_true(abs(same - 500) < 5 * 20.4); /* independent of the one before */
    schedule_free(s);
}

static void a_walk_has_normal_steps_and_is_reflected(void **state)
{
    (void)state;
    schedule *s = load("[change.wind]\nfunction = walk\noffset = 1\nlow = -50\nhigh = 50\n"
                       "step = 0.001\n",
                       NULL);
    enum { N = 20000 };
    life l = begin(s, 1, 1);
    assert_true(l.values[0] == 1);
    double before = 1, mean = 0, square = 0;
    while (l.now.t < N) {
        next(&l);
        double step = (l.values[0] - before) / 0.001;
        mean += step / N;
        square += step * step / N;
        before = l.values[0];
    }
    assert_true(fabs(mean) < 5 / sqrt(N));
    assert_true(fabs(square - 1) < 5 * sqrt(2.0 / N));
    schedule_free(s);

    /* in [0, 3] it must come near both ends, spend its time evenly, and never leave */
    s = load(NULL, "half_cheetah_aep_r_walk");
    int thirds[3] = {0};
    for (l = begin(s, 1, 1); l.now.episode < 30000; next(&l)) {
        assert_true(l.values[0] >= 0 && l.values[0] <= 3);
        thirds[l.values[0] < 1 ? 0 : l.values[0] < 2 ? 1 : 2]++;
    }
    for (int k = 0; k < 3; k++) assert_true(abs(thirds[k] - 10000) < 1000);
    schedule_free(s);
}

static void a_seed_names_its_values(void **state)
{
    (void)state;
    const char *ini = "[change.wind]\nclock = block\nlength = 7\nfunction = uniform\nlow = 0\n"
                      "high = 9\n[change.mass]\nclock = block\nlength = 7\nfunction = uniform\n"
                      "low = 0.1\nhigh = 9.1\n";
    schedule *s = load(ini, NULL);
    life a = begin(s, 1, 50), b = begin(s, 1, 50), c = begin(s, 2, 50);
    int equal = 0, same_tick = 0;
    for (int i = 0; i < 1000; i++) {
        assert_memory_equal(a.values, b.values, 2 * sizeof(double));
        equal += a.values[0] == c.values[0];
        same_tick += fabs(a.values[0] + 0.1 - a.values[1]) < 1e-9; /* factors have own streams */
        next(&a), next(&b), next(&c);
    }
    assert_int_equal(equal, 0);
    assert_int_equal(same_tick, 0);
    schedule_free(s);
}

/* ---- wrong sections -------------------------------------------------------------------------- */

static void wrong_sections_give_one_clear_line(void **state)
{
    (void)state;
    static const struct {
        const char *ini, *message;
    } wrong[] = {
        {"[change.wnd]\nfunction = sine\n",
         "test, line 2: [change.wnd]: test_env has no factor 'wnd'; did you mean 'wind'?"},
        {"[change.wind]\nfunction = sinus\n",
         "test, line 2: [change.wind]: function = sinus: not one of constant|sine|cosine|damped|"
         "linear|steps|walk|uniform|choice"},
        {"[change.wind]\namplitud = 3\n",
         "test, line 2: [change.wind]: unknown key 'amplitud'; did you mean 'amplitude'?"},
        {"[change.wind]\nfunction = sine\noffset = 45\namplitude = 10\n",
         "test, line 2: [change.wind]: goes from 35 to 55, but wind takes -50 to 50"},
        {"[change.mass]\nfunction = sine\noffset = 1\namplitude = 5\nrelative = true\n",
         "test, line 2: [change.mass]: goes from -8 to 12, but mass takes 0.1 to 10"},
        {"[change.wind]\nclock = step\n", "test, line 2: [change.wind]: function is missing, such "
                                          "as function = sine; or offset, the value of a "
                                          "constant"},
        {"[change.wind]\nfunction = constant\noffset = 51\n",
         "test, line 2: [change.wind]: goes from 51 to 51, but wind takes -50 to 50"},
        {"[change.wind]\nfunction = linear\n",
         "test, line 2: [change.wind]: points is missing, such as points = 0:35, 1500:5, 3000:35"},
        {"[change.wind]\nfunction = linear\npoints = 0:1, 5\n",
         "test, line 2: [change.wind]: points = 0:1, 5: not a list such as 0:35, 1500:5, 3000:35"},
        {"[change.wind]\nfunction = steps\npoints = 5:1, 5:2\n",
         "test, line 2: [change.wind]: points: 5: must be whole numbers from 0 in rising order"},
        {"[change.joint]\nfunction = choice\n",
         "test, line 2: [change.joint]: values is missing, such as values = 1, 2, 3"},
        {"[change.joint]\nfunction = choice\nvalues = 1, x\n",
         "test, line 2: [change.joint]: values = 1, x: not a list such as 1, 2, 3"},
        {"[change.joint]\nfunction = choice\nvalues = 1, 7\n",
         "test, line 2: [change.joint]: goes from 1 to 7, but joint takes 0 to 6"},
        {"[change.wind]\nfunction = uniform\nlow = 3\nhigh = 2\n",
         "test, line 2: [change.wind]: low = 3 is above high = 2"},
        {"[change.wind]\nfunction = walk\noffset = 9\n",
         "test, line 2: [change.wind]: offset = 9: the walk starts outside 0 to 1"},
        {"[change.wind]\nclock = random\nat = 5, 4\n",
         "test, line 2: [change.wind]: at: 4: must be whole numbers from 0 in rising order"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        config *c;
        schedule *s = NULL;
        assert_int_equal(config_new(&c), 0);
        assert_int_equal(config_add_text(c, "test", wrong[i].ini), 0);
        assert_int_equal(schedule_load(&s, c, &info, "test_env"), FANS_EINVAL);
        assert_null(s);
        assert_string_equal(fans_error(), wrong[i].message);
        config_free(c);
    }
}

static void a_dump_reads_back(void **state)
{
    (void)state;
    schedule *s = load(NULL, "half_cheetah_2d1r");
    text first = {0}, second = {0};
    schedule_dump(s, &first);
    schedule *again = load(first.s, NULL);
    schedule_dump(again, &second);
    assert_string_equal(first.s, second.s);
    assert_non_null(strstr(first.s, "[change.gravity]\nclock = episode\n"));
    text_free(&first);
    text_free(&second);
    schedule_free(s);
    schedule_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_equals_its_closed_form),
        cmocka_unit_test(printed_speeds_come_out),
        cmocka_unit_test(segments_follow_the_clocks),
        cmocka_unit_test(steps_tick_at_their_points_only),
        cmocka_unit_test(listed_change_points_are_kept),
        cmocka_unit_test(measured_points_may_be_many),
        cmocka_unit_test(random_change_points_have_their_rate),
        cmocka_unit_test(joints_are_chosen_evenly),
        cmocka_unit_test(a_walk_has_normal_steps_and_is_reflected),
        cmocka_unit_test(a_seed_names_its_values),
        cmocka_unit_test(wrong_sections_give_one_clear_line),
        cmocka_unit_test(a_dump_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
