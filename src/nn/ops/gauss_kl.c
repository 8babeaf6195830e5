/* gauss_kl.c - the mean over rows of KL(q ‖ p) between diagonal Gaussians, summed over features:
 *
 *     s_p - s_q + (exp(2 s_q) + (m_q - m_p)²) / (2 exp(2 s_p)) - 1/2,   s = log_std */
#include "nn/cost.h"
#include "nn/math.h"

static const char *infer(nn_inference *f)
{
    return cost_infer(f, 4);
}

static double row_cost(const nn_call *c, int r, size_t row)
{
    size_t D = (size_t)c->in[0].shape.D, at = row * D;
    const real *mq = nn_v(&c->in[0], r) + at, *sq = nn_v(&c->in[1], r) + at;
    const real *mp = nn_v(&c->in[2], r) + at, *sp = nn_v(&c->in[3], r) + at;
    double sum = 0;
    for (size_t j = 0; j < D; j++) {
        real ratio = nn_exp(2 * (sq[j] - sp[j])), z = (mq[j] - mp[j]) * nn_exp(-sp[j]);
        sum += (double)(sp[j] - sq[j]) + (double)(ratio + z * z) / 2 - 0.5;
    }
    return sum;
}

static void forward(const nn_call *c)
{
    cost_forward(c, row_cost);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *mq = &c->in[0], *sq = &c->in[1], *mp = &c->in[2], *sp = &c->in[3];
    size_t D = (size_t)mq->shape.D;
    for (size_t i = from; i < to; i++) {
        real k = cost_slope(c, r, i);
        for (size_t j = i * D; j < (i + 1) * D; j++) {
            real inv = nn_exp(-nn_v(sp, r)[j]), z = (nn_v(mq, r)[j] - nn_v(mp, r)[j]) * inv;
            real ratio = nn_exp(2 * (nn_v(sq, r)[j] - nn_v(sp, r)[j]));
            if (mq->g) NN_PUT(mq->add, nn_g(mq, r)[j], k * z * inv);
            if (sq->g) NN_PUT(sq->add, nn_g(sq, r)[j], k * (ratio - 1));
            if (mp->g) NN_PUT(mp->add, nn_g(mp, r)[j], -k * z * inv);
            if (sp->g) NN_PUT(sp->add, nn_g(sp, r)[j], k * (1 - ratio - z * z));
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
