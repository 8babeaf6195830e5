/* check_step.c - checks of single steps: the same state, the same action, one thing changed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "env/call.h"
#include "env/checker.h"

enum { WARM_UP = 5, MOST_TRIAL = 100, PICTURE = 64 };

/* ---- checks of one environment, step by step ------------------------------------------------- */

/* A short run from a saved state: all observations and rewards of it. */
typedef struct trial {
    int steps;
    double reward[MOST_TRIAL];
    float *obs; /* [MOST_TRIAL][obs_dim] */
} trial;

typedef struct bench {
    const task *task;
    void *env;
    char *state; /* WARM_UP steps into an episode */
    float *action;
    trial base, other;
} bench;

static void bench_close(bench *b)
{
    if (b->env) b->task->def->close(b->env);
    mem_free(b->state);
    mem_free(b->action);
    mem_free(b->base.obs);
    mem_free(b->other.obs);
}

/* Runs from the saved state. Actions are random within [-1, 1], times `reach`, clipped by hand
 * where `clip` is set. */
static int bench_run(bench *b, trial *out, double reach, bool clip)
{
    const fans_env_def *def = b->task->def;
    rng actions = rng_stream(3, "check actions", 0), steps = rng_stream(3, "check steps", 0);
    int n = b->task->info.act_dim, horizon = b->task->info.horizon - WARM_UP;
    int most = horizon < 1 ? 1 : horizon < MOST_TRIAL ? horizon : MOST_TRIAL;
    for (out->steps = 0; out->steps < most;) {
        fans_env_result result = {.success = NAN};
        check_random_action(&actions, b->action, n);
        for (int i = 0; i < n; i++) {
            double x = (double)b->action[i] * reach;
            b->action[i] = (float)(clip ? fmin(fmax(x, -1), 1) : x);
        }
        float *obs = out->obs + (size_t)out->steps * (size_t)b->task->info.obs_dim;
        int rc = call_step(def, b->env, &steps, b->action, obs, &result);
        if (rc < 0) return rc;
        out->reward[out->steps++] = result.reward;
        if (result.terminated) break;
    }
    return 0;
}

static int bench_open(bench *b, const task *t)
{
    int rc = 0;
    size_t obs = (size_t)t->info.obs_dim * sizeof(float);
    rng resets = rng_stream(3, "check resets", 0), warm = rng_stream(3, "check warm-up", 0);
    fans_env_result result = {0};
    *b = (bench){.task = t};
    TRY(task_open(t, &b->env));
    b->state = mem_alloc(t->def->state_bytes(b->env));
    b->action = mem_alloc((size_t)t->info.act_dim * sizeof(float));
    b->base.obs = mem_alloc(MOST_TRIAL * obs);
    b->other.obs = mem_alloc(MOST_TRIAL * obs);
    if (!b->state || !b->action || !b->base.obs || !b->other.obs) TRY(FANS_ENOMEM);
    TRY(call_reset(t->def, b->env, &resets, b->base.obs));
    for (int i = 0; i < WARM_UP; i++)
        TRY(call_step(t->def, b->env, &warm, b->action, b->base.obs, &result));
    t->def->save(b->env, b->state);
out:
    if (rc < 0) bench_close(b);
    return rc;
}

static bool same_obs(const bench *b)
{
    size_t row = (size_t)b->task->info.obs_dim * sizeof(float);
    return b->base.steps == b->other.steps &&
           !memcmp(b->base.obs, b->other.obs, (size_t)b->base.steps * row);
}

static bool same_rewards(const bench *b)
{
    return b->base.steps == b->other.steps &&
           !memcmp(b->base.reward, b->other.reward, (size_t)b->base.steps * sizeof(double));
}

int check_clipping(checker *k)
{
    bench b;
    int rc = bench_open(&b, k->still);
    if (rc < 0) return rc;
    TRY(bench_run(&b, &b.base, 3, true));
    b.task->def->restore(b.env, b.state);
    TRY(bench_run(&b, &b.other, 3, false));
    if (!same_obs(&b) || !same_rewards(&b))
        TRY(fans_fail(FANS_EINVAL, "actions beyond 1 are not clipped to 1"));
    checker_saw(k, "actions beyond 1 are clipped");
out:
    bench_close(&b);
    return rc;
}

/* From the saved state with the factor at `value`; where `back`, set to its default again. */
static int run_with(bench *b, int factor, double value, bool back)
{
    const fans_env_def *def = b->task->def;
    int rc;
    def->restore(b->env, b->state);
    if ((rc = call_set_factor(def, b->env, factor, value)) < 0)
        return fans_fail_within(rc, "%g is in its range, but", value);
    double initial = b->task->info.factors[factor].initial;
    if (back && (rc = call_set_factor(def, b->env, factor, initial)) < 0) return rc;
    return bench_run(b, &b->other, 1, false);
}

static int try_factor(bench *b, int factor)
{
    const fans_factor *f = &b->task->info.factors[factor];
    const double values[] = {f->low, f->high};
    bool obs_change = false, reward_change = false;
    int rc;
    b->task->def->restore(b->env, b->state);
    if ((rc = bench_run(b, &b->base, 1, false)) < 0) return rc;
    for (int i = 0; i < 2; i++) {
        if ((rc = run_with(b, factor, values[i], false)) < 0) return rc;
        obs_change |= !same_obs(b);
        reward_change |= !same_rewards(b);
        if ((rc = run_with(b, factor, values[i], true)) < 0) return rc;
        if (!same_obs(b) || !same_rewards(b))
            return fans_fail(FANS_EINVAL, "leaves a trace when set to %g and back to %g", values[i],
                             f->initial);
    }
    if (f->kind == FANS_DYNAMICS && !obs_change)
        return fans_fail(FANS_EINVAL,
                         "is a dynamics factor, but changes no observation in %d steps",
                         b->base.steps);
    if (f->kind == FANS_REWARD && obs_change)
        return fans_fail(FANS_EINVAL, "is a reward factor, but changes observations too");
    if (f->kind == FANS_REWARD && !reward_change)
        return fans_fail(FANS_EINVAL, "is a reward factor, but changes no reward in %d steps",
                         b->base.steps);
    return 0;
}

static int refuses(bench *b, int factor, double value)
{
    if (call_set_factor(b->task->def, b->env, factor, value) >= 0)
        return fans_fail(FANS_EINVAL, "accepts %g, outside its range", value);
    return 0;
}

int check_factor(checker *k, int factor)
{
    const fans_factor *f = &k->still->info.factors[factor];
    double beyond = fmax(1, f->high - f->low);
    bench b;
    int rc = bench_open(&b, k->still);
    if (rc < 0) return rc;
    TRY(try_factor(&b, factor));
    TRY(refuses(&b, factor, f->low - beyond));
    TRY(refuses(&b, factor, f->high + beyond));
    checker_saw(k, "changes the %s, from %g to %g and back without a trace",
                f->kind == FANS_DYNAMICS ? "dynamics" : "reward alone", f->low, f->high);
out:
    bench_close(&b);
    return rc;
}

/* ---- pictures and graph ---------------------------------------------------------------------- */

/* Draws twice: the bytes must agree, end with the last pixel, and leave the environment alone. */
typedef int draw_fn(bench *b, uint8_t *pixels);

static int draw_views(bench *b, uint8_t *pixels)
{
    return call_draw(b->task->def, b->env, pixels);
}

static int draw_picture(bench *b, uint8_t *pixels)
{
    return call_picture(b->task->def, b->env, PICTURE, PICTURE, pixels);
}

static int check_drawing(const task *t, draw_fn *draw, size_t n)
{
    bench b;
    char *state = NULL;
    uint8_t *first = mem_alloc(n + CHECK_GUARD), *again = mem_alloc(n + CHECK_GUARD);
    int rc = bench_open(&b, t);
    if (rc < 0) b = (bench){0};
    if (rc == 0) state = mem_alloc(t->def->state_bytes(b.env));
    if (rc < 0 || !first || !again || !state) TRY(rc < 0 ? rc : FANS_ENOMEM);
    TRY(draw(&b, first));
    memset(again, 0xA5, n + CHECK_GUARD);
    TRY(draw(&b, again));
    if (memcmp(first, again, n)) TRY(fans_fail(FANS_EINVAL, "two pictures of one state differ"));
    for (size_t i = n; i < n + CHECK_GUARD; i++)
        if (again[i] != 0xA5) TRY(fans_fail(FANS_EINVAL, "writes past its last pixel"));
    t->def->save(b.env, state);
    if (memcmp(b.state, state, t->def->state_bytes(b.env)))
        TRY(fans_fail(FANS_EINVAL, "drawing changes the state"));
out:
    bench_close(&b);
    mem_free(first);
    mem_free(again);
    mem_free(state);
    return rc;
}

int check_cameras(checker *k)
{
    const fans_env_info *info = &k->still->info;
    checker_saw(k, "%d views of %d x %d pixels; one state, one image", info->views, info->height,
                info->width);
    size_t n = (size_t)info->views * (size_t)info->height * (size_t)info->width * 3;
    return check_drawing(k->still, draw_views, n);
}

int check_picture(checker *k)
{
    checker_saw(k, "one state, one picture");
    int rc = check_drawing(k->still, draw_picture, (size_t)PICTURE * PICTURE * 3);
    if (rc != FANS_ENOSUP) return rc;
    checker_saw(k, "none on this machine: %s", fans_error());
    return 0;
}

int check_graph(checker *k)
{
    task_graph g = {0};
    int rc = task_truth(k->still, &g), edges = 0;
    if (rc < 0) return rc;
    int n = g.d * (g.d + g.m + g.p + 1) + g.m + g.p * g.p + g.q * g.q;
    for (int i = 0; i < n && rc == 0; i++) {
        edges += g.memory[i];
        if (g.memory[i] > 1) rc = fans_fail(FANS_EINVAL, "a mask holds a %d", g.memory[i]);
    }
    task_graph_free(&g);
    checker_saw(k, "%d of %d possible edges", edges, n);
    return rc;
}
