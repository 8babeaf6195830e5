/* activate.c - y = act(x), element by element. */
#include <string.h>

#include "nn/act.h"
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = f->in[0];
    return NULL;
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real *y = nn_v(&c->out, r) + from;
    memcpy(y, nn_v(&c->in[0], r) + from, (to - from) * sizeof *y);
    act_forward((nn_act)c->attr.i[0], y, to - from);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    real *d = nn_g(&c->out, r) + from, *g = nn_g(x, r) + from;
    if (!c->out.sloped) act_backward((nn_act)c->attr.i[0], nn_v(&c->out, r) + from, d, to - from);
    for (size_t i = 0; i < to - from; i++) NN_PUT(x->add, g[i], d[i]);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_activate = {.name = "activate",
                              .help = "relu, leaky relu, elu, tanh, sigmoid, softplus or exp",
                              .infer = infer,
                              .act = 1,
                              .forward = forward,
                              .backward = backward};

nn_var nn_activate(nn_var x, nn_act act)
{
    return nn_record(NN_OP_activate, NN_IN(x), (nn_attr){.i = {(int)act}});
}
