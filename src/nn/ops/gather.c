/* gather.c - rows of a table: y[i] = table[at[i]], where `at` (T, B, 1) holds row numbers. They are
 * exact up to 2^24. A table is data: no gradient passes. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (f->in[0].T != 1) return "a table is (1, rows, D)";
    if (f->in[1].D != 1) return "the row numbers are not (T, B, 1)";
    if (f->in[0].B > 1 << 24) return "row numbers beyond 2^24 are not exact";
    f->out = (nn_shape){f->in[1].T, f->in[1].B, f->in[0].D};
    f->skip = 3;
    return NULL;
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->out.shape.D;
    const real *table = nn_v(&c->in[0], r), *at = nn_v(&c->in[1], r);
    for (size_t i = from; i < to; i++)
        memcpy(nn_v(&c->out, r) + i * D, table + (size_t)at[i] * D, D * sizeof(real));
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->out.shape.D, forward_range);
}

const nn_op nn_op_gather = {
    .name = "gather", .help = "rows of a table, by number", .infer = infer, .forward = forward};

nn_var nn_gather(nn_var table, nn_var at)
{
    return nn_record(NN_OP_gather, NN_IN(table, at), (nn_attr){0});
}
