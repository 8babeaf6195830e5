/* schedule.c - clocks, functions, and the checks that can be made before a run starts.
 *
 * Every function has bounds that are known from its parameters alone, so a schedule that would
 * leave its factor's range is refused when it is loaded, not at episode 2,871. */
#include "env/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

OPTIONS_GROUP(change_option_group, change_options, "change.*", "how a factor moves",
              CHANGE_OPTIONS);

enum { CLOCK_STEP, CLOCK_EPISODE, CLOCK_BLOCK, CLOCK_RANDOM };
enum { CONSTANT, SINE, COSINE, DAMPED, LINEAR, STEPS, WALK, UNIFORM, CHOICE };
enum { MOST_NAME = 96 };

typedef struct rule {
    change_options o;
    int factor;
    char section[MOST_NAME];
    uint32_t values_stream, points_stream, prelude_stream; /* purposes, by the factor's name */
    double scale, low, high;                               /* the factor's */
    double *numbers; /* choice: values; linear and steps: tick, value pairs */
    double *at;      /* steps of the changes */
    int number_count, at_count;
} rule;

struct schedule {
    rule *rules;
    size_t count;
    int horizon;
};

/* ---- clocks ---------------------------------------------------------------------------------- */

static rng draw(sched_life life, uint32_t purpose, int64_t n)
{
    return (rng){life.seed, 4 * (uint64_t)n, purpose, (uint32_t)life.index};
}

/* How many of `count` numbers, each `stride` after the one before, are at most x. They rise. */
static int count_until(const double *numbers, int count, int stride, double x)
{
    int least = 0, most = count;
    while (least < most) {
        int middle = (least + most) / 2;
        if (numbers[middle * stride] <= x)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

static bool change_point(const rule *k, sched_life life, int64_t t)
{
    if (k->at_count > 0) {
        int n = count_until(k->at, k->at_count, 1, (double)t);
        return n > 0 && k->at[n - 1] == (double)t;
    }
    rng r = draw(life, k->points_stream, t);
    return rng_uniform(&r) < k->o.rate;
}

/* The reading at `now`, from the reading before it. */
static int64_t read_clock(const rule *k, sched_life life, const sched_time *now, int64_t before)
{
    switch (k->o.clock) {
    case CLOCK_STEP:
        return now->t;
    case CLOCK_EPISODE:
        return now->episode;
    case CLOCK_BLOCK:
        return now->tau / k->o.length;
    default:
        return now->t == 0 ? 0 : before + change_point(k, life, now->t);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The number of the last point at or before tick n; -1 before the first. */
static int point_before(const rule *k, double n)
{
    return count_until(k->numbers, k->number_count / 2, 2, n) - 1;
}

static double within_period(const rule *k, int64_t n)
{
    return (double)(k->o.period > 0 ? n % k->o.period : n);
}

static double linear(const rule *k, int64_t tick)
{
    double n = within_period(k, tick);
    int i = point_before(k, n), last = k->number_count / 2 - 1;
    if (i < 0) return k->numbers[1];
    if (i == last) return k->numbers[2 * last + 1];
    const double *a = &k->numbers[2 * i], *b = a + 2;
    return a[1] + (b[1] - a[1]) * ((n - a[0]) / (b[0] - a[0]));
}

static double steps(const rule *k, int64_t tick)
{
    int i = point_before(k, within_period(k, tick));
    return k->numbers[2 * (i < 0 ? 0 : i) + 1];
}

static double wave(const rule *k, double n)
{
    const change_options *o = &k->o;
    double angle = o->frequency * n + o->phase;
    double w = o->function == COSINE ? cos(angle) : sin(angle);
    double amplitude = o->amplitude;
    if (o->function == DAMPED) amplitude *= pow(o->decay, -ceil(n / o->decay_every));
    return o->offset + amplitude * (o->absolute && o->function != DAMPED ? fabs(w) : w);
}

static double reflect(double x, double low, double high)
{
    double width = high - low;
    if (width <= 0) return low;
    double y = fmod(x - low, 2 * width);
    if (y < 0) y += 2 * width;
    return low + (y > width ? 2 * width - y : y);
}

static double random_walk(const rule *k, sched_life life, sched_state *s, bool ticked, bool start)
{
    if (start) s->walk = k->o.offset;
    if (ticked) {
        rng r = draw(life, k->values_stream, s->count);
        s->walk = reflect(s->walk + k->o.step * rng_normal(&r), k->o.low, k->o.high);
    }
    return s->walk;
}

static double sample(const rule *k, rng r, double low, double high)
{
    if (k->o.function != CHOICE) return rng_between(&r, low, high);
    return k->numbers[rng_below(&r, (uint32_t)k->number_count)];
}

static double value(const rule *k, sched_life life, sched_state *s, bool ticked, bool start)
{
    switch (k->o.function) {
    case CONSTANT:
        return k->o.offset;
    case LINEAR:
        return linear(k, s->tick);
    case STEPS:
        return steps(k, s->tick);
    case WALK:
        return random_walk(k, life, s, ticked, start);
    case UNIFORM:
    case CHOICE:
        return sample(k, draw(life, k->values_stream, s->count), k->o.low, k->o.high);
    default:
        return wave(k, (double)s->tick);
    }
}

/* Whether the rule begins a segment when its clock goes from `before` to `after`. */
static bool ticks(const rule *k, const sched_time *now, int64_t before, int64_t after)
{
    if (now->t == 0 || k->o.function == CONSTANT) return false;
    bool again = k->o.clock == CLOCK_BLOCK && now->tau == 0;
    if (k->o.function == STEPS) {
        bool wrapped = k->o.period > 0 && before / k->o.period != after / k->o.period;
        return wrapped || again ||
               point_before(k, within_period(k, before)) !=
                   point_before(k, within_period(k, after));
    }
    return again || before != after;
}

/* Bounds were checked at load; this only takes off a rounding error at their edge. */
static double scaled(const rule *k, double value)
{
    return fmin(fmax(k->scale * value, k->low), k->high);
}

bool schedule_advance(const schedule *s, sched_life life, const sched_time *now,
                      sched_state *states, double *values)
{
    bool changed = false;
    for (size_t i = 0; i < s->count; i++) {
        const rule *k = &s->rules[i];
        sched_state *state = &states[i];
        bool start = now->t == 0;
        if (start) *state = (sched_state){0};
        int64_t tick = read_clock(k, life, now, state->tick);
        bool ticked = ticks(k, now, state->tick, tick);
        state->tick = tick;
        state->count += ticked;
        changed |= ticked;
        values[i] = scaled(k, value(k, life, state, ticked, start));
    }
    return changed;
}

void schedule_values(const schedule *s, sched_life life, const sched_state *states, double *values)
{
    for (size_t i = 0; i < s->count; i++) {
        const rule *k = &s->rules[i];
        sched_state state = states[i];
        values[i] = scaled(k, value(k, life, &state, false, false));
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Reads "1, 2, 3" (pairs: "0:1, 5:2") into `out`, which the caller frees. */
static int parse_numbers(const char *key, const char *list, bool pairs, double **out, int *count)
{
    const char *p = list;
    size_t capacity = 0;
    *count = 0;
    while (*p) {
        char *end;
        double x = text_number(p, &end);
        const char *wanted = pairs && *count % 2 == 0 ? ":" : ",";
        end += strspn(end, " \t");
        bool last = !*end && !(pairs && *count % 2 == 0);
        if (end == p || !isfinite(x) || (!last && *end != *wanted) || (*end && !end[1]))
            return fans_fail(FANS_EINVAL, "%s = %.100s: not a list such as %s", key, list,
                             pairs ? "0:35, 1500:5, 3000:35" : "1, 2, 3");
        if (mem_grow(out, &capacity, (size_t)*count + 1, sizeof **out) < 0) return FANS_ENOMEM;
        (*out)[(*count)++] = x;
        p = last ? end : end + 1;
        p += strspn(p, " \t");
    }
    return 0;
}

static int check_rising(const char *key, const double *x, int count, int stride)
{
    for (int i = 0; i < count; i += stride)
        if (x[i] != floor(x[i]) || x[i] < 0 || (i > 0 && x[i] <= x[i - stride]))
            return fans_fail(FANS_EINVAL, "%s: %g: must be whole numbers from 0 in rising order",
                             key, x[i]);
    return 0;
}

static int load_lists(rule *k)
{
    const change_options *o = &k->o;
    int rc;
    if ((rc = parse_numbers("at", o->at, false, &k->at, &k->at_count)) < 0) return rc;
    if ((rc = check_rising("at", k->at, k->at_count, 1)) < 0) return rc;
    bool points = o->function == LINEAR || o->function == STEPS;
    if (!points && o->function != CHOICE) return 0;
    const char *key = points ? "points" : "values", *list = points ? o->points : o->values;
    if ((rc = parse_numbers(key, list, points, &k->numbers, &k->number_count)) < 0) return rc;
    if (k->number_count == 0)
        return fans_fail(FANS_EINVAL, "%s is missing, such as %s = %s", key, key,
                         points ? "0:35, 1500:5, 3000:35" : "1, 2, 3");
    return points ? check_rising(key, k->numbers, k->number_count, 2) : 0;
}

static void stretch(double x, double *low, double *high)
{
    *low = fmin(*low, x);
    *high = fmax(*high, x);
}

/* The least and the greatest value that a rule can give, before scaling. */
static void bounds(const rule *k, double *low, double *high)
{
    const change_options *o = &k->o;
    *low = *high = o->offset;
    switch (o->function) {
    case CONSTANT:
        break;
    case LINEAR:
    case STEPS:
        *low = *high = k->numbers[1];
        for (int i = 3; i < k->number_count; i += 2) stretch(k->numbers[i], low, high);
        break;
    case CHOICE:
        *low = *high = k->numbers[0];
        for (int i = 1; i < k->number_count; i++) stretch(k->numbers[i], low, high);
        break;
    case WALK:
    case UNIFORM:
        *low = o->low;
        *high = o->high;
        break;
    default:
        stretch(o->offset + o->amplitude, low, high);
        if (!o->absolute || o->function == DAMPED) stretch(o->offset - o->amplitude, low, high);
    }
}

static void scaled_bounds(const rule *k, double *low, double *high)
{
    double a, b;
    bounds(k, &a, &b);
    *low = fmin(k->scale * a, k->scale * b);
    *high = fmax(k->scale * a, k->scale * b);
}

static int check_range(const rule *k, const fans_factor *f)
{
    const change_options *o = &k->o;
    bool between = o->function == WALK || o->function == UNIFORM;
    if (between && o->low > o->high)
        return fans_fail(FANS_EINVAL, "low = %g is above high = %g", o->low, o->high);
    if (o->function == WALK && (o->offset < o->low || o->offset > o->high))
        return fans_fail(FANS_EINVAL, "offset = %g: the walk starts outside %g to %g", o->offset,
                         o->low, o->high);
    double low, high;
    scaled_bounds(k, &low, &high);
    double slack = 1e-9 * fmax(fabs(f->low), fabs(f->high));
    if (low < f->low - slack || high > f->high + slack)
        return fans_fail(FANS_EINVAL, "goes from %g to %g, but %s takes %g to %g", low, high,
                         f->name, f->low, f->high);
    return 0;
}

static int find_factor(int *out, const fans_env_info *info, const char *name, const char *env)
{
    nearest near = {.word = name};
    for (int i = 0; i < info->factor_count; i++) {
        if (!strcmp(info->factors[i].name, name)) {
            *out = i;
            return 0;
        }
        nearest_offer(&near, info->factors[i].name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(FANS_EINVAL, "%s has no factor '%s'%s", env, name,
                     *hint ? hint : "; `fans list envs` lists those of built-in environments");
}

static int load_rule(rule *k, config *c, const char *section, const fans_env_info *info,
                     const char *env)
{
    const char *name = strchr(section, '.') + 1;
    int rc = config_take(c, change_option_group(), section, &k->o);
    if (rc < 0) return rc;
    snprintf(k->section, sizeof k->section, "%s", section);
    TRY(find_factor(&k->factor, info, name, env));
    const fans_factor *f = &info->factors[k->factor];
    k->scale = k->o.relative ? f->initial : 1;
    k->low = f->low;
    k->high = f->high;
    k->values_stream = rng_purpose(section);
    k->points_stream = rng_purpose(name) ^ rng_purpose("change points");
    k->prelude_stream = rng_purpose(name) ^ rng_purpose("prelude");
    TRY(load_lists(k));
    if (k->o.function == CONSTANT && !config_get(c, section, "offset"))
        TRY(fans_fail(FANS_EINVAL, "function is missing, such as function = sine; or offset, the "
                                   "value of a constant"));
    TRY(check_range(k, f));
out:
    if (rc == 0) return 0;
    fans_fail_within(rc, "[%s]", section);
    return config_blame(c, section, NULL, rc);
}

int schedule_load(schedule **out, config *c, const fans_env_info *info, const char *env)
{
    int rc = 0, rules = 0;
    schedule *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    s->horizon = info->horizon;
    while (rules <= info->factor_count && config_section(c, "change.", rules)) rules++;
    TRY((s->rules = mem_alloc((size_t)rules * sizeof *s->rules)) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < rules; i++)
        TRY(load_rule(&s->rules[s->count++], c, config_section(c, "change.", i), info, env));
    *out = s;
out:
    if (rc < 0) schedule_free(s);
    return rc;
}

void schedule_free(schedule *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        mem_free(s->rules[i].numbers);
        mem_free(s->rules[i].at);
    }
    mem_free(s->rules);
    mem_free(s);
}

int schedule_rules(const schedule *s)
{
    return (int)s->count;
}

int schedule_factor(const schedule *s, int k)
{
    return s->rules[k].factor;
}

/* Ticks at every step. */
static bool flows(const rule *r)
{
    bool ticks = r->o.function != CONSTANT && r->o.function != STEPS;
    bool every = r->o.clock == CLOCK_STEP || (r->o.clock == CLOCK_BLOCK && r->o.length == 1);
    return ticks && every;
}

/* The mean distance of `count` numbers in order, each `stride` after the one before. */
static double mean_gap(const double *numbers, int count, int stride)
{
    return count < 2 ? INFINITY : (numbers[(count - 1) * stride] - numbers[0]) / (count - 1);
}

/* Steps between the ticks of a clock, on average. */
static double steps_of_tick(const rule *r, int horizon)
{
    switch (r->o.clock) {
    case CLOCK_STEP:
        return 1;
    case CLOCK_EPISODE:
        return horizon;
    case CLOCK_BLOCK:
        return r->o.length < horizon ? r->o.length : horizon;
    default:
        return r->at_count > 0 ? mean_gap(r->at, r->at_count, 1) : 1 / r->o.rate;
    }
}

static double steps_between_changes(const rule *r, int horizon)
{
    double tick = steps_of_tick(r, horizon);
    if (r->o.function == CONSTANT) return INFINITY;
    return r->o.function == STEPS ? tick * mean_gap(r->numbers, r->number_count / 2, 2) : tick;
}

fans_moving schedule_moving(const schedule *s, int k)
{
    const rule *r = &s->rules[k];
    fans_moving m = {.factor = r->factor,
                     .flows = flows(r),
                     .drawn = !schedule_has_memory(s, k),
                     .every = steps_between_changes(r, s->horizon)};
    scaled_bounds(r, &m.low, &m.high);
    if (r->o.function == CHOICE) {
        m.choices = r->number_count;
        m.values = r->numbers;
        m.scale = r->scale;
    }
    return m;
}

bool schedule_has_memory(const schedule *s, int k)
{
    int function = s->rules[k].o.function;
    return function != UNIFORM && function != CHOICE;
}

void schedule_draw(const schedule *s, sched_life life, int64_t episode, double *values)
{
    for (size_t i = 0; i < s->count; i++) {
        const rule *k = &s->rules[i];
        double low, high;
        bounds(k, &low, &high);
        values[i] = scaled(k, sample(k, draw(life, k->prelude_stream, episode), low, high));
    }
}

bool schedule_moves(const schedule *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rules[i].o.function != CONSTANT) return true;
    return false;
}

void schedule_dump(const schedule *s, text *out)
{
    for (size_t i = 0; i < s->count; i++) {
        if (i > 0) text_add(out, "\n");
        options_dump(change_option_group(), s->rules[i].section, &s->rules[i].o, out);
    }
}
