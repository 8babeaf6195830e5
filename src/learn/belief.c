/* belief.c - a recording of one step, and the carried state around it.
 *
 * What a step needs goes in as one tensor and comes out as one, for all worlds of all replicas: on
 * a GPU every transfer has its price, and this happens at every step. */
#include "learn/belief.h"

#include <string.h>

#include "base/error.h"

struct belief {
    fnvae *f;
    arena *memory;
    int worlds, factors;  /* N, p + q */
    int state, seen_size; /* of both LSTMs; of what q_phi reads, state included */
    float *carried;       /* [replica][world][mean | log_std | state of the LSTMs] */
    float *seen;          /* [replica][world][s | a | s1 | ds | r | change | state] */
    float *before;        /* [replica][world][p + q]: the mean with which the last segment ended */
    float *moved;         /* [replica][world]: is there one? */
    float *thetas;        /* [replica][world][mean | before], or [mean | log_std] of p_gamma */
    float *expected;      /* [replica][world][d + 1] */
    bool pending;         /* a correction that was begun is not in `carried` yet */
};

/* ---- recording ------------------------------------------------------------------------------- */

/* The next `n` columns of x. */
static nn_var take(nn_var x, int *at, int n)
{
    *at += n;
    return nn_slice(x, *at - n, n);
}

static int seen_size(const fnvae *f)
{
    return 3 * f->z.d + f->z.m + 2 + 4 * f->o.lstm;
}

static void record_seen(fnvae *f)
{
    int at = 0, d = f->z.d, state = 2 * f->o.lstm;
    nn_var all = f->b_in = nn_input(f->g, "belief seen", 1, f->belief_batch, seen_size(f));
    fnvae_seen *x = &f->b_seen;
    x->s = take(all, &at, d);
    x->a = take(all, &at, f->z.m);
    x->s1 = take(all, &at, d);
    x->ds = take(all, &at, d);
    x->r = take(all, &at, 1);
    x->change = take(all, &at, 1);
    x->state_s = take(all, &at, state);
    x->state_r = take(all, &at, state);
}

void fnvae_record_belief(fnvae *f)
{
    int at = 0, p = f->z.p, q = f->z.q;
    nn_var thetas = f->b_thetas = nn_input(f->g, "belief thetas", 1, f->belief_batch, 2 * (p + q));
    fnvae_seen *x = &f->b_seen;
    nn_var theta_s[2], theta_r[2];
    for (int lag = 0; lag < 2; lag++) {
        theta_s[lag] = take(thetas, &at, p);
        theta_r[lag] = take(thetas, &at, q);
    }
    fnvae_prior next = fnvae_record_foretold(f, theta_s, theta_r);
    f->b_next = nn_concat(NN_IN(next.mean, next.log_std));
    record_seen(f);
    f->b_rec = nn_concat(NN_IN(fnvae_record_alpha1(f, x->s, x->a, theta_s[0]),
                               fnvae_record_beta1(f, x->s, x->a, x->s1, theta_r[0])));
    if (f->o.observed) return;
    fnvae_posterior s, r;
    fnvae_record_posteriors(f, x, &s, &r);
    f->b_out = nn_concat(NN_IN(s.mean, r.mean, s.log_std, r.log_std, s.state, r.state));
}

int fnvae_plan_belief(fnvae *f)
{
    int rc = 0;
    TRY(nn_plan_new(&f->predict, f->g, &f->b_next, 1, 0, NULL, 0));
    TRY(nn_plan_new(&f->decode, f->g, &f->b_rec, 1, 0, NULL, 0));
    if (!f->o.observed) TRY(nn_plan_new(&f->correct, f->g, &f->b_out, 1, 0, NULL, 0));
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int belief_new(belief **out, fnvae *f)
{
    int rc = 0;
    belief *b = mem_alloc(sizeof *b);
    if (!b) return FANS_ENOMEM;
    b->f = f;
    b->worlds = f->belief_batch;
    b->factors = f->z.p + f->z.q;
    b->state = 4 * f->o.lstm;
    b->seen_size = seen_size(f);
    size_t rows = (size_t)f->replicas * (size_t)b->worlds * sizeof(float), n = (size_t)b->factors;
    TRY(arena_new(&b->memory));
    TRY(arena_declare(b->memory, &b->carried, rows * (2 * n + (size_t)b->state)));
    TRY(arena_declare(b->memory, &b->seen, rows * (size_t)b->seen_size));
    TRY(arena_declare(b->memory, &b->before, rows * n));
    TRY(arena_declare(b->memory, &b->moved, rows));
    TRY(arena_declare(b->memory, &b->thetas, rows * 2 * n));
    TRY(arena_declare(b->memory, &b->expected, rows * (size_t)(f->z.d + 1)));
    TRY(arena_commit(b->memory));
    *out = b;
out:
    if (rc < 0) belief_free(b);
    return rc;
}

void belief_free(belief *b)
{
    if (!b) return;
    arena_free(b->memory);
    mem_free(b);
}

static size_t row_of(const belief *b, int replica, int world)
{
    return (size_t)replica * (size_t)b->worlds + (size_t)world;
}

static size_t row_count(const belief *b)
{
    return row_of(b, b->f->replicas, 0);
}

/* What a row carries along; the mean stands first. */
static float *carried_of(const belief *b, size_t row)
{
    return b->carried + row * (size_t)(2 * b->factors + b->state);
}

static size_t mean_bytes(const belief *b)
{
    return (size_t)b->factors * sizeof(float);
}

void belief_reset(belief *b, int replica, int world)
{
    size_t row = row_of(b, replica, world);
    belief_settle(b);
    memset(carried_of(b, row), 0, 2 * mean_bytes(b) + (size_t)b->state * sizeof(float));
    memset(b->before + row * (size_t)b->factors, 0, mean_bytes(b));
    b->moved[row] = 0;
}

void belief_set(belief *b, int replica, int world, const float *theta, int n)
{
    belief_settle(b);
    memcpy(carried_of(b, row_of(b, replica, world)), theta, (size_t)n * sizeof *theta);
}

const float *belief_mean(const belief *b, int replica, int world)
{
    return carried_of(b, row_of(b, replica, world));
}

void belief_parts(belief *b, int replica, belief_part parts[BELIEF_PARTS])
{
    int N = b->worlds, n = b->factors;
    size_t row = row_of(b, replica, 0);
    parts[0] = (belief_part){"carried", N, 2 * n + b->state, carried_of(b, row)};
    parts[1] = (belief_part){"before", N, n, b->before + row * (size_t)n};
    parts[2] = (belief_part){"moved", N, 1, b->moved + row};
}

/* ---- correcting ------------------------------------------------------------------------------ */

void belief_note(belief *b, int replica, int world, const fnvae_row *row)
{
    const fnvae *f = b->f;
    int d = f->z.d, m = f->z.m;
    float *to = b->seen + row_of(b, replica, world) * (size_t)b->seen_size;
    fnvae_settle(f, replica);
    fnvae_put(f, replica, SCALE_S, row->s, to);
    memcpy(to + d, row->a, (size_t)m * sizeof(float));
    fnvae_put(f, replica, SCALE_S, row->s1, to + d + m);
    fnvae_put_change(f, replica, row, to + 2 * d + m);
    fnvae_put(f, replica, SCALE_R, &row->r, to + 3 * d + m);
    to[3 * d + m + 1] = row->change;
}

int belief_correct_begin(belief *b)
{
    const fnvae *f = b->f;
    belief_settle(b);
    int from = 2 * b->factors, to = b->seen_size - b->state;
    for (size_t i = 0; i < row_count(b); i++)
        memcpy(b->seen + i * (size_t)b->seen_size + to, carried_of(b, i) + from,
               (size_t)b->state * sizeof(float));
    nn_write_all(f->b_in, b->seen);
    int rc = nn_plan_run(f->correct);
    b->pending = rc == 0;
    return rc;
}

void belief_settle(belief *b)
{
    if (b->pending) nn_read_all(b->f->b_out, b->carried);
    b->pending = false;
}

int belief_correct(belief *b)
{
    int rc = belief_correct_begin(b);
    belief_settle(b);
    return rc;
}

/* ---- predicting ------------------------------------------------------------------------------ */

/* [mean | before] of all rows. Where no segment has ended yet, theta has not moved so far. */
static void write_thetas(belief *b)
{
    size_t n = (size_t)b->factors;
    for (size_t i = 0; i < row_count(b); i++) {
        float *to = b->thetas + i * 2 * n, *mean = carried_of(b, i);
        memcpy(to, mean, mean_bytes(b));
        memcpy(to + n, b->moved[i] != 0 ? b->before + i * n : mean, mean_bytes(b));
    }
    nn_write_all(b->f->b_thetas, b->thetas);
}

int belief_predict(belief *b, const uint8_t *change)
{
    const fnvae *f = b->f;
    size_t n = (size_t)b->factors;
    bool any = false;
    belief_settle(b);
    for (size_t i = 0; i < row_count(b); i++) any = any || change[i];
    if (any) write_thetas(b);
    int rc = nn_plan_run(f->predict); /* always: a replica's draws must not depend on the others */
    if (rc < 0 || !any) return rc;
    nn_read_all(f->b_next, b->thetas);
    for (size_t i = 0; i < row_count(b); i++) {
        if (!change[i]) continue;
        memcpy(b->before + i * n, carried_of(b, i), mean_bytes(b));
        memcpy(carried_of(b, i), b->thetas + i * 2 * n, 2 * mean_bytes(b));
        b->moved[i] = 1;
    }
    return 0;
}

/* ---- expecting ------------------------------------------------------------------------------- */

int belief_decode(belief *b)
{
    belief_settle(b);
    nn_write_all(b->f->b_in, b->seen);
    write_thetas(b);
    int rc = nn_plan_run(b->f->decode);
    if (rc == 0) nn_read_all(b->f->b_rec, b->expected);
    return rc;
}

const float *belief_expected(const belief *b, int replica, int world)
{
    return b->expected + row_of(b, replica, world) * (size_t)(b->f->z.d + 1);
}
