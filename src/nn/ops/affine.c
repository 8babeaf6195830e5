/* affine.c - y = scale x + shift, with constants. */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = f->in[0];
    return NULL;
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real scale = (real)c->attr.f[0], shift = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    for (size_t i = from; i < to; i++) y[i] = scale * x[i] + shift;
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real scale = (real)c->attr.f[0], *g = nn_g(&c->in[0], r);
    const real *d = nn_g(&c->out, r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[0].add, g[i], scale * d[i]);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_affine = {.name = "affine",
                            .help = "scale x + shift, with constants",
                            .infer = infer,
                            .ignores = NN_OPERANDS | NN_RESULT,
                            .forward = forward,
                            .backward = backward};

nn_var nn_affine(nn_var x, double scale, double shift)
{
    return nn_record(NN_OP_affine, NN_IN(x), (nn_attr){.f = {scale, shift}});
}
