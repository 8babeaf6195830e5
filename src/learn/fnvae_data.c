/* fnvae_data.c - from transitions to the FN-VAE's inputs: running statistics and windows. */
#include <math.h>
#include <string.h>

#include "learn/fnvae.h"

/* ---- running statistics ---------------------------------------------------------------------- */

static fnvae_scale *scale_of(const fnvae *f, int replica, int scale)
{
    return &f->scales[(size_t)replica * FNVAE_SCALES + (size_t)scale];
}

/* Welford's step for one vector, or for the difference of two. */
static void add(fnvae_scale *x, const float *v, const float *minus)
{
    *x->count += 1;
    for (int i = 0; i < x->n; i++) {
        double y = (double)v[i] - (minus ? (double)minus[i] : 0), d = y - x->mean[i];
        x->mean[i] += d / *x->count;
        x->m2[i] += d * (y - x->mean[i]);
    }
}

static double sd_of(const fnvae_scale *x, int i)
{
    double sd = *x->count > 1 ? sqrt(x->m2[i] / *x->count) : 1;
    return sd > 1e-4 ? sd : 1; /* what never moves is left as it is */
}

void fnvae_observe(fnvae *f, int replica, const fnvae_row *row)
{
    add(scale_of(f, replica, SCALE_S), row->s, NULL);
    add(scale_of(f, replica, SCALE_DS), row->s1, row->s);
    add(scale_of(f, replica, SCALE_R), &row->r, NULL);
    if (!f->o.observed) return;
    if (row->theta_s) add(scale_of(f, replica, SCALE_THETA_S), row->theta_s, NULL);
    if (row->theta_r) add(scale_of(f, replica, SCALE_THETA_R), row->theta_r, NULL);
}

double fnvae_to(const fnvae *f, int replica, int scale, int i, double x)
{
    const fnvae_scale *z = scale_of(f, replica, scale);
    return (x - z->mean[i]) / sd_of(z, i);
}

/* ---- windows --------------------------------------------------------------------------------- */

static float *place(const fnvae *f, int input, int replica, int t, int b)
{
    nn_shape z = nn_shape_of(f->in[input]);
    size_t row = ((size_t)replica * (size_t)z.T + (size_t)t) * (size_t)z.B + (size_t)b;
    return f->host[input] + row * (size_t)z.D;
}

void fnvae_settle(const fnvae *f, int replica)
{
    for (int k = 0; k < FNVAE_SCALES; k++) {
        fnvae_scale *x = scale_of(f, replica, k);
        for (int i = 0; i < x->n; i++) x->unit[i] = 1 / sd_of(x, i);
    }
}

void fnvae_units(const fnvae *f, int replica, int scale, float *shift, float *unit)
{
    const fnvae_scale *x = scale_of(f, replica, scale);
    for (int i = 0; i < x->n; i++) {
        shift[i] = (float)-x->mean[i];
        unit[i] = (float)(1 / sd_of(x, i));
    }
}

void fnvae_put(const fnvae *f, int replica, int scale, const float *v, float *to)
{
    const fnvae_scale *x = scale_of(f, replica, scale);
    for (int i = 0; i < x->n; i++) to[i] = (float)(((double)v[i] - x->mean[i]) * x->unit[i]);
}

void fnvae_put_change(const fnvae *f, int replica, const fnvae_row *row, float *to)
{
    const fnvae_scale *x = scale_of(f, replica, SCALE_DS);
    for (int i = 0; i < x->n; i++)
        to[i] = (float)(((double)row->s1[i] - (double)row->s[i] - x->mean[i]) * x->unit[i]);
}

/* What the encoder reads, and what is predicted from the row before. */
static void put_row(const fnvae *f, int replica, int t, int b, const fnvae_row *row)
{
    size_t m = (size_t)f->z.m;
    fnvae_put(f, replica, SCALE_S, row->s, place(f, FNVAE_IN_s, replica, t, b));
    fnvae_put(f, replica, SCALE_S, row->s1, place(f, FNVAE_IN_s1, replica, t, b));
    fnvae_put(f, replica, SCALE_R, &row->r, place(f, FNVAE_IN_r, replica, t, b));
    fnvae_put_change(f, replica, row, place(f, FNVAE_IN_ds, replica, t, b));
    memcpy(place(f, FNVAE_IN_a, replica, t, b), row->a, m * sizeof(float));
    *place(f, FNVAE_IN_change, replica, t, b) = row->change;
    if (!f->o.observed) return;
    if (row->theta_s)
        fnvae_put(f, replica, SCALE_THETA_S, row->theta_s,
                  place(f, FNVAE_IN_theta_s, replica, t, b));
    if (row->theta_r)
        fnvae_put(f, replica, SCALE_THETA_R, row->theta_r,
                  place(f, FNVAE_IN_theta_r, replica, t, b));
}

/* What is decoded from the posterior of row t. */
static void put_decoded(const fnvae *f, int replica, int t, int b, const fnvae_row *row)
{
    fnvae_put(f, replica, SCALE_S, row->s, place(f, FNVAE_IN_dec_s, replica, t, b));
    fnvae_put(f, replica, SCALE_S, row->s1, place(f, FNVAE_IN_dec_s1, replica, t, b));
    fnvae_put(f, replica, SCALE_R, &row->r, place(f, FNVAE_IN_dec_r, replica, t, b));
    fnvae_put_change(f, replica, row, place(f, FNVAE_IN_dec_ds, replica, t, b));
    memcpy(place(f, FNVAE_IN_dec_a, replica, t, b), row->a, (size_t)f->z.m * sizeof(float));
}

/* Where the next episode begins behind a row of the middle half. Where episodes are as long as
 * windows there may be none, and the window stays as it is. */
int fnvae_cut(const fnvae *f, const fnvae_row *rows, rng *draw)
{
    int T = f->o.window;
    if (f->o.jumps == 0 || rng_uniform(draw) >= f->o.jumps) return T;
    int t = T / 4 + (int)rng_below(draw, (uint32_t)(T / 2 + 1));
    while (t < T && !rows[t].first) t++;
    return t;
}

/* Prediction from row t-1 counts within an episode, and not across a change point. Where theta
 * moves at every step there is no point to leave out: two changes in a row are one continuous
 * movement. */
static bool predicted(const fnvae_row *rows, int t)
{
    if (t == 0 || rows[t].first || rows[t].jump) return false;
    return !rows[t].change || rows[t - 1].change;
}

/* While theta is not known, a state tells something about it: the masks would take that for an
 * edge. So reconstruction counts once a posterior has seen `evidence` rows, or half of its segment.
 */
static bool evident(const fnvae *f, int seen, int length)
{
    int half = length / 2;
    return seen >= (f->o.evidence < half ? f->o.evidence : half);
}

/* Rows [from, to) of a window that share theta with row t: its segment; and where segments are
 * short, as when theta moves at every step, those that come next, for it moves little. (Not those
 * just seen: their noise could be smuggled into theta.) */
typedef struct neighbours {
    int from, to;
} neighbours;

static neighbours near_to(const fnvae *f, int t, int from, int to, int end)
{
    int near = f->o.near;
    if (to - from >= near || t == end - 1) return (neighbours){from, to};
    return (neighbours){t + 1, t + near < end ? t + near + 1 : end};
}

/* A segment has rows [from, to). Is it foretold as number k of its window's (none, -1)? Only from
 * those that ended before it; and only as many as there is room for, whose beginnings are noted. */
static bool foretell(const fnvae *f, int replica, int b, int k, int from, int to)
{
    int B = f->o.batch;
    bool is = k >= 0 && k < f->o.moves;
    if (f->o.moves == 0) return k >= 0;
    int32_t *begins = f->begins_host + replica * f->o.moves * B + b;
    int32_t *of = f->of_host + replica * f->o.window * B + b;
    if (is) begins[k * B] = from;
    for (int t = from; t < to; t++) of[t * B] = is ? k : -1;
    return is;
}

/* Rows [begin, end) of a window that were lived in one piece, and where they go. */
typedef struct piece {
    const fnvae *f;
    int replica, b;
    const fnvae_row *rows;
    int begin, end;
    rng *pick;
} piece;

static void put_weight(const piece *x, int input, int t, bool counts)
{
    *place(x->f, input, x->replica, t, x->b) = counts;
}

static void put_segment(const piece *x, int from, int to, bool foretold)
{
    const fnvae *f = x->f;
    bool brief = to - from < f->o.near;
    for (int t = from; t < to; t++) {
        bool follows = t > x->begin, begins = follows && x->rows[t].change;
        bool known = brief ? t + 1 < x->end && evident(f, t - x->begin, x->end - x->begin)
                           : evident(f, t - from, to - from);
        neighbours k = near_to(f, t, from, to, x->end);
        int decoded = k.from + (int)rng_below(x->pick, (uint32_t)(k.to - k.from));
        put_row(f, x->replica, t, x->b, &x->rows[t]);
        put_decoded(f, x->replica, t, x->b, &x->rows[decoded]);
        put_weight(x, FNVAE_IN_w_rec, t, known);
        put_weight(x, FNVAE_IN_w_pred, t, predicted(x->rows, t));
        put_weight(x, FNVAE_IN_w_move, t, begins && foretold);
        put_weight(x, FNVAE_IN_w_next, t, known && foretold);
        put_weight(x, FNVAE_IN_w_stay, t, t == 0 || (follows && !begins));
        put_weight(x, FNVAE_IN_w_smooth, t, follows);
    }
}

/* Segment by segment. `moved` counts those of the window that others of their piece came before. */
static void put_piece(const piece *x, int *moved)
{
    int segment = 0;
    for (int from = x->begin, to; from < x->end; from = to, segment++) {
        for (to = from + 1; to < x->end && !x->rows[to].change;) to++;
        int k = segment < x->f->o.order ? -1 : (*moved)++;
        put_segment(x, from, to, foretell(x->f, x->replica, x->b, k, from, to));
    }
}

void fnvae_window(fnvae *f, int replica, int b, const fnvae_row *rows, rng *pick)
{
    int T = f->o.window, moved = 0;
    piece x = {.f = f, .replica = replica, .b = b, .rows = rows, .pick = pick};
    fnvae_settle(f, replica);
    for (int k = 0; k < f->o.moves; k++)
        f->begins_host[(replica * f->o.moves + k) * f->o.batch + b] = -1;
    for (; x.begin < T; x.begin = x.end) {
        for (x.end = x.begin + 1; x.end < T && !rows[x.end].jump;) x.end++;
        put_piece(&x, &moved);
    }
    if (f->o.moves > 0)
        f->left_out[replica * f->o.batch + b] = moved > f->o.moves ? moved - f->o.moves : 0;
}
