/* hold.c - the last value that counted: y_t = x_t where `when` (T, B, 1) is not zero, else y_{t-1};
 * zero before the first. No gradient flows into `when`. */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!nn_is_weight(f->in[1], f->in[0])) return "when to take a value is not (T, B, 1)";
    f->out = f->in[0];
    f->skip = 2;
    return NULL;
}

/* Columns [from, to) of the B · D that every step has. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape z = c->out.shape;
    size_t B = (size_t)z.B, D = (size_t)z.D, step = B * D;
    const real *x = nn_v(&c->in[0], r), *when = nn_v(&c->in[1], r);
    real *y = nn_v(&c->out, r);
    for (size_t t = 0; t < (size_t)z.T; t++)
        for (size_t k = from; k < to; k++) {
            size_t i = t * step + k;
            y[i] = when[t * B + k / D] != 0 ? x[i] : t > 0 ? y[i - step] : 0;
        }
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape z = c->out.shape;
    size_t B = (size_t)z.B, D = (size_t)z.D, step = B * D;
    const real *d = nn_g(&c->out, r), *when = nn_v(&c->in[1], r);
    real *g = nn_g(&c->in[0], r);
    for (size_t k = from; k < to; k++) {
        real held = 0; /* what later steps ask of the value that stands now */
        for (size_t t = (size_t)z.T; t-- > 0;) {
            size_t i = t * step + k;
            bool taken = when[t * B + k / D] != 0;
            held += d[i];
            NN_PUT(c->in[0].add, g[i], taken ? held : 0);
            if (taken) held = 0;
        }
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, (size_t)c->out.shape.B * (size_t)c->out.shape.D, c->out.shape.T, forward_range);
}

static void backward(const nn_call *c)
{
    if (!c->in[0].g) return;
    nn_ranges(c, (size_t)c->out.shape.B * (size_t)c->out.shape.D, c->out.shape.T, backward_range);
}

const nn_op nn_op_hold = {.name = "hold",
                          .help = "the value at the last time step that counted",
                          .infer = infer,
                          .forward = forward,
                          .backward = backward};

nn_var nn_hold(nn_var x, nn_var when)
{
    return nn_record(NN_OP_hold, NN_IN(x, when), (nn_attr){0});
}
