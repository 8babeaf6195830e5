/* lstm.c - a long short-term memory over time (Hochreiter & Schmidhuber 1997).
 *
 *     i, f, g, o = gates_t + h_{t-1} W          gates_t = x_t W_x + b comes from a linear operator
 *     c_t = σ(f) c_{t-1} + σ(i) tanh(g)
 *     h_t = σ(o) tanh(c_t)
 *
 * gates is (T, B, 4H), W (1, H, 4H), the result (T, B, 2H): h, then c. The state before the first
 * step is (1, B, 2H), or zero. Where reset (T, B, 1) is 1, the state is zero before that step.
 *
 * Rows of a batch never meet, so a block of rows is run through all of time by one thread, with no
 * waiting between steps. The products with W are small and W stays in the cache. */
#include <string.h>

#include "nn/gemm.h"
#include "nn/math.h"
#include "nn/op.h"

enum { ROWS = 16 }; /* of a block */

/* attributes: 0 = 1 (data operands, for counting), 1 operand of the state, 2 of reset; -1 = none */
#define STATE(c) ((c)->attr.i[1])
#define RESET(c) ((c)->attr.i[2])

static const char *infer(nn_inference *f)
{
    nn_shape x = f->in[0], W = f->in[1];
    int H = W.B, state = f->attr.i[1], reset = f->attr.i[2];
    if (W.T != 1 || W.D != 4 * H) return "the weights are not (1, H, 4H)";
    if (x.D != 4 * H) return "the gates are not 4H wide";
    if (state > 0 && !nn_same(f->in[state], (nn_shape){1, x.B, 2 * H}))
        return "the state is not (1, B, 2H)";
    if (reset > 0 && !nn_is_weight(f->in[reset], x)) return "reset is not (T, B, 1)";
    f->out = (nn_shape){x.T, x.B, 2 * H};
    /* gates, perhaps then their gradients (4H); tanh c (H); h before the step (H); two rows of
     * flowing gradients (2H per batch row); W transposed */
    f->scratch = (nn_rows(x) * 6 + (size_t)x.B * 2 + 4 * (size_t)H) * (size_t)H;
    f->flops = 2.0 * (double)nn_rows(x) * H * 4 * H;
    if (reset > 0) f->skip = 1 << reset;
    return NULL;
}

/* Where a block of rows finds its things at time t, in replica r. */
typedef struct place {
    size_t row; /* first row of the block, over time and batch */
    real *gates, *tanh_c, *h_before;
} place;

static place at(const nn_call *c, int r, int t, int b)
{
    size_t H = (size_t)c->in[1].shape.B, rows = nn_rows(c->out.shape);
    size_t row = (size_t)t * (size_t)c->out.shape.B + (size_t)b;
    real *s = nn_scratch(c, r);
    return (place){row, s + row * 4 * H, s + rows * 4 * H + row * H, s + rows * 5 * H + row * H};
}

/* h and c before step t, for row b: NULL where they are zero. */
static const real *before(const nn_call *c, int r, int t, int b)
{
    size_t width = (size_t)c->out.shape.D, B = (size_t)c->out.shape.B;
    if (RESET(c) > 0 && nn_v(&c->in[RESET(c)], r)[(size_t)t * B + (size_t)b] != 0) return NULL;
    if (t > 0) return nn_v(&c->out, r) + ((size_t)(t - 1) * B + (size_t)b) * width;
    return STATE(c) > 0 ? nn_v(&c->in[STATE(c)], r) + (size_t)b * width : NULL;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* The cell, for one row: gates hold h W; with x added they become σ(i), σ(f), tanh(g), σ(o). */
NN_WIDE static void cell(int H, const real *restrict x, real *restrict gates,
                         const real *restrict c_before, real *restrict h, real *restrict c,
                         real *restrict tanh_c)
{
    real *restrict gi = gates, *restrict gf = gates + H, *restrict gg = gates + 2 * H;
    real *restrict go = gates + 3 * H;
    for (int j = 0; j < H; j++) gi[j] = nn_sigmoid(x[j] + gi[j]);
    for (int j = 0; j < H; j++) gf[j] = nn_sigmoid(x[H + j] + gf[j]);
    for (int j = 0; j < H; j++) gg[j] = nn_tanh(x[2 * H + j] + gg[j]);
    for (int j = 0; j < H; j++) go[j] = nn_sigmoid(x[3 * H + j] + go[j]);
    if (c_before)
        for (int j = 0; j < H; j++) c[j] = gf[j] * c_before[j] + gi[j] * gg[j];
    else
        for (int j = 0; j < H; j++) c[j] = gi[j] * gg[j];
    for (int j = 0; j < H; j++) {
        tanh_c[j] = nn_tanh(c[j]);
        h[j] = go[j] * tanh_c[j];
    }
}

static int block_of(const nn_call *c, int item, int *r, int *b)
{
    int B = c->out.shape.B, blocks = (B + ROWS - 1) / ROWS;
    *r = item / blocks;
    *b = item % blocks * ROWS;
    return B - *b < ROWS ? B - *b : ROWS;
}

static void forward_block(void *arg, int item)
{
    const nn_call *c = arg;
    int r, b, H = c->in[1].shape.B, rows = block_of(c, item, &r, &b);
    size_t h = (size_t)H;
    const real *W = nn_v(&c->in[1], r);
    for (int t = 0; t < c->out.shape.T; t++) {
        place p = at(c, r, t, b);
        bool any = false;
        for (int k = 0; k < rows; k++) {
            const real *old = before(c, r, t, b + k);
            any = any || old;
            if (old)
                memcpy(p.h_before + (size_t)k * (size_t)H, old, (size_t)H * sizeof *old);
            else
                memset(p.h_before + (size_t)k * (size_t)H, 0, (size_t)H * sizeof *old);
        }
        if (any)
            gemm(false, false, rows, 4 * H, H, p.h_before, H, W, 4 * H, 0, p.gates, 4 * H);
        else
            memset(p.gates, 0, (size_t)rows * 4 * h * sizeof(real));
        for (size_t k = 0; k < (size_t)rows; k++) {
            const real *old = before(c, r, t, b + (int)k);
            real *out = nn_v(&c->out, r) + (p.row + k) * 2 * h;
            cell(H, nn_v(&c->in[0], r) + (p.row + k) * 4 * h, p.gates + k * 4 * h,
                 old ? old + H : NULL, out, out + H, p.tanh_c + k * h);
        }
    }
}

static int block_count(const nn_call *c)
{
    return c->replicas * ((c->out.shape.B + ROWS - 1) / ROWS);
}

static void forward(const nn_call *c)
{
    nn_items(c, block_count(c), forward_block, (void *)c);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* One row: from dh, dc (what flows back) and the gradient of h, c to the gates' gradients, which
 * may replace the gates, and to dc before the step. */
NN_WIDE static void cell_backward(int H, const real *gates, const real *c_before,
                                  const real *tanh_c, const real *out, const real *dh, real *dc,
                                  real *dgates)
{
#pragma GCC ivdep
    for (int j = 0; j < H; j++) {
        real i = gates[j], f = gates[H + j], g = gates[2 * H + j], o = gates[3 * H + j];
        real both = dh[j] + out[j], tc = tanh_c[j];
        real d = dc[j] + out[H + j] + both * o * (1 - tc * tc);
        dgates[j] = d * g * i * (1 - i);
        dgates[H + j] = c_before ? d * c_before[j] * f * (1 - f) : 0;
        dgates[2 * H + j] = d * i * (1 - g * g);
        dgates[3 * H + j] = both * tc * o * (1 - o);
        dc[j] = d * f;
    }
}

/* Where the gates' gradients go: to the operand's at once, unless it has other readers. */
static real *gradients(const nn_call *c, size_t *stride)
{
    bool direct = c->in[0].g && !c->in[0].add;
    *stride = direct ? c->in[0].stride : c->scratch_size;
    return direct ? c->in[0].g : c->scratch;
}

/* W^T (4H, H): a thin product with it is twice as fast as one that transposes W on the fly. */
static real *transposed(const nn_call *c, int r)
{
    size_t H = (size_t)c->in[1].shape.B;
    return nn_scratch(c, r) + (nn_rows(c->out.shape) * 6 + (size_t)c->out.shape.B * 2) * H;
}

/* Rows [from, to) of W^T, few at a time: what is written then stays in the cache until it is full.
 */
static void transpose(const nn_call *c, int r, size_t from, size_t to)
{
    enum { FEW = 16 };
    size_t H = (size_t)c->in[1].shape.B;
    const real *W = nn_v(&c->in[1], r);
    real *WT = transposed(c, r);
    for (size_t i = from; i < to; i += FEW)
        for (size_t j = 0; j < H; j++)
            for (size_t k = i; k < to && k < i + FEW; k++) WT[k * H + j] = W[j * 4 * H + k];
}

static void backward_block(void *arg, int item)
{
    const nn_call *c = arg;
    int r, b, H = c->in[1].shape.B, rows = block_of(c, item, &r, &b);
    size_t h = (size_t)H, all = nn_rows(c->out.shape), stride;
    const real *WT = transposed(c, r);
    real *dh = nn_scratch(c, r) + all * 6 * h + (size_t)b * 2 * h, *dc = dh + (size_t)rows * h;
    memset(dh, 0, (size_t)rows * 2 * h * sizeof *dh);
    for (int t = c->out.shape.T - 1; t >= 0; t--) {
        place p = at(c, r, t, b);
        real *dgates = gradients(c, &stride) + (size_t)r * stride + p.row * 4 * h;
        for (int k = 0; k < rows; k++) {
            const real *g = nn_g(&c->out, r) + (p.row + (size_t)k) * 2 * h;
            const real *old = before(c, r, t, b + k);
            cell_backward(H, p.gates + (size_t)k * 4 * h, old ? old + H : NULL,
                          p.tanh_c + (size_t)k * h, g, dh + (size_t)k * h, dc + (size_t)k * h,
                          dgates + (size_t)k * 4 * h);
        }
        if (c->in[0].g && c->in[0].add) {
            real *to = nn_g(&c->in[0], r) + p.row * 4 * h;
            for (size_t j = 0; j < (size_t)rows * 4 * h; j++) to[j] += dgates[j];
        }
        gemm(false, false, rows, H, 4 * H, dgates, 4 * H, WT, H, 0, dh, H);
        for (int k = 0; k < rows; k++) { /* nothing flows past a reset */
            if (before(c, r, t, b + k)) continue;
            memset(dh + (size_t)k * h, 0, h * sizeof *dh);
            memset(dc + (size_t)k * h, 0, h * sizeof *dc);
        }
    }
    const nn_tensor *state = STATE(c) > 0 ? &c->in[STATE(c)] : NULL;
    for (int k = 0; state && state->g && k < rows; k++) {
        real *to = nn_g(state, r) + (size_t)(b + k) * 2 * h;
        for (int j = 0; j < H; j++) {
            NN_PUT(state->add, to[j], dh[(size_t)k * h + (size_t)j]);
            NN_PUT(state->add, to[H + j], dc[(size_t)k * h + (size_t)j]);
        }
    }
}

/* dW = h_before^T dgates, over all rows at once */
static void weight_gradient(const nn_call *c)
{
    const nn_tensor *W = &c->in[1];
    size_t H = (size_t)W->shape.B, all = nn_rows(c->out.shape);
    gemm_batch b = {.ta = true, .m = (int)H, .n = 4 * (int)H, .k = (int)all, .members = 1};
    b.A = c->scratch + all * 5 * H;
    b.B = gradients(c, &b.B_replica);
    b.C = W->g;
    b.lda = (int)H;
    b.ldb = b.ldc = 4 * (int)H;
    b.A_replica = c->scratch_size;
    b.C_replica = W->stride;
    b.beta = W->add;
    gemm_run(c->backend, c->replicas, &b, 1);
}

static void backward(const nn_call *c)
{
    nn_ranges(c, 4 * (size_t)c->in[1].shape.B, c->in[1].shape.B, transpose);
    nn_items(c, block_count(c), backward_block, (void *)c);
    if (c->in[1].g) weight_gradient(c);
}

const nn_op nn_op_lstm = {.name = "lstm",
                          .help = "long short-term memory over time, with carried state and resets",
                          .infer = infer,
                          .forward = forward,
                          .backward = backward};

nn_var nn_lstm(nn_var gates, nn_var W, nn_var state, nn_var reset)
{
    nn_list x = NN_IN(gates, W);
    nn_attr attr = {.i = {1, -1, -1}};
    if (state.id >= 0) {
        attr.i[1] = x.count;
        x.var[x.count++] = state;
    }
    if (reset.id >= 0) {
        attr.i[2] = x.count;
        x.var[x.count++] = reset;
    }
    return nn_record(NN_OP_lstm, x, attr);
}
