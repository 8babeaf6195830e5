/* layer_norm.c - y = act(gain · x̂ + shift), x̂ = (x - mean) / sd over a row's features (Ba et al.
 * 2016), for a bank of N members.
 *
 * Member n has the features [n·D, (n+1)·D) of x, and rows of gain and shift (N, 1, D); each member
 * of a row is normalised by itself. With dz the gradient before the activation and g = gain · dz:
 *
 *     dx = (g - mean(g) - x̂ mean(g x̂)) / sd,   dgain = Σ dz x̂,   dshift = Σ dz   over rows */
#include <string.h>

#include "nn/act.h"
#include "nn/math.h"
#include "nn/op.h"

enum {
    ROWS = 32,  /* of an item, backward: each gives sums of its own, added up in their order */
    ADDED = 16, /* numbers added up to one, roughly */
    LANES = 32  /* sums over a row: element j goes to sum j % LANES, whatever the CPU's vectors */
};

static const real EPS = (real)1e-5; /* added to the variance */

/* attributes: 0 activation; operands: x, gain, shift */
#define ACT(c)     ((nn_act)(c)->attr.i[0])
#define MEMBERS(c) ((size_t)(c)->in[1].shape.T)
#define WIDTH(c)   ((size_t)(c)->in[1].shape.D)

static size_t chunks_of(nn_shape x)
{
    return (nn_rows(x) + ROWS - 1) / ROWS;
}

static const char *infer(nn_inference *f)
{
    nn_shape x = f->in[0], gain = f->in[1];
    if (!nn_same(gain, f->in[2]) || gain.B != 1) return "gain and shift are not both (N, 1, D)";
    if (x.D != gain.T * gain.D) return "the features of the input are not those of the gain";
    f->out = x;
    /* mean and 1 / sd; each item's sums of the gradients of gain and shift */
    f->scratch = 2 * nn_rows(x) * (size_t)gain.T + chunks_of(x) * 2 * nn_size(gain);
    return NULL;
}

/* ---- forward --------------------------------------------------------------------------------- */

static inline real add_lanes(const real *s)
{
    real eight[8], four[4];
    for (int l = 0; l < 8; l++) eight[l] = (s[l] + s[l + 8]) + (s[l + 16] + s[l + 24]);
    for (int l = 0; l < 4; l++) four[l] = eight[l] + eight[l + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

static inline void measure(const real *x, size_t D, real *stats)
{
    real sum[LANES] = {0}, squares[LANES] = {0};
    size_t whole = D / LANES * LANES;
    for (size_t j = 0; j < whole; j += LANES)
        for (size_t l = 0; l < LANES; l++) sum[l] += x[j + l];
    for (size_t j = whole; j < D; j++) sum[j - whole] += x[j];
    real mean = add_lanes(sum) / (real)D;
    for (size_t j = 0; j < whole; j += LANES)
        for (size_t l = 0; l < LANES; l++) squares[l] += (x[j + l] - mean) * (x[j + l] - mean);
    for (size_t j = whole; j < D; j++) squares[j - whole] += (x[j] - mean) * (x[j] - mean);
    stats[0] = mean;
    stats[1] = 1 / nn_sqrt(add_lanes(squares) / (real)D + EPS);
}

/* One member of one row. */
NN_WIDE static void forward_piece(nn_act act, size_t D, const real *restrict x,
                                  const real *restrict gain, const real *restrict shift,
                                  real *restrict y, real *restrict stats)
{
    measure(x, D, stats);
    real mean = stats[0], scale = stats[1];
    if (act == NN_RELU) { /* in one pass */
        for (size_t j = 0; j < D; j++) {
            real v = (x[j] - mean) * scale * gain[j] + shift[j];
            y[j] = v < 0 ? 0 : v;
        }
        return;
    }
    for (size_t j = 0; j < D; j++) y[j] = (x[j] - mean) * scale * gain[j];
    act_forward_bias(act, y, shift, D);
}

static void forward_pieces(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = WIDTH(c);
    for (size_t i = from; i < to; i++) {
        size_t member = i % MEMBERS(c) * D;
        forward_piece(ACT(c), D, nn_v(&c->in[0], r) + i * D, nn_v(&c->in[1], r) + member,
                      nn_v(&c->in[2], r) + member, nn_v(&c->out, r) + i * D,
                      nn_scratch(c, r) + 2 * i);
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape) * MEMBERS(c), c->in[1].shape.D, forward_pieces);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient of one piece's x, given dz. */
NN_WIDE static void input_gradient(bool add, size_t D, const real *restrict x,
                                   const real *restrict gain, const real *stats,
                                   const real *restrict dz, real *restrict g)
{
    real sums[LANES] = {0}, alongs[LANES] = {0}, mean = stats[0], scale = stats[1];
    size_t whole = D / LANES * LANES;
    for (size_t j = 0; j < whole; j += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            real d = gain[j + l] * dz[j + l];
            sums[l] += d;
            alongs[l] += d * (x[j + l] - mean);
        }
    }
    for (size_t j = whole; j < D; j++) {
        sums[j - whole] += gain[j] * dz[j];
        alongs[j - whole] += gain[j] * dz[j] * (x[j] - mean);
    }
    real sum = add_lanes(sums) / (real)D, along = add_lanes(alongs) * scale * scale / (real)D;
    for (size_t j = 0; j < D; j++) {
        real d = (gain[j] * dz[j] - sum - (x[j] - mean) * along) * scale;
        g[j] = add ? g[j] + d : d;
    }
}

/* Adds a piece to the sums of the gradients of gain and shift. */
NN_WIDE static void add_piece(size_t D, const real *restrict x, const real *stats,
                              const real *restrict dz, real *restrict gain, real *restrict shift)
{
    real mean = stats[0], scale = stats[1];
    for (size_t j = 0; j < D; j++) {
        gain[j] += dz[j] * (x[j] - mean) * scale;
        shift[j] += dz[j];
    }
}

/* The sums of a chunk: those of the gain, then those of the shift. */
static real *sums_of(const nn_call *c, int r, size_t chunk)
{
    size_t stats = 2 * nn_rows(c->out.shape) * MEMBERS(c);
    return nn_scratch(c, r) + stats + chunk * 2 * nn_size(c->in[1].shape);
}

static void backward_rows(const nn_call *c, int r, size_t chunk)
{
    size_t D = WIDTH(c), N = MEMBERS(c), rows = nn_rows(c->out.shape), from = chunk * ROWS;
    size_t to = from + ROWS < rows ? from + ROWS : rows;
    const nn_tensor *x = &c->in[0];
    bool sums = c->in[1].g || c->in[2].g;
    real *sum = sums_of(c, r, chunk);
    if (sums) memset(sum, 0, 2 * N * D * sizeof *sum);
    for (size_t i = from * N; i < to * N; i++) {
        size_t member = i % N * D;
        const real *v = nn_v(x, r) + i * D, *stats = nn_scratch(c, r) + 2 * i;
        real *dz = nn_g(&c->out, r) + i * D; /* dy, until it is turned into dz */
        if (!c->out.sloped) act_backward(ACT(c), nn_v(&c->out, r) + i * D, dz, D);
        if (x->g)
            input_gradient(x->add, D, v, nn_v(&c->in[1], r) + member, stats, dz,
                           nn_g(x, r) + i * D);
        if (sums) add_piece(D, v, stats, dz, sum + member, sum + N * D + member);
    }
}

static void backward_item(void *arg, int item)
{
    const nn_call *c = arg;
    int chunks = (int)chunks_of(c->out.shape);
    backward_rows(c, item / chunks, (size_t)(item % chunks));
}

/* Adds up the chunks' sums: of gain and shift, one after the other. */
static void add_up(const nn_call *c, int r, size_t from, size_t to)
{
    size_t n = nn_size(c->in[1].shape);
    real *sum = sums_of(c, r, 0);
    for (size_t k = 1; k < chunks_of(c->out.shape); k++)
        for (size_t j = from; j < to; j++) sum[j] += sum[k * 2 * n + j];
    for (size_t j = from; j < to; j++) {
        const nn_tensor *t = &c->in[j < n ? 1 : 2];
        if (t->g) NN_PUT(t->add, nn_g(t, r)[j % n], sum[j]);
    }
}

static void backward(const nn_call *c)
{
    nn_items(c, c->replicas * (int)chunks_of(c->out.shape), backward_item, (void *)c);
    if (c->in[1].g || c->in[2].g) nn_ranges(c, 2 * nn_size(c->in[1].shape), ADDED, add_up);
}

const nn_op nn_op_layer_norm = {.name = "layer_norm",
                                .help = "features of a row with mean 0 and variance 1, then gain, "
                                        "shift and activation; for a bank of members",
                                .infer = infer,
                                .act = 1,
                                .forward = forward,
                                .backward = backward};

nn_var nn_layer_norm(nn_var x, nn_var gain, nn_var shift, nn_act act)
{
    return nn_record(NN_OP_layer_norm, NN_IN(x, gain, shift), (nn_attr){.i = {(int)act}});
}
