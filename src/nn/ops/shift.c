/* shift.c - one step later: y_t = x_{t-1}; y_0 is `first` (1, B, D), or zero. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    nn_shape x = f->in[0];
    if (f->in_count > 1 && !nn_same(f->in[1], (nn_shape){1, x.B, x.D}))
        return "the first step is not (1, B, D)";
    f->out = x;
    return NULL;
}

static size_t step_of(const nn_call *c)
{
    return (size_t)c->out.shape.B * (size_t)c->out.shape.D;
}

/* Elements [from, to) of y: those of the first step come from `first`, the others from x. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t step = step_of(c);
    const real *x = nn_v(&c->in[0], r), *first = c->in_count > 1 ? nn_v(&c->in[1], r) : NULL;
    real *y = nn_v(&c->out, r);
    size_t middle = from > step ? from : step < to ? step : to;
    if (first && middle > from) memcpy(y + from, first + from, (middle - from) * sizeof *y);
    if (!first && middle > from) memset(y + from, 0, (middle - from) * sizeof *y);
    if (to > middle) memcpy(y + middle, x + middle - step, (to - middle) * sizeof *y);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
}

static void backward_x(const nn_call *c, int r, size_t from, size_t to)
{
    size_t step = step_of(c), all = nn_size(c->out.shape);
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[0].add, g[i], i + step < all ? d[i + step] : 0);
}

static void backward_first(const nn_call *c, int r, size_t from, size_t to)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[1], r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[1].add, g[i], d[i]);
}

static void backward(const nn_call *c)
{
    if (c->in[0].g) nn_ranges(c, nn_size(c->out.shape), 1, backward_x);
    if (c->in_count > 1 && c->in[1].g) nn_ranges(c, step_of(c), 1, backward_first);
}

const nn_op nn_op_shift = {.name = "shift",
                           .help = "the tensor one time step later",
                           .infer = infer,
                           .forward = forward,
                           .backward = backward};

nn_var nn_shift(nn_var x, nn_var first)
{
    return nn_record(NN_OP_shift, first.id < 0 ? NN_IN(x) : NN_IN(x, first), (nn_attr){0});
}
