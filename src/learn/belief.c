/* belief.c - a recording of one step, and the state carried between steps.
 *
 * A step has one input tensor and one output tensor for all worlds of all replicas: on a GPU every
 * transfer costs time, and this happens at every step. */
#include "learn/belief.h"

#include <string.h>

#include "base/error.h"

struct belief {
    fnvae *f;
    arena *memory;
    int rows, factors; /* worlds of all replicas; p + q */
    int lstm_state;    /* numbers of both LSTMs */
    staged seen;       /* (1, worlds, [obs | action | reward | next_obs | change | LSTM state]) */
    staged thetas;     /* (1, worlds, [mean | before]) */
    nn_var out;        /* [mean | log_std | LSTM state] */
    nn_var next;       /* [mean | log_std] of p_gamma */
    nn_var decoded;    /* [change of state | reward] */
    nn_plan *correct, *predict, *decode;
    float *carried;  /* [row][as `out`] */
    float *before;   /* [row][p + q]: the mean with which the last segment ended */
    float *moved;    /* [row]: 1 once a segment has ended */
    float *foretold; /* [row][as `next`] */
    float *expected; /* [row][d + 1] */
    bool pending;    /* a queued correction is not in `carried` yet */
};

/* ---- recording ------------------------------------------------------------------------------- */

/* The next `n` columns of x. */
static nn_var take(nn_var x, int *at, int n)
{
    *at += n;
    return nn_slice(x, *at - n, n);
}

static int seen_width(const fnvae *f)
{
    return 2 * f->z.d + f->z.m + 2 + 4 * f->o.lstm;
}

static fnvae_seen record_seen(const belief *b)
{
    const fnvae *f = b->f;
    int at = 0, state = 2 * f->o.lstm;
    nn_var all = b->seen.var;
    fnvae_lived x;
    x.obs = take(all, &at, f->z.d);
    x.action = take(all, &at, f->z.m);
    x.reward = take(all, &at, 1);
    x.next_obs = take(all, &at, f->z.d);
    nn_var change = take(all, &at, 1);
    fnvae_seen seen = fnvae_record_seen(f, x, change);
    seen.state_s = take(all, &at, state);
    seen.state_r = take(all, &at, state);
    return seen;
}

static void record_networks(belief *b)
{
    fnvae *f = b->f;
    int at = 0;
    nn_var theta_s[2], theta_r[2];
    for (int lag = 0; lag < 2; lag++) {
        theta_s[lag] = take(b->thetas.var, &at, f->z.p);
        theta_r[lag] = take(b->thetas.var, &at, f->z.q);
    }
    fnvae_prior next = fnvae_record_foretold(f, theta_s, theta_r);
    b->next = nn_concat(NN_IN(next.mean, next.log_std));
    fnvae_seen x = record_seen(b);
    b->decoded = nn_concat(NN_IN(fnvae_record_alpha1(f, x.s, x.a, theta_s[0]),
                                 fnvae_record_beta1(f, x.s, x.a, x.s1, theta_r[0])));
    if (f->o.observed) return;
    fnvae_posterior s, r;
    fnvae_record_posteriors(f, &x, &s, &r);
    b->out = nn_concat(NN_IN(s.mean, r.mean, s.log_std, r.log_std, s.state, r.state));
}

int belief_plan(belief *b)
{
    nn_graph *g = b->f->g;
    int rc = 0;
    TRY(nn_plan_new(&b->predict, g, &b->next, 1, 0, NULL, 0));
    TRY(nn_plan_new(&b->decode, g, &b->decoded, 1, 0, NULL, 0));
    if (!b->f->o.observed) TRY(nn_plan_new(&b->correct, g, &b->out, 1, 0, NULL, 0));
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static size_t carried_width(const belief *b)
{
    return 2 * (size_t)b->factors + (size_t)b->lstm_state;
}

int belief_new(belief **out, fnvae *f)
{
    int rc = 0, n = f->z.p + f->z.q;
    belief *b = mem_alloc(sizeof *b);
    if (!b) return FANS_ENOMEM;
    *b = (belief){
        .f = f, .rows = f->replicas * f->worlds, .factors = n, .lstm_state = 4 * f->o.lstm};
    TRY(arena_new(&b->memory));
    TRY(staged_numbers(&b->thetas, b->memory, f->g, "belief thetas", 1, f->worlds, 2 * n));
    TRY(staged_numbers(&b->seen, b->memory, f->g, "belief seen", 1, f->worlds, seen_width(f)));
    record_networks(b);
    *out = b;
out:
    if (rc < 0) belief_free(b);
    return rc;
}

int belief_ready(belief *b)
{
    size_t rows = (size_t)b->rows * sizeof(float), n = (size_t)b->factors;
    int rc = 0;
    TRY(arena_declare(b->memory, &b->carried, rows * carried_width(b)));
    TRY(arena_declare(b->memory, &b->before, rows * n));
    TRY(arena_declare(b->memory, &b->moved, rows));
    TRY(arena_declare(b->memory, &b->foretold, rows * 2 * n));
    TRY(arena_declare(b->memory, &b->expected, rows * (size_t)(b->f->z.d + 1)));
    TRY(arena_commit(b->memory));
out:
    return rc;
}

void belief_free(belief *b)
{
    if (!b) return;
    arena_free(b->memory);
    mem_free(b);
}

/* ---- what is carried ------------------------------------------------------------------------- */

/* What a row carries; the mean comes first. */
static float *carried_of(const belief *b, int row)
{
    return b->carried + (size_t)row * carried_width(b);
}

static float *before_of(const belief *b, int row)
{
    return b->before + (size_t)row * (size_t)b->factors;
}

static size_t mean_bytes(const belief *b)
{
    return (size_t)b->factors * sizeof(float);
}

void belief_reset(belief *b, int row)
{
    belief_finish(b);
    memset(carried_of(b, row), 0, carried_width(b) * sizeof(float));
    memset(before_of(b, row), 0, mean_bytes(b));
    b->moved[row] = 0;
}

void belief_set(belief *b, int row, const float *theta, int n)
{
    belief_finish(b);
    memcpy(carried_of(b, row), theta, (size_t)n * sizeof *theta);
}

const float *belief_mean(const belief *b, int row)
{
    return carried_of(b, row);
}

static int finish(void *b)
{
    belief_finish(b);
    return 0;
}

void belief_carried(belief *b, int replica, state_list *s)
{
    int N = b->f->worlds, first = replica * N;
    state_on_save(s, finish, b);
    state_add(s, "belief/carried", FANS_F32, 2, (int64_t[]){N, (int64_t)carried_width(b)},
              carried_of(b, first));
    state_add(s, "belief/before", FANS_F32, 2, (int64_t[]){N, b->factors}, before_of(b, first));
    state_add(s, "belief/moved", FANS_F32, 1, (int64_t[]){N}, b->moved + first);
}

/* ---- correcting ------------------------------------------------------------------------------ */

static float *seen_of(const belief *b, int row)
{
    return numbers_of(&b->seen, 0) + (size_t)row * (size_t)seen_width(b->f);
}

void belief_note(belief *b, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change)
{
    size_t d = (size_t)b->f->z.d, m = (size_t)b->f->z.m;
    float *to = seen_of(b, row);
    memcpy(to, obs, d * sizeof *to);
    memcpy(to + d, action, m * sizeof *to);
    to[d + m] = reward;
    memcpy(to + d + m + 1, next_obs, d * sizeof *to);
    to[2 * d + m + 1] = change;
}

int belief_correct_begin(belief *b)
{
    belief_finish(b);
    int from = 2 * b->factors, to = seen_width(b->f) - b->lstm_state;
    for (int i = 0; i < b->rows; i++)
        memcpy(seen_of(b, i) + to, carried_of(b, i) + from, (size_t)b->lstm_state * sizeof(float));
    staged_send(&b->seen);
    int rc = nn_plan_run(b->correct);
    b->pending = rc == 0;
    return rc;
}

void belief_finish(belief *b)
{
    if (b->pending) nn_read_all(b->out, b->carried);
    b->pending = false;
}

int belief_correct(belief *b)
{
    int rc = belief_correct_begin(b);
    belief_finish(b);
    return rc;
}

/* ---- predicting ------------------------------------------------------------------------------ */

/* [mean | before] of all rows. Before the first segment has ended, theta has not moved. */
static void send_thetas(belief *b)
{
    float *to = numbers_of(&b->thetas, 0);
    for (int i = 0; i < b->rows; i++, to += 2 * b->factors) {
        const float *mean = carried_of(b, i);
        memcpy(to, mean, mean_bytes(b));
        memcpy(to + b->factors, b->moved[i] != 0 ? before_of(b, i) : mean, mean_bytes(b));
    }
    staged_send(&b->thetas);
}

int belief_predict(belief *b, const uint8_t *change)
{
    bool any = false;
    belief_finish(b);
    for (int i = 0; i < b->rows; i++) any = any || change[i];
    if (any) send_thetas(b);
    int rc = nn_plan_run(b->predict); /* always: a replica's draws must not depend on the others */
    if (rc < 0 || !any) return rc;
    nn_read_all(b->next, b->foretold);
    for (int i = 0; i < b->rows; i++) {
        if (!change[i]) continue;
        memcpy(before_of(b, i), carried_of(b, i), mean_bytes(b));
        memcpy(carried_of(b, i), b->foretold + (size_t)i * 2 * (size_t)b->factors,
               2 * mean_bytes(b));
        b->moved[i] = 1;
    }
    return 0;
}

/* ---- decoding -------------------------------------------------------------------------------- */

int belief_decode(belief *b)
{
    belief_finish(b);
    staged_send(&b->seen);
    send_thetas(b);
    int rc = nn_plan_run(b->decode);
    if (rc == 0) nn_read_all(b->decoded, b->expected);
    return rc;
}

const float *belief_expected(const belief *b, int row)
{
    return b->expected + (size_t)row * (size_t)(b->f->z.d + 1);
}
