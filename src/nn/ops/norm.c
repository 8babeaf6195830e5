/* norm.c - the length of each row, sqrt(Σ x²). Its gradient is x / |x|, and zero where |x| is. */
#include "nn/math.h"
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    f->out = (nn_shape){f->in[0].T, f->in[0].B, 1};
    return NULL;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->in[0].shape.D;
    for (size_t i = from; i < to; i++) {
        const real *x = nn_v(&c->in[0], r) + i * D;
        real sum = 0;
        for (size_t j = 0; j < D; j++) sum += x[j] * x[j];
        nn_v(&c->out, r)[i] = nn_sqrt(sum);
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
        const real *v = nn_v(x, r) + i * D;
        real length = nn_v(&c->out, r)[i], *g = nn_g(x, r) + i * D;
        real k = length > 0 ? nn_g(&c->out, r)[i] / length : 0;
        for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], k * v[j]);
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_norm = {.name = "norm",
                          .help = "the length of each row",
                          .infer = infer,
                          .forward = forward,
                          .backward = backward};

nn_var nn_norm(nn_var x)
{
    return nn_record(NN_OP_norm, NN_IN(x), (nn_attr){0});
}
