/* min.c - the smallest feature of each row: the minimum of a bank of critics. */
#include <math.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = (nn_shape){f->in[0].T, f->in[0].B, 1};
    return NULL;
}

/* NaN counts as smallest: it must be seen. */
static size_t smallest(const real *x, size_t D)
{
    size_t best = 0;
    for (size_t j = 1; j < D; j++)
        if (x[j] < x[best] || isnan(x[j])) best = j;
    return best;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->in[0].shape.D;
    for (size_t i = from; i < to; i++) {
        const real *x = nn_v(&c->in[0], r) + i * D;
        nn_v(&c->out, r)[i] = x[smallest(x, D)];
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D;
    for (size_t i = from; i < to; i++) {
        real d = nn_g(&c->out, r)[i], *g = nn_g(x, r) + i * D;
        size_t best = smallest(nn_v(x, r) + i * D, D);
        for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], j == best ? d : 0);
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_min = {.name = "min",
                         .help = "the smallest feature of each row",
                         .infer = infer,
                         .ignores = NN_RESULT,
                         .forward = forward,
                         .backward = backward};

nn_var nn_min(nn_var x)
{
    return nn_record(NN_OP_min, NN_IN(x), (nn_attr){0});
}
