/* act.h - activation functions over stretches of memory. Every slope is a function of the value. */
#ifndef NN_ACT_H
#define NN_ACT_H

#include "nn/nn.h"

void act_forward(nn_act act, real *x, size_t n);                     /* x = act(x) */
void act_forward_bias(nn_act act, real *x, const real *b, size_t n); /* x = act(x + b) */
void act_backward(nn_act act, const real *y, real *d,
                  size_t n); /* d *= act'(x), where y = act(x) */

#endif
