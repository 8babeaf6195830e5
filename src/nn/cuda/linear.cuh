/* linear.cuh - what the ways of computing a layer share. */
#ifndef NN_CUDA_LINEAR_CUH
#define NN_CUDA_LINEAR_CUH

#include "nn/cuda/cuda.cuh"

/* attributes: 0 number of x, 1 activation, 2 has a bias; operands: x…, W, b */
#define LINEAR_INPUTS(c) ((c)->attr.i[0])
#define LINEAR_ACT(c)    ((c)->attr.i[1])
#define LINEAR_BIAS(c)   ((c)->attr.i[2])

/* Backward, see fuse_slopes: 3 slopes are multiplied in already, 4 activation behind the input */
#define LINEAR_DONE(c)   ((c)->attr.i[3])
#define LINEAR_BEFORE(c) ((c)->attr.i[4])

/* Backward: 5 its inputs were joined on the way forward */
#define LINEAR_JOINED(c) ((c)->attr.i[5])

enum { BIG_ROWS = 2048 }; /* from here on a library's kernels are worth their launch */

static inline bool linear_is_big(const nn_call *c)
{
    return nn_rows(c->out.shape) >= BIG_ROWS;
}

/* Joined inputs as one matrix, its rows padded to 16 bytes: in the call's scratch memory. */
NN_FN int joined_width(const nn_call *c)
{
    return (c->in[LINEAR_INPUTS(c)].shape.B + 3) / 4 * 4;
}
void join_inputs(const nn_call *c);

/* Slopes are multiplied into the gradient, in place, and the bias's gradient summed if asked for.
 */
void apply_slopes(const nn_call *c, bool sums);

void linear_head_forward(const nn_call *c);
void linear_head_backward(const nn_call *c);
void linear_big_forward(const nn_call *c);
void linear_big_backward(const nn_call *c);

#endif
