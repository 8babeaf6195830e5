/* belief.c - a recording of one step, and the carried state around it. */
#include "model/belief.h"

#include <string.h>

#include "base/error.h"

struct belief {
    fnvae *f;
    arena *memory;
    int worlds, factors, state; /* N, p + q, 2 lstm */
    float *mean, *log_std;      /* [replica][world][p + q] */
    float *before;              /* likewise: the mean with which the segment before ended */
    float *moved;               /* [replica][world]: is there one? */
    float *state_s, *state_r;   /* [replica][world][2 lstm] */
    float *s, *a, *s1, *ds, *r, *change;
    float *expected; /* [replica][world][d + 1] */
    float *buffer;   /* one replica of any tensor */
};

/* ---- recording ------------------------------------------------------------------------------- */

void fnvae_record_belief(fnvae *f)
{
    int N = f->belief_batch, state = 2 * f->o.lstm;
    nn_graph *g = f->g;
    fnvae_seen *x = &f->b_seen;
    x->s = nn_input(g, "belief s", 1, N, f->z.d);
    x->a = nn_input(g, "belief a", 1, N, f->z.m);
    x->s1 = nn_input(g, "belief s1", 1, N, f->z.d);
    x->ds = nn_input(g, "belief ds", 1, N, f->z.d);
    x->r = nn_input(g, "belief r", 1, N, 1);
    x->change = nn_input(g, "belief change", 1, N, 1);
    x->state_s = nn_input(g, "belief state_s", 1, N, state);
    x->state_r = nn_input(g, "belief state_r", 1, N, state);
    f->b_theta_s[0] = nn_input(g, "belief theta_s", 1, N, f->z.p);
    f->b_theta_r[0] = nn_input(g, "belief theta_r", 1, N, f->z.q);
    f->b_theta_s[1] = nn_input(g, "belief theta_s before", 1, N, f->z.p);
    f->b_theta_r[1] = nn_input(g, "belief theta_r before", 1, N, f->z.q);
    f->b_next_s = fnvae_record_prior(f, "s", f->b_theta_s, f->mask[MASK_TT_S].C);
    f->b_next_r = fnvae_record_prior(f, "r", f->b_theta_r, f->mask[MASK_TT_R].C);
    f->b_rec = fnvae_record_alpha1(f, x->s, x->a, f->b_theta_s[0]);
    f->b_rec_r = fnvae_record_beta1(f, x->s, x->a, x->s1, f->b_theta_r[0]);
    if (!f->o.observed) fnvae_record_posteriors(f, x, &f->b_q_s, &f->b_q_r);
}

int fnvae_plan_belief(fnvae *f)
{
    int rc = 0;
    nn_graph *g = f->g;
    nn_var next[] = {f->b_next_s, f->b_next_r}, rec[] = {f->b_rec, f->b_rec_r};
    TRY(nn_plan_new(&f->predict, g, next, 2, 0, NULL, 0));
    TRY(nn_plan_new(&f->decode, g, rec, 2, 0, NULL, 0));
    if (f->o.observed) return 0;
    nn_var q[] = {f->b_q_s.mean, f->b_q_s.log_std, f->b_q_r.mean, f->b_q_r.log_std};
    TRY(nn_plan_new(&f->correct, g, q, 4, 0, NULL, 0));
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
    b->state = 2 * f->o.lstm;
    size_t rows = (size_t)f->replicas * (size_t)b->worlds, d = (size_t)f->z.d;
    size_t factors = (size_t)b->factors, state = (size_t)b->state, m = (size_t)f->z.m;
    size_t widest = state > factors ? state : factors; /* of what is read row by row */
    struct {
        float **slot;
        size_t n;
    } const parts[] = {{&b->mean, rows * factors},
                       {&b->log_std, rows * factors},
                       {&b->before, rows * factors},
                       {&b->moved, rows},
                       {&b->state_s, rows * state},
                       {&b->state_r, rows * state},
                       {&b->s, rows * d},
                       {&b->a, rows * m},
                       {&b->s1, rows * d},
                       {&b->ds, rows * d},
                       {&b->r, rows},
                       {&b->change, rows},
                       {&b->expected, rows * (d + 1)},
                       {&b->buffer, (size_t)b->worlds * (widest > d ? widest : d)}};
    TRY(arena_new(&b->memory));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        TRY(arena_declare(b->memory, parts[i].slot, parts[i].n * sizeof(float)));
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

void belief_reset(belief *b, int replica, int world)
{
    size_t row = row_of(b, replica, world), n = (size_t)b->factors, h = (size_t)b->state;
    memset(b->mean + row * n, 0, n * sizeof(float));
    memset(b->log_std + row * n, 0, n * sizeof(float));
    memset(b->before + row * n, 0, n * sizeof(float));
    b->moved[row] = 0;
    memset(b->state_s + row * h, 0, h * sizeof(float));
    memset(b->state_r + row * h, 0, h * sizeof(float));
}

void belief_set(belief *b, int replica, int world, const float *mean)
{
    size_t n = (size_t)b->factors;
    memcpy(b->mean + row_of(b, replica, world) * n, mean, n * sizeof(float));
}

/* ---- living ---------------------------------------------------------------------------------- */

void belief_note(belief *b, int replica, int world, const fnvae_row *row)
{
    const fnvae *f = b->f;
    size_t at = row_of(b, replica, world), d = (size_t)f->z.d, m = (size_t)f->z.m;
    for (int i = 0; i < f->z.d; i++) {
        size_t k = at * d + (size_t)i;
        double before = (double)row->s[i], after = (double)row->s1[i];
        b->s[k] = (float)fnvae_to(f, replica, SCALE_S, i, before);
        b->s1[k] = (float)fnvae_to(f, replica, SCALE_S, i, after);
        b->ds[k] = (float)fnvae_to(f, replica, SCALE_DS, i, after - before);
    }
    memcpy(b->a + at * m, row->a, m * sizeof(float));
    b->r[at] = (float)fnvae_to(f, replica, SCALE_R, 0, (double)row->r);
    b->change[at] = row->change;
}

static void upload_rows(const belief *b)
{
    const fnvae *f = b->f;
    nn_write_all(f->b_seen.s, b->s);
    nn_write_all(f->b_seen.a, b->a);
    nn_write_all(f->b_seen.s1, b->s1);
    nn_write_all(f->b_seen.ds, b->ds);
    nn_write_all(f->b_seen.r, b->r);
}

/* A tensor's columns are `at`.. of the rows `all`, which have `width` columns. */
static void download_part(const belief *b, nn_var v, float *all, int width, int at)
{
    size_t n = (size_t)nn_shape_of(v).D;
    for (int r = 0; r < b->f->replicas; r++) {
        nn_read(v, r, b->buffer);
        for (int w = 0; w < b->worlds; w++)
            memcpy(all + row_of(b, r, w) * (size_t)width + at, b->buffer + (size_t)w * n,
                   n * sizeof(float));
    }
}

/* Columns of `rows` [replica][world][p + q] as the tensors theta_s and theta_r. */
static void upload_theta(const belief *b, const float *rows, nn_var theta_s, nn_var theta_r)
{
    const nn_var theta[] = {theta_s, theta_r};
    for (int k = 0, at = 0; k < 2; k++) {
        int n = nn_shape_of(theta[k]).D;
        for (int r = 0; r < b->f->replicas; r++) {
            for (int w = 0; w < b->worlds; w++)
                memcpy(b->buffer + w * n, rows + row_of(b, r, w) * (size_t)b->factors + at,
                       (size_t)n * sizeof(float));
            nn_write(theta[k], r, b->buffer);
        }
        at += n;
    }
}

int belief_correct(belief *b)
{
    const fnvae *f = b->f;
    upload_rows(b);
    nn_write_all(f->b_seen.change, b->change);
    nn_write_all(f->b_seen.state_s, b->state_s);
    nn_write_all(f->b_seen.state_r, b->state_r);
    int rc = nn_plan_run(f->correct);
    if (rc < 0) return rc;
    nn_read_all(f->b_q_s.state, b->state_s);
    nn_read_all(f->b_q_r.state, b->state_r);
    download_part(b, f->b_q_s.mean, b->mean, b->factors, 0);
    download_part(b, f->b_q_r.mean, b->mean, b->factors, f->z.p);
    download_part(b, f->b_q_s.log_std, b->log_std, b->factors, 0);
    download_part(b, f->b_q_r.log_std, b->log_std, b->factors, f->z.p);
    return 0;
}

/* Takes the columns at.. of the worlds that change from p_gamma's tensors. */
static void take(belief *b, const uint8_t *change, nn_var v, float *to, int at)
{
    nn_shape z = nn_shape_of(v);
    for (int r = 0; r < b->f->replicas; r++) {
        nn_read(v, r, b->buffer);
        for (int w = 0; w < b->worlds; w++)
            if (change[row_of(b, r, w)])
                memcpy(to + row_of(b, r, w) * (size_t)b->factors + at,
                       b->buffer + (z.B > 1 ? w * z.D : 0), (size_t)z.D * sizeof(float));
    }
}

/* Where no segment came before the last one, theta has not moved so far. */
static void upload_ends(belief *b, const uint8_t *change)
{
    const fnvae *f = b->f;
    size_t n = (size_t)b->factors;
    for (size_t i = 0; i < row_of(b, f->replicas, 0); i++)
        if (change[i] && b->moved[i] == 0)
            memcpy(b->before + i * n, b->mean + i * n, n * sizeof(float));
    upload_theta(b, b->mean, f->b_theta_s[0], f->b_theta_r[0]);
    upload_theta(b, b->before, f->b_theta_s[1], f->b_theta_r[1]);
}

int belief_predict(belief *b, const uint8_t *change)
{
    const fnvae *f = b->f;
    size_t n = (size_t)b->factors;
    bool any = false;
    for (int i = 0; i < f->replicas * b->worlds; i++) any = any || change[i];
    if (!any) return 0;
    upload_ends(b, change);
    int rc = nn_plan_run(f->predict);
    if (rc < 0) return rc;
    for (size_t i = 0; i < row_of(b, f->replicas, 0); i++)
        if (change[i]) {
            memcpy(b->before + i * n, b->mean + i * n, n * sizeof(float));
            b->moved[i] = 1;
        }
    take(b, change, f->b_next_s, b->mean, 0);
    take(b, change, f->b_next_r, b->mean, f->z.p);
    take(b, change, f->spread_s, b->log_std, 0);
    take(b, change, f->spread_r, b->log_std, f->z.p);
    return 0;
}

const float *belief_mean(const belief *b, int replica, int world)
{
    return b->mean + row_of(b, replica, world) * (size_t)b->factors;
}

const float *belief_log_std(const belief *b, int replica, int world)
{
    return b->log_std + row_of(b, replica, world) * (size_t)b->factors;
}

int belief_decode(belief *b)
{
    const fnvae *f = b->f;
    upload_rows(b);
    upload_theta(b, b->mean, f->b_theta_s[0], f->b_theta_r[0]);
    int rc = nn_plan_run(f->decode);
    if (rc < 0) return rc;
    download_part(b, f->b_rec, b->expected, f->z.d + 1, 0);
    download_part(b, f->b_rec_r, b->expected, f->z.d + 1, f->z.d);
    return 0;
}

const float *belief_expected(const belief *b, int replica, int world)
{
    return b->expected + row_of(b, replica, world) * (size_t)(b->f->z.d + 1);
}
