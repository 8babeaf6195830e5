/* linear_head.c - the operator `linear` where every member has one output.
 *
 * Nothing is computed twice with a number that was read, so memory is what such a layer waits for:
 * rows are read once, from end to end, with all members in them. Backward, the rows of an item give
 * sums of their own, which are then added up in their order. */
#include "nn/linear.h"

#include <string.h>

enum { ROWS = 64, ADDED = 16 }; /* of an item; numbers added up to one, roughly */

bool linear_is_head(int inputs, nn_shape W)
{
    return inputs == 1 && W.D == 1;
}

static size_t chunks_of(size_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

/* Each chunk's sums of the gradients: those of W, then those of b. */
static size_t sums_size(nn_shape W)
{
    return (size_t)W.T * ((size_t)W.B + 1);
}

size_t linear_head_scratch(nn_shape x, nn_shape W)
{
    return chunks_of(nn_rows(x)) * sums_size(W);
}

/* ---- forward --------------------------------------------------------------------------------- */

static real dot(const real *x, const real *w, size_t n)
{
    real s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t j = 0; j < n; j++) s += x[j] * w[j];
    return s;
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *W = linear_weights(c), *b = linear_bias(c);
    size_t N = (size_t)W->shape.T, D = (size_t)W->shape.B;
    for (size_t i = from; i < to; i++) {
        const real *x = nn_v(&c->in[0], r) + i * N * D;
        real *y = nn_v(&c->out, r) + i * N;
        for (size_t n = 0; n < N; n++) y[n] = dot(x + n * D, nn_v(W, r) + n * D, D);
        if (b)
            act_forward_bias(linear_act(c), y, nn_v(b, r), N);
        else
            act_forward(linear_act(c), y, N);
    }
}

void linear_head_forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->in[0].shape.D, forward_rows);
}

/* ---- backward -------------------------------------------------------------------------------- */

static void add_scaled(real *restrict to, const real *restrict x, real scale, size_t n)
{
    for (size_t j = 0; j < n; j++) to[j] += scale * x[j];
}

static void put_scaled(real *restrict to, const real *restrict x, real scale, size_t n)
{
    for (size_t j = 0; j < n; j++) to[j] = scale * x[j];
}

/* One row of the input's gradient. */
static void input_row(const nn_call *c, int r, size_t i, const real *dz)
{
    const nn_tensor *x = &c->in[0], *W = linear_weights(c);
    size_t N = (size_t)W->shape.T, D = (size_t)W->shape.B;
    real *dx = nn_g(x, r) + i * N * D;
    for (size_t n = 0; n < N; n++)
        (x->add ? add_scaled : put_scaled)(dx + n * D, nn_v(W, r) + n * D, dz[n], D);
    act_backward((nn_act)x->slope, nn_v(x, r) + i * N * D, dx, N * D);
}

static void backward_rows(const nn_call *c, int r, size_t chunk)
{
    const nn_tensor *W = linear_weights(c);
    size_t N = (size_t)W->shape.T, D = (size_t)W->shape.B, rows = nn_rows(c->out.shape);
    size_t from = chunk * ROWS, to = from + ROWS < rows ? from + ROWS : rows;
    real *dW = nn_scratch(c, r) + chunk * sums_size(W->shape), *db = dW + N * D;
    memset(dW, 0, sums_size(W->shape) * sizeof *dW);
    for (size_t i = from; i < to; i++) {
        const real *x = nn_v(&c->in[0], r) + i * N * D;
        real *dz = nn_g(&c->out, r) + i * N;
        if (!c->out.sloped) act_backward(linear_act(c), nn_v(&c->out, r) + i * N, dz, N);
        for (size_t n = 0; n < N; n++) db[n] += dz[n];
        for (size_t n = 0; W->g && n < N; n++) add_scaled(dW + n * D, x + n * D, dz[n], D);
        if (c->in[0].g) input_row(c, r, i, dz);
    }
}

static void backward_item(void *arg, int item)
{
    const nn_call *c = arg;
    int chunks = (int)chunks_of(nn_rows(c->out.shape));
    backward_rows(c, item / chunks, (size_t)(item % chunks));
}

/* Adds up columns [from, to) of the chunks' sums, where those of t begin at `first`. */
static void put_sums(const nn_call *c, const nn_tensor *t, int r, size_t first, size_t from,
                     size_t to)
{
    nn_shape W = linear_weights(c)->shape;
    size_t chunks = chunks_of(nn_rows(c->out.shape));
    real *sum = nn_scratch(c, r) + first;
    for (size_t k = 1; k < chunks; k++)
        add_scaled(sum + from, sum + k * sums_size(W) + from, 1, to - from);
    for (size_t j = from; j < to; j++) NN_PUT(t->add, nn_g(t, r)[j], sum[j]);
}

static void add_up(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *W = linear_weights(c), *b = linear_wanted_bias(c);
    if (W->g) put_sums(c, W, r, 0, from, to);
    if (b && from == 0) put_sums(c, b, r, nn_size(W->shape), 0, nn_size(b->shape));
}

void linear_head_backward(const nn_call *c)
{
    const nn_tensor *W = linear_weights(c);
    nn_items(c, c->replicas * (int)chunks_of(nn_rows(c->out.shape)), backward_item, (void *)c);
    if (W->g || linear_wanted_bias(c)) nn_ranges(c, nn_size(W->shape), ADDED, add_up);
}
