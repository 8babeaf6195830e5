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

static void forward_replica(const nn_call *c, int r)
{
    size_t step = step_of(c), all = nn_size(c->out.shape);
    real *y = nn_v(&c->out, r);
    memcpy(y + step, nn_v(&c->in[0], r), (all - step) * sizeof *y);
    if (c->in_count > 1)
        memcpy(y, nn_v(&c->in[1], r), step * sizeof *y);
    else
        memset(y, 0, step * sizeof *y);
}

static void forward(const nn_call *c)
{
    nn_replicas(c, forward_replica);
}

static void backward_replica(const nn_call *c, int r)
{
    size_t step = step_of(c), all = nn_size(c->out.shape);
    const nn_tensor *x = &c->in[0], *first = &c->in[1];
    const real *d = nn_g(&c->out, r);
    if (x->g) {
        real *g = nn_g(x, r);
        for (size_t i = 0; i < all - step; i++) NN_PUT(x->add, g[i], d[step + i]);
        for (size_t i = all - step; !x->add && i < all; i++) g[i] = 0;
    }
    if (c->in_count > 1 && first->g) {
        real *g = nn_g(first, r);
        for (size_t i = 0; i < step; i++) NN_PUT(first->add, g[i], d[i]);
    }
}

static void backward(const nn_call *c)
{
    nn_replicas(c, backward_replica);
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
