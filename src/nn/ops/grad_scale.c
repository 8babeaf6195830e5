/* grad_scale.c - y = x, but dx = k dy for a scalar k.
 *
 * This is how algorithm A1 is one backward pass. Only the inference networks follow the weighted
 * total of the costs; every other group follows its costs unweighted. So the costs are summed
 * unweighted, and their weights stand as grad_scale on the edges that leave the inference networks.
 */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!nn_is_scalar(f->in[1])) return "the scale is not a scalar";
    f->out = f->in[0];
    f->skip = 2;
    return NULL;
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    memcpy(nn_v(&c->out, r) + from, nn_v(&c->in[0], r) + from, (to - from) * sizeof(real));
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    real k = *nn_v(&c->in[1], r), *g = nn_g(&c->in[0], r);
    const real *d = nn_g(&c->out, r);
    for (size_t i = from; i < to; i++) NN_PUT(c->in[0].add, g[i], k * d[i]);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_grad_scale = {.name = "grad_scale",
                                .help = "x, its gradient multiplied by a scalar",
                                .infer = infer,
                                .forward = forward,
                                .backward = backward};

nn_var nn_grad_scale(nn_var x, nn_var k)
{
    return nn_record(NN_OP_grad_scale, NN_IN(x, k), (nn_attr){0});
}
