/* refresh.c - a recording of q_phi on windows of the replay, and one of p_gamma on ends of
 * segments.
 *
 * Where a segment starts, p_gamma predicts the belief from the end of the last one. Few rows need
 * that, and p_gamma is the larger part of the work, so it has a separate plan. */
#include "learn/refresh.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* A step after which a segment may start, and the last step of the segment before its own. */
typedef struct end {
    size_t at, before;
} end;

/* Which of a replica's ends comes next, and how many are in this round. */
typedef struct asking {
    int window, end, count;
} asking;

struct refresh {
    fnvae *f;
    replay *replay;
    int column;
    bool spread;
    int T, B;  /* a window's steps; windows at a time */
    int n;     /* p + q */
    int width; /* of a stored belief: n, or 2 n with spreads */
    int most;  /* ends per round and replica */
    staged at, next, change, thetas;
    nn_var out, foretold;
    nn_plan *encode, *foresee;
    float *reached, *foreseen; /* [replica][T][B][width]: after a step; if a segment starts next */
    end *ends;                 /* [replica][B][T] */
    int *end_count;            /* [replica][B] */
    asking *asking;            /* [replica] */
    size_t *asked;             /* [replica][most]: the ends of a round */
    float *answers;            /* ... and what p_gamma predicts after them */
    uint64_t *counters;
    int *steps, *count;  /* [replica][capacity] rows of a lane that are steps; their number */
    replay_step *window; /* [replica][T] */
    int world, batch;    /* of the current run */
    arena *memory;
};

/* ---- recording ------------------------------------------------------------------------------- */

static void record_windows(refresh *x)
{
    fnvae *f = x->f;
    const replay *r = x->replay;
    fnvae_posterior q_s, q_r;
    nn_var now = replay_gather(r, x->at.var), after = replay_gather(r, x->next.var);
    fnvae_lived lived = {replay_obs(r, now), replay_action(r, now), replay_reward(r, now),
                         replay_obs(r, after)};
    fnvae_seen seen = fnvae_record_seen(f, lived, x->change.var);
    fnvae_record_posteriors(f, &seen, &q_s, &q_r);
    x->out = x->spread ? nn_concat(NN_IN(q_s.mean, q_r.mean, q_s.log_std, q_r.log_std))
                       : nn_concat(NN_IN(q_s.mean, q_r.mean));
}

/* p_gamma on [mean | last mean of the segment before] of some rows. */
static void record_foresight(refresh *x)
{
    int p = x->f->z.p, q = x->f->z.q, n = x->n;
    nn_var in = x->thetas.var;
    nn_var s[] = {nn_slice(in, 0, p), nn_slice(in, n, p)};
    nn_var r[] = {nn_slice(in, p, q), nn_slice(in, n + p, q)};
    fnvae_prior next = fnvae_record_foretold(x->f, s, r);
    x->foretold = x->spread ? nn_concat(NN_IN(next.mean, next.log_std)) : next.mean;
}

int refresh_new(refresh **out, fnvae *f, replay *r, int column, bool spread)
{
    int rc = 0, n = f->z.p + f->z.q;
    refresh *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (refresh){.f = f,
                   .replay = r,
                   .column = column,
                   .spread = spread,
                   .T = 2 * f->o.window,
                   .B = f->o.encode,
                   .n = n,
                   .width = spread ? 2 * n : n};
    x->most = x->T * x->B / 16 + 1;
    TRY(arena_new(&x->memory));
    TRY(staged_rows(&x->at, x->memory, f->g, "encode at", x->T, x->B, 1));
    TRY(staged_rows(&x->next, x->memory, f->g, "encode next", x->T, x->B, 1));
    TRY(staged_numbers(&x->change, x->memory, f->g, "encode change", x->T, x->B, 1));
    TRY(staged_numbers(&x->thetas, x->memory, f->g, "encode thetas", 1, x->most, 2 * n));
    record_windows(x);
    record_foresight(x);
    *out = x;
out:
    if (rc < 0) refresh_free(x);
    return rc;
}

int refresh_plan(refresh *x)
{
    int rc = 0;
    TRY(nn_plan_new(&x->encode, x->f->g, &x->out, 1, 0, NULL, 0));
    TRY(nn_plan_new(&x->foresee, x->f->g, &x->foretold, 1, 0, NULL, 0));
out:
    return rc;
}

int refresh_ready(refresh *x)
{
    size_t R = (size_t)x->f->replicas, windows = R * (size_t)x->B, rows = windows * (size_t)x->T;
    size_t asked = R * (size_t)x->most, belief = (size_t)x->width * sizeof(float);
    size_t capacity = (size_t)replay_capacity(x->replay);
    int rc = 0, counters;
    nn_graph_counters(x->f->g, &counters);
    TRY(arena_declare(x->memory, &x->reached, rows * belief));
    TRY(arena_declare(x->memory, &x->foreseen, rows * belief));
    TRY(arena_declare(x->memory, &x->ends, rows * sizeof *x->ends));
    TRY(arena_declare(x->memory, &x->end_count, windows * sizeof *x->end_count));
    TRY(arena_declare(x->memory, &x->asking, R * sizeof *x->asking));
    TRY(arena_declare(x->memory, &x->asked, asked * sizeof *x->asked));
    TRY(arena_declare(x->memory, &x->answers, asked * belief));
    TRY(arena_declare(x->memory, &x->counters, (size_t)counters * sizeof *x->counters));
    TRY(arena_declare(x->memory, &x->steps, R * capacity * sizeof *x->steps));
    TRY(arena_declare(x->memory, &x->count, R * sizeof *x->count));
    TRY(arena_declare(x->memory, &x->window, R * (size_t)x->T * sizeof *x->window));
    TRY(arena_commit(x->memory));
out:
    return rc;
}

void refresh_free(refresh *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x);
}

/* ---- one round of windows -------------------------------------------------------------------- */

int refresh_length(const refresh *x)
{
    return x->T;
}

/* Tensors are (T, B, ·) per replica. */
static size_t place(const refresh *x, int b, int t)
{
    return (size_t)t * (size_t)x->B + (size_t)b;
}

static size_t place_of_all(const refresh *x, int replica, int b, int t)
{
    return (size_t)replica * (size_t)x->T * (size_t)x->B + place(x, b, t);
}

/* Lists the steps of a window after which a segment may start, each with the last step of the
 * segment before its own; or with itself if there is none: theta has not moved yet. */
static void list_ends(refresh *x, int replica, int b, const replay_step *steps)
{
    int n = 0, before = -1;
    size_t window = (size_t)replica * (size_t)x->B + (size_t)b;
    end *to = x->ends + window * (size_t)x->T;
    for (int t = 0; t < x->T; t++) {
        if (t > 0 && steps[t].change) before = t - 1;
        if (t + 1 < x->T && !steps[t + 1].change) continue;
        to[n++] = (end){place_of_all(x, replica, b, t),
                        place_of_all(x, replica, b, before < 0 ? t : before)};
    }
    x->end_count[window] = n;
}

void refresh_window(refresh *x, int replica, int b, const replay_step *steps)
{
    for (int t = 0; t < x->T; t++) {
        size_t at = place(x, b, t);
        rows_of(&x->at, replica)[at] = steps[t].at;
        rows_of(&x->next, replica)[at] = steps[t].next;
        numbers_of(&x->change, replica)[at] = steps[t].change;
    }
    list_ends(x, replica, b, steps);
}

const float *refresh_reached(const refresh *x, int replica, int b, int t)
{
    return x->reached + place_of_all(x, replica, b, t) * (size_t)x->width;
}

/* ---- predictions after the ends -------------------------------------------------------------- */

/* Takes up to `most` of a replica's next ends: notes them, and writes their thetas. */
static void ask(refresh *x, int replica)
{
    asking *k = &x->asking[replica];
    size_t n = (size_t)x->n, width = (size_t)x->width, first = (size_t)replica * (size_t)x->most;
    k->count = 0;
    for (; k->window < x->B; k->window++, k->end = 0) {
        size_t window = (size_t)replica * (size_t)x->B + (size_t)k->window;
        for (; k->end < x->end_count[window]; k->end++, k->count++) {
            if (k->count == x->most) return;
            const end *which = &x->ends[window * (size_t)x->T + (size_t)k->end];
            float *to = numbers_of(&x->thetas, replica) + (size_t)k->count * 2 * n;
            memcpy(to, x->reached + which->at * width, n * sizeof *to);
            memcpy(to + n, x->reached + which->before * width, n * sizeof *to);
            x->asked[first + (size_t)k->count] = which->at;
        }
    }
}

static void note_answers(const refresh *x, int replica)
{
    size_t width = (size_t)x->width, first = (size_t)replica * (size_t)x->most;
    for (size_t i = first; i < first + (size_t)x->asking[replica].count; i++)
        memcpy(x->foreseen + x->asked[i] * width, x->answers + i * width, width * sizeof(float));
}

static bool ask_all(refresh *x)
{
    int asked = 0;
    for (int r = 0; r < x->f->replicas; r++) {
        ask(x, r);
        asked += x->asking[r].count;
    }
    return asked > 0;
}

/* The number of rounds depends on all replicas, but what a replica draws later must not: the
 * counters of the (frozen) gates are restored. */
static int foresee(refresh *x)
{
    int rc = 0, n;
    uint64_t *counters = nn_graph_counters(x->f->g, &n);
    memcpy(x->counters, counters, (size_t)n * sizeof *counters);
    memset(x->asking, 0, (size_t)x->f->replicas * sizeof *x->asking);
    while (ask_all(x)) {
        staged_send(&x->thetas);
        TRY(nn_plan_run(x->foresee));
        nn_read_all(x->foretold, x->answers);
        for (int r = 0; r < x->f->replicas; r++) note_answers(x, r);
    }
    memcpy(counters, x->counters, (size_t)n * sizeof *counters);
out:
    return rc;
}

int refresh_encode(refresh *x)
{
    int rc = 0;
    staged_send(&x->at);
    staged_send(&x->next);
    staged_send(&x->change);
    TRY(nn_plan_run(x->encode));
    nn_read_all(x->out, x->reached);
    TRY(foresee(x));
out:
    return rc;
}

/* ---- the whole replay ------------------------------------------------------------------------ */

/* Steps at the start of a window that do not count: half a training window. */
static int warm_up(const refresh *x)
{
    return x->f->o.window / 2;
}

/* Where window k starts, or -1 if earlier windows cover all steps. Windows overlap by the warm-up;
 * the last one ends with the last step. */
static int window_start(const refresh *x, int replica, int k)
{
    int T = x->T, stride = T - warm_up(x), n = x->count[replica];
    if (n < T || (k > 0 && (k - 1) * stride + T >= n)) return -1;
    return k * stride + T <= n ? k * stride : n - T;
}

static int *steps_of(const refresh *x, int replica)
{
    return x->steps + (size_t)replica * (size_t)replay_capacity(x->replay);
}

static int lane_of(const refresh *x, int replica)
{
    return replica * x->f->worlds + x->world;
}

static void list_steps(void *arg, int r)
{
    refresh *x = arg;
    x->count[r] = replay_list_steps(x->replay, lane_of(x, r), steps_of(x, r));
}

static void fill_replica(void *arg, int r)
{
    refresh *x = arg;
    replay_step *window = x->window + (size_t)r * (size_t)x->T;
    for (int b = 0; b < x->B; b++) {
        int start = window_start(x, r, x->batch * x->B + b);
        if (start < 0) return;
        replay_window(x->replay, lane_of(x, r), steps_of(x, r)[start], x->T, window);
        refresh_window(x, r, b, window);
    }
}

/* Stores the belief reached after the step in row i: in an episode's last row, and in the next
 * step, or there what p_gamma predicted, if a segment starts. */
static void keep(const refresh *x, int lane, int i, const float *reached, const float *foreseen)
{
    size_t bytes = (size_t)x->width * sizeof(float);
    if (replay_at(x->replay, lane, ++i).last) {
        memcpy(replay_beside(x->replay, lane, i, x->column), reached, bytes);
        if (++i >= replay_rows(x->replay, lane)) return;
    }
    int64_t before = replay_at(x->replay, lane, i - 1).segment;
    bool change = before != replay_at(x->replay, lane, i).segment;
    memcpy(replay_beside(x->replay, lane, i, x->column), change ? foreseen : reached, bytes);
}

static void keep_replica(void *arg, int r)
{
    refresh *x = arg;
    int lane = lane_of(x, r);
    /* does the ring still have the lifetime's start? */
    bool whole = replay_rows(x->replay, lane) < replay_capacity(x->replay);
    for (int b = 0; b < x->B; b++) {
        int start = window_start(x, r, x->batch * x->B + b);
        if (start < 0) return;
        for (int t = start == 0 && whole ? 0 : warm_up(x); t < x->T; t++) {
            size_t at = place_of_all(x, r, b, t) * (size_t)x->width;
            keep(x, lane, steps_of(x, r)[start + t], x->reached + at, x->foreseen + at);
        }
    }
}

static bool more(const refresh *x)
{
    for (int r = 0; r < x->f->replicas; r++)
        if (window_start(x, r, x->batch * x->B) >= 0) return true;
    return false;
}

int refresh_run(refresh *x, pool *p)
{
    int rc = 0, R = x->f->replicas;
    replay_sync(x->replay);
    fnvae_set_units(x->f);
    for (x->world = 0; x->world < x->f->worlds; x->world++) {
        pool_run(p, R, list_steps, x);
        for (x->batch = 0; more(x); x->batch++) {
            pool_run(p, R, fill_replica, x);
            TRY(refresh_encode(x));
            pool_run(p, R, keep_replica, x);
        }
    }
    replay_column_changed(x->replay, x->column);
out:
    return rc;
}

void refresh_measure(const refresh *x, int replica, float *mean, float *spread)
{
    int n = x->n, count = 0;
    double sum[FNVAE_MOST] = {0}, squares[FNVAE_MOST] = {0};
    for (int w = 0; w < x->f->worlds; w++) {
        int lane = replica * x->f->worlds + w, rows = replay_rows(x->replay, lane);
        for (int i = 0; i < rows; i++) {
            const float *theta = replay_beside(x->replay, lane, i, x->column);
            for (int k = 0; k < n; k++) {
                sum[k] += (double)theta[k];
                squares[k] += (double)theta[k] * (double)theta[k];
            }
        }
        count += rows;
    }
    for (int k = 0; k < n; k++) {
        double m = count ? sum[k] / count : 0, square = count ? squares[k] / count : 1;
        mean[k] = (float)m;
        spread[k] = (float)sqrt(fmax(square - m * m, 0));
    }
}
