/* mul.c - z = x y; y repeats where its extent is 1. */
#include "nn/broadcast.h"

/* Also what both gradients are made of. */
static inline real times(real x, real y)
{
    return x * y;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    broadcast_rows(c, r, from, to, times);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

static void backward_x(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *tx = &c->in[0];
    nn_shape sx = tx->shape, sy = c->in[1].shape;
    size_t D = (size_t)sx.D, step = broadcast_step(sy);
    for (size_t i = from; i < to; i++) {
        const real *y = nn_v(&c->in[1], r) + broadcast_row(sy, sx, i);
        const real *d = nn_g(&c->out, r) + i * D;
        real *g = nn_g(tx, r) + i * D;
        for (size_t j = 0; j < D; j++) NN_PUT(tx->add, g[j], d[j] * y[j * step]);
    }
}

static void backward_y(const nn_call *c, int r)
{
    broadcast_sum(c, r, times);
}

static void backward(const nn_call *c)
{
    if (c->in[0].g) nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, backward_x);
    if (c->in[1].g) nn_replicas(c, backward_y);
}

const nn_op nn_op_mul = {.name = "mul",
                         .help = "x y element by element, y repeating where its extent is 1",
                         .infer = broadcast_infer,
                         .ignores = NN_RESULT,
                         .forward = forward,
                         .backward = backward};

nn_var nn_mul(nn_var x, nn_var y)
{
    return nn_record(NN_OP_mul, NN_IN(x, y), (nn_attr){0});
}
