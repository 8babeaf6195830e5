/* frames.c - the last frames of a film, as a convolution reads them: rows of a table of bytes, by
 * number, become planes of numbers from -0.5 to 0.5.
 *
 * A row of the table has `views` pictures of height × width × 3 bytes. Row i of the result has, for
 * each of the K rows that `at` (T, B, K) names, the 3 planes of each picture. `shift` (T, B, 2)
 * moves them all alike: y[·, r, c] = x[·, r + shift_0 - pad, c + shift_1 - pad], where pixels
 * beyond an edge are those of the edge (Kostrikov et al. 2021). Zeros, a medium grey, where there
 * is no row. A table is data: no gradient passes. */
#include "nn/frames.h"

static const char *infer(nn_inference *f)
{
    frames_geometry g = frames_of(&f->attr);
    if (f->in[0].T != 1) return "a table is (1, rows, D)";
    if (f->in[0].D != g.views * g.height * g.width * FRAMES_CHANNELS)
        return "the table's rows are not such pictures";
    if (f->in_count > 2 &&
        (f->in[2].T != f->in[1].T || f->in[2].B != f->in[1].B || f->in[2].D != 2))
        return "the shifts are not (T, B, 2)";
    f->out = (nn_shape){f->in[1].T, f->in[1].B, f->in[1].D * f->in[0].D};
    f->skip = 7;
    return NULL;
}

static int within(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* One picture. */
static void unpack(const frames_geometry *g, const uint8_t *from, int down, int right, real *to)
{
    size_t plane = (size_t)g->height * (size_t)g->width;
    for (int r = 0; r < g->height; r++) {
        const uint8_t *line = from + (size_t)(within(r + down, g->height) * g->width * 3);
        for (int c = 0; c < g->width; c++) {
            const uint8_t *pixel = line + 3 * within(c + right, g->width);
            for (size_t k = 0; k < FRAMES_CHANNELS; k++) to[k * plane] = frames_value(pixel[k]);
            to++;
        }
    }
}

/* Frames [from, to) of those that all rows of `at` name. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    frames_geometry g = frames_of(&c->attr);
    size_t D = (size_t)c->in[0].shape.D, K = (size_t)c->in[1].shape.D, each = D / (size_t)g.views;
    const int32_t *at = nn_numbers(&c->in[1], r);
    const int32_t *shift = c->in_count > 2 ? nn_numbers(&c->in[2], r) : NULL;
    for (size_t i = from; i < to; i++) {
        real *y = nn_v(&c->out, r) + i * D;
        int down = shift ? shift[i / K * 2] - g.pad : 0;
        int right = shift ? shift[i / K * 2 + 1] - g.pad : 0;
        assert(at[i] < c->in[0].shape.B);
        for (size_t j = 0; at[i] < 0 && j < D; j++) y[j] = 0;
        for (size_t v = 0; at[i] >= 0 && v < D; v += each)
            unpack(&g, nn_bytes(&c->in[0], r) + (size_t)at[i] * D + v, down, right, y + v);
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->in[1].shape), c->in[0].shape.D, forward_range);
}

const nn_op nn_op_frames = {.name = "frames",
                            .help = "pictures of a table, by number: stacked, shifted, as planes",
                            .infer = infer,
                            .indices = 6,
                            .tables = 1,
                            .forward = forward};

nn_var nn_frames(nn_var table, nn_var at, nn_var shift, nn_film f)
{
    nn_attr attr = {.i = {f.views, f.height, f.width, f.pad}};
    return nn_record(NN_OP_frames, shift.graph ? NN_IN(table, at, shift) : NN_IN(table, at), attr);
}
