/* encode.c - a recording of q_phi on windows of the past, and the memory around it. */
#include "model/encode.h"

#include <string.h>

#include "base/error.h"

int fnvae_encode_length(const fnvae *f)
{
    return 2 * f->o.window;
}

/* Not where nothing is inferred, nor where nobody asks. */
static bool records(const fnvae *f)
{
    return !f->o.observed && f->past.rows > 0;
}

/* Ends of segments that are looked at together, per replica; there may be more, in several rounds.
 */
static int most_ends(const fnvae *f)
{
    return fnvae_encode_length(f) * f->o.encode / 16 + 1;
}

/* [s | change of s | r], each with its shift and scale: the normalised units. */
static int units_size(const fnvae *f)
{
    return 2 * (2 * f->z.d + 1);
}

static nn_var in_units(const fnvae *f, nn_var x, int *at)
{
    int n = nn_shape_of(x).D;
    nn_var shift = nn_slice(f->e_units, *at, n), scale = nn_slice(f->e_units, *at + n, n);
    *at += 2 * n;
    return nn_mul(nn_add(x, shift), scale);
}

/* The steps themselves, from the memory. */
static fnvae_seen record_steps(const fnvae *f)
{
    int d = f->z.d, m = f->z.m, at = 0;
    fnvae_seen x = {.state_s = NN_NONE, .state_r = NN_NONE, .change = f->e_in[ENCODE_CHANGE]};
    nn_var now = nn_gather(f->e_table, f->e_in[ENCODE_AT]), s = nn_slice(now, 0, d);
    nn_var s1 = nn_slice(nn_gather(f->e_table, f->e_in[ENCODE_NEXT]), 0, d);
    x.s = in_units(f, s, &at);
    at = 0;
    x.s1 = in_units(f, s1, &at);
    x.ds = in_units(f, nn_add(s1, nn_affine(s, -1, 0)), &at);
    x.r = in_units(f, nn_slice(now, d + m, 1), &at);
    x.a = nn_slice(now, d, m);
    return x;
}

/* p_gamma on ends of segments: [mean | mean with which the segment before ended] of a few rows. */
static void record_foresight(fnvae *f)
{
    int p = f->z.p, q = f->z.q, n = p + q;
    nn_var x = f->e_thetas = nn_input(f->g, "encode thetas", 1, most_ends(f), 2 * n);
    nn_var s[] = {nn_slice(x, 0, p), nn_slice(x, n, p)},
           r[] = {nn_slice(x, p, q), nn_slice(x, n + p, q)};
    f->e_next = nn_concat(NN_IN(fnvae_record_prior(f, "s", s, f->mask[MASK_TT_S].C),
                                fnvae_record_prior(f, "r", r, f->mask[MASK_TT_R].C)));
}

void fnvae_record_encode(fnvae *f)
{
    static const char *const names[] = {"encode at", "encode next", "encode change"};
    fnvae_posterior q_s, q_r;
    if (!records(f)) return;
    f->e_table = nn_table(f->g, "past", f->past.rows, f->past.width, f->past.steps);
    f->e_units = nn_input(f->g, "encode units", 1, 1, units_size(f));
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++)
        f->e_in[k] = nn_input(f->g, names[k], fnvae_encode_length(f), f->o.encode, 1);
    fnvae_seen x = record_steps(f);
    fnvae_record_posteriors(f, &x, &q_s, &q_r);
    f->e_mean = nn_concat(NN_IN(q_s.mean, q_r.mean));
    record_foresight(f);
}

int fnvae_plan_encode(fnvae *f)
{
    int rc = 0;
    if (!records(f)) return 0;
    TRY(nn_plan_new(&f->encode, f->g, &f->e_mean, 1, 0, NULL, 0));
    TRY(nn_plan_new(&f->foresee, f->g, &f->e_next, 1, 0, NULL, 0));
out:
    return rc;
}

int fnvae_declare_encode(fnvae *f)
{
    int rc = 0;
    size_t R = (size_t)f->replicas, n = (size_t)(f->z.p + f->z.q) * sizeof(float);
    size_t windows = R * (size_t)f->o.encode, rows = windows * (size_t)fnvae_encode_length(f);
    int counters;
    if (!records(f)) return 0;
    nn_graph_counters(f->g, &counters);
    TRY(arena_declare(f->memory, &f->e_counters, (size_t)counters * sizeof *f->e_counters));
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++)
        TRY(arena_declare(f->memory, &f->e_host[k], rows * sizeof(float)));
    TRY(arena_declare(f->memory, &f->e_units_host, R * (size_t)units_size(f) * sizeof(float)));
    TRY(arena_declare(f->memory, &f->e_mean_host, rows * n));
    TRY(arena_declare(f->memory, &f->e_next_host, rows * n));
    TRY(arena_declare(f->memory, &f->e_ends, rows * sizeof *f->e_ends));
    TRY(arena_declare(f->memory, &f->e_end_count, windows * sizeof *f->e_end_count));
    TRY(arena_declare(f->memory, &f->e_asking, R * sizeof *f->e_asking));
    TRY(arena_declare(f->memory, &f->e_asked, R * (size_t)most_ends(f) * sizeof *f->e_asked));
    TRY(arena_declare(f->memory, &f->e_thetas_host, R * (size_t)most_ends(f) * 2 * n));
    TRY(arena_declare(f->memory, &f->e_told, R * (size_t)most_ends(f) * n));
out:
    return rc;
}

/* Tensors are (T, B, D) per replica. */
static size_t place(const fnvae *f, int replica, int b, int t)
{
    size_t T = (size_t)fnvae_encode_length(f), B = (size_t)f->o.encode;
    return ((size_t)replica * T + (size_t)t) * B + (size_t)b;
}

void fnvae_tell(fnvae *f, int replica, int first, int count)
{
    nn_table_send(f->e_table, replica, first, count);
}

/* The rows of a window behind which a segment may begin, and for each the row with which the
 * segment before its own ended; itself where none has: theta has not moved so far. */
static void list_ends(fnvae *f, int replica, int b, const fnvae_past *steps)
{
    int T = fnvae_encode_length(f), n = 0, before = -1;
    size_t window = (size_t)replica * (size_t)f->o.encode + (size_t)b;
    fnvae_end *to = f->e_ends + window * (size_t)T;
    for (int t = 0; t < T; t++) {
        if (t > 0 && steps[t].change) before = t - 1;
        if (t + 1 < T && !steps[t + 1].change) continue;
        to[n++] =
            (fnvae_end){place(f, replica, b, t), place(f, replica, b, before < 0 ? t : before)};
    }
    f->e_end_count[window] = n;
}

void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_past *steps)
{
    for (int t = 0; t < fnvae_encode_length(f); t++) {
        size_t at = place(f, replica, b, t);
        f->e_host[ENCODE_AT][at] = (float)steps[t].at;
        f->e_host[ENCODE_NEXT][at] = (float)steps[t].next;
        f->e_host[ENCODE_CHANGE][at] = steps[t].change;
    }
    list_ends(f, replica, b, steps);
}

/* As they are now. */
static void write_units(fnvae *f)
{
    static const int scales[] = {SCALE_S, SCALE_DS, SCALE_R};
    const int widths[] = {f->z.d, f->z.d, 1};
    float *to = f->e_units_host;
    for (int r = 0; r < f->replicas; r++)
        for (int k = 0; k < 3; k++) {
            fnvae_units(f, r, scales[k], to, to + widths[k]);
            to += 2 * widths[k];
        }
    nn_write_all(f->e_units, f->e_units_host);
}

/* ---- what p_gamma makes of the ends ---------------------------------------------------------- */

/* Up to most_ends of a replica's next ones: notes them, and writes their thetas. */
static void ask(fnvae *f, int replica, fnvae_asking *x)
{
    size_t T = (size_t)fnvae_encode_length(f), n = (size_t)(f->z.p + f->z.q),
           bytes = n * sizeof(float);
    size_t first = (size_t)replica * (size_t)most_ends(f);
    x->count = 0;
    for (; x->window < f->o.encode; x->window++, x->end = 0) {
        size_t window = (size_t)replica * (size_t)f->o.encode + (size_t)x->window;
        for (; x->end < f->e_end_count[window]; x->end++, x->count++) {
            if (x->count == most_ends(f)) return;
            const fnvae_end *e = &f->e_ends[window * T + (size_t)x->end];
            float *to = f->e_thetas_host + (first + (size_t)x->count) * 2 * n;
            memcpy(to, f->e_mean_host + e->at * n, bytes);
            memcpy(to + n, f->e_mean_host + e->before * n, bytes);
            f->e_asked[first + (size_t)x->count] = e->at;
        }
    }
}

static void note_answers(fnvae *f, int replica, int count)
{
    size_t n = (size_t)(f->z.p + f->z.q), first = (size_t)replica * (size_t)most_ends(f);
    for (size_t i = first; i < first + (size_t)count; i++)
        memcpy(f->e_next_host + f->e_asked[i] * n, f->e_told + i * n, n * sizeof(float));
}

static bool ask_all(fnvae *f)
{
    int asked = 0;
    for (int r = 0; r < f->replicas; r++) {
        ask(f, r, &f->e_asking[r]);
        asked += f->e_asking[r].count;
    }
    return asked > 0;
}

/* How many rounds it takes depends on all replicas, but what a replica draws later must not depend
 * on the others: the counters of the (frozen) gates are put back. */
static int foresee(fnvae *f)
{
    int rc = 0, n;
    const uint64_t *counters = nn_graph_counters(f->g, &n);
    memcpy(f->e_counters, counters, (size_t)n * sizeof *counters);
    memset(f->e_asking, 0, (size_t)f->replicas * sizeof *f->e_asking);
    while (ask_all(f)) {
        nn_write_all(f->e_thetas, f->e_thetas_host);
        TRY(nn_plan_run(f->foresee));
        nn_read_all(f->e_next, f->e_told);
        for (int r = 0; r < f->replicas; r++) note_answers(f, r, f->e_asking[r].count);
    }
    memcpy(nn_graph_counters(f->g, &n), f->e_counters, (size_t)n * sizeof *counters);
out:
    return rc;
}

int fnvae_encode(fnvae *f)
{
    int rc = 0;
    write_units(f);
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++) nn_write_all(f->e_in[k], f->e_host[k]);
    TRY(nn_plan_run(f->encode));
    nn_read_all(f->e_mean, f->e_mean_host);
    TRY(foresee(f));
out:
    return rc;
}

const float *fnvae_encoded(const fnvae *f, int replica, int b, int t)
{
    return f->e_mean_host + place(f, replica, b, t) * (size_t)(f->z.p + f->z.q);
}

const float *fnvae_encoded_next(const fnvae *f, int replica, int b, int t)
{
    return f->e_next_host + place(f, replica, b, t) * (size_t)(f->z.p + f->z.q);
}
