/* rows_cost.cuh - row steps: the gradients of costs, and the weighted sum of costs. */
#ifndef NN_CUDA_ROWS_COST_CUH
#define NN_CUDA_ROWS_COST_CUH

#include "nn/cuda/rows_point.cuh"

__device__ static real cost_weight(const nn_call *c, int r, idx row)
{
    int n = c->attr.i[0];
    return c->in_count > n ? nn_v(&c->in[n], r)[row] : 1;
}

/* dL/d(cost of this row). Without weights nothing is read that the cost has written: nn/uses.c
 * counts on it. */
__device__ static real row_slope(const nn_call *c, int r, idx row)
{
    bool even = c->in_count == c->attr.i[0];
    real share = even ? 1 / (real)nn_rows(c->in[0].shape) : *nn_scratch(c, r);
    return *nn_g(&c->out, r) * share * cost_weight(c, r, row);
}

__device__ static void rows_mean_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D;
    real *g = nn_g(x, r);
    EACH(i, D) NN_PUT(x->add, g[i], row_slope(c, r, i / D));
}

__device__ static void rows_mse_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D;
    bool wide = c->in[1].shape.D > 1;
    const real *v = nn_v(x, r), *y = nn_v(&c->in[1], r);
    real *g = nn_g(x, r);
    EACH(i, D)
    NN_PUT(x->add, g[i], 2 * row_slope(c, r, i / D) * (v[i] - y[wide ? i : i / D]));
}

__device__ static void rows_l1_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *x = &c->in[0];
    idx D = (idx)x->shape.D;
    const real *v = nn_v(x, r);
    real *g = nn_g(x, r);
    EACH(i, D)
    {
        real k = row_slope(c, r, i / D);
        NN_PUT(x->add, g[i], v[i] > 0 ? k : v[i] < 0 ? -k : 0);
    }
}

__device__ static void rows_gauss_nll_back(const nn_call *c, int r, idx from, idx to)
{
    bool learned = c->attr.i[0] == 3;
    const nn_tensor *mean = &c->in[1], *log_std = &c->in[2];
    idx D = (idx)mean->shape.D;
    EACH(i, D)
    {
        real k = row_slope(c, r, i / D), inv = learned ? nn_exp(-nn_v(log_std, r)[i]) : 1;
        real z = (nn_v(&c->in[0], r)[i] - nn_v(mean, r)[i]) * inv;
        if (mean->g) NN_PUT(mean->add, nn_g(mean, r)[i], -k * z * inv);
        if (learned && log_std->g) NN_PUT(log_std->add, nn_g(log_std, r)[i], k * (1 - z * z));
    }
}

__device__ static void rows_gauss_kl_back(const nn_call *c, int r, idx from, idx to)
{
    const nn_tensor *mq = &c->in[0], *sq = &c->in[1], *mp = &c->in[2], *sp = &c->in[3];
    idx D = (idx)mq->shape.D;
    EACH(i, D)
    {
        real k = row_slope(c, r, i / D);
        real inv = nn_exp(-nn_v(sp, r)[i]), z = (nn_v(mq, r)[i] - nn_v(mp, r)[i]) * inv;
        real ratio = nn_exp(2 * (nn_v(sq, r)[i] - nn_v(sp, r)[i]));
        if (mq->g) NN_PUT(mq->add, nn_g(mq, r)[i], k * z * inv);
        if (sq->g) NN_PUT(sq->add, nn_g(sq, r)[i], k * (ratio - 1));
        if (mp->g) NN_PUT(mp->add, nn_g(mp, r)[i], -k * z * inv);
        if (sp->g) NN_PUT(sp->add, nn_g(sp, r)[i], k * (1 - ratio - z * z));
    }
}

/* ---- a handful of scalars: one thread -------------------------------------------------------- */

__device__ static void rows_auto_weight(const nn_call *c, int r, idx, idx)
{
    int n = c->in_count - 1;
    const real *w = nn_v(&c->in[n], r);
    double sum = 0;
    if (threadIdx.x) return;
    for (int k = 0; k < n; k++) {
        double c2 = (double)w[k] * (double)w[k];
        sum += (double)*nn_v(&c->in[k], r) / (2 * c2) + log1p(c2);
    }
    *nn_v(&c->out, r) = (real)sum;
}

__device__ static void rows_auto_weight_back(const nn_call *c, int r, idx, idx)
{
    int n = c->in_count - 1;
    const nn_tensor *tc = &c->in[n];
    double d = (double)*nn_g(&c->out, r);
    if (threadIdx.x) return;
    for (int k = 0; k < n; k++) {
        double w = (double)nn_v(tc, r)[k], L = (double)*nn_v(&c->in[k], r);
        if (c->in[k].g) NN_PUT(c->in[k].add, *nn_g(&c->in[k], r), (real)(d / (2 * w * w)));
        if (tc->g)
            NN_PUT(tc->add, nn_g(tc, r)[k], (real)(d * (2 * w / (1 + w * w) - L / (w * w * w))));
    }
}

#endif
