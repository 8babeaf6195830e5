/* linear.h - for the files that share the work of the operator `linear`. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

#include "nn/act.h"
#include "nn/op.h"

/* attributes: 0 number of x, 1 activation, 2 has a bias; operands: x…, W, b */
static inline int linear_inputs(const nn_call *c)
{
    return c->attr.i[0];
}

static inline nn_act linear_act(const nn_call *c)
{
    return (nn_act)c->attr.i[1];
}

static inline const nn_tensor *linear_weights(const nn_call *c)
{
    return &c->in[c->attr.i[0]];
}

/* NULL where there is none. */
static inline const nn_tensor *linear_bias(const nn_call *c)
{
    return c->attr.i[2] ? &c->in[c->attr.i[0] + 1] : NULL;
}

static inline const nn_tensor *linear_wanted_bias(const nn_call *c)
{
    const nn_tensor *b = linear_bias(c);
    return b && b->g ? b : NULL;
}

/* Heads: members with one output each and one input tensor (linear_head.c). */
bool linear_is_head(int inputs, nn_shape W);
size_t linear_head_scratch(nn_shape x, nn_shape W);
void linear_head_forward(const nn_call *c);
void linear_head_backward(const nn_call *c);

#endif
