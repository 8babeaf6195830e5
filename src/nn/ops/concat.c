/* concat.c - tensors joined along the features. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = f->in[0];
    for (int k = 1; k < f->in_count; k++) {
        if (f->in[k].T != f->out.T || f->in[k].B != f->out.B) return "the rows differ in number";
        f->out.D += f->in[k].D;
    }
    return NULL;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t width = (size_t)c->out.shape.D, at = 0;
    for (int k = 0; k < c->in_count; k++) {
        size_t D = (size_t)c->in[k].shape.D;
        for (size_t i = from; i < to; i++)
            memcpy(nn_v(&c->out, r) + i * width + at, nn_v(&c->in[k], r) + i * D, D * sizeof(real));
        at += D;
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->out.shape.D, forward_rows);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t width = (size_t)c->out.shape.D, at = 0;
    for (int k = 0; k < c->in_count; k++) {
        const nn_tensor *x = &c->in[k];
        size_t D = (size_t)x->shape.D;
        for (size_t i = from; x->g && i < to; i++) {
            const real *d = nn_g(&c->out, r) + i * width + at;
            real *g = nn_g(x, r) + i * D;
            for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], d[j]);
        }
        at += D;
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->out.shape.D, backward_rows);
}

const nn_op nn_op_concat = {.name = "concat",
                            .help = "tensors joined along the features",
                            .infer = infer,
                            .ignores = NN_OPERANDS | NN_RESULT,
                            .forward = forward,
                            .backward = backward};

nn_var nn_concat(nn_list x)
{
    return nn_record(NN_OP_concat, x, (nn_attr){0});
}
