/* evidence.c - the decoders on samples of beliefs. */
#include "learn/evidence.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { SAMPLES = EVIDENCE_SAMPLES };

static const double FREEDOM = 3;    /* degrees of it, of Student's t */
static const double UNIT = 1.0 / 3; /* of errors given theta, in the decoders' spread */

static nn_var take(nn_var x, int *at, int n)
{
    *at += n;
    return nn_slice(x, *at - n, n);
}

static int step_width(const fnvae *f)
{
    return 2 * f->z.d + f->z.m + 1;
}

/* What the decoders get wrong in a step, given theta. */
static nn_var record_errors(fnvae *f, nn_var in)
{
    int at = 0;
    fnvae_lived lived;
    lived.obs = take(in, &at, f->z.d);
    lived.action = take(in, &at, f->z.m);
    lived.reward = take(in, &at, 1);
    lived.next_obs = take(in, &at, f->z.d);
    fnvae_seen x = fnvae_record_seen(f, lived, NN_NONE);
    nn_var theta_s = take(in, &at, f->z.p), theta_r = take(in, &at, f->z.q);
    nn_var ds = f->o.predict_state ? fnvae_record_step(f, x, theta_s)
                                   : fnvae_record_alpha1(f, x.s, x.a, theta_s);
    nn_var r = f->o.predict_reward ? fnvae_record_reward(f, x, theta_r)
                                   : fnvae_record_beta1(f, x.s, x.a, x.s1, theta_r);
    nn_var unit_s = nn_activate(nn_affine(f->noise_s, -1, 0), NN_EXP);
    nn_var unit_r = nn_activate(nn_affine(f->noise_r, -1, 0), NN_EXP);
    return nn_concat(NN_IN(nn_mul(nn_sub(x.ds, ds), unit_s), nn_mul(nn_sub(x.r, r), unit_r)));
}

int evidence_record(evidence *e, arena *memory, fnvae *f, int beliefs)
{
    size_t rows = (size_t)(f->replicas * f->worlds) * sizeof(float);
    int rc = 0, each = beliefs * SAMPLES;
    *e = (evidence){.f = f, .beliefs = beliefs, .n = f->z.p + f->z.q};
    TRY(staged_numbers(&e->guesses, memory, f->g, "guesses", each, f->worlds,
                       step_width(f) + e->n));
    e->errors = record_errors(f, e->guesses.var);
    TRY(arena_declare(memory, &e->host, rows * (size_t)each * (size_t)(f->z.d + 1)));
    TRY(arena_declare(memory, &e->normal, SAMPLES * (size_t)e->n * sizeof(float)));
out:
    return rc;
}

int evidence_plan(evidence *e)
{
    return nn_plan_new(&e->plan, e->f->g, &e->errors, 1, 0, NULL, 0);
}

/* The samples are the same in every step: what a run draws depends on nothing else then. */
void evidence_start(evidence *e)
{
    rng draw = rng_stream(0, "hypotheses", 0);
    for (int k = 0; k < SAMPLES * e->n; k++) e->normal[k] = (float)rng_normal(&draw);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Where sample j of a row's belief goes. */
static float *guess_of(evidence *e, int row, int belief, int j)
{
    int worlds = e->f->worlds, width = step_width(e->f) + e->n;
    int at = (belief * SAMPLES + j) * worlds + row % worlds;
    return numbers_of(&e->guesses, row / worlds) + (size_t)at * (size_t)width;
}

void evidence_guess(evidence *e, int row, int belief, const float *step, const float *from)
{
    int width = step_width(e->f), n = e->n;
    for (int j = 0; j < SAMPLES; j++) {
        float *to = guess_of(e, row, belief, j);
        memcpy(to, step, (size_t)width * sizeof *to);
        for (int i = 0; i < n; i++)
            to[width + i] = from[i] + expf(from[n + i]) * e->normal[j * n + i];
    }
}

void evidence_guess_any(evidence *e, int row, int belief, const float *step, const float *thetas)
{
    size_t width = (size_t)step_width(e->f), n = (size_t)e->n;
    for (int j = 0; j < SAMPLES; j++) {
        float *to = guess_of(e, row, belief, j);
        memcpy(to, step, width * sizeof *to);
        memcpy(to + width, thetas + (size_t)j * n, n * sizeof *to);
    }
}

int evidence_run(evidence *e)
{
    staged_send(&e->guesses);
    return nn_plan_run(e->plan);
}

void evidence_read(evidence *e)
{
    nn_read_all(e->errors, e->host);
}

/* The log density of a sample's errors, but for a constant. */
static double log_density(const float *u, int n)
{
    double square = 0;
    for (int i = 0; i < n; i++) square += (double)u[i] * (double)u[i];
    square /= n * UNIT * UNIT;
    return -(FREEDOM + 1) / 2 * log1p(square / FREEDOM);
}

/* The log of the mean over samples of a belief's density of what was seen. */
double evidence_of(const evidence *e, int row, int belief, int kind)
{
    size_t worlds = (size_t)e->f->worlds, width = (size_t)e->f->z.d + 1;
    size_t first = ((size_t)row / worlds * (size_t)e->beliefs + (size_t)belief) * SAMPLES * worlds;
    int from = kind ? e->f->z.d : 0, to = kind ? e->f->z.d + 1 : e->f->z.d;
    double each[SAMPLES], most = -INFINITY, sum = 0;
    for (size_t j = 0; j < SAMPLES; j++) {
        const float *u = e->host + (first + j * worlds + (size_t)row % worlds) * width;
        each[j] = log_density(u + from, to - from);
        most = fmax(most, each[j]);
    }
    for (int j = 0; j < SAMPLES; j++) sum += exp(each[j] - most);
    return most + log(sum / SAMPLES);
}
