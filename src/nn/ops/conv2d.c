/* conv2d.c - y = act(W * x + b): a convolution over images of channels × height × width. */
#include <string.h>

#include "nn/conv.h"
#include "nn/gemm.h"

static conv_geometry geometry(const nn_attr *a)
{
    return conv_geometry_of(a, false);
}

static const char *infer(nn_inference *f)
{
    nn_conv c = conv_of(&f->attr);
    conv_geometry g = geometry(&f->attr);
    if (c.kernel < 1 || c.stride < 1 || c.filters < 1 || c.extra)
        return "the geometry is not valid";
    if (g.rows < 1 || g.columns < 1) return "the kernel is larger than the image";
    if (f->in[0].D != c.channels * c.height * c.width) return "the rows are not such images";
    if (!nn_same(f->in[1], (nn_shape){1, (int)conv_depth(&g), c.filters}))
        return "the weights are not (1, channels kernel², filters)";
    if (f->attr.i[7] && nn_size(f->in[2]) != (size_t)c.filters)
        return "there is not one bias per filter";
    f->out = (nn_shape){f->in[0].T, f->in[0].B, c.filters * g.rows * g.columns};
    f->scratch = conv_scratch(f->in[0], conv_depth(&g) * conv_positions(&g), nn_size(f->in[1]),
                              (size_t)c.filters);
    f->flops = 2.0 * (double)nn_rows(f->in[0]) * (double)conv_depth(&g) *
               (double)conv_positions(&g) * c.filters;
    return NULL;
}

static void forward_group(void *arg, int item)
{
    const nn_call *c = arg;
    conv_geometry g = geometry(&c->attr);
    int K = (int)conv_depth(&g), P = (int)conv_positions(&g), F = c->attr.i[4];
    conv_share s = conv_group(c, item, (size_t)K * (size_t)P);
    for (size_t i = s.from; i < s.to; i++) {
        real *y = nn_v(&c->out, s.replica) + i * (size_t)F * (size_t)P;
        conv_unfold(&g, nn_v(&c->in[0], s.replica) + i * (size_t)c->in[0].shape.D, s.columns);
        gemm(true, false, F, P, K, nn_v(&c->in[1], s.replica), F, s.columns, P, 0, y, P);
        conv_finish(c, s.replica, y, (size_t)P);
    }
}

static void forward(const nn_call *c)
{
    nn_items(c, conv_items(c), forward_group, (void *)c);
}

static void backward_group(void *arg, int item)
{
    const nn_call *c = arg;
    conv_geometry g = geometry(&c->attr);
    const nn_tensor *tx = &c->in[0], *W = &c->in[1];
    int K = (int)conv_depth(&g), P = (int)conv_positions(&g), F = c->attr.i[4];
    conv_share s = conv_group(c, item, (size_t)K * (size_t)P);
    memset(s.db, 0, (size_t)F * sizeof *s.db);
    for (size_t i = s.from; i < s.to; i++) {
        size_t out = i * (size_t)F * (size_t)P, in = i * (size_t)tx->shape.D;
        real *d = nn_g(&c->out, s.replica) + out;
        conv_slope(c, nn_v(&c->out, s.replica) + out, d, (size_t)P, s.db);
        if (W->g) {
            conv_unfold(&g, nn_v(tx, s.replica) + in, s.columns);
            gemm(false, true, K, F, P, s.columns, P, d, P, i > s.from, s.dW, F);
        }
        if (tx->g) {
            gemm(false, false, K, P, F, nn_v(W, s.replica), F, d, P, 0, s.columns, P);
            conv_fold(&g, s.columns, nn_g(tx, s.replica) + in, tx->add);
        }
    }
}

static void backward(const nn_call *c)
{
    conv_geometry g = geometry(&c->attr);
    nn_items(c, conv_items(c), backward_group, (void *)c);
    conv_gather(c, conv_depth(&g) * conv_positions(&g));
}

const nn_op nn_op_conv2d = {.name = "conv2d",
                            .help = "a convolution over images, with bias and activation",
                            .infer = infer,
                            .forward = forward,
                            .backward = backward};

nn_var nn_conv2d(nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act)
{
    return conv_record(NN_OP_conv2d, x, W, b, c, act);
}
