/* slice.c - the features [from, from + count). */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    int from = f->attr.i[0], count = f->attr.i[1];
    if (from < 0 || count < 1 || from + count > f->in[0].D) return "reaches beyond the features";
    f->out = (nn_shape){f->in[0].T, f->in[0].B, count};
    return NULL;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->in[0].shape.D, n = (size_t)c->out.shape.D, at = (size_t)c->attr.i[0];
    for (size_t i = from; i < to; i++)
        memcpy(nn_v(&c->out, r) + i * n, nn_v(&c->in[0], r) + i * D + at, n * sizeof(real));
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D, n = (size_t)c->out.shape.D, at = (size_t)c->attr.i[0];
    for (size_t i = from; i < to; i++) {
        const real *d = nn_g(&c->out, r) + i * n;
        real *g = nn_g(x, r) + i * D;
        if (!x->add) memset(g, 0, D * sizeof *g);
        for (size_t j = 0; j < n; j++) g[at + j] += d[j];
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_slice = {.name = "slice",
                           .help = "some of the features",
                           .infer = infer,
                           .ignores = NN_OPERANDS | NN_RESULT,
                           .forward = forward,
                           .backward = backward};

nn_var nn_slice(nn_var x, int from, int count)
{
    return nn_record(NN_OP_slice, NN_IN(x), (nn_attr){.i = {from, count}});
}
