/* gather.c - rows of a table: y[i] = table[at[i]], where `at` (T, B, 1) is an index; zeros where it
 * is -1. A table of bytes gives the numbers 0 to 255. A table is data: no gradient passes. */
#include <string.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (f->in[0].T != 1) return "a table is (1, rows, D)";
    if (f->in[1].D != 1) return "the row numbers are not (T, B, 1)";
    f->out = (nn_shape){f->in[1].T, f->in[1].B, f->in[0].D};
    f->skip = 3;
    return NULL;
}

static void copy_row(const nn_call *c, int r, int32_t row, real *y)
{
    size_t D = (size_t)c->out.shape.D, from = (size_t)row * D;
    if (c->in[0].type == NN_F32) {
        memcpy(y, nn_v(&c->in[0], r) + from, D * sizeof *y);
        return;
    }
    const uint8_t *bytes = nn_bytes(&c->in[0], r) + from;
    for (size_t j = 0; j < D; j++) y[j] = bytes[j];
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    size_t D = (size_t)c->out.shape.D;
    const int32_t *at = nn_numbers(&c->in[1], r);
    for (size_t i = from; i < to; i++) {
        real *y = nn_v(&c->out, r) + i * D;
        assert(at[i] < c->in[0].shape.B);
        if (at[i] < 0)
            memset(y, 0, D * sizeof *y);
        else
            copy_row(c, r, at[i], y);
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->out.shape.D, forward_range);
}

const nn_op nn_op_gather = {.name = "gather",
                            .help = "rows of a table, by number",
                            .infer = infer,
                            .indices = 2,
                            .tables = 1,
                            .forward = forward};

nn_var nn_gather(nn_var table, nn_var at)
{
    return nn_record(NN_OP_gather, NN_IN(table, at), (nn_attr){0});
}
