/* check.c - the checks, each a function that returns 0, or an error whose line says what is wrong.
 *
 * Two tasks are made of the environment: one without any change, and one in which every factor
 * jumps between its least, its own and its greatest value at random steps. What must hold
 * always is tried in the second. */
#include "env/check.h"

#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "env/world.h"

enum { MANY_STEPS = 1000, WARM_UP = 5, MOST_TRIAL = 100, GUARD = 16 };

typedef struct checker {
    const char *name;
    const char *const *settings;
    int setting_count;
    task *still, *moving;
    env_check_report *report;
    void *user;
    int failed;
    char detail[256]; /* of a check that passed */
} checker;

static void seen(checker *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void seen(checker *k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(k->detail, sizeof k->detail, format, args);
    va_end(args);
}

static void random_action(rng *r, float *action, int n)
{
    for (int i = 0; i < n; i++) action[i] = (float)rng_between(r, -1, 1);
}

/* ---- a world with buffers, and a record of what happened in it ------------------------------- */

typedef struct life {
    const task *task;
    world *world;
    world_buffers b;
    float *action;
    arena *arena;
    rng actions;
} life;

static void life_end(life *l)
{
    world_free(l->world);
    arena_free(l->arena);
    *l = (life){0};
}

static int life_begin(life *l, const task *t, uint64_t seed)
{
    int rc = 0;
    *l = (life){.task = t, .actions = rng_stream(7, "check actions", 0)};
    TRY(arena_new(&l->arena));
    TRY(world_buffers_declare(&l->b, l->arena, t, 1, false));
    TRY(arena_declare(l->arena, &l->action, (size_t)t->info.act_dim * sizeof(float)));
    TRY(arena_commit(l->arena));
    l->b.action = l->action;
    TRY(world_new(&l->world, t, seed, 0));
    TRY(world_start(l->world, &l->b, 0));
out:
    if (rc < 0) life_end(l);
    return rc;
}

static int life_step(life *l)
{
    random_action(&l->actions, l->action, l->task->info.act_dim);
    return world_step(l->world, &l->b, 0);
}

static size_t step_bytes(const task *t)
{
    return (size_t)t->info.obs_dim * 2 * sizeof(float) +
           (size_t)t->info.factor_count * sizeof(double) + 2 * sizeof(float) + sizeof(int64_t) + 3;
}

static char *put(char *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* Takes `steps` steps and writes all that each of them showed to `record`. */
static int life_record(life *l, int steps, char *record)
{
    size_t obs = (size_t)l->task->info.obs_dim * sizeof(float);
    size_t factors = (size_t)l->task->info.factor_count * sizeof(double);
    for (int i = 0; i < steps; i++) {
        int rc = life_step(l);
        if (rc < 0) return rc;
        record = put(record, l->b.obs, obs);
        record = put(record, l->b.final_obs, obs);
        record = put(record, l->b.factors, factors);
        record = put(record, l->b.reward, sizeof(float));
        record = put(record, l->b.success, sizeof(float));
        record = put(record, l->b.segment, sizeof(int64_t));
        record = put(record, l->b.change, 1);
        record = put(record, l->b.terminated, 1);
        record = put(record, l->b.truncated, 1);
    }
    return 0;
}

static int compare(const task *t, const char *a, const char *b, int steps, const char *what)
{
    for (int i = 0; i < steps; i++)
        if (memcmp(a + (size_t)i * step_bytes(t), b + (size_t)i * step_bytes(t), step_bytes(t)))
            return fans_fail(FANS_EINVAL, "%s differs at step %d", what, i);
    return 0;
}

static char *record_new(const task *t)
{
    return mem_alloc(MANY_STEPS * step_bytes(t));
}

/* ---- checks of a whole life ------------------------------------------------------------------ */

static int check_shapes(checker *k)
{
    const fans_env_info *info = &k->still->info;
    seen(k, "%d observations, %d actions, horizon %d, %d factors", info->obs_dim, info->act_dim,
         info->horizon, info->factor_count);
    if (info->views > 0 && (!k->still->def->draw || info->height < 1 || info->width < 1))
        return fans_fail(FANS_EINVAL, "%d views of %d x %d pixels, but %s", info->views,
                         info->height, info->width,
                         k->still->def->draw ? "that is no size" : "no function draws them");
    for (int i = 0; i < info->factor_count; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(info->factors[i].name, info->factors[j].name))
                return fans_fail(FANS_EINVAL, "two factors are named '%s'", info->factors[i].name);
    return 0;
}

/* Reset and step must write every observation and nothing behind the last. */
static int check_written(const float *obs, int n, const char *after)
{
    for (int i = 0; i < n + GUARD; i++) {
        if (i < n && obs[i] == -12345)
            return fans_fail(FANS_EINVAL, "%s leaves observation %d unwritten", after, i);
        if (i >= n && obs[i] != -12345)
            return fans_fail(FANS_EINVAL, "%s writes %d values behind the last", after, i - n + 1);
    }
    return 0;
}

static void fill(float *obs, int n)
{
    for (int i = 0; i < n + GUARD; i++) obs[i] = -12345;
}

static int check_buffers(checker *k)
{
    const task *t = k->still;
    int n = t->info.obs_dim, rc = 0;
    void *env = NULL;
    rng r = rng_stream(1, "check", 0);
    fans_env_result result = {0};
    float *obs = mem_alloc(((size_t)n + GUARD) * sizeof *obs);
    float *action = mem_alloc((size_t)t->info.act_dim * sizeof *action);
    if (!obs || !action) TRY(FANS_ENOMEM);
    TRY(task_open(t, &env));
    fill(obs, n);
    TRY(t->def->reset(env, &r, obs));
    TRY(check_written(obs, n, "reset"));
    fill(obs, n);
    TRY(t->def->step(env, &r, action, obs, &result));
    TRY(check_written(obs, n, "step"));
    seen(k, "reset and step write their slice, all of it and no more");
out:
    if (env) t->def->close(env);
    mem_free(obs);
    mem_free(action);
    return rc;
}

static int check_finite(checker *k)
{
    life l = {0};
    int rc = 0;
    double least = INFINITY, most = -INFINITY;
    TRY(life_begin(&l, k->moving, 1));
    for (int i = 0; i < MANY_STEPS; i++) {
        TRY(life_step(&l));
        least = fmin(least, (double)l.b.reward[0]);
        most = fmax(most, (double)l.b.reward[0]);
    }
    seen(k, "%d random steps, rewards from %.3g to %.3g", MANY_STEPS, least, most);
out:
    life_end(&l);
    return rc;
}

/* Lives `a` and `b` with seeds of their own; `same` says whether all bytes were equal. */
static int two_lives(const task *t, uint64_t seed_a, uint64_t seed_b, bool *same)
{
    life a = {0}, b = {0};
    int rc = 0;
    char *of_a = record_new(t), *of_b = record_new(t);
    if (!of_a || !of_b) TRY(FANS_ENOMEM);
    TRY(life_begin(&a, t, seed_a));
    TRY(life_begin(&b, t, seed_b));
    /* first obs, then in turns: shared hidden state between two environments shows too */
    *same = !memcmp(a.b.obs, b.b.obs, (size_t)t->info.obs_dim * sizeof(float));
    for (int i = 0; i < MANY_STEPS && *same; i++) {
        TRY(life_record(&a, 1, of_a));
        TRY(life_record(&b, 1, of_b));
        *same = !memcmp(of_a, of_b, step_bytes(t));
        if (!*same) fans_fail(FANS_EINVAL, "two worlds with one seed differ at step %d", i);
    }
    if (!*same && world_time(a.world).t == 0)
        fans_fail(FANS_EINVAL, "two worlds with one seed start differently");
out:
    life_end(&a);
    life_end(&b);
    mem_free(of_a);
    mem_free(of_b);
    return rc;
}

static int check_same_seed(checker *k)
{
    bool same = false;
    int rc = two_lives(k->moving, 1, 1, &same);
    if (rc < 0 || !same) return rc < 0 ? rc : FANS_EINVAL;
    seen(k, "two worlds, %d steps in turns, no byte differs", MANY_STEPS);
    return 0;
}

static int check_seeds_differ(checker *k)
{
    bool same = false;
    int rc = two_lives(k->still, 1, 2, &same);
    if (rc < 0) return rc;
    seen(k, "seeds 1 and 2 give different lives");
    return same ? fans_fail(FANS_EINVAL, "seeds 1 and 2 give the same life") : 0;
}

static int check_horizon(checker *k)
{
    life l = {0};
    int rc = 0, horizon = k->still->info.horizon, length = 0, truncated = 0, terminated = 0;
    TRY(life_begin(&l, k->still, 1));
    for (int i = 0; i < 3 * horizon; i++) {
        TRY(life_step(&l));
        length++;
        bool late = length >= horizon, cut = l.b.truncated[0], over = l.b.terminated[0];
        if ((cut && over) || cut != (late && !over))
            TRY(fans_fail(FANS_EINVAL, "step %d of an episode: truncated %d, terminated %d", length,
                          cut, over));
        truncated += cut;
        terminated += over;
        if (cut || over) length = 0;
    }
    seen(k, "%d episodes truncated at step %d, %d terminated before", truncated, horizon,
         terminated);
out:
    life_end(&l);
    return rc;
}

/* Bytes that the C library has handed out, to plugins too. */
static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static int check_allocation(checker *k)
{
    life l = {0};
    int rc = 0;
    TRY(life_begin(&l, k->moving, 1));
    uint64_t before = mem_count();
    size_t heap_before = heap();
    for (int i = 0; i < MANY_STEPS; i++) TRY(life_step(&l));
    if (heap() > heap_before)
        TRY(fans_fail(FANS_EINVAL, "memory grows by %zu bytes in %d steps", heap() - heap_before,
                      MANY_STEPS));
    if (mem_count() != before)
        TRY(fans_fail(FANS_EINVAL, "%llu allocations in %d steps",
                      (unsigned long long)(mem_count() - before), MANY_STEPS));
    seen(k, "none in %d steps, resets and changes included", MANY_STEPS);
out:
    life_end(&l);
    return rc;
}

/* Saves in mid-episode, goes on, and goes on once more from the save: in the same world, which has
 * since moved elsewhere, and in another one that never was there. */
static int check_save(checker *k)
{
    const task *t = k->moving;
    life a = {0}, b = {0};
    int rc = 0;
    char *first = record_new(t), *again = record_new(t), *state = NULL;
    if (!first || !again) TRY(FANS_ENOMEM);
    TRY(life_begin(&a, t, 1));
    TRY(life_begin(&b, t, 2));
    for (int i = 0; i < t->info.horizon + t->info.horizon / 2; i++) TRY(life_step(&a));
    size_t bytes = world_state_bytes(a.world);
    if (!(state = mem_alloc(bytes))) TRY(FANS_ENOMEM);
    world_save(a.world, state);
    rng actions = a.actions;
    TRY(life_record(&a, MANY_STEPS, first));
    for (int turn = 0; turn < 2; turn++) {
        life *l = turn == 0 ? &a : &b;
        TRY(world_restore(l->world, state, &l->b, 0));
        l->actions = actions;
        TRY(life_record(l, MANY_STEPS, again));
        TRY(compare(t, first, again, MANY_STEPS,
                    turn == 0 ? "the restored world" : "a new world with the saved state"));
    }
    seen(k, "%zu bytes; %d steps from them are the same, in two worlds", bytes, MANY_STEPS);
out:
    life_end(&a);
    life_end(&b);
    mem_free(first);
    mem_free(again);
    mem_free(state);
    return rc;
}

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
        random_action(&actions, b->action, n);
        for (int i = 0; i < n; i++) {
            double x = (double)b->action[i] * reach;
            b->action[i] = (float)(clip ? fmin(fmax(x, -1), 1) : x);
        }
        float *obs = out->obs + (size_t)out->steps * (size_t)b->task->info.obs_dim;
        int rc = def->step(b->env, &steps, b->action, obs, &result);
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
    TRY(t->def->reset(b->env, &resets, b->base.obs));
    for (int i = 0; i < WARM_UP; i++)
        TRY(t->def->step(b->env, &warm, b->action, b->base.obs, &result));
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

static int check_clipping(checker *k)
{
    bench b;
    int rc = bench_open(&b, k->still);
    if (rc < 0) return rc;
    TRY(bench_run(&b, &b.base, 3, true));
    b.task->def->restore(b.env, b.state);
    TRY(bench_run(&b, &b.other, 3, false));
    if (!same_obs(&b) || !same_rewards(&b))
        TRY(fans_fail(FANS_EINVAL, "an action beyond 1 is not the same as 1"));
    seen(k, "actions beyond 1 act like 1");
out:
    bench_close(&b);
    return rc;
}

/* From the saved state with the factor at `value`, and set back to its default first where `back`.
 */
static int run_with(bench *b, int factor, double value, bool back)
{
    const fans_env_def *def = b->task->def;
    int rc;
    def->restore(b->env, b->state);
    if ((rc = def->set_factor(b->env, factor, value)) < 0)
        return fans_fail_within(rc, "%g is in its range, but", value);
    double initial = b->task->info.factors[factor].initial;
    if (back && (rc = def->set_factor(b->env, factor, initial)) < 0) return rc;
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
            return fans_fail(FANS_EINVAL, "set to %g and back to %g leaves a trace", values[i],
                             f->initial);
    }
    if (f->kind == FANS_DYNAMICS && !obs_change)
        return fans_fail(FANS_EINVAL, "of the dynamics, but no observation changes in %d steps",
                         b->base.steps);
    if (f->kind == FANS_REWARD && obs_change)
        return fans_fail(FANS_EINVAL, "of the reward, but observations change too");
    if (f->kind == FANS_REWARD && !reward_change)
        return fans_fail(FANS_EINVAL, "of the reward, but no reward changes in %d steps",
                         b->base.steps);
    return 0;
}

static int refuses(bench *b, int factor, double value)
{
    if (b->task->def->set_factor(b->env, factor, value) >= 0)
        return fans_fail(FANS_EINVAL, "accepts %g, outside its range", value);
    return 0;
}

static int check_factor(checker *k, int factor)
{
    const fans_factor *f = &k->still->info.factors[factor];
    double beyond = fmax(1, f->high - f->low);
    bench b;
    int rc = bench_open(&b, k->still);
    if (rc < 0) return rc;
    TRY(try_factor(&b, factor));
    TRY(refuses(&b, factor, f->low - beyond));
    TRY(refuses(&b, factor, f->high + beyond));
    seen(k, "changes the %s from %g to %g, and back without a trace",
         f->kind == FANS_DYNAMICS ? "dynamics" : "reward alone", f->low, f->high);
out:
    bench_close(&b);
    return rc;
}

/* ---- pictures and graph ---------------------------------------------------------------------- */

static int check_cameras(checker *k)
{
    bench b;
    const fans_env_info *info = &k->still->info;
    size_t n = (size_t)info->views * (size_t)info->height * (size_t)info->width * 3;
    uint8_t *first = mem_alloc(n + GUARD), *again = mem_alloc(n + GUARD);
    int rc = bench_open(&b, k->still);
    if (rc < 0 || !first || !again) TRY(rc < 0 ? rc : FANS_ENOMEM);
    TRY(b.task->def->draw(b.env, first));
    memset(again, 0xA5, n + GUARD);
    TRY(b.task->def->draw(b.env, again));
    if (memcmp(first, again, n)) TRY(fans_fail(FANS_EINVAL, "two pictures of one state differ"));
    for (size_t i = n; i < n + GUARD; i++)
        if (again[i] != 0xA5) TRY(fans_fail(FANS_EINVAL, "draw writes behind its last pixel"));
    seen(k, "%d views of %d x %d pixels, the same from the same state", info->views, info->height,
         info->width);
out:
    bench_close(&b);
    mem_free(first);
    mem_free(again);
    return rc;
}

static int check_graph(checker *k)
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
    seen(k, "%d of %d possible edges", edges, n);
    return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void conclude(checker *k, const char *check, int rc)
{
    k->failed += rc < 0;
    k->report(k->user, check, rc >= 0, rc < 0 ? fans_error() : k->detail);
}

static void run_checks(checker *k)
{
    static const struct {
        const char *name;
        int (*run)(checker *k);
    } checks[] = {
        {"shapes", check_shapes},           {"buffers", check_buffers},
        {"finite", check_finite},           {"same seed", check_same_seed},
        {"other seed", check_seeds_differ}, {"horizon", check_horizon},
        {"allocation", check_allocation},   {"save and restore", check_save},
        {"clipping", check_clipping},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        conclude(k, checks[i].name, checks[i].run(k));
    for (int i = 0; i < k->still->info.factor_count; i++) {
        char name[96];
        snprintf(name, sizeof name, "factor %s", k->still->info.factors[i].name);
        conclude(k, name, check_factor(k, i));
    }
    if (k->still->info.views > 0 && k->still->def->draw) conclude(k, "cameras", check_cameras(k));
    if (k->still->def->truth) conclude(k, "graph", check_graph(k));
}

/* Every factor jumps among least, default and greatest at random steps. */
static int add_changes(config *c, const fans_env_info *info)
{
    text ini = {0};
    for (int i = 0; i < info->factor_count; i++) {
        const fans_factor *f = &info->factors[i];
        text_add(&ini, "[change.%s]\nclock = random\nrate = 0.05\nfunction = choice\n", f->name);
        text_add(&ini, "values = %.17g, %.17g, %.17g\n", f->low, f->initial, f->high);
    }
    int rc = text_done(&ini);
    if (rc == 0 && ini.s) rc = config_add_text(c, "the checker", ini.s);
    text_free(&ini);
    return rc;
}

static int load(checker *k, task **out, const fans_env_info *changes)
{
    config *c = NULL;
    char setting[OPTION_TEXT];
    int rc = 0;
    TRY(config_new(&c));
    snprintf(setting, sizeof setting, "env.name=%s", k->name);
    TRY(config_add_setting(c, setting));
    for (int i = 0; i < k->setting_count; i++) TRY(config_add_setting(c, k->settings[i]));
    if (changes) TRY(add_changes(c, changes));
    TRY(task_load(out, c));
    TRY(config_check_taken(c));
out:
    config_free(c);
    return rc;
}

int env_check(const char *name, const char *const *settings, int count, env_check_report *report,
              void *user)
{
    checker k = {
        .name = name, .settings = settings, .setting_count = count, .report = report, .user = user};
    int rc = 0;
    TRY(load(&k, &k.still, NULL));
    TRY(load(&k, &k.moving, &k.still->info));
    run_checks(&k);
out:
    task_free(k.moving);
    task_free(k.still);
    return rc < 0 ? rc : k.failed;
}
