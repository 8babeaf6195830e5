/* broadcast.c - shapes of operators that repeat an operand, and what sums and differences share. */
#include "nn/broadcast.h"

static bool fits(int x, int y)
{
    return y == x || y == 1;
}

const char *broadcast_check(nn_shape y, nn_shape shape)
{
    if (fits(shape.T, y.T) && fits(shape.B, y.B) && fits(shape.D, y.D)) return NULL;
    return "the repeated operand's extents are neither the other's nor 1";
}

const char *broadcast_infer(nn_inference *f)
{
    f->out = f->in[0];
    return broadcast_check(f->in[1], f->in[0]);
}

void broadcast_pass(const nn_call *c, int r, size_t from, size_t to)
{
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(&c->in[0], r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[0].add, g[i], d[i]);
}
