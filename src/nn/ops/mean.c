/* mean.c - the mean over rows of the sum over features. */
#include "nn/cost.h"

static const char *infer(nn_inference *f)
{
    return cost_infer(f, 1);
}

static double row_cost(const nn_call *c, int r, size_t row)
{
    size_t D = (size_t)c->in[0].shape.D;
    const real *x = nn_v(&c->in[0], r) + row * D;
    double sum = 0;
    for (size_t j = 0; j < D; j++) sum += (double)x[j];
    return sum;
}

static void forward(const nn_call *c)
{
    cost_forward(c, row_cost);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D;
    for (size_t i = from; i < to; i++) {
        real k = cost_slope(c, r, i), *g = nn_g(x, r) + i * D;
        for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], k);
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->in[0].shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_mean = {.name = "mean",
                          .help = "mean over rows of the sum over features",
                          .infer = infer,
                          .ignores = 1 | NN_RESULT,
                          .forward = forward,
                          .backward = backward};

nn_var nn_mean(nn_var x, nn_var weight)
{
    return cost_record(NN_OP_mean, NN_IN(x), weight);
}
