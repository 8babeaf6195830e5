/* encode.c - a recording of q_phi on windows of the past, and one of p_gamma on ends of segments.
 *
 * Where a segment begins, what was believed is p_gamma of how the last one ended. That concerns few
 * rows of most lives, and p_gamma is the larger part of the work, so it gets plans of its own. */
#include "learn/encode.h"

#include <string.h>

#include "base/error.h"

/* Which rows of the memory a window's steps and their ends are. */
enum { AT, NEXT, ROWS };

/* A row of a window behind which a segment may begin, and that with which the one before ended. */
typedef struct end {
    size_t at, before;
} end;

/* How far the ends of a replica have been asked about, and how many of them in this round. */
typedef struct asking {
    int window, end, count;
} asking;

struct fnvae_encoding {
    fnvae_memory past;
    int T, B;  /* a window's steps; windows at a time */
    int n;     /* p + q */
    int width; /* of what is wanted of a row: n, or 2 n with spreads */
    int most;  /* ends that are looked at together, per replica; more take several rounds */
    nn_var table, rows[ROWS], change, units, out, thetas, next;
    nn_plan *encode, *foresee;
    int32_t *rows_host[ROWS];
    float *change_host, *units_host; /* change: does a segment begin? */
    float *out_host, *next_host;     /* [replica][T][B][width] */
    end *ends;                       /* [replica][B][T] */
    int *end_count;                  /* [replica][B] */
    asking *asking;                  /* [replica] */
    size_t *asked;                   /* [replica][most]: the ends of a round, by their rows */
    float *thetas_host, *foretold;   /* ... what p_gamma reads of them, and says */
    uint64_t *counters;
    arena *memory;
};

int fnvae_encode_length(const fnvae *f)
{
    return 2 * f->o.window;
}

/* ---- recording ------------------------------------------------------------------------------- */

/* [s | change of s | r], each with its shift and scale: the normalised units. */
static int units_size(const fnvae *f)
{
    return 2 * (2 * f->z.d + 1);
}

static nn_var in_units(nn_var units, nn_var x, int *at)
{
    int n = nn_shape_of(x).D;
    nn_var shift = nn_slice(units, *at, n), scale = nn_slice(units, *at + n, n);
    *at += 2 * n;
    return nn_mul(nn_add(x, shift), scale);
}

/* The steps themselves, from the memory. */
static fnvae_seen record_steps(const fnvae *f, const fnvae_encoding *e)
{
    int d = f->z.d, m = f->z.m, at = 0;
    fnvae_seen x = {.state_s = NN_NONE, .state_r = NN_NONE, .change = e->change};
    nn_var now = nn_gather(e->table, e->rows[AT]), s = nn_slice(now, 0, d);
    nn_var s1 = nn_slice(nn_gather(e->table, e->rows[NEXT]), 0, d);
    x.s = in_units(e->units, s, &at);
    at = 0;
    x.s1 = in_units(e->units, s1, &at);
    x.ds = in_units(e->units, nn_sub(s1, s), &at);
    x.r = in_units(e->units, nn_slice(now, d + m, 1), &at);
    x.a = nn_slice(now, d, m);
    return x;
}

/* p_gamma on [mean | mean with which the segment before ended] of some rows. */
static void record_foresight(fnvae *f, fnvae_encoding *e)
{
    int p = f->z.p, q = f->z.q, n = p + q;
    nn_var x = e->thetas = nn_input(f->g, "encode thetas", 1, e->most, 2 * n);
    nn_var s[] = {nn_slice(x, 0, p), nn_slice(x, n, p)};
    nn_var r[] = {nn_slice(x, p, q), nn_slice(x, n + p, q)};
    fnvae_prior next = fnvae_record_foretold(f, s, r);
    e->next = e->past.spread ? nn_concat(NN_IN(next.mean, next.log_std)) : next.mean;
}

static void record_windows(fnvae *f, fnvae_encoding *e)
{
    fnvae_posterior s, r;
    e->table = nn_table(f->g, "past", e->past.rows, e->past.width, NN_F32, e->past.steps);
    e->units = nn_input(f->g, "encode units", 1, 1, units_size(f));
    e->rows[AT] = nn_index(f->g, "encode at", e->T, e->B);
    e->rows[NEXT] = nn_index(f->g, "encode next", e->T, e->B);
    e->change = nn_input(f->g, "encode change", e->T, e->B, 1);
    fnvae_seen x = record_steps(f, e);
    fnvae_record_posteriors(f, &x, &s, &r);
    e->out = e->past.spread ? nn_concat(NN_IN(s.mean, r.mean, s.log_std, r.log_std))
                            : nn_concat(NN_IN(s.mean, r.mean));
}

int fnvae_record_encode(fnvae *f, const fnvae_memory *past)
{
    fnvae_encoding *e = f->encoding = mem_alloc(sizeof *e);
    if (!e) return FANS_ENOMEM;
    e->past = *past;
    e->T = fnvae_encode_length(f);
    e->B = f->o.encode;
    e->n = f->z.p + f->z.q;
    e->width = past->spread ? 2 * e->n : e->n;
    e->most = e->T * e->B / 16 + 1;
    record_windows(f, e);
    record_foresight(f, e);
    return 0;
}

int fnvae_plan_encode(fnvae *f)
{
    int rc = 0;
    fnvae_encoding *e = f->encoding;
    TRY(nn_plan_new(&e->encode, f->g, &e->out, 1, 0, NULL, 0));
    TRY(nn_plan_new(&e->foresee, f->g, &e->next, 1, 0, NULL, 0));
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int fnvae_declare_encode(fnvae *f)
{
    fnvae_encoding *e = f->encoding;
    size_t R = (size_t)f->replicas, windows = R * (size_t)e->B, rows = windows * (size_t)e->T;
    size_t asked = R * (size_t)e->most, real_size = sizeof(float), width = (size_t)e->width;
    int rc = 0, counters;
    nn_graph_counters(f->g, &counters);
    TRY(arena_new(&e->memory));
    for (int k = 0; k < ROWS; k++)
        TRY(arena_declare(e->memory, &e->rows_host[k], rows * sizeof *e->rows_host[k]));
    TRY(arena_declare(e->memory, &e->change_host, rows * real_size));
    TRY(arena_declare(e->memory, &e->units_host, R * (size_t)units_size(f) * real_size));
    TRY(arena_declare(e->memory, &e->out_host, rows * width * real_size));
    TRY(arena_declare(e->memory, &e->next_host, rows * width * real_size));
    TRY(arena_declare(e->memory, &e->ends, rows * sizeof *e->ends));
    TRY(arena_declare(e->memory, &e->end_count, windows * sizeof *e->end_count));
    TRY(arena_declare(e->memory, &e->asking, R * sizeof *e->asking));
    TRY(arena_declare(e->memory, &e->asked, asked * sizeof *e->asked));
    TRY(arena_declare(e->memory, &e->thetas_host, asked * 2 * (size_t)e->n * real_size));
    TRY(arena_declare(e->memory, &e->foretold, asked * width * real_size));
    TRY(arena_declare(e->memory, &e->counters, (size_t)counters * sizeof *e->counters));
    TRY(arena_commit(e->memory));
out:
    return rc;
}

void fnvae_free_encode(fnvae *f)
{
    if (!f->encoding) return;
    arena_free(f->encoding->memory);
    mem_free(f->encoding);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Tensors are (T, B, D) per replica. */
static size_t place(const fnvae_encoding *e, int replica, int b, int t)
{
    return ((size_t)replica * (size_t)e->T + (size_t)t) * (size_t)e->B + (size_t)b;
}

void fnvae_tell(fnvae *f, int replica, int first, int count)
{
    nn_table_send(f->encoding->table, replica, first, count);
}

/* The rows of a window behind which a segment may begin, and for each the row with which the
 * segment before its own ended; itself where none has: theta has not moved so far. */
static void list_ends(fnvae_encoding *e, int replica, int b, const fnvae_past *steps)
{
    int n = 0, before = -1;
    size_t window = (size_t)replica * (size_t)e->B + (size_t)b;
    end *to = e->ends + window * (size_t)e->T;
    for (int t = 0; t < e->T; t++) {
        if (t > 0 && steps[t].change) before = t - 1;
        if (t + 1 < e->T && !steps[t + 1].change) continue;
        to[n++] = (end){place(e, replica, b, t), place(e, replica, b, before < 0 ? t : before)};
    }
    e->end_count[window] = n;
}

void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_past *steps)
{
    fnvae_encoding *e = f->encoding;
    for (int t = 0; t < e->T; t++) {
        size_t at = place(e, replica, b, t);
        e->rows_host[AT][at] = steps[t].at;
        e->rows_host[NEXT][at] = steps[t].next;
        e->change_host[at] = steps[t].change;
    }
    list_ends(e, replica, b, steps);
}

/* As they are now. */
static void write_units(const fnvae *f)
{
    static const int scales[] = {SCALE_S, SCALE_DS, SCALE_R};
    const int widths[] = {f->z.d, f->z.d, 1};
    float *to = f->encoding->units_host;
    for (int r = 0; r < f->replicas; r++)
        for (int k = 0; k < 3; k++) {
            fnvae_units(f, r, scales[k], to, to + widths[k]);
            to += 2 * widths[k];
        }
    nn_write_all(f->encoding->units, f->encoding->units_host);
}

/* ---- what p_gamma makes of the ends ---------------------------------------------------------- */

/* Up to `most` of a replica's next ends: notes them, and writes their thetas. */
static void ask(fnvae_encoding *e, int replica)
{
    asking *x = &e->asking[replica];
    size_t n = (size_t)e->n, width = (size_t)e->width, first = (size_t)replica * (size_t)e->most;
    x->count = 0;
    for (; x->window < e->B; x->window++, x->end = 0) {
        size_t window = (size_t)replica * (size_t)e->B + (size_t)x->window;
        for (; x->end < e->end_count[window]; x->end++, x->count++) {
            if (x->count == e->most) return;
            const end *which = &e->ends[window * (size_t)e->T + (size_t)x->end];
            float *to = e->thetas_host + (first + (size_t)x->count) * 2 * n;
            memcpy(to, e->out_host + which->at * width, n * sizeof *to);
            memcpy(to + n, e->out_host + which->before * width, n * sizeof *to);
            e->asked[first + (size_t)x->count] = which->at;
        }
    }
}

static void note_answers(fnvae_encoding *e, int replica)
{
    size_t width = (size_t)e->width, first = (size_t)replica * (size_t)e->most;
    for (size_t i = first; i < first + (size_t)e->asking[replica].count; i++)
        memcpy(e->next_host + e->asked[i] * width, e->foretold + i * width, width * sizeof(float));
}

static bool ask_all(const fnvae *f)
{
    int asked = 0;
    for (int r = 0; r < f->replicas; r++) {
        ask(f->encoding, r);
        asked += f->encoding->asking[r].count;
    }
    return asked > 0;
}

/* How many rounds it takes depends on all replicas, but what a replica draws later must not depend
 * on the others: the counters of the (frozen) gates are put back. */
static int foresee(const fnvae *f)
{
    fnvae_encoding *e = f->encoding;
    int rc = 0, n;
    uint64_t *counters = nn_graph_counters(f->g, &n);
    memcpy(e->counters, counters, (size_t)n * sizeof *counters);
    memset(e->asking, 0, (size_t)f->replicas * sizeof *e->asking);
    while (ask_all(f)) {
        nn_write_all(e->thetas, e->thetas_host);
        TRY(nn_plan_run(e->foresee));
        nn_read_all(e->next, e->foretold);
        for (int r = 0; r < f->replicas; r++) note_answers(e, r);
    }
    memcpy(counters, e->counters, (size_t)n * sizeof *counters);
out:
    return rc;
}

int fnvae_encode(fnvae *f)
{
    fnvae_encoding *e = f->encoding;
    int rc = 0;
    write_units(f);
    for (int k = 0; k < ROWS; k++) nn_write_index_all(e->rows[k], e->rows_host[k]);
    nn_write_all(e->change, e->change_host);
    TRY(nn_plan_run(e->encode));
    nn_read_all(e->out, e->out_host);
    TRY(foresee(f));
out:
    return rc;
}

const float *fnvae_encoded(const fnvae *f, int replica, int b, int t)
{
    const fnvae_encoding *e = f->encoding;
    return e->out_host + place(e, replica, b, t) * (size_t)e->width;
}

const float *fnvae_encoded_next(const fnvae *f, int replica, int b, int t)
{
    const fnvae_encoding *e = f->encoding;
    return e->next_host + place(e, replica, b, t) * (size_t)e->width;
}

int fnvae_encoded_width(const fnvae *f)
{
    return f->encoding->width;
}
