/* past.c - windows over the replay. */
#include "learn/past.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

struct past {
    fnvae *f;
    replay *replay;
    pool *pool;
    int worlds, rows;    /* lanes per replica; most rows of a lane */
    fnvae_row *window;   /* [replicas][the model's window] */
    fnvae_past *stretch; /* [replicas][the longer one that is encoded] */
    int *steps;          /* [replicas][rows]: the rows of a lane that are steps with a successor */
    int *count;          /* [replicas] how many */
    int64_t *told;       /* [lanes] rows ever written that the model's memory has */
    rng *draws;          /* of the present fill */
    int world, batch;    /* of the present refresh */
    arena *memory;
};

fnvae_memory past_memory(replay *r, int worlds, bool spread)
{
    replay_memory m = replay_memory_of(r);
    return (fnvae_memory){m.steps, m.width, worlds * m.capacity, spread};
}

int past_new(past **out, fnvae *f, replay *r, int worlds, pool *p)
{
    size_t R = (size_t)f->replicas, T = (size_t)f->o.window,
           longer = (size_t)fnvae_encode_length(f);
    int rc = 0;
    past *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (past){.f = f, .replay = r, .pool = p, .worlds = worlds, .rows = replay_capacity(r)};
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->window, R * T * sizeof *x->window));
    TRY(arena_declare(x->memory, &x->stretch, R * longer * sizeof *x->stretch));
    TRY(arena_declare(x->memory, &x->told, R * (size_t)worlds * sizeof *x->told));
    TRY(arena_declare(x->memory, &x->steps, R * (size_t)x->rows * sizeof *x->steps));
    TRY(arena_declare(x->memory, &x->count, R * sizeof *x->count));
    TRY(arena_commit(x->memory));
    *out = x;
out:
    if (rc < 0) past_free(x);
    return rc;
}

void past_free(past *p)
{
    if (!p) return;
    arena_free(p->memory);
    mem_free(p);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The step that row i of a lane stands for; the row behind it must be there. */
static fnvae_row step_at(const past *p, int lane, int i)
{
    replay_row here = replay_at(p->replay, lane, i), next = replay_at(p->replay, lane, i + 1);
    fnvae_row row = {.s = here.obs, .a = here.action, .s1 = next.obs, .r = here.reward};
    if (i == 0) return row; /* a life begins here, or what was before is forgotten */
    replay_row before = replay_at(p->replay, lane, i - 1);
    row.change = before.segment != here.segment;
    row.first = before.last;
    return row;
}

/* `count` steps from row i on, or false when the lane ends before. */
static bool gather(const past *p, int lane, int i, int count, fnvae_row *rows)
{
    int n = replay_rows(p->replay, lane), got = 0;
    for (; got < count && i + 1 < n; i++)
        if (!replay_at(p->replay, lane, i).last) rows[got++] = step_at(p, lane, i);
    return got == count;
}

/* `count` steps from the beginning of an episode on, whichever has so many behind it. */
static void gather_elsewhere(const past *p, int lane, int count, fnvae_row *rows, rng *draw)
{
    int n = replay_rows(p->replay, lane), i;
    do {
        i = 1 + (int)rng_below(draw, (uint32_t)(n - 1));
        while (i < n && !replay_at(p->replay, lane, i - 1).last) i++;
    } while (!gather(p, lane, i, count, rows));
    rows->jump = rows->change = true;
}

int past_least(const fnvae_options *o)
{
    return 4 * o->window;
}

bool past_ready(const past *p)
{
    int lanes = p->f->replicas * p->worlds, ready = 0;
    for (int lane = 0; lane < lanes; lane++)
        ready += replay_rows(p->replay, lane) >= past_least(&p->f->o);
    return ready == lanes;
}

static void fill_replica(void *arg, int r)
{
    past *p = arg;
    rng *draw = &p->draws[r];
    int T = p->f->o.window;
    fnvae_row *rows = p->window + (size_t)r * (size_t)T;
    for (int b = 0; b < p->f->o.batch; b++) {
        int lane = r * p->worlds + (p->worlds > 1 ? (int)rng_below(draw, (uint32_t)p->worlds) : 0);
        uint32_t n = (uint32_t)replay_rows(p->replay, lane);
        while (!gather(p, lane, (int)rng_below(draw, n), T, rows)) {}
        int cut = fnvae_cut(p->f, rows, draw);
        if (cut < T) gather_elsewhere(p, lane, T - cut, rows + cut, draw);
        fnvae_window(p->f, r, b, rows, draw);
    }
}

void past_fill(past *p, rng *draws)
{
    p->draws = draws;
    pool_run(p->pool, p->f->replicas, fill_replica, p);
}

/* ---- refreshing ------------------------------------------------------------------------------ */

/* Steps of a window before its encoding counts: half of what the model learns from at a time. */
static int warm_up(const past *p)
{
    return p->f->o.window / 2;
}

/* Where window k begins, or -1 when the steps are covered without it. Windows overlap by the
 * warm-up; the last one ends with the last step. */
static int window_start(const past *p, int replica, int k)
{
    int T = fnvae_encode_length(p->f), stride = T - warm_up(p), n = p->count[replica];
    if (n < T || (k > 0 && (k - 1) * stride + T >= n)) return -1;
    return k * stride + T <= n ? k * stride : n - T;
}

static void list_steps(void *arg, int r)
{
    past *p = arg;
    int lane = r * p->worlds + p->world, n = replay_rows(p->replay, lane);
    int *steps = p->steps + (size_t)r * (size_t)p->rows;
    p->count[r] = 0;
    for (int i = 0; i + 1 < n; i++)
        if (!replay_at(p->replay, lane, i).last) steps[p->count[r]++] = i;
}

/* The step that row i of a lane stands for, by the places of its rows. */
static fnvae_past stored_at(const past *p, int lane, int i)
{
    replay_row here = replay_at(p->replay, lane, i), next = replay_at(p->replay, lane, i + 1);
    int first = lane % p->worlds * p->rows;
    bool change = i > 0 && replay_at(p->replay, lane, i - 1).segment != here.segment;
    return (fnvae_past){first + here.place, first + next.place, change};
}

static void encode_replica(void *arg, int r)
{
    past *p = arg;
    const int *steps = p->steps + (size_t)r * (size_t)p->rows;
    int T = fnvae_encode_length(p->f);
    fnvae_past *rows = p->stretch + (size_t)r * (size_t)T;
    for (int b = 0; b < p->f->o.encode; b++) {
        int start = window_start(p, r, p->batch * p->f->o.encode + b);
        if (start < 0) return;
        for (int t = 0; t < T; t++)
            rows[t] = stored_at(p, r * p->worlds + p->world, steps[start + t]);
        fnvae_encode_window(p->f, r, b, rows);
    }
}

/* Behind step row i: the belief that was reached is that of an episode's last row; and the next
 * step was taken in it, or, where a segment began, in what p_gamma made of it. */
static void keep(const past *p, int lane, int i, const float *reached, const float *next)
{
    size_t bytes = (size_t)fnvae_encoded_width(p->f) * sizeof(float);
    replay_row row = replay_at(p->replay, lane, ++i);
    if (row.last) {
        memcpy(row.extra, reached, bytes);
        if (++i >= replay_rows(p->replay, lane)) return;
        row = replay_at(p->replay, lane, i);
    }
    int64_t before = replay_at(p->replay, lane, i - 1).segment;
    memcpy(row.extra, before != row.segment ? next : reached, bytes);
}

static void keep_replica(void *arg, int r)
{
    past *p = arg;
    int T = fnvae_encode_length(p->f);
    const int *steps = p->steps + (size_t)r * (size_t)p->rows;
    int lane = r * p->worlds + p->world;
    bool whole = replay_rows(p->replay, lane) < p->rows; /* the life's beginning is still there */
    for (int b = 0; b < p->f->o.encode; b++) {
        int start = window_start(p, r, p->batch * p->f->o.encode + b);
        if (start < 0) return;
        for (int t = start == 0 && whole ? 0 : warm_up(p); t < T; t++)
            keep(p, lane, steps[start + t], fnvae_encoded(p->f, r, b, t),
                 fnvae_encoded_next(p->f, r, b, t));
    }
}

static bool more(const past *p)
{
    for (int r = 0; r < p->f->replicas; r++)
        if (window_start(p, r, p->batch * p->f->o.encode) >= 0) return true;
    return false;
}

/* What was lived since the last time. */
static void tell_memory(past *p)
{
    replay_stretch news[2];
    for (int lane = 0; lane < p->f->replicas * p->worlds; lane++) {
        int n = replay_news(p->replay, lane, &p->told[lane], news);
        for (int k = 0; k < n; k++)
            fnvae_tell(p->f, lane / p->worlds, lane % p->worlds * p->rows + news[k].first,
                       news[k].count);
    }
}

int past_refresh(past *p)
{
    int rc = 0, R = p->f->replicas;
    tell_memory(p);
    for (p->world = 0; p->world < p->worlds; p->world++) {
        pool_run(p->pool, R, list_steps, p);
        for (p->batch = 0; more(p); p->batch++) {
            pool_run(p->pool, R, encode_replica, p);
            TRY(fnvae_encode(p->f));
            pool_run(p->pool, R, keep_replica, p);
        }
    }
out:
    return rc;
}

void past_measure(const past *p, int replica, float *mean, float *spread)
{
    int n = p->f->z.p + p->f->z.q, count = 0;
    double sum[FNVAE_MOST] = {0}, squares[FNVAE_MOST] = {0};
    for (int lane = replica * p->worlds; lane < (replica + 1) * p->worlds; lane++) {
        int rows = replay_rows(p->replay, lane);
        for (int i = 0; i < rows; i++) {
            const float *theta = replay_at(p->replay, lane, i).extra;
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
