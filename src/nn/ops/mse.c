/* mse.c - the mean over rows of Σ(x - target)². A target of one feature serves all of x's: twin
 * critics with one target. No gradient flows into the target. */
#include "nn/cost.h"

static const char *infer(nn_inference *f)
{
    if (!nn_same(f->in[1], f->in[0]) && !nn_is_weight(f->in[1], f->in[0]))
        return "the target is neither of x's shape nor (T, B, 1)";
    f->skip = 2;
    return cost_infer(f, 1);
}

static const real *target_row(const nn_call *c, int r, size_t row, size_t *step)
{
    *step = c->in[1].shape.D > 1 ? 1 : 0;
    return nn_v(&c->in[1], r) + row * (size_t)c->in[1].shape.D;
}

static double row_cost(const nn_call *c, int r, size_t row)
{
    size_t D = (size_t)c->in[0].shape.D, step;
    const real *x = nn_v(&c->in[0], r) + row * D, *y = target_row(c, r, row, &step);
    double sum = 0;
    for (size_t j = 0; j < D; j++) {
        double d = (double)(x[j] - y[j * step]);
        sum += d * d;
    }
    return sum;
}

static void forward(const nn_call *c)
{
    cost_forward(c, row_cost);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *x = &c->in[0];
    size_t D = (size_t)x->shape.D, step;
    for (size_t i = from; i < to; i++) {
        const real *v = nn_v(x, r) + i * D, *y = target_row(c, r, i, &step);
        real k = 2 * cost_slope(c, r, i), *g = nn_g(x, r) + i * D;
        for (size_t j = 0; j < D; j++) NN_PUT(x->add, g[j], k * (v[j] - y[j * step]));
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->in[0].shape), c->in[0].shape.D, backward_rows);
}

const nn_op nn_op_mse = {.name = "mse",
                         .help = "mean over rows of the squared differences",
                         .infer = infer,
                         .ignores = NN_RESULT,
                         .forward = forward,
                         .backward = backward};

nn_var nn_mse(nn_var x, nn_var target, nn_var weight)
{
    return cost_record(NN_OP_mse, NN_IN(x, target), weight);
}
