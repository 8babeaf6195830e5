/* life.c - acting by a policy's program.
 *
 * A tick of a program takes in the last step's outcome and acts. So `observe` only notes the
 * outcome, and the next `act` runs the tick. Where act gets another observation than the one that
 * was observed, an episode has ended in between: its last observation has a tick of its own. */
#include <math.h>
#include <string.h>

#include "api/policy.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

enum { MOST_ROWS = 1 << 20, AT_ONCE = 16 }; /* rows: of a life; in one run of the program */

struct fans_life {
    handle handle;
    fans_policy *policy;
    const program_shape *shape;
    int n, obs, act, belief; /* widths */
    bool acted;
    int at_once;
    float *in, *out, *work; /* (at_once, ·): of a tick */
    float *state;           /* (n, state) */
    float *beliefs;         /* (n, belief) */
    rng *noise;             /* [n] */

    /* the last step of each row */
    float *did, *reward, *terminated, *next_obs;
    uint8_t *seen; /* its outcome waits for the next act */
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int declare(fans_life *l)
{
    const program_shape *z = l->shape;
    struct {
        float **slot;
        int rows, width;
    } arrays[] = {{&l->in, l->at_once, z->inputs}, {&l->out, l->at_once, z->outputs},
                  {&l->work, l->at_once, z->work}, {&l->state, l->n, z->state},
                  {&l->beliefs, l->n, l->belief},  {&l->did, l->n, l->act},
                  {&l->reward, l->n, 1},           {&l->terminated, l->n, 1},
                  {&l->next_obs, l->n, l->obs}};
    int rc = 0;
    TRY(arena_new(&l->memory));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        TRY(arena_declare(l->memory, arrays[i].slot,
                          (size_t)arrays[i].rows * (size_t)arrays[i].width * sizeof(float)));
    TRY(arena_declare(l->memory, &l->seen, (size_t)l->n));
    TRY(arena_declare(l->memory, &l->noise, (size_t)l->n * sizeof *l->noise));
    TRY(arena_commit(l->memory));
out:
    return rc;
}

int fans_life_new(fans_life **out, const fans_policy *p, int n, uint64_t seed)
{
    fans_life *l = NULL;
    int rc = 0;
    TRY(CHECK_POINTER(out));
    TRY(CHECK(p, HANDLE_POLICY));
    TRY(check_index(n, 1, MOST_ROWS + 1, __func__));
    TRY((l = mem_alloc(sizeof *l)) ? 0 : FANS_ENOMEM);
    TRY(handle_begin(&l->handle, HANDLE_LIFE));
    l->shape = program_shape_of(p->program);
    l->n = n;
    l->at_once = n < AT_ONCE ? n : AT_ONCE;
    l->obs = l->shape->in[TICK_obs].width;
    l->act = l->shape->out[TICK_actions].width;
    l->belief = l->shape->out[TICK_belief].width;
    TRY(declare(l));
    for (int i = 0; i < n; i++) l->noise[i] = rng_stream(seed, "life", (uint32_t)i);
    l->policy = (fans_policy *)p; /* constant but for its count of users */
    atomic_fetch_add(&l->policy->users, 1);
    *out = l;
    return 0;
out:
    fans_life_free(l);
    return rc;
}

void fans_life_free(fans_life *l)
{
    if (!l || !handle_end(l, HANDLE_LIFE)) return;
    policy_leave(l->policy);
    arena_free(l->memory);
    mem_free(l);
}

/* ---- acting ---------------------------------------------------------------------------------- */

static void set(const fans_life *l, int at, int which, const float *from)
{
    program_field f = l->shape->in[which];
    memcpy(l->in + at * l->shape->inputs + f.at, from, (size_t)f.width * sizeof *from);
}

/* The inputs of a row's tick become number `at` of those that run together. */
static void set_tick(const fans_life *l, int at, int row, const float *obs, bool seen, bool change,
                     bool last)
{
    const float none = 0, one = 1;
    set(l, at, TICK_obs, obs);
    set(l, at, TICK_last_action, l->did + (size_t)row * (size_t)l->act);
    set(l, at, TICK_reward, &l->reward[row]);
    set(l, at, TICK_terminated, last ? &l->terminated[row] : &none);
    set(l, at, TICK_change, change ? &one : &none);
    set(l, at, TICK_seen, seen ? &one : &none);
}

static void run_ticks(const fans_life *l, int first, int count)
{
    program_step(l->policy->program, count, l->in,
                 l->state + (size_t)first * (size_t)l->shape->state, l->out, l->work);
}

/* Where an episode has ended since the last action, its last observation has a tick of its own. */
static void end_episode(fans_life *l, int row, const float *obs)
{
    const float *next = l->next_obs + (size_t)row * (size_t)l->obs;
    bool ended = l->terminated[row] > 0 || memcmp(next, obs, (size_t)l->obs * sizeof *obs);
    if (!l->seen[row] || !ended) return;
    set_tick(l, 0, row, next, true, false, true);
    run_ticks(l, row, 1);
    l->seen[row] = 0;
}

/* The ticks before the actions of some rows. */
static void live(fans_life *l, int first, int count, const float *obs, const uint8_t *change)
{
    for (int i = first; i < first + count; i++) end_episode(l, i, obs + (size_t)i * (size_t)l->obs);
    for (int i = first; i < first + count; i++) {
        set_tick(l, i - first, i, obs + (size_t)i * (size_t)l->obs, l->seen[i], change && change[i],
                 false);
        l->seen[i] = 0;
    }
    run_ticks(l, first, count);
}

static void choose(fans_life *l, int row, const float *out, bool explore, float *action)
{
    const float *best = out + l->shape->out[TICK_actions].at;
    const float *mean = out + l->shape->out[TICK_mean].at;
    const float *log_std = out + l->shape->out[TICK_log_std].at;
    for (int k = 0; k < l->act; k++)
        action[k] = explore ? tanhf(mean[k] + expf(log_std[k]) * (float)rng_normal(&l->noise[row]))
                            : best[k];
}

/* What came of the tick of a row. */
static void take(fans_life *l, int row, const float *out, bool explore, float *action)
{
    choose(l, row, out, explore, action);
    memcpy(l->did + (size_t)row * (size_t)l->act, action, (size_t)l->act * sizeof *action);
    memcpy(l->beliefs + (size_t)row * (size_t)l->belief, out + l->shape->out[TICK_belief].at,
           (size_t)l->belief * sizeof *l->beliefs);
}

static int check_row(const char *what, const float *x, int row, int width)
{
    for (int k = 0; k < width; k++)
        if (!isfinite(x[k]))
            return fans_fail(FANS_EINVAL, "%s[%d] of row %d is %g", what, k, row, (double)x[k]);
    return 0;
}

static int check_rows(const char *what, const float *x, int rows, int width)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < rows; i++)
        rc = check_row(what, x + (size_t)i * (size_t)width, i, width);
    return rc;
}

int fans_life_act(fans_life *l, const float *obs, const uint8_t *change, bool explore,
                  float *action)
{
    int rc = ENTER(l, HANDLE_LIFE);
    if (rc < 0) return rc;
    TRY(CHECK_POINTER(obs));
    TRY(CHECK_POINTER(action));
    TRY(check_rows("obs", obs, l->n, l->obs));
    for (int first = 0; first < l->n; first += l->at_once) {
        int count = l->n - first < l->at_once ? l->n - first : l->at_once;
        live(l, first, count, obs, change);
        for (int k = 0; k < count; k++)
            take(l, first + k, l->out + k * l->shape->outputs, explore,
                 action + (size_t)(first + k) * (size_t)l->act);
    }
    l->acted = true;
out:
    return handle_leave(l, rc);
}

/* ---- observing ------------------------------------------------------------------------------- */

/* Nothing but NaN. */
static bool is_missing(const float *row, int width)
{
    for (int k = 0; k < width; k++)
        if (!isnan(row[k])) return false;
    return true;
}

static void note(fans_life *l, const float *did, const float *reward, const uint8_t *terminated,
                 const float *next_obs)
{
    for (int i = 0; did && i < l->n * l->act; i++) l->did[i] = fminf(fmaxf(did[i], -1), 1);
    for (int i = 0; i < l->n; i++) {
        l->reward[i] = reward ? reward[i] : NAN;
        l->terminated[i] = terminated && terminated[i];
        l->seen[i] = !is_missing(next_obs + (size_t)i * (size_t)l->obs, l->obs);
    }
    memcpy(l->next_obs, next_obs, (size_t)l->n * (size_t)l->obs * sizeof *next_obs);
    l->acted = false;
}

int fans_life_observe(fans_life *l, const float *did, const float *reward,
                      const uint8_t *terminated, const float *next_obs)
{
    int rc = ENTER(l, HANDLE_LIFE);
    if (rc < 0) return rc;
    TRY(CHECK_POINTER(next_obs));
    if (!l->acted) TRY(fans_fail(FANS_EINVAL, "%s: nothing was done yet: act first", __func__));
    if (did) TRY(check_rows("did", did, l->n, l->act));
    for (int i = 0; i < l->n; i++) {
        const float *row = next_obs + (size_t)i * (size_t)l->obs;
        if (!is_missing(row, l->obs)) TRY(check_row("next_obs", row, i, l->obs));
    }
    for (int i = 0; reward && i < l->n; i++)
        if (isinf(reward[i])) TRY(fans_fail(FANS_EINVAL, "reward[%d] is infinite", i));
    note(l, did, reward, terminated, next_obs);
out:
    return handle_leave(l, rc);
}

const float *fans_life_belief(const fans_life *l)
{
    if (CHECK(l, HANDLE_LIFE) < 0) return NULL;
    if (l->belief) return l->beliefs;
    fans_fail(FANS_ENOSUP, "fans_life_belief: this policy has no belief");
    return NULL;
}

int fans_life_restart(fans_life *l, int row)
{
    int rc = ENTER(l, HANDLE_LIFE);
    if (rc < 0) return rc;
    TRY(check_index(row, -1, l->n, __func__));
    int first = row < 0 ? 0 : row, rows = row < 0 ? l->n : 1;
    size_t width = (size_t)l->shape->state;
    memset(l->state + (size_t)first * width, 0, (size_t)rows * width * sizeof *l->state);
    memset(l->seen + first, 0, (size_t)rows);
out:
    return handle_leave(l, rc);
}
