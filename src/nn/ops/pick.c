/* pick.c - other times of the same column: y[k, b] = x[at[k, b], b], where `at` (K, B, 1) is an
 * index of time steps; zeros where it is -1. A step may be picked more than once: its gradient is
 * the sum, in the order of k. No gradient flows into `at`. */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (f->in[1].D != 1 || f->in[1].B != f->in[0].B) return "the time steps are not (K, B, 1)";
    f->out = (nn_shape){f->in[1].T, f->in[0].B, f->in[0].D};
    f->skip = 2;
    return NULL;
}

/* Columns [from, to) of the B · D that every step has. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t B = (size_t)c->out.shape.B, D = (size_t)c->out.shape.D, step = B * D;
    const real *x = nn_v(&c->in[0], r);
    const int32_t *at = nn_numbers(&c->in[1], r);
    real *y = nn_v(&c->out, r);
    for (size_t k = 0; k < (size_t)c->out.shape.T; k++)
        for (size_t i = from; i < to; i++) {
            int32_t t = at[k * B + i / D];
            y[k * step + i] = t < 0 ? 0 : x[(size_t)t * step + i];
        }
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t B = (size_t)c->out.shape.B, D = (size_t)c->out.shape.D, step = B * D;
    const real *d = nn_g(&c->out, r);
    const int32_t *at = nn_numbers(&c->in[1], r);
    real *g = nn_g(&c->in[0], r);
    for (size_t t = 0; !c->in[0].add && t < (size_t)c->in[0].shape.T; t++)
        for (size_t i = from; i < to; i++) g[t * step + i] = 0;
    for (size_t k = 0; k < (size_t)c->out.shape.T; k++)
        for (size_t i = from; i < to; i++) {
            int32_t t = at[k * B + i / D];
            if (t >= 0) g[(size_t)t * step + i] += d[k * step + i];
        }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, (size_t)c->out.shape.B * (size_t)c->out.shape.D, c->out.shape.T, forward_range);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, (size_t)c->out.shape.B * (size_t)c->out.shape.D, c->out.shape.T, backward_range);
}

const nn_op nn_op_pick = {.name = "pick",
                          .help = "other time steps, by number",
                          .infer = infer,
                          .indices = 2,
                          .forward = forward,
                          .backward = backward};

nn_var nn_pick(nn_var x, nn_var at)
{
    return nn_record(NN_OP_pick, NN_IN(x, at), (nn_attr){0});
}
