/* broadcast.h - two operands, the second of which repeats where its extent is 1. */
#ifndef NN_BROADCAST_H
#define NN_BROADCAST_H

#include "nn/op.h"

/* Infers the shape of x ∘ y. */
const char *broadcast_infer(nn_inference *f);

/* Steps through y (of shape y) while x's rows go by: the place of row i, and 0 or 1 along it. */
NN_FN size_t broadcast_row(nn_shape y, nn_shape x, size_t i)
{
    size_t t = i / (size_t)x.B, b = i % (size_t)x.B;
    size_t row = (y.T > 1 ? t : 0) * (size_t)y.B + (y.B > 1 ? b : 0);
    return row * (size_t)y.D;
}

NN_FN size_t broadcast_step(nn_shape y)
{
    return y.D > 1 ? 1 : 0;
}

#endif
