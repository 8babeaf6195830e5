/* gauss_nll.c - the mean over rows of -log N(target; mean, exp(log_std)²), summed over features.
 *
 * Without log_std the variance is 1 and the constant is left out: Σ(target - mean)² / 2, which is
 * never negative. No gradient flows into the target. */
#include "nn/cost.h"
#include "nn/math.h"

#define LEARNED_STD(c) ((c)->attr.i[0] == 3)

static const char *infer(nn_inference *f)
{
    f->skip = 1;
    return cost_infer(f, f->attr.i[0]);
}

static double row_cost(const nn_call *c, int r, size_t row)
{
    size_t D = (size_t)c->in[0].shape.D, at = row * D;
    const real *y = nn_v(&c->in[0], r) + at, *m = nn_v(&c->in[1], r) + at;
    const real *s = LEARNED_STD(c) ? nn_v(&c->in[2], r) + at : NULL;
    double sum = 0;
    for (size_t j = 0; j < D; j++) {
        real z = y[j] - m[j];
        if (s) z *= nn_exp(-s[j]);
        sum += (double)(z * z) / 2;
        if (s) sum += (double)s[j] + 0.91893853320467274178; /* ln sqrt(2 pi) */
    }
    return sum;
}

static void forward(const nn_call *c)
{
    cost_forward(c, row_cost);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *mean = &c->in[1], *log_std = LEARNED_STD(c) ? &c->in[2] : NULL;
    size_t D = (size_t)mean->shape.D;
    for (size_t i = from; i < to; i++) {
        real k = cost_slope(c, r, i);
        for (size_t j = i * D; j < (i + 1) * D; j++) {
            real inv = log_std ? nn_exp(-nn_v(log_std, r)[j]) : 1;
            real z = (nn_v(&c->in[0], r)[j] - nn_v(mean, r)[j]) * inv;
            if (mean->g) NN_PUT(mean->add, nn_g(mean, r)[j], -k * z * inv);
            if (log_std && log_std->g) NN_PUT(log_std->add, nn_g(log_std, r)[j], k * (1 - z * z));
        }
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->in[0].shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_gauss_nll = {.name = "gauss_nll",
                               .help = "negative log-likelihood of a Gaussian, weighted by row",
                               .infer = infer,
                               .ignores = NN_RESULT,
                               .forward = forward,
                               .backward = backward};

nn_var nn_gauss_nll(nn_var target, nn_var mean, nn_var log_std, nn_var weight)
{
    nn_list x = log_std.id < 0 ? NN_IN(target, mean) : NN_IN(target, mean, log_std);
    return cost_record(NN_OP_gauss_nll, x, weight);
}
