/* pool.c - the mean over time of the steps that count: y[b] = Σ_t w[t, b] x[t, b] / Σ_t w[t, b],
 * zero where none does. No gradient flows into the weights (T, B, 1). */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!nn_is_weight(f->in[1], f->in[0])) return "the weights are not (T, B, 1)";
    f->out = (nn_shape){1, f->in[0].B, f->in[0].D};
    f->skip = 2;
    return NULL;
}

/* 1 / Σ_t w[t, b], or 0. */
static real share(const nn_call *c, int r, size_t b)
{
    const real *w = nn_v(&c->in[1], r) + b;
    size_t B = (size_t)c->out.shape.B;
    real sum = 0;
    for (size_t t = 0; t < (size_t)c->in[0].shape.T; t++) sum += w[t * B];
    return sum > 0 ? 1 / sum : 0;
}

/* Columns [from, to) of B. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t B = (size_t)c->out.shape.B, D = (size_t)c->out.shape.D;
    const real *x = nn_v(&c->in[0], r), *w = nn_v(&c->in[1], r);
    for (size_t b = from; b < to; b++) {
        real *y = nn_v(&c->out, r) + b * D, k = share(c, r, b);
        for (size_t j = 0; j < D; j++) y[j] = 0;
        for (size_t t = 0; t < (size_t)c->in[0].shape.T; t++)
            for (size_t j = 0; j < D; j++) y[j] += w[t * B + b] * k * x[(t * B + b) * D + j];
    }
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t B = (size_t)c->out.shape.B, D = (size_t)c->out.shape.D;
    const real *w = nn_v(&c->in[1], r);
    for (size_t b = from; b < to; b++) {
        const real *d = nn_g(&c->out, r) + b * D;
        real k = share(c, r, b);
        for (size_t t = 0; t < (size_t)c->in[0].shape.T; t++) {
            real *g = nn_g(&c->in[0], r) + (t * B + b) * D;
            for (size_t j = 0; j < D; j++) NN_PUT(c->in[0].add, g[j], w[t * B + b] * k * d[j]);
        }
    }
}

static int width(const nn_call *c)
{
    return c->in[0].shape.T * c->in[0].shape.D;
}

static void forward(const nn_call *c)
{
    nn_ranges(c, (size_t)c->out.shape.B, width(c), forward_range);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, (size_t)c->out.shape.B, width(c), backward_range);
}

const nn_op nn_op_pool = {.name = "pool",
                          .help = "the mean over the time steps that count",
                          .infer = infer,
                          .ignores = 1 | NN_RESULT,
                          .forward = forward,
                          .backward = backward};

nn_var nn_pool(nn_var x, nn_var weight)
{
    return nn_record(NN_OP_pool, NN_IN(x, weight), (nn_attr){0});
}
