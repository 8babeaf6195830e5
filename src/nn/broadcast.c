/* broadcast.c - shapes of two-operand element-wise operators. */
#include "nn/broadcast.h"

static bool fits(int x, int y)
{
    return y == x || y == 1;
}

const char *broadcast_infer(nn_inference *f)
{
    nn_shape x = f->in[0], y = f->in[1];
    if (!fits(x.T, y.T) || !fits(x.B, y.B) || !fits(x.D, y.D))
        return "the second operand's extents are neither the first's nor 1";
    f->out = x;
    return NULL;
}
