/* squash_logp.c - log-probability of a = tanh(u), u ~ N(mean, exp(log_std)²), per row:
 *
 *     Σ_j log N(u_j) - log(1 - tanh²(u_j)),   log(1 - tanh² u) = 2 (ln 2 - u - softplus(-2u)) */
#include "nn/math.h"
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!nn_same(f->in[0], f->in[1]) || !nn_same(f->in[0], f->in[2]))
        return "u, mean and log_std differ in shape";
    f->out = (nn_shape){f->in[0].T, f->in[0].B, 1};
    return NULL;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const real half_log_2pi = (real)0.91893853320467274178, ln2 = (real)0.69314718055994530942;
    size_t D = (size_t)c->in[0].shape.D;
    for (size_t i = from; i < to; i++) {
        const real *u = nn_v(&c->in[0], r) + i * D, *m = nn_v(&c->in[1], r) + i * D;
        const real *s = nn_v(&c->in[2], r) + i * D;
        real sum = 0;
        for (size_t j = 0; j < D; j++) {
            real z = (u[j] - m[j]) * nn_exp(-s[j]);
            sum -= z * z / 2 + s[j] + half_log_2pi + 2 * (ln2 - u[j] - nn_softplus(-2 * u[j]));
        }
        nn_v(&c->out, r)[i] = sum;
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *tu = &c->in[0], *tm = &c->in[1], *ts = &c->in[2];
    size_t D = (size_t)tu->shape.D;
    for (size_t k = from * D; k < to * D; k++) {
        real d = nn_g(&c->out, r)[k / D], u = nn_v(tu, r)[k];
        real inv = nn_exp(-nn_v(ts, r)[k]), z = (u - nn_v(tm, r)[k]) * inv;
        if (tu->g) NN_PUT(tu->add, nn_g(tu, r)[k], d * (2 * nn_tanh(u) - z * inv));
        if (tm->g) NN_PUT(tm->add, nn_g(tm, r)[k], d * z * inv);
        if (ts->g) NN_PUT(ts->add, nn_g(ts, r)[k], d * (z * z - 1));
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_squash_logp = {.name = "squash_logp",
                                 .help = "log-probability of tanh(u) under a squashed Gaussian",
                                 .infer = infer,
                                 .forward = forward,
                                 .backward = backward};

nn_var nn_squash_logp(nn_var u, nn_var mean, nn_var log_std)
{
    return nn_record(NN_OP_squash_logp, NN_IN(u, mean, log_std), (nn_attr){0});
}
