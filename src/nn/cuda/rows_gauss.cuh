/* rows_gauss.cuh - row steps: Gaussian samples, squashed log-probabilities, gates. Random numbers
 * are those of the CPU, bit by bit: the k-th of a stream is a function of its name and k. */
#ifndef NN_CUDA_ROWS_GAUSS_CUH
#define NN_CUDA_ROWS_GAUSS_CUH

#include "nn/cuda/rows_point.cuh"
#include "nn/gates.h"

/* Number i of this run's noise. */
__device__ static float noise_at(const nn_call *c, int r, idx i)
{
    float e[4]; /* a block yields four; its neighbours compute it again */
    uint64_t first = *c->counter * (c->scratch_size / 4);
    rng_normal_block(c->seeds[r], c->purpose, 0, first + i / 4, e);
    return i % 4 == 0 ? e[0] : i % 4 == 1 ? e[1] : i % 4 == 2 ? e[2] : e[3];
}

__device__ static void rows_gauss_sample(const nn_call *c, int r, idx from, idx to)
{
    const real *mean = nn_v(&c->in[0], r), *log_std = nn_v(&c->in[1], r);
    real *eps = nn_scratch(c, r), *y = nn_v(&c->out, r);
    EACH(i, c->out.shape.D)
    {
        float mine = noise_at(c, r, i);
        eps[i] = mine;
        y[i] = mean[i] + nn_exp(log_std[i]) * mine;
    }
}

__device__ static void rows_gauss_sample_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *mean = &c->in[0], *log_std = &c->in[1];
    const real *d = nn_g(&c->out, r), *eps = nn_scratch(c, r), *l = nn_v(log_std, r);
    real *gm = nn_g(mean, r), *gs = nn_g(log_std, r);
    EACH(i, c->out.shape.D)
    {
        if (mean->g) NN_PUT(mean->add, gm[i], d[i]);
        if (log_std->g) NN_PUT(log_std->add, gs[i], d[i] * nn_exp(l[i]) * eps[i]);
    }
}

/* What one dimension takes from log π(tanh u). */
__device__ static real squash_term(real u, real mean, real s)
{
    const real half_log_2pi = 0.91893853320467274178f, ln2 = 0.69314718055994530942f;
    real z = (u - mean) * nn_exp(-s);
    return z * z / 2 + s + half_log_2pi + 2 * (ln2 - u - nn_softplus(-2 * u));
}

/* A warp per row: its lanes compute the terms, which are then added up in order. */
__device__ static void rows_squash_logp(const nn_call *c, int r, idx from, idx to)
{
    int D = c->in[0].shape.D, lane = (int)threadIdx.x % 32;
    for (idx row = from + threadIdx.x / 32; row < to; row += blockDim.x / 32) {
        real sum = 0;
        for (int base = 0; base < D; base += 32) {
            idx i = row * (idx)D + (idx)(base + lane);
            real term = 0;
            if (base + lane < D)
                term = squash_term(nn_v(&c->in[0], r)[i], nn_v(&c->in[1], r)[i],
                                   nn_v(&c->in[2], r)[i]);
            for (int j = 0; j < 32 && base + j < D; j++) sum -= __shfl_sync(~0u, term, j);
        }
        if (lane == 0) nn_v(&c->out, r)[row] = sum;
    }
}

__device__ static void rows_squash_logp_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *tu = &c->in[0], *tm = &c->in[1], *ts = &c->in[2];
    idx D = (idx)tu->shape.D;
    EACH(k, D)
    {
        real d = nn_g(&c->out, r)[k / D], u = nn_v(tu, r)[k];
        real inv = nn_exp(-nn_v(ts, r)[k]), z = (u - nn_v(tm, r)[k]) * inv;
        if (tu->g) NN_PUT(tu->add, nn_g(tu, r)[k], d * (2 * nn_tanh(u) - z * inv));
        if (tm->g) NN_PUT(tm->add, nn_g(tm, r)[k], d * z * inv);
        if (ts->g) NN_PUT(ts->add, nn_g(ts, r)[k], d * (z * z - 1));
    }
}

/* ---- gates ----------------------------------------------------------------------------------- */

__device__ static real gate_decision(int kind, real logit)
{
    if (kind == NN_GATE_ERF) return fabs(erf((double)logit)) > GATE_ERF_PRESENT;
    return logit > 0;
}

__device__ static real gate_sample(int kind, real s)
{
    if (kind == NN_GATE_GUMBEL) return s > 0.5f;
    real z = s * (real)(GATE_HIGH - GATE_LOW) + (real)GATE_LOW;
    return z < 0 ? 0 : z > 1 ? 1 : z;
}

__device__ static void rows_gate(const nn_call *c, int r, idx from, idx to)
{
    int kind = c->attr.i[0];
    const real *logit = nn_v(&c->in[0], r);
    real temperature = *nn_v(&c->in[1], r), *z = nn_v(&c->out, r), *s = nn_scratch(c, r);
    bool frozen = *nn_v(&c->in[2], r) != 0;
    uint64_t first = *c->counter * (c->scratch_size / 4);
    EACH(i, c->out.shape.D)
    {
        if (frozen) {
            z[i] = gate_decision(kind, logit[i]);
        } else if (kind == NN_GATE_ERF) {
            z[i] = (real)erf((double)logit[i]);
        } else {
            rng_block block = rng_philox(c->seeds[r], c->purpose, 0, first + i / 4);
            double u = (double)rng_unit(block.v[i % 4]);
            s[i] = nn_sigmoid((logit[i] + (real)log(u / (1 - u))) / temperature);
            z[i] = gate_sample(kind, s[i]);
        }
    }
}

__device__ static real gate_slope(int kind, real logit, real s, real z, real temperature)
{
    real ds = s * (1 - s) / temperature;
    if (kind == NN_GATE_GUMBEL) return ds;
    if (kind == NN_GATE_ERF) return (real)(M_2_SQRTPI * exp(-(double)logit * (double)logit));
    return z > 0 && z < 1 ? (real)(GATE_HIGH - GATE_LOW) * ds : 0;
}

__device__ static void rows_gate_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    const real *logit = nn_v(x, r), *z = nn_v(&c->out, r), *s = nn_scratch(c, r);
    const real *d = nn_g(&c->out, r);
    real temperature = *nn_v(&c->in[1], r), *g = nn_g(x, r);
    bool frozen = *nn_v(&c->in[2], r) != 0, noisy = c->attr.i[0] != NN_GATE_ERF;
    EACH(i, c->out.shape.D)
    {
        real slope =
            frozen ? 0 : gate_slope(c->attr.i[0], logit[i], noisy ? s[i] : 0, z[i], temperature);
        NN_PUT(x->add, g[i], d[i] * slope);
    }
}

__device__ static void rows_gate_open(const nn_call *c, int r, idx from, idx to)
{
    int kind = c->attr.i[0];
    const real *logit = nn_v(&c->in[0], r);
    real shift = 0, *p = nn_v(&c->out, r);
    if (kind == NN_GATE_HARD_CONCRETE)
        shift = *nn_v(&c->in[1], r) * (real)log(-GATE_LOW / GATE_HIGH);
    EACH(i, c->out.shape.D)
    p[i] = kind == NN_GATE_ERF ? (real)fabs(erf((double)logit[i])) : nn_sigmoid(logit[i] - shift);
}

__device__ static void rows_gate_open_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    const real *logit = nn_v(x, r), *p = nn_v(&c->out, r), *d = nn_g(&c->out, r);
    real *g = nn_g(x, r);
    EACH(i, c->out.shape.D)
    {
        real slope = p[i] * (1 - p[i]);
        if (c->attr.i[0] == NN_GATE_ERF) {
            double l = (double)logit[i], bell = M_2_SQRTPI * exp(-l * l);
            slope = (real)(l > 0 ? bell : l < 0 ? -bell : 0);
        }
        NN_PUT(x->add, g[i], d[i] * slope);
    }
}

#endif
