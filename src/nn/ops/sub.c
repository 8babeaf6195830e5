/* sub.c - z = x - y; y repeats where its extent is 1. */
#include "nn/broadcast.h"

static inline real minus(real x, real y)
{
    return x - y;
}

/* d(z)/d(y), times d. */
static inline real into_y(real d, real x)
{
    (void)x;
    return -d;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    broadcast_rows(c, r, from, to, minus);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

static void backward_y(const nn_call *c, int r)
{
    broadcast_sum(c, r, into_y);
}

static void backward(const nn_call *c)
{
    if (c->in[0].g) nn_ranges(c, nn_size(c->out.shape), 1, broadcast_pass);
    if (c->in[1].g) nn_replicas(c, backward_y);
}

const nn_op nn_op_sub = {.name = "sub",
                         .help = "x - y, y repeating where its extent is 1",
                         .infer = broadcast_infer,
                         .ignores = NN_OPERANDS | NN_RESULT,
                         .forward = forward,
                         .backward = backward};

nn_var nn_sub(nn_var x, nn_var y)
{
    return nn_record(NN_OP_sub, NN_IN(x, y), (nn_attr){0});
}
