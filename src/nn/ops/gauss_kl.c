/* gauss_kl.c - the mean over rows of KL(q ‖ p) between diagonal Gaussians, summed over features:
 *
 *     s_p - s_q + (exp(2 s_q) + (m_q - m_p)²) / (2 exp(2 s_p)) - 1/2,   s = log_std */
#include "nn/cost.h"
#include "nn/math.h"

static const char *infer(nn_inference *f)
{
    return cost_infer(f, 4);
}

/* Features are treated a few at a time: loops over buffers of one size become vector code. */
enum { FEW = 64 };

NN_WIDE static void few_costs(size_t n, const real *restrict mq, const real *restrict sq,
                              const real *restrict mp, const real *restrict sp, real *restrict cost)
{
    for (size_t j = 0; j < n; j++) {
        real ratio = nn_exp(2 * (sq[j] - sp[j])), z = (mq[j] - mp[j]) * nn_exp(-sp[j]);
        cost[j] = (sp[j] - sq[j]) + (ratio + z * z) / 2 - (real)0.5;
    }
}

static double row_cost(const nn_call *c, int r, size_t row)
{
    size_t D = (size_t)c->in[0].shape.D, at = row * D;
    const real *mq = nn_v(&c->in[0], r) + at, *sq = nn_v(&c->in[1], r) + at;
    const real *mp = nn_v(&c->in[2], r) + at, *sp = nn_v(&c->in[3], r) + at;
    double sum = 0;
    for (size_t j = 0; j < D; j += FEW) {
        real cost[FEW];
        size_t n = D - j < FEW ? D - j : FEW;
        few_costs(n, mq + j, sq + j, mp + j, sp + j, cost);
        for (size_t i = 0; i < n; i++) sum += (double)cost[i];
    }
    return sum;
}

static void forward(const nn_call *c)
{
    cost_forward(c, row_cost);
}

/* The gradients of the means (of q; of p it is the opposite) and of both log_stds. */
NN_WIDE static void few_slopes(size_t n, real k, const real *restrict mq, const real *restrict sq,
                               const real *restrict mp, const real *restrict sp, real *restrict dm,
                               real *restrict dsq, real *restrict dsp)
{
    for (size_t j = 0; j < n; j++) {
        real inv = nn_exp(-sp[j]), z = (mq[j] - mp[j]) * inv, ratio = nn_exp(2 * (sq[j] - sp[j]));
        dm[j] = k * z * inv;
        dsq[j] = k * (ratio - 1);
        dsp[j] = k * (1 - ratio - z * z);
    }
}

static void put(const nn_tensor *t, int r, size_t at, const real *d, real sign, size_t n)
{
    for (size_t j = 0; t->g && j < n; j++) NN_PUT(t->add, nn_g(t, r)[at + j], sign * d[j]);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *mq = &c->in[0], *sq = &c->in[1], *mp = &c->in[2], *sp = &c->in[3];
    size_t D = (size_t)mq->shape.D;
    for (size_t i = from; i < to; i++) {
        for (size_t j = 0; j < D; j += FEW) {
            real dm[FEW], dsq[FEW], dsp[FEW];
            size_t n = D - j < FEW ? D - j : FEW, at = i * D + j;
            few_slopes(n, cost_slope(c, r, i), nn_v(mq, r) + at, nn_v(sq, r) + at, nn_v(mp, r) + at,
                       nn_v(sp, r) + at, dm, dsq, dsp);
            put(mq, r, at, dm, 1, n);
            put(sq, r, at, dsq, 1, n);
            put(mp, r, at, dm, -1, n);
            put(sp, r, at, dsp, 1, n);
        }
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->in[0].shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_gauss_kl = {.name = "gauss_kl",
                              .help = "KL divergence between diagonal Gaussians, weighted by row",
                              .infer = infer,
                              .ignores = NN_RESULT,
                              .forward = forward,
                              .backward = backward};

nn_var nn_gauss_kl(nn_var mean_q, nn_var log_std_q, nn_var mean_p, nn_var log_std_p, nn_var weight)
{
    return cost_record(NN_OP_gauss_kl, NN_IN(mean_q, log_std_q, mean_p, log_std_p), weight);
}
