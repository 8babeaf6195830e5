/* conv.c - unfolding images, sharing them out, gathering gradients. */
#include "nn/conv.h"

#include <string.h>

#include "nn/act.h"

/* ---- unfolding ------------------------------------------------------------------------------- */

/* Calls `visit` semantics inline: for each element of the columns, its place in the image or none.
 */
#define EACH_ELEMENT(g, body)                                                                \
    for (int ch = 0, k = 0; ch < (g)->channels; ch++)                                        \
        for (int ky = 0; ky < (g)->kernel; ky++)                                             \
            for (int kx = 0; kx < (g)->kernel; kx++, k++)                                    \
                for (int oy = 0; oy < (g)->rows; oy++) {                                     \
                    int y = oy * (g)->stride + ky - (g)->pad;                                \
                    size_t line =                                                            \
                        ((size_t)ch * (size_t)(g)->height + (size_t)y) * (size_t)(g)->width; \
                    size_t to =                                                              \
                        ((size_t)k * (size_t)(g)->rows + (size_t)oy) * (size_t)(g)->columns; \
                    bool inside_y = y >= 0 && y < (g)->height;                               \
                    for (int ox = 0; ox < (g)->columns; ox++) {                              \
                        int x = ox * (g)->stride + kx - (g)->pad;                            \
                        bool inside = inside_y && x >= 0 && x < (g)->width;                  \
                        body                                                                 \
                    }                                                                        \
                }

void conv_unfold(const conv_geometry *g, const real *image, real *columns)
{
    EACH_ELEMENT(g, columns[to + (size_t)ox] = inside ? image[line + (size_t)x] : 0;)
}

void conv_fold(const conv_geometry *g, const real *columns, real *image, bool add)
{
    size_t n = (size_t)g->channels * (size_t)g->height * (size_t)g->width;
    if (!add) memset(image, 0, n * sizeof *image);
    EACH_ELEMENT(g, if (inside) image[line + (size_t)x] += columns[to + (size_t)ox];)
}

/* ---- attributes ------------------------------------------------------------------------------ */

nn_attr conv_attr(nn_conv c, nn_act act, bool bias)
{
    assert(c.kernel < 128 && c.stride < 128 && c.pad < 128 && c.extra < 128);
    int packed = c.kernel | c.stride << 8 | c.pad << 16 | c.extra << 24;
    return (nn_attr){.i = {1, c.channels, c.height, c.width, c.filters, packed, (int)act, bias}};
}

nn_act conv_act(const nn_attr *a)
{
    return (nn_act)a->i[6];
}

int nn_conv_out(nn_conv c, int extent, bool transpose)
{
    return conv_extent(c, extent, transpose);
}

nn_var conv_record(int op, nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act)
{
    nn_list in = b.id < 0 ? NN_IN(x, W) : NN_IN(x, W, b);
    return nn_record(op, in, conv_attr(c, act, b.id >= 0));
}

/* ---- sharing out ----------------------------------------------------------------------------- */

static size_t group_scratch(size_t column_numbers, size_t weights, size_t filters)
{
    return (column_numbers + weights + filters + 15) / 16 * 16;
}

static size_t group_count(size_t images)
{
    return images < CONV_GROUPS ? images : CONV_GROUPS;
}

size_t conv_scratch(nn_shape x, size_t column_numbers, size_t weights, size_t filters)
{
    return group_count(nn_rows(x)) * group_scratch(column_numbers, weights, filters);
}

int conv_items(const nn_call *c)
{
    return c->replicas * (int)group_count(nn_rows(c->in[0].shape));
}

static real *group_memory(const nn_call *c, int replica, size_t group, size_t column_numbers)
{
    size_t each = group_scratch(column_numbers, nn_size(c->in[1].shape), (size_t)c->attr.i[4]);
    return nn_scratch(c, replica) + group * each;
}

conv_share conv_group(const nn_call *c, int item, size_t column_numbers)
{
    size_t images = nn_rows(c->in[0].shape), groups = group_count(images);
    size_t group = (size_t)item % groups;
    conv_share s = {.replica = (int)((size_t)item / groups)};
    s.from = images * group / groups;
    s.to = images * (group + 1) / groups;
    s.columns = group_memory(c, s.replica, group, column_numbers);
    s.dW = s.columns + column_numbers;
    s.db = s.dW + nn_size(c->in[1].shape);
    return s;
}

void conv_finish(const nn_call *c, int replica, real *image, size_t plane)
{
    const real *b = c->attr.i[7] ? nn_v(&c->in[2], replica) : NULL;
    for (int f = 0; b && f < c->attr.i[4]; f++)
        for (size_t i = 0; i < plane; i++) image[(size_t)f * plane + i] += b[f];
    act_forward(conv_act(&c->attr), image, (size_t)c->attr.i[4] * plane);
}

void conv_slope(const nn_call *c, const real *y, real *d, size_t plane, real *db)
{
    act_backward(conv_act(&c->attr), y, d, (size_t)c->attr.i[4] * plane);
    for (int f = 0; f < c->attr.i[4]; f++)
        for (size_t i = 0; i < plane; i++) db[f] += d[(size_t)f * plane + i];
}

typedef struct gather_job {
    const nn_call *c;
    size_t column_numbers;
} gather_job;

static void gather_replica(void *arg, int r)
{
    const gather_job *j = arg;
    const nn_call *c = j->c;
    size_t groups = group_count(nn_rows(c->in[0].shape)), weights = nn_size(c->in[1].shape);
    for (size_t group = 0; group < groups; group++) {
        const real *dW = group_memory(c, r, group, j->column_numbers) + j->column_numbers;
        const real *db = dW + weights;
        const nn_tensor *W = &c->in[1], *b = &c->in[2];
        for (size_t i = 0; W->g && i < weights; i++)
            NN_PUT(W->add || group > 0, nn_g(W, r)[i], dW[i]);
        for (int f = 0; c->attr.i[7] && b->g && f < c->attr.i[4]; f++)
            NN_PUT(b->add || group > 0, nn_g(b, r)[f], db[f]);
    }
}

void conv_gather(const nn_call *c, size_t column_numbers)
{
    gather_job j = {c, column_numbers};
    nn_items(c, c->replicas, gather_replica, &j);
}
