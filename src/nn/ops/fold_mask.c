/* fold_mask.c - W'[i, n·H + h] = C[i, n] W[i, n·H + h].
 *
 * (c_n ⊙ x) W_n = x (diag(c_n) W_n): masking the inputs of member n is scaling the rows of its
 * first-layer weights. All N first layers stay one product, x is never copied, and the mask's
 * gradient is a row-wise dot product of dW' with W. W is (1, inputs, N·H), C is (1, inputs, N). */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    nn_shape W = f->in[0], C = f->in[1];
    if (W.T != 1 || C.T != 1 || W.B != C.B) return "weights and mask differ in inputs";
    if (W.D % C.D) return "the outputs do not divide among the mask's columns";
    f->out = W;
    return NULL;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    size_t N = (size_t)c->in[1].shape.D, H = (size_t)c->in[0].shape.D / N;
    const real *W = nn_v(&c->in[0], r), *C = nn_v(&c->in[1], r);
    real *out = nn_v(&c->out, r);
    for (size_t k = from; k < to; k++)
        for (size_t h = 0; h < H; h++) out[k * H + h] = C[k] * W[k * H + h];
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->in[1].shape), c->in[0].shape.D / c->in[1].shape.D, forward_rows);
}

static void backward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *tW = &c->in[0], *tC = &c->in[1];
    size_t N = (size_t)tC->shape.D, H = (size_t)tW->shape.D / N;
    const real *W = nn_v(tW, r), *C = nn_v(tC, r), *d = nn_g(&c->out, r);
    for (size_t k = from; k < to; k++) {
        const real *dk = d + k * H, *Wk = W + k * H;
        if (tW->g) {
            real *g = nn_g(tW, r) + k * H;
            for (size_t h = 0; h < H; h++) NN_PUT(tW->add, g[h], C[k] * dk[h]);
        }
        if (tC->g) {
            real dot = 0;
#pragma omp simd reduction(+ : dot)
            for (size_t h = 0; h < H; h++) dot += dk[h] * Wk[h];
            NN_PUT(tC->add, nn_g(tC, r)[k], dot);
        }
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->in[1].shape), c->in[0].shape.D / c->in[1].shape.D, backward_rows);
}

const nn_op nn_op_fold_mask = {.name = "fold_mask",
                               .help = "first-layer weights with the mask multiplied in",
                               .infer = infer,
                               .forward = forward,
                               .backward = backward};

nn_var nn_fold_mask(nn_var W, nn_var C)
{
    return nn_record(NN_OP_fold_mask, NN_IN(W, C), (nn_attr){0});
}
