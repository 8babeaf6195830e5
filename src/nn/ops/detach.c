/* detach.c - x, through which no gradient passes: plans stop looking for parameters behind it. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = f->in[0];
    f->skip = 1;
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

const nn_op nn_op_detach = {
    .name = "detach", .help = "x without its gradient", .infer = infer, .forward = forward};

nn_var nn_detach(nn_var x)
{
    return nn_record(NN_OP_detach, NN_IN(x), (nn_attr){0});
}
