/* world.c - steps one environment through its changing lifetime.
 *
 * At the end of a step, in this order: the outcome is written; the clocks advance; the schedule
 * sets the factors of the next step; the environment is reset if the episode ended, so that a reset
 * already sees the new episode's factors. */
#include "env/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "env/call.h"

/* Saved as it is: no pointers, no padding. */
typedef struct clocks {
    sched_life life;
    sched_time time;
    int64_t began, began_episode; /* step and episode in which the schedule began; -1: prelude */
    int64_t segment, change;
    rng resets,
        steps; /* two streams: how an episode begins does not depend on the last one's length
                */
} clocks;

struct world {
    const task *task;
    const fans_env_def *def;
    const fans_env_info *info;
    void *env;
    clocks now;
    int64_t prelude;     /* steps */
    sched_state *states; /* [rules] */
    double *values;      /* [rules] */
    double *factors;     /* [factor_count] */
    double *held;        /* [factor_count]: instead of the schedule's; NaN: not held */
    float *obs;          /* [obs_dim], as last written to the caller */
    bool started;
    bool moved; /* a factor, after the last step */
    arena *arena;
};

static size_t pixel_bytes(const fans_env_info *info)
{
    return (size_t)info->views * (size_t)info->height * (size_t)info->width * 3;
}

int world_buffers_declare(world_buffers *b, arena *a, const task *t, int n, bool pixels)
{
    int rc = 0;
    size_t count = (size_t)n, obs = count * (size_t)t->info.obs_dim * sizeof(float);
    size_t image = count * pixel_bytes(&t->info);
    *b = (world_buffers){0};
    TRY(arena_declare(a, &b->obs, obs));
    TRY(arena_declare(a, &b->final_obs, obs));
    TRY(arena_declare(a, &b->factors, count * (size_t)t->info.factor_count * sizeof(double)));
    TRY(arena_declare(a, &b->segment, count * sizeof *b->segment));
    TRY(arena_declare(a, &b->change, count));
    TRY(arena_declare(a, &b->reward, count * sizeof(float)));
    TRY(arena_declare(a, &b->success, count * sizeof(float)));
    TRY(arena_declare(a, &b->terminated, count));
    TRY(arena_declare(a, &b->truncated, count));
    if (!pixels || image == 0) return 0;
    TRY(arena_declare(a, &b->pixels, image));
    TRY(arena_declare(a, &b->final_pixels, image));
out:
    return rc;
}

int world_new(world **out, const task *t, uint64_t seed, uint32_t index)
{
    int rc = 0;
    world *w = mem_alloc(sizeof *w);
    if (!w) return FANS_ENOMEM;
    size_t rules = (size_t)schedule_rules(t->change);
    w->task = t;
    w->def = t->def;
    w->info = &t->info;
    w->now.life = (sched_life){seed, index};
    TRY(arena_new(&w->arena));
    TRY(arena_declare(w->arena, &w->states, rules * sizeof *w->states));
    TRY(arena_declare(w->arena, &w->values, rules * sizeof *w->values));
    TRY(arena_declare(w->arena, &w->factors, (size_t)t->info.factor_count * sizeof(double)));
    TRY(arena_declare(w->arena, &w->held, (size_t)t->info.factor_count * sizeof(double)));
    TRY(arena_declare(w->arena, &w->obs, (size_t)t->info.obs_dim * sizeof(float)));
    TRY(arena_commit(w->arena));
    for (int k = 0; k < t->info.factor_count; k++) w->held[k] = NAN;
    TRY(task_open(t, &w->env));
    *out = w;
out:
    if (rc < 0) world_free(w);
    return rc;
}

void world_free(world *w)
{
    if (!w) return;
    if (w->env) w->def->close(w->env);
    arena_free(w->arena);
    mem_free(w);
}

/* Prefixes the message with the environment, the episode and the step. */
static int fail_here(const world *w, int code)
{
    return fans_fail_within(code, "%s, episode %lld, step %lld", w->def->name,
                            (long long)w->now.time.episode, (long long)w->now.time.tau);
}

static int check_finite(const char *what, const char *const *names, const float *x, int n)
{
    for (int k = 0; k < n; k++)
        if (!isfinite(x[k]))
            return fans_fail(FANS_ENUMERIC, "%s %d (%s) is %g", what, k, names[k], (double)x[k]);
    return 0;
}

static int check_observation(const world *w)
{
    return check_finite("observation", w->info->obs_names, w->obs, w->info->obs_dim);
}

/* ---- the `now` group ------------------------------------------------------------------------- */

static void show_now(const world *w, const world_buffers *b, int i)
{
    size_t obs = (size_t)w->info->obs_dim, factors = (size_t)w->info->factor_count;
    memcpy(b->obs + (size_t)i * obs, w->obs, obs * sizeof(float));
    if (factors) memcpy(b->factors + (size_t)i * factors, w->factors, factors * sizeof(double));
    b->segment[i] = w->now.segment;
    b->change[i] = (uint8_t)w->now.change;
}

static int draw(world *w, uint8_t *pixels, int i)
{
    if (!pixels) return 0;
    return call_draw(w->def, w->env, pixels + (size_t)i * pixel_bytes(w->info));
}

static int set_factor(world *w, int factor, double value)
{
    w->factors[factor] = value;
    int rc = call_set_factor(w->def, w->env, factor, value);
    return rc < 0 ? fans_fail_within(rc, "%s = %g", w->info->factors[factor].name, value) : 0;
}

/* The schedule begins with an episode. */
static bool begins(clocks *now, int64_t prelude)
{
    if (now->began >= 0 || now->time.tau > 0 || now->time.t < prelude) return false;
    now->began = now->time.t;
    now->began_episode = now->time.episode;
    return true;
}

/* Finds the values of this time; true where a new segment begins. */
static bool find_values(world *w)
{
    const schedule *s = w->task->change;
    clocks *now = &w->now;
    bool first = begins(now, w->prelude), prelude = now->began < 0, changed = false;
    sched_time since = {now->time.t - now->began, now->time.episode - now->began_episode,
                        now->time.tau};
    if (prelude)
        schedule_draw(s, now->life, now->time.episode, w->values);
    else
        changed = schedule_advance(s, now->life, &since, w->states, w->values);
    bool drawn = (prelude && now->time.tau == 0) || first;
    return changed || (drawn && now->time.t > 0 && schedule_moves(s));
}

static double held_or(const world *w, int factor, double value)
{
    return isnan(w->held[factor]) ? value : w->held[factor];
}

/* Sets the factors of this time. */
static int move_factors(world *w)
{
    bool start = w->now.time.t == 0;
    w->moved = false;
    w->now.change = find_values(w);
    w->now.segment += w->now.change;
    for (int k = 0; k < schedule_rules(w->task->change); k++) {
        int factor = schedule_factor(w->task->change, k), rc;
        double value = held_or(w, factor, w->values[k]);
        if (!start && value == w->factors[factor]) continue;
        w->moved = true;
        if ((rc = set_factor(w, factor, value)) < 0) return rc;
    }
    return 0;
}

static int reset(world *w)
{
    int rc = call_reset(w->def, w->env, &w->now.resets, w->obs);
    return rc < 0 ? rc : check_observation(w);
}

void world_set_prelude(world *w, int64_t steps)
{
    w->prelude = steps;
}

bool world_was_in_prelude(const world *w)
{
    return w->now.began < 0 || w->now.began == w->now.time.t;
}

int world_start(world *w, const world_buffers *b, int i)
{
    int rc = 0;
    w->started = false;
    const sched_life life = w->now.life;
    w->now = (clocks){.life = life,
                      .began = -1,
                      .resets = rng_stream(life.seed, "reset", (uint32_t)life.index),
                      .steps = rng_stream(life.seed, "step", (uint32_t)life.index)};
    for (int k = 0; k < w->info->factor_count; k++)
        TRY(set_factor(w, k, held_or(w, k, w->info->factors[k].initial)));
    TRY(move_factors(w));
    TRY(reset(w));
    TRY(draw(w, b->pixels, i));
    show_now(w, b, i);
    w->started = true;
out:
    return rc < 0 ? fail_here(w, rc) : 0;
}

void world_rename(world *w, uint64_t seed, uint32_t index)
{
    w->now.life = (sched_life){seed, index};
    w->started = false;
}

bool world_is_started(const world *w)
{
    return w->started;
}

/* What a factor would be if it were not held. */
static double scheduled(const world *w, int factor)
{
    for (int k = 0; k < schedule_rules(w->task->change); k++)
        if (schedule_factor(w->task->change, k) == factor) return w->values[k];
    return w->info->factors[factor].initial;
}

int world_hold(world *w, int factor, double value, const world_buffers *b, int i)
{
    const fans_factor *f = &w->info->factors[factor];
    if (value < f->low || value > f->high)
        return fans_fail(FANS_EINVAL, "%s = %g: not from %g to %g", f->name, value, f->low,
                         f->high);
    w->held[factor] = value;
    int rc = w->started ? set_factor(w, factor, held_or(w, factor, scheduled(w, factor))) : 0;
    if (rc < 0) return fail_here(w, rc);
    if (w->started) show_now(w, b, i);
    return 0;
}

/* ---- stepping -------------------------------------------------------------------------------- */

static int act(world *w, const world_buffers *b, int i, fans_env_result *result)
{
    const float *action = b->action + (size_t)i * (size_t)w->info->act_dim;
    int rc = check_finite("action", w->info->act_names, action, w->info->act_dim);
    if (rc == 0) rc = call_step(w->def, w->env, &w->now.steps, action, w->obs, result);
    if (rc == 0) rc = check_observation(w);
    if (rc == 0 && !isfinite(result->reward))
        rc = fans_fail(FANS_ENUMERIC, "the reward is %g", result->reward);
    return rc;
}

static bool show_outcome(const world *w, const world_buffers *b, int i, const fans_env_result *r)
{
    size_t obs = (size_t)w->info->obs_dim;
    memcpy(b->final_obs + (size_t)i * obs, w->obs, obs * sizeof(float));
    b->reward[i] = (float)r->reward;
    b->success[i] = (float)r->success;
    b->terminated[i] = r->terminated;
    b->truncated[i] = !r->terminated && w->now.time.tau + 1 >= w->info->horizon;
    return b->terminated[i] || b->truncated[i];
}

static void move_clocks(sched_time *time, bool ended)
{
    time->t++;
    time->tau = ended ? 0 : time->tau + 1;
    time->episode += ended;
}

/* The next picture is the final one, unless a new episode has begun or a factor has moved, which
 * may be seen: a restored world draws the same. */
static int show_pixels(world *w, const world_buffers *b, int i, bool ended)
{
    size_t n = pixel_bytes(w->info);
    if (!b->pixels) return 0;
    if (ended || w->moved || !b->final_pixels) return draw(w, b->pixels, i);
    memcpy(b->pixels + (size_t)i * n, b->final_pixels + (size_t)i * n, n);
    return 0;
}

/* From the end of a step to the moment of the next one. */
static int move_on(world *w, const world_buffers *b, int i, bool ended)
{
    int rc = 0;
    move_clocks(&w->now.time, ended);
    TRY(move_factors(w));
    if (ended) TRY(reset(w));
    TRY(show_pixels(w, b, i, ended));
    show_now(w, b, i);
    w->started = true;
out:
    return rc;
}

int world_step(world *w, const world_buffers *b, int i)
{
    int rc = 0;
    assert(w->started && "world_start first");
    fans_env_result result = {.success = NAN};
    w->started = false;
    TRY(act(w, b, i, &result));
    TRY(draw(w, b->final_pixels, i));
    TRY(move_on(w, b, i, show_outcome(w, b, i, &result)));
out:
    return rc < 0 ? fail_here(w, rc) : 0;
}

int world_give_up(world *w, const world_buffers *b, int i)
{
    assert(w->started && "world_start first");
    if (w->now.time.tau == 0) return 0;
    w->started = false;
    int rc = move_on(w, b, i, true);
    return rc < 0 ? fail_here(w, rc) : 0;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* One list of parts serves both directions. */
typedef void copy_fn(void *part, void *bytes, size_t n);

static void copy_out(void *part, void *bytes, size_t n)
{
    memcpy(bytes, part, n);
}

static void copy_in(void *part, void *bytes, size_t n)
{
    memcpy(part, bytes, n);
}

static size_t own_bytes(const world *w)
{
    return sizeof w->now + (size_t)schedule_rules(w->task->change) * sizeof *w->states +
           (size_t)w->info->factor_count * sizeof *w->factors +
           (size_t)w->info->obs_dim * sizeof *w->obs;
}

static void each_part(world *w, char *bytes, copy_fn *copy)
{
    struct {
        void *part;
        size_t n;
    } parts[] = {
        {&w->now, sizeof w->now},
        {w->states, (size_t)schedule_rules(w->task->change) * sizeof *w->states},
        {w->factors, (size_t)w->info->factor_count * sizeof *w->factors},
        {w->obs, (size_t)w->info->obs_dim * sizeof *w->obs},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        copy(parts[k].part, bytes, parts[k].n);
        bytes += parts[k].n;
    }
}

size_t world_state_bytes(const world *w)
{
    return own_bytes(w) + w->def->state_bytes(w->env);
}

void world_save(const world *w, void *bytes)
{
    each_part((world *)w, bytes, copy_out);
    w->def->save(w->env, (char *)bytes + own_bytes(w));
}

static bool is_count(int64_t n, int64_t most)
{
    return n >= 0 && n <= most;
}

static bool is_stream(const rng *r, const char *purpose, sched_life life)
{
    const rng own = rng_stream(life.seed, purpose, (uint32_t)life.index);
    return r->seed == own.seed && r->purpose == own.purpose && r->index == own.index;
}

/* What is wrong with the clocks and factors of a file; NULL if nothing is. */
static const char *find_fault(const world *w)
{
    const int64_t most = INT64_C(1) << 53;
    const sched_time *time = &w->now.time;
    if (!is_count(time->t, most) || !is_count(time->episode, time->t) ||
        !is_count(time->tau, w->info->horizon - 1) || !is_count(w->now.segment, time->t) ||
        !is_count(w->now.change, 1) || !is_count(w->now.began + 1, time->t + 1) ||
        !is_count(w->now.began_episode, time->episode))
        return "its clocks are out of range";
    if (!is_stream(&w->now.resets, "reset", w->now.life) ||
        !is_stream(&w->now.steps, "step", w->now.life))
        return "its random numbers are not its own";
    for (int k = 0; k < schedule_rules(w->task->change); k++)
        if (!is_count(w->states[k].tick, most) || !is_count(w->states[k].count, most) ||
            !isfinite(w->states[k].walk))
            return "its schedule is out of range";
    for (int k = 0; k < w->info->factor_count; k++) {
        const fans_factor *f = &w->info->factors[k];
        if (!(w->factors[k] >= f->low && w->factors[k] <= f->high))
            return "a factor is out of its range";
    }
    return NULL;
}

/* Factors as the schedule has them, but for those that are held now: other ones may have been when
 * the world was saved. */
static int put_factors(world *w)
{
    const clocks *now = &w->now;
    if (now->began < 0)
        schedule_draw(w->task->change, now->life, now->time.episode, w->values);
    else
        schedule_values(w->task->change, now->life, w->states, w->values);
    for (int k = 0; k < w->info->factor_count; k++) {
        double value = held_or(w, k, scheduled(w, k));
        int rc = value == w->factors[k] ? 0 : set_factor(w, k, value);
        if (rc < 0) return rc;
    }
    return 0;
}

int world_restore(world *w, const void *bytes, const world_buffers *b, int i)
{
    int rc = 0;
    w->started = false;
    each_part(w, (char *)bytes, copy_in);
    const char *fault = find_fault(w);
    if (fault) TRY(fans_fail(FANS_EFORMAT, "%s", fault));
    TRY(check_observation(w));
    TRY(call_restore(w->def, w->env, (const char *)bytes + own_bytes(w)));
    TRY(put_factors(w));
    show_now(w, b, i);
    w->started = true;
    TRY(draw(w, b->pixels, i));
out:
    return rc < 0 ? fans_fail_within(rc, "%s, a saved world", w->def->name) : 0;
}

sched_time world_time(const world *w)
{
    return w->now.time;
}

int world_picture(world *w, int width, int height, uint8_t *rgb)
{
    if (!w->def->picture) return fans_fail(FANS_ENOSUP, "%s: draws no picture", w->def->name);
    return call_picture(w->def, w->env, width, height, rgb);
}
