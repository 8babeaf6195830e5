/* cost.c - weighted means over rows. */
#include "nn/cost.h"

#include <string.h>

/* Rows are summed in pieces of a fixed size, on any thread; the pieces' sums in order, on one. */
enum { PIECE = 512, SUMS = 2 * sizeof(double) / sizeof(real) };

static size_t pieces_of(nn_shape s)
{
    return (nn_rows(s) + PIECE - 1) / PIECE;
}

const char *cost_infer(nn_inference *f, int operands)
{
    for (int k = 1; k < operands; k++)
        if (!nn_same(f->in[k], f->in[0])) return "the operands differ in shape";
    int n = f->attr.i[0];
    if (f->in_count > n) {
        if (!nn_is_weight(f->in[n], f->in[0])) return "the weight is not (T, B, 1)";
        f->skip |= 1 << n;
    }
    f->out = (nn_shape){1, 1, 1};
    f->scratch = 1 + pieces_of(f->in[0]) * SUMS; /* 1 / sum of weights; the pieces' sums */
    return NULL;
}

static double weight(const nn_call *c, int r, size_t row)
{
    int n = c->attr.i[0];
    return c->in_count > n ? (double)nn_v(&c->in[n], r)[row] : 1;
}

typedef struct cost_job {
    const nn_call *c;
    cost_fn *fn;
    size_t pieces;
} cost_job;

/* A piece's two sums, kept as the bytes of doubles in the scratch memory. */
static void keep(const nn_call *c, int r, size_t piece, double sum, double weights)
{
    double both[2] = {sum, weights};
    memcpy(nn_scratch(c, r) + 1 + piece * SUMS, both, sizeof both);
}

static void sum_piece(void *arg, int item)
{
    const cost_job *j = arg;
    size_t piece = (size_t)item % j->pieces, rows = nn_rows(j->c->in[0].shape);
    int r = (int)((size_t)item / j->pieces);
    double sum = 0, weights = 0;
    for (size_t i = piece * PIECE; i < rows && i < (piece + 1) * PIECE; i++) {
        double w = weight(j->c, r, i);
        weights += w;
        if (w != 0) sum += w * j->fn(j->c, r, i);
    }
    keep(j->c, r, piece, sum, weights);
}

static void add_pieces(const cost_job *j, int r)
{
    double sum = 0, weights = 0, both[2];
    for (size_t piece = 0; piece < j->pieces; piece++) {
        memcpy(both, nn_scratch(j->c, r) + 1 + piece * SUMS, sizeof both);
        sum += both[0];
        weights += both[1];
    }
    double scale = weights != 0 ? 1 / weights : 0;
    *nn_scratch(j->c, r) = (real)scale;
    *nn_v(&j->c->out, r) = (real)(sum * scale);
}

void cost_forward(const nn_call *c, cost_fn *fn)
{
    cost_job j = {c, fn, pieces_of(c->in[0].shape)};
    nn_items(c, c->replicas * (int)j.pieces, sum_piece, &j);
    for (int r = 0; r < c->replicas; r++) add_pieces(&j, r);
}

real cost_slope(const nn_call *c, int r, size_t row)
{
    bool even = c->in_count == c->attr.i[0]; /* then nothing is needed of what the cost found */
    real share = even ? (real)(1 / (double)nn_rows(c->in[0].shape)) : *nn_scratch(c, r);
    return *nn_g(&c->out, r) * share * (real)weight(c, r, row);
}

nn_var cost_record(int op, nn_list x, nn_var w)
{
    nn_attr attr = {.i = {x.count}};
    if (w.id >= 0) x.var[x.count++] = w;
    return nn_record(op, x, attr);
}
