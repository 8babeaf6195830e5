/* layer_norm.c - y = act(gain · x̂ + shift), x̂ = (x - mean) / sd over a row's features (Ba et al.
 * 2016), for a bank of N members.
 *
 * Member n has the features [n·D, (n+1)·D) of x, and rows of gain and shift (N, 1, D); each member
 * of a row is normalised by itself. With dz the gradient before the activation and g = gain · dz:
 *
 *     dx = (g - mean(g) - x̂ mean(g x̂)) / sd,   dgain = Σ dz x̂,   dshift = Σ dz   over rows */
#include "nn/act.h"
#include "nn/math.h"
#include "nn/op.h"

enum { COLUMNS = 128 }; /* of the gradients that one item sums */

static const real EPS = (real)1e-5; /* added to the variance */

/* attributes: 0 activation; operands: x, gain, shift */
#define ACT(c)     ((nn_act)(c)->attr.i[0])
#define MEMBERS(c) ((size_t)(c)->in[1].shape.T)
#define WIDTH(c)   ((size_t)(c)->in[1].shape.D)

static const char *infer(nn_inference *f)
{
    nn_shape x = f->in[0], gain = f->in[1];
    if (!nn_same(gain, f->in[2]) || gain.B != 1) return "gain and shift are not both (N, 1, D)";
    if (x.D != gain.T * gain.D) return "the features of the input are not those of the gain";
    f->out = x;
    f->scratch = 2 * nn_rows(x) * (size_t)gain.T; /* mean and 1 / sd */
    return NULL;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void measure(const real *x, size_t D, real *stats)
{
    real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < D; j++) sum += x[j];
    real mean = sum / (real)D;
#pragma omp simd reduction(+ : squares)
    for (size_t j = 0; j < D; j++) squares += (x[j] - mean) * (x[j] - mean);
    stats[0] = mean;
    stats[1] = 1 / nn_sqrt(squares / (real)D + EPS);
}

/* A piece is one member of one row. */
static void forward_pieces(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = WIDTH(c);
    for (size_t i = from; i < to; i++) {
        size_t member = i % MEMBERS(c) * D;
        const real *x = nn_v(&c->in[0], r) + i * D;
        const real *restrict gain = nn_v(&c->in[1], r) + member;
        real *restrict y = nn_v(&c->out, r) + i * D, *stats = nn_scratch(c, r) + 2 * i;
        measure(x, D, stats);
        real mean = stats[0], scale = stats[1];
        for (size_t j = 0; j < D; j++) y[j] = (x[j] - mean) * scale * gain[j];
        act_forward_bias(ACT(c), y, nn_v(&c->in[2], r) + member, D);
    }
}

static size_t pieces(const nn_call *c)
{
    return nn_rows(c->out.shape) * MEMBERS(c);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, pieces(c), c->in[1].shape.D, forward_pieces);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient of one piece's x, given dz. */
static void input_gradient(const nn_tensor *tx, const real *x, const real *gain, const real *stats,
                           const real *dz, real *g, size_t D)
{
    real mean = stats[0], scale = stats[1], sum = 0, along = 0;
#pragma omp simd reduction(+ : sum, along)
    for (size_t j = 0; j < D; j++) {
        real d = gain[j] * dz[j];
        sum += d;
        along += d * (x[j] - mean);
    }
    sum /= (real)D;
    along *= scale * scale / (real)D;
    if (tx->add)
        for (size_t j = 0; j < D; j++)
            g[j] += (gain[j] * dz[j] - sum - (x[j] - mean) * along) * scale;
    else
        for (size_t j = 0; j < D; j++)
            g[j] = (gain[j] * dz[j] - sum - (x[j] - mean) * along) * scale;
}

/* Turns dy into dz, in place. */
static void backward_pieces(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = WIDTH(c);
    const nn_tensor *x = &c->in[0];
    for (size_t i = from; i < to; i++) {
        real *dz = nn_g(&c->out, r) + i * D;
        act_backward(ACT(c), nn_v(&c->out, r) + i * D, dz, D);
        if (x->g)
            input_gradient(x, nn_v(x, r) + i * D, nn_v(&c->in[1], r) + i % MEMBERS(c) * D,
                           nn_scratch(c, r) + 2 * i, dz, nn_g(x, r) + i * D, D);
    }
}

static void put(const nn_tensor *t, int r, size_t from, const real *sum, size_t count)
{
    for (size_t j = 0; t->g && j < count; j++) NN_PUT(t->add, nn_g(t, r)[from + j], sum[j]);
}

/* Gradients of some of a member's gains and shifts: sums over rows. */
static void sum_columns(void *arg, int item)
{
    const nn_call *c = arg;
    size_t D = WIDTH(c), blocks = (D + COLUMNS - 1) / COLUMNS, N = MEMBERS(c);
    size_t from = (size_t)item % blocks * COLUMNS, member = (size_t)item / blocks % N;
    size_t count = D - from < COLUMNS ? D - from : COLUMNS, rows = nn_rows(c->out.shape);
    int r = (int)((size_t)item / blocks / N);
    real gain[COLUMNS] = {0}, shift[COLUMNS] = {0};
    for (size_t i = member; i < rows * N; i += N) {
        const real *dz = nn_g(&c->out, r) + i * D + from, *stats = nn_scratch(c, r) + 2 * i;
        const real *x = nn_v(&c->in[0], r) + i * D + from;
        for (size_t j = 0; j < count; j++) {
            gain[j] += dz[j] * (x[j] - stats[0]) * stats[1];
            shift[j] += dz[j];
        }
    }
    put(&c->in[1], r, member * D + from, gain, count);
    put(&c->in[2], r, member * D + from, shift, count);
}

static void backward(const nn_call *c)
{
    int blocks = (c->in[1].shape.D + COLUMNS - 1) / COLUMNS;
    nn_ranges(c, pieces(c), c->in[1].shape.D, backward_pieces);
    if (c->in[1].g || c->in[2].g)
        nn_items(c, c->replicas * c->in[1].shape.T * blocks, sum_columns, (void *)c);
}

const nn_op nn_op_layer_norm = {.name = "layer_norm",
                                .help = "features of a row with mean 0 and variance 1, then gain, "
                                        "shift and activation; for a bank of members",
                                .infer = infer,
                                .forward = forward,
                                .backward = backward};

nn_var nn_layer_norm(nn_var x, nn_var gain, nn_var shift, nn_act act)
{
    return nn_record(NN_OP_layer_norm, NN_IN(x, gain, shift), (nn_attr){.i = {(int)act}});
}
