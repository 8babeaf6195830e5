/* lstm.cuh - what the three kinds of LSTM kernels share: scratch memory as on the CPU (gates, tanh
 * c, h before each step, dc), and where states begin. */
#ifndef NN_CUDA_LSTM_CUH
#define NN_CUDA_LSTM_CUH

#include "nn/cuda/cuda.cuh"

/* Most units of those that run all steps in one kernel: a block by itself; blocks together, where
 * the device can do that. */
enum { NARROW = 64, WIDE = 256 };
nn_body_fn lstm_narrow_forward, lstm_narrow_backward, lstm_wide_forward, lstm_wide_backward;

/* attributes: 1 operand of the state, 2 of reset; -1 = none */
#define STATE(c) ((c)->attr.i[1])
#define RESET(c) ((c)->attr.i[2])

typedef struct parts {
    float *gates, *tanh_c, *h_before, *dc;
} parts;

__device__ static parts parts_of(const nn_call *c, int r)
{
    size_t H = (size_t)c->in[1].shape.B, rows = nn_rows(c->out.shape);
    float *s = nn_scratch(c, r);
    return {s, s + rows * 4 * H, s + rows * 5 * H, s + rows * 6 * H};
}

/* Whether the state is zero before step t of batch row b. */
__device__ static bool starts(const nn_call *c, int r, int t, int b)
{
    if (RESET(c) > 0 && nn_v(&c->in[RESET(c)], r)[(size_t)t * (size_t)c->out.shape.B + b] != 0)
        return true;
    return t == 0 && STATE(c) <= 0;
}

/* c before step t; only where the row does not start there. */
__device__ static float cell_before(const nn_call *c, int r, int t, int b, int unit)
{
    size_t H = (size_t)c->in[1].shape.B, B = (size_t)c->out.shape.B;
    size_t row = t > 0 ? (size_t)(t - 1) * B + (size_t)b : (size_t)b;
    const float *from = t > 0 ? nn_v(&c->out, r) : nn_v(&c->in[STATE(c)], r);
    return from[row * 2 * H + H + (size_t)unit];
}

#endif
