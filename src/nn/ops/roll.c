/* roll.c - the next row: y_i = x_{i+1}, and the first for the last. Where rows are drawn at random,
 * each meets a random partner. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = f->in[0];
    return NULL;
}

static void forward_replica(const nn_call *c, int r)
{
    size_t D = (size_t)c->out.shape.D, rest = nn_size(c->out.shape) - D;
    const real *x = nn_v(&c->in[0], r);
    real *y = nn_v(&c->out, r);
    memcpy(y, x + D, rest * sizeof *y);
    memcpy(y + rest, x, D * sizeof *y);
}

static void forward(const nn_call *c)
{
    nn_replicas(c, forward_replica);
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->out.shape.D, rest = nn_size(c->out.shape) - D;
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[0].add, g[i], i < D ? d[rest + i] : d[i - D]);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_roll = {.name = "roll",
                          .help = "the next row of each row",
                          .infer = infer,
                          .ignores = 1 | NN_RESULT,
                          .forward = forward,
                          .backward = backward};

nn_var nn_roll(nn_var x)
{
    return nn_record(NN_OP_roll, NN_IN(x), (nn_attr){0});
}
