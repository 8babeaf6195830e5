/* slow_minitaur.c - the five-bar legs hold together under long, rough treatment.
 *
 * Three kinds of random actions, with base masses from a quarter to twice the usual and no end when
 * the robot falls: no episode may break, and the loops must stay closed. The figures are in
 * docs/notebook/2026-11-15-environments.md. */
#include "mj_cases.h"

extern const fans_env_def env_minitaur;
static const fans_env_def *const def = &env_minitaur;

enum { EPISODES = 1000, STEPS = 100, MOTORS = 8 };

/* The largest distance between the two points that a connect constraint holds together. */
static double gap(const sim *s)
{
    double worst = 0;
    for (int e = 0; e < s->m->neq; e++) {
        const int body[2] = {s->m->eq_obj1id[e], s->m->eq_obj2id[e]};
        double point[2][3];
        for (int k = 0; k < 2; k++) {
            mju_mulMatVec(point[k], s->d->xmat + 9 * body[k], s->m->eq_data + mjNEQDATA * e + 3 * k,
                          3, 3);
            mju_addTo(point[k], s->d->xpos + 3 * body[k], 3);
        }
        worst = fmax(worst, mju_dist3(point[0], point[1]));
    }
    return worst;
}

/* Anew at every step; thrown from end to end every fifth; or wandering. */
static void uniform(trial *t, int step)
{
    (void)step;
    for (int i = 0; i < MOTORS; i++) t->action[i] = (float)rng_between(&t->r, -1, 1);
}

static void bang_bang(trial *t, int step)
{
    for (int i = 0; step % 5 == 0 && i < MOTORS; i++)
        t->action[i] = rng_uniform(&t->r) < 0.5 ? -1 : 1;
}

static void wander(trial *t, int step)
{
    (void)step;
    for (int i = 0; i < MOTORS; i++) {
        double x = (double)t->action[i] + 0.3 * rng_normal(&t->r);
        t->action[i] = (float)sim_clip(x);
    }
}

/* What happened in all episodes of one kind. */
typedef struct rough {
    double largest, mean, fastest;
    int fallen;
} rough;

static void episode(trial *t, void (*act)(trial *, int), rough *seen)
{
    bool fell = false;
    memset(t->action, 0, sizeof t->action);
    trial_set(t, "mass", rng_between(&t->r, 0.25, 2));
    trial_reset(t);
    for (int step = 0; step < STEPS; step++) {
        act(t, step);
        trial_step(t);
        assert_int_equal(sim_pose(t->s), 0);
        double g = gap(t->s);
        seen->largest = fmax(seen->largest, g);
        seen->mean += g / (EPISODES * STEPS);
        for (int i = 0; i < t->s->m->nv; i++)
            seen->fastest = fmax(seen->fastest, fabs(t->s->d->qvel[i]));
        fell |= fabs((double)t->obs[0]) > 0.3 || fabs((double)t->obs[1]) > 0.3;
    }
    seen->fallen += fell;
}

static void the_legs_hold(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*act)(trial *, int);
    } kinds[] = {{"uniform", uniform}, {"bang-bang", bang_bang}, {"wandering", wander}};
    const double options[] = {0, 0.05};
    trial t = trial_open_with(def, options);
    for (size_t k = 0; k < 3; k++) {
        rough seen = {0};
        for (int i = 0; i < EPISODES; i++) episode(&t, kinds[k].act, &seen);
        print_message("%-9s %d episodes, %d with a fall: gap %.2f mm on average, %.1f mm at most; "
                      "fastest joint %.0f rad/s\n",
                      kinds[k].name, EPISODES, seen.fallen, 1e3 * seen.mean, 1e3 * seen.largest,
                      seen.fastest);
        assert_true(seen.mean < 2e-3 && seen.largest < 40e-3 && seen.fastest < 300);
    }
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_legs_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
