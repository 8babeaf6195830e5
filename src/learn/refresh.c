/* refresh.c - a recording of q_phi on windows of the replay, and one of p_gamma on ends of
 * segments.
 *
 * Where a segment starts, p_gamma predicts the belief from the end of the last one. Few rows need
 * that, and p_gamma is the larger part of the work, so it has a separate plan. */
#include "learn/refresh.h"

#include <string.h>

#include "base/error.h"
#include "learn/hypotheses.h"
#include "learn/points.h"
#include "learn/sweep.h"

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
    refresh_way way;
    staged at, next, change, thetas;
    staged reset[2]; /* of both windows: (T, B, 2), where theta_s and theta_r start afresh, … */
    staged begin[2]; /* … and, with points, where a segment of them begins */
    nn_var out, other, foretold;
    nn_plan *encode, *foresee;
    float *reached, *foreseen; /* [replica][T][B][width]: after a step; if a segment starts next */
    float *reached_other;      /* ... after a step, in the other window */
    end *ends;                 /* [replica][B][T] */
    int *end_count;            /* [replica][B] */
    asking *asking;            /* [replica] */
    size_t *asked;             /* [replica][most]: the ends of a round */
    float *answers;            /* ... and what p_gamma predicts after them */
    uint64_t *counters;
    sweep *sweep;
    arena *memory;
};

enum { KINDS = 2 }; /* of theta */

static int windows_of(const refresh *x)
{
    return x->way == REFRESH_CARRIES ? 1 : 2;
}

/* ---- recording ------------------------------------------------------------------------------- */

static nn_var record_posteriors(refresh *x, const fnvae_seen *seen)
{
    fnvae_posterior q_s, q_r;
    fnvae_record_posteriors(x->f, seen, &q_s, &q_r);
    return x->spread ? nn_concat(NN_IN(q_s.mean, q_r.mean, q_s.log_std, q_r.log_std))
                     : nn_concat(NN_IN(q_s.mean, q_r.mean));
}

/* Where a window starts afresh. With doubt, the other one does so with every segment. */
static void restart(const refresh *x, int which, fnvae_seen *seen)
{
    if (x->way == REFRESH_DOUBTS && which == 1) {
        seen->reset_s = seen->reset_r = x->change.var;
        return;
    }
    seen->reset_s = nn_slice(x->reset[which].var, 0, 1);
    seen->reset_r = nn_slice(x->reset[which].var, 1, 1);
    if (x->way == REFRESH_DOUBTS) return;
    seen->change = nn_slice(x->begin[which].var, 0, 1);
    seen->change_r = nn_slice(x->begin[which].var, 1, 1);
}

static void record_windows(refresh *x)
{
    fnvae *f = x->f;
    const replay *r = x->replay;
    nn_var now = replay_gather(r, x->at.var), after = replay_gather(r, x->next.var);
    fnvae_lived lived = {replay_obs(r, now), replay_action(r, now), replay_reward(r, now),
                         replay_obs(r, after)};
    fnvae_seen seen = fnvae_record_seen(f, lived, x->change.var), other = seen;
    if (x->way == REFRESH_CARRIES) {
        x->out = record_posteriors(x, &seen);
        return;
    }
    restart(x, 0, &seen);
    restart(x, 1, &other);
    x->other = record_posteriors(x, &other);
    x->out = record_posteriors(x, &seen);
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

int refresh_new(refresh **out, fnvae *f, replay *r, int column, bool spread, refresh_way way)
{
    int rc = 0, n = f->z.p + f->z.q;
    refresh *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (refresh){.f = f,
                   .replay = r,
                   .column = column,
                   .spread = spread,
                   .way = way,
                   .T = 2 * f->o.window,
                   .B = f->o.encode,
                   .n = n,
                   .width = spread ? 2 * n : n};
    x->most = x->T * x->B / 16 + 1;
    TRY(arena_new(&x->memory));
    TRY(staged_rows(&x->at, x->memory, f->g, "encode at", x->T, x->B, 1));
    TRY(staged_rows(&x->next, x->memory, f->g, "encode next", x->T, x->B, 1));
    TRY(staged_numbers(&x->change, x->memory, f->g, "encode change", x->T, x->B, 1));
    for (int i = 0; i < windows_of(x) - (way == REFRESH_DOUBTS) && way != REFRESH_CARRIES; i++) {
        TRY(staged_numbers(&x->reset[i], x->memory, f->g, "encode reset", x->T, x->B, KINDS));
        if (way == REFRESH_DOUBTS) continue;
        TRY(staged_numbers(&x->begin[i], x->memory, f->g, "encode begin", x->T, x->B, KINDS));
    }
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
    nn_var out[] = {x->out, x->other};
    TRY(nn_plan_new(&x->encode, x->f->g, out, windows_of(x), 0, NULL, 0));
    TRY(nn_plan_new(&x->foresee, x->f->g, &x->foretold, 1, 0, NULL, 0));
out:
    return rc;
}

void refresh_free(refresh *x)
{
    if (!x) return;
    sweep_free(x->sweep);
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

/* A segment has started afresh if that was likelier at its end. */
static void list_resets(refresh *x, int replica, int b, const replay_step *steps)
{
    float afresh[KINDS] = {0};
    for (int t = x->T - 1; t >= 0; t--) {
        bool ends = t == x->T - 1 || steps[t + 1].change;
        const float *w = replay_beside_row(x->replay, replica, steps[t].at, x->column + 1);
        float *to = numbers_of(&x->reset[0], replica) + place(x, b, t) * KINDS;
        for (int k = 0; k < KINDS; k++) {
            if (ends) afresh[k] = w[k] > 0.5F;
            to[k] = steps[t].change ? afresh[k] : 0;
        }
    }
}

/* A segment that was found starts afresh in one of the windows, an episode before points are found
 * in none. */
static void list_points(refresh *x, int replica, int b, const replay_step *steps)
{
    for (int t = 0; t < x->T; t++) {
        const float *kept = replay_beside_row(x->replay, replica, steps[t].at, x->column + 1);
        bool found = false;
        for (int k = 0; k < KINDS; k++) found = found || ((int)kept[k] & POINTS_STARTS);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < KINDS; k++) {
                size_t at = place(x, b, t) * KINDS + (size_t)k;
                bool starts = ((int)kept[k] & POINTS_STARTS) && ((int)kept[k] & POINTS_ODD) == i;
                numbers_of(&x->reset[i], replica)[at] = starts;
                numbers_of(&x->begin[i], replica)[at] = starts || (steps[t].change && !found);
            }
    }
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
    if (x->way == REFRESH_DOUBTS) list_resets(x, replica, b, steps);
    if (x->way == REFRESH_POINTS) list_points(x, replica, b, steps);
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
    for (int i = 0; i < 2; i++) {
        if (x->reset[i].host) staged_send(&x->reset[i]);
        if (x->begin[i].host) staged_send(&x->begin[i]);
    }
    TRY(nn_plan_run(x->encode));
    nn_read_all(x->out, x->reached);
    if (windows_of(x) == 2) nn_read_all(x->other, x->reached_other);
    TRY(foresee(x));
out:
    return rc;
}

/* ---- the whole replay ------------------------------------------------------------------------ */

static void take_window(void *x, int replica, int b, const replay_step *steps)
{
    refresh_window(x, replica, b, steps);
}

static int encode_windows(void *x)
{
    return refresh_encode(x);
}

/* The belief after a step, from both windows; `beside` is what the next row's column says. */
static void mix(const refresh *x, const float *beside, size_t at, float *to)
{
    const float *a = x->reached + at, *b = x->reached_other + at;
    if (x->way == REFRESH_DOUBTS) {
        hypotheses_blend(x->f->z, beside, a, b, x->spread, to);
        return;
    }
    for (int i = 0; i < x->width; i++) {
        int kept = (int)beside[i % x->n >= x->f->z.p];
        to[i] = (kept & POINTS_ODD) ^ !!(kept & POINTS_LATE) ? b[i] : a[i];
    }
}

static void keep_step(void *self, int replica, int b, int t, int lane, int i)
{
    const refresh *x = self;
    size_t at = place_of_all(x, replica, b, t) * (size_t)x->width;
    float mixed[2 * FNVAE_MOST];
    const float *reached = x->reached + at, *foreseen = x->foreseen + at;
    if (x->way != REFRESH_CARRIES) {
        mix(x, replay_beside(x->replay, lane, i + 1, x->column + 1), at, mixed);
        reached = mixed;
    }
    if (x->way == REFRESH_POINTS) foreseen = reached; /* nobody knows yet that a segment begins */
    sweep_keep(x->replay, x->column, lane, i, reached, foreseen);
}

int refresh_ready(refresh *x)
{
    size_t R = (size_t)x->f->replicas, windows = R * (size_t)x->B, rows = windows * (size_t)x->T;
    size_t asked = R * (size_t)x->most, belief = (size_t)x->width * sizeof(float);
    int rc = 0, counters;
    nn_graph_counters(x->f->g, &counters);
    TRY(arena_declare(x->memory, &x->reached, rows * belief));
    TRY(arena_declare(x->memory, &x->foreseen, rows * belief));
    if (windows_of(x) == 2) TRY(arena_declare(x->memory, &x->reached_other, rows * belief));
    TRY(arena_declare(x->memory, &x->ends, rows * sizeof *x->ends));
    TRY(arena_declare(x->memory, &x->end_count, windows * sizeof *x->end_count));
    TRY(arena_declare(x->memory, &x->asking, R * sizeof *x->asking));
    TRY(arena_declare(x->memory, &x->asked, asked * sizeof *x->asked));
    TRY(arena_declare(x->memory, &x->answers, asked * belief));
    TRY(arena_declare(x->memory, &x->counters, (size_t)counters * sizeof *x->counters));
    TRY(arena_commit(x->memory));
    TRY(sweep_new(&x->sweep, x->replay, x->T, x->B, x->f->o.window / 2,
                  (sweep_user){x, take_window, encode_windows, keep_step}));
out:
    return rc;
}

int refresh_run(refresh *x, pool *p)
{
    fnvae_set_units(x->f);
    return sweep_run(x->sweep, x->column, p);
}

void refresh_measure(const refresh *x, int replica, float *mean, float *spread)
{
    sweep_measure(x->replay, x->column, replica, x->n, mean, spread);
}
