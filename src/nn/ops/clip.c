/* clip.c - y = x kept within [low, high]; no gradient where it was not. */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!(f->attr.f[0] < f->attr.f[1])) return "low is not below high";
    f->out = f->in[0];
    return NULL;
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *y = nn_v(&c->out, r);
    const real *x = nn_v(&c->in[0], r);
    for (size_t i = from; i < to; i++) {
        real v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real low = (real)c->attr.f[0], high = (real)c->attr.f[1], *g = nn_g(&c->in[0], r);
    const real *x = nn_v(&c->in[0], r), *d = nn_g(&c->out, r);
    for (size_t i = from; i < to; i++)
        NN_PUT(c->in[0].add, g[i], x[i] >= low && x[i] <= high ? d[i] : 0);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_clip = {.name = "clip",
                          .help = "x kept within [low, high]",
                          .infer = infer,
                          .forward = forward,
                          .backward = backward};

nn_var nn_clip(nn_var x, double low, double high)
{
    return nn_record(NN_OP_clip, NN_IN(x), (nn_attr){.f = {low, high}});
}
