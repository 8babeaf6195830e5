/* act.h - activation functions over stretches of memory. Every slope is a function of the value. */
#ifndef NN_ACT_H
#define NN_ACT_H

#include "nn/nn.h"

void act_forward(nn_act act, real *x, size_t n);                     /* x = act(x) */
void act_forward_bias(nn_act act, real *x, const real *b, size_t n); /* x = act(x + b) */
void act_backward(nn_act act, const real *y, real *d,
                  size_t n); /* d *= act'(x), where y = act(x) */

/* The same for columns of a matrix: `rows` stretches of n, each `stride` after the one before. b is
 * the same for all of them, or NULL. */
typedef struct act_block {
    size_t rows, n, stride;
} act_block;
void act_forward_block(nn_act act, act_block s, real *x, const real *b);
void act_backward_block(nn_act act, act_block s, const real *y, real *d);
void act_sum_block(act_block s, const real *d, real *sum); /* sum += the columns of d */

#endif
