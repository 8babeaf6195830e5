/* cost.h - what all costs share: a scalar, the sum over rows of weight · cost / sum of weights.
 *
 * The weight, where there is one, is the last operand (T, B, 1), and attribute 0 counts the others.
 * A mean over rows of which none counts is 0. Sums are in double, in an order that depends on the
 * shape alone. */
#ifndef NN_COST_H
#define NN_COST_H

#include "nn/op.h"

/* Infers a scalar over the rows of operand 0; all `operands` must have its shape. */
const char *cost_infer(nn_inference *f, int operands);

typedef double cost_fn(const nn_call *c, int r, size_t row);
void cost_forward(const nn_call *c, cost_fn *fn);

/* dL/d(cost of this row), for the backward pass. */
real cost_slope(const nn_call *c, int r, size_t row);

/* Records a cost of `x`, with the weight behind it unless that is NN_NONE. */
nn_var cost_record(int op, nn_list x, nn_var weight);

#endif
