/* belief.c - q_phi and p_gamma for one step of every world, and what is carried between steps. */
#include "learn/belief.h"

#include <string.h>

#include "base/error.h"
#include "learn/hypotheses.h"

struct belief {
    fnvae *f;
    arena *memory;
    int rows, factors; /* worlds of all replicas; p + q */
    online online;     /* carries [mean | log_std | state of both LSTMs] */
    staged thetas;     /* (1, worlds, [mean | before]) */
    nn_var next;       /* [mean | log_std] of p_gamma */
    nn_var decoded;    /* [change of state | reward] */
    nn_plan *predict, *decode;
    float *before;          /* [row][p + q]: the mean with which the last segment ended */
    float *moved;           /* [row]: 1 once a segment has ended */
    float *foretold;        /* [row][as `next`] */
    float *expected;        /* [row][d + 1] */
    hypotheses *hypotheses; /* or NULL: it always carries on */
    points *points;         /* or NULL: it is told; else the beliefs are there */
    float *shown;           /* [row][mean | log_std]: their mixture */
};

/* ---- recording ------------------------------------------------------------------------------- */

static fnvae_seen seen_in(const fnvae *f, online_step x)
{
    int state = 2 * f->o.lstm;
    fnvae_lived lived = {x.obs, x.action, x.reward, x.next_obs};
    fnvae_seen seen = fnvae_record_seen(f, lived, x.change);
    seen.state_s = nn_slice(x.state, 0, state);
    seen.state_r = nn_slice(x.state, state, state);
    return seen;
}

nn_var belief_record_step(fnvae *f, online_step x)
{
    fnvae_seen seen = seen_in(f, x);
    fnvae_posterior s, r;
    fnvae_record_posteriors(f, &seen, &s, &r);
    return nn_concat(NN_IN(s.mean, r.mean, s.log_std, r.log_std, s.state, r.state));
}

static int record_networks(belief *b, online_step step)
{
    fnvae *f = b->f;
    int at = 0, n = b->factors;
    nn_var theta_s[2], theta_r[2];
    for (int lag = 0; lag < 2; lag++, at += n) {
        theta_s[lag] = nn_slice(b->thetas.var, at, f->z.p);
        theta_r[lag] = nn_slice(b->thetas.var, at + f->z.p, f->z.q);
    }
    fnvae_prior next = fnvae_record_foretold(f, theta_s, theta_r);
    b->next = nn_concat(NN_IN(next.mean, next.log_std));
    fnvae_seen x = seen_in(f, step);
    b->decoded = nn_concat(NN_IN(fnvae_record_alpha1(f, x.s, x.a, theta_s[0]),
                                 fnvae_record_beta1(f, x.s, x.a, x.s1, theta_r[0])));
    nn_var out = f->o.observed ? NN_NONE : belief_record_step(f, step);
    return online_give(&b->online, b->memory, out, 2 * n + b->online.state);
}

int belief_plan(belief *b)
{
    nn_graph *g = b->f->g;
    int rc = 0;
    TRY(nn_plan_new(&b->predict, g, &b->next, 1, 0, NULL, 0));
    TRY(nn_plan_new(&b->decode, g, &b->decoded, 1, 0, NULL, 0));
    if (!b->f->o.observed) TRY(online_plan(&b->online));
    if (b->hypotheses) TRY(hypotheses_plan(b->hypotheses));
    if (b->points) TRY(points_plan(b->points));
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int belief_new(belief **out, fnvae *f, double doubt, points *found)
{
    int rc = 0, n = f->z.p + f->z.q;
    online_step step;
    belief *b = mem_alloc(sizeof *b);
    if (!b) {
        points_free(found);
        return FANS_ENOMEM;
    }
    *b = (belief){.f = f, .points = found, .rows = f->replicas * f->worlds, .factors = n};
    TRY(arena_new(&b->memory));
    TRY(staged_numbers(&b->thetas, b->memory, f->g, "belief thetas", 1, f->worlds, 2 * n));
    TRY(online_record(&b->online, b->memory, f->g, f->replay, 1, 4 * f->o.lstm, &step));
    TRY(record_networks(b, step));
    if (doubt > 0) TRY(hypotheses_new(&b->hypotheses, f, doubt));
    *out = b;
out:
    if (rc < 0) belief_free(b);
    return rc;
}

int belief_ready(belief *b)
{
    size_t rows = (size_t)b->rows * sizeof(float), n = (size_t)b->factors;
    int rc = 0;
    TRY(arena_declare(b->memory, &b->before, rows * n));
    TRY(arena_declare(b->memory, &b->moved, rows));
    TRY(arena_declare(b->memory, &b->foretold, rows * 2 * n));
    TRY(arena_declare(b->memory, &b->expected, rows * (size_t)(b->f->z.d + 1)));
    TRY(arena_declare(b->memory, &b->shown, rows * 2 * n));
    TRY(arena_commit(b->memory));
    if (b->hypotheses) TRY(hypotheses_ready(b->hypotheses));
    if (b->points) TRY(points_ready(b->points));
out:
    return rc;
}

void belief_free(belief *b)
{
    if (!b) return;
    points_free(b->points);
    hypotheses_free(b->hypotheses);
    arena_free(b->memory);
    mem_free(b);
}

/* ---- what is carried ------------------------------------------------------------------------- */

/* What a row carries; the mean comes first. */
static float *carried_of(const belief *b, int row)
{
    return online_of(&b->online, row);
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
    online_reset(&b->online, row);
    memset(before_of(b, row), 0, mean_bytes(b));
    b->moved[row] = 0;
    if (b->hypotheses) hypotheses_reset(b->hypotheses, row);
    if (b->points) points_reset(b->points, row);
}

void belief_set(belief *b, int row, const float *theta, int n)
{
    belief_finish(b);
    memcpy(carried_of(b, row), theta, (size_t)n * sizeof *theta);
}

const float *belief_mean(const belief *b, int row)
{
    if (b->points) return points_shown(b->points, row);
    if (!b->hypotheses) return carried_of(b, row);
    float *shown = b->shown + (size_t)row * 2 * (size_t)b->factors;
    hypotheses_mix(b->hypotheses, row, carried_of(b, row), shown);
    return shown;
}

void belief_weights(const belief *b, int row, float *w)
{
    hypotheses_weights(b->hypotheses, row, w);
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
    online_carried(&b->online, replica, "belief/carried", s);
    state_add(s, "belief/before", FANS_F32, 2, (int64_t[]){N, b->factors}, before_of(b, first));
    state_add(s, "belief/moved", FANS_F32, 1, (int64_t[]){N}, b->moved + first);
    if (b->hypotheses) hypotheses_carried(b->hypotheses, replica, s);
    if (b->points) points_carried(b->points, replica, s);
}

/* ---- correcting ------------------------------------------------------------------------------ */

void belief_note(belief *b, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change)
{
    if (b->points) {
        points_note(b->points, row, obs, action, reward, next_obs);
        return;
    }
    online_note(&b->online, row, obs, action, reward, next_obs, change);
    if (b->hypotheses) hypotheses_note(b->hypotheses, row, obs, action, reward, next_obs, change);
}

int belief_correct_begin(belief *b)
{
    belief_finish(b);
    if (b->points) return points_begin(b->points);
    int rc = b->hypotheses ? hypotheses_begin(b->hypotheses, &b->online) : 0;
    return rc < 0 ? rc : online_begin(&b->online);
}

void belief_finish(belief *b)
{
    if (b->points) points_finish(b->points);
    online_finish(&b->online);
    if (b->hypotheses) hypotheses_finish(b->hypotheses, &b->online);
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
    if (b->points) return 0;
    for (int i = 0; i < b->rows; i++) {
        any = any || change[i];
        if (change[i] && b->hypotheses) hypotheses_split(b->hypotheses, i, carried_of(b, i));
    }
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

/* ---- as a recording ---------------------------------------------------------------------------
 */

typedef struct slots {
    tick_slot *obs, *change, *theta, *state, *before, *moved;
} slots;

/* [mean | log_std] after the last step. */
static nn_var tick_correct(const belief *b, const tick *t, slots s)
{
    int p = b->f->z.p, q = b->f->z.q, n = p + q;
    nn_var old = s.theta->before;
    online_step step = {s.obs->before,   t->in[TICK_last_action], t->in[TICK_reward],
                        t->in[TICK_obs], s.change->before,        s.state->before};
    nn_var complete = nn_mul(t->in[TICK_seen], t->measured);
    nn_var states = b->f->o.mixed ? complete : t->in[TICK_seen];
    fnvae_seen x = seen_in(b->f, step);
    fnvae_posterior q_s, q_r;
    fnvae_record_posteriors(b->f, &x, &q_s, &q_r);
    s.state->after = nn_concat(NN_IN(tick_choose(states, q_s.state, x.state_s),
                                     tick_choose(complete, q_r.state, x.state_r)));
    return nn_concat(NN_IN(tick_choose(states, q_s.mean, nn_slice(old, 0, p)),
                           tick_choose(complete, q_r.mean, nn_slice(old, p, q)),
                           tick_choose(states, q_s.log_std, nn_slice(old, n, p)),
                           tick_choose(complete, q_r.log_std, nn_slice(old, n + p, q))));
}

/* [mean | log_std] of p_gamma. */
static nn_var tick_predict(const belief *b, nn_var mean, nn_var earlier)
{
    int p = b->f->z.p, q = b->f->z.q;
    nn_var theta_s[] = {nn_slice(mean, 0, p), nn_slice(earlier, 0, p)};
    nn_var theta_r[] = {nn_slice(mean, p, q), nn_slice(earlier, p, q)};
    fnvae_prior next = fnvae_record_foretold(b->f, theta_s, theta_r);
    return nn_concat(NN_IN(next.mean, next.log_std));
}

void belief_tick(const belief *b, bool filter, tick *t)
{
    int n = b->factors;
    nn_var change = t->in[TICK_change];
    slots s = {tick_carry(t, "obs before", b->f->z.d), tick_carry(t, "change before", 1),
               tick_carry(t, "theta", 2 * n),          tick_carry(t, "state", b->online.state),
               tick_carry(t, "theta before", n),       tick_carry(t, "moved", 1)};
    nn_var corrected = tick_correct(b, t, s);
    nn_var theta = filter ? corrected : s.theta->before;
    nn_var mean = nn_slice(theta, 0, n);
    nn_var earlier = tick_choose(s.moved->before, s.before->before, mean);
    s.obs->after = t->in[TICK_obs];
    s.change->after = change;
    s.theta->after = tick_choose(change, tick_predict(b, mean, earlier), theta);
    s.before->after = tick_choose(change, mean, s.before->before);
    s.moved->after = tick_not(nn_mul(tick_not(change), tick_not(s.moved->before)));
    t->out[TICK_belief] = s.theta->after;
}

/* ---- decoding -------------------------------------------------------------------------------- */

int belief_decode(belief *b)
{
    belief_finish(b);
    staged_send(&b->online.seen);
    send_thetas(b);
    int rc = nn_plan_run(b->decode);
    if (rc == 0) nn_read_all(b->decoded, b->expected);
    return rc;
}

const float *belief_expected(const belief *b, int row)
{
    return b->expected + (size_t)row * (size_t)(b->f->z.d + 1);
}
