/* conv2d_transpose.c - the transposed convolution: what a convolution does to gradients, as a
 * layer. Every pixel of x paints the kernel, scaled, onto the output. */
#include <string.h>

#include "nn/conv.h"
#include "nn/gemm.h"

static conv_geometry geometry(const nn_attr *a)
{
    return conv_geometry_of(a, true);
}

static const char *infer(nn_inference *f)
{
    nn_conv c = conv_of(&f->attr);
    conv_geometry g = geometry(&f->attr);
    if (c.kernel < 1 || c.stride < 1 || c.filters < 1 || c.extra >= c.stride)
        return "the geometry is not valid";
    if (g.height < 1 || g.width < 1) return "the padding takes the whole output";
    if (f->in[0].D != c.channels * c.height * c.width) return "the rows are not such images";
    if (!nn_same(f->in[1], (nn_shape){1, c.channels, (int)conv_depth(&g)}))
        return "the weights are not (1, channels, filters kernel²)";
    if (f->attr.i[7] && nn_size(f->in[2]) != (size_t)c.filters)
        return "there is not one bias per filter";
    f->out = (nn_shape){f->in[0].T, f->in[0].B, c.filters * g.height * g.width};
    f->scratch = conv_scratch(f->in[0], conv_depth(&g) * conv_positions(&g), nn_size(f->in[1]),
                              (size_t)c.filters);
    f->flops = 2.0 * (double)nn_rows(f->in[0]) * (double)conv_depth(&g) *
               (double)conv_positions(&g) * c.channels;
    return NULL;
}

static void forward_group(void *arg, int item)
{
    const nn_call *c = arg;
    conv_geometry g = geometry(&c->attr);
    int K = (int)conv_depth(&g), P = (int)conv_positions(&g), C = c->attr.i[1];
    size_t plane = (size_t)g.height * (size_t)g.width;
    conv_share s = conv_group(c, item, (size_t)K * (size_t)P);
    for (size_t i = s.from; i < s.to; i++) {
        const real *x = nn_v(&c->in[0], s.replica) + i * (size_t)C * (size_t)P;
        real *y = nn_v(&c->out, s.replica) + i * (size_t)c->out.shape.D;
        gemm(true, false, K, P, C, nn_v(&c->in[1], s.replica), K, x, P, 0, s.columns, P);
        conv_fold(&g, s.columns, y, false);
        conv_finish(c, s.replica, y, plane);
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
    int K = (int)conv_depth(&g), P = (int)conv_positions(&g), C = c->attr.i[1];
    size_t plane = (size_t)g.height * (size_t)g.width;
    conv_share s = conv_group(c, item, (size_t)K * (size_t)P);
    memset(s.db, 0, (size_t)c->attr.i[4] * sizeof *s.db);
    for (size_t i = s.from; i < s.to; i++) {
        size_t in = i * (size_t)C * (size_t)P, out = i * (size_t)c->out.shape.D;
        real *d = nn_g(&c->out, s.replica) + out;
        conv_slope(c, nn_v(&c->out, s.replica) + out, d, plane, s.db);
        conv_unfold(&g, d, s.columns);
        if (W->g)
            gemm(false, true, C, K, P, nn_v(tx, s.replica) + in, P, s.columns, P, i > s.from, s.dW,
                 K);
        if (tx->g)
            gemm(false, false, C, P, K, nn_v(W, s.replica), K, s.columns, P, tx->add,
                 nn_g(tx, s.replica) + in, P);
    }
}

static void backward(const nn_call *c)
{
    conv_geometry g = geometry(&c->attr);
    nn_items(c, conv_items(c), backward_group, (void *)c);
    conv_gather(c, conv_depth(&g) * conv_positions(&g));
}

const nn_op nn_op_conv2d_transpose = {.name = "conv2d_transpose",
                                      .help = "a transposed convolution, with bias and activation",
                                      .infer = infer,
                                      .forward = forward,
                                      .backward = backward};

nn_var nn_conv2d_transpose(nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act)
{
    return conv_record(NN_OP_conv2d_transpose, x, W, b, c, act);
}
