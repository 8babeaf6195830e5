/* conv.c - unfolding images, sharing them out, gathering gradients. */
#include "nn/conv.h"

#include <string.h>

#include "nn/act.h"

/* ---- unfolding ------------------------------------------------------------------------------- */

/* The positions of a row for which the kernel's column kx lies on the image: from `first` on, but
 * not `end`. */
typedef struct reach {
    int first, end;
} reach;

static reach reach_of(const conv_geometry *g, int kx)
{
    int before = g->pad - kx, after = g->width + g->pad - kx; /* of x: positions · stride */
    reach r = {before > 0 ? (before + g->stride - 1) / g->stride : 0,
               after > 0 ? (after + g->stride - 1) / g->stride : 0};
    if (r.end > g->columns) r.end = g->columns;
    if (r.first > r.end) r.first = r.end;
    return r;
}

/* Where the kernel's element (ky, kx) reads for the first position of row `oy`, were there no
 * edges; false if it is above or below the image. */
static bool line_of(const conv_geometry *g, int oy, int ky, int kx, ptrdiff_t *at)
{
    int y = oy * g->stride + ky - g->pad;
    *at = (ptrdiff_t)y * g->width + kx - g->pad;
    return y >= 0 && y < g->height;
}

static void read_line(const real *from, int stride, int n, real *to)
{
    if (stride == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (stride == 2) /* by itself, so that it is compiled to vectors */
        for (int i = 0; i < n; i++) to[i] = from[2 * i];
    else
        for (int i = 0; i < n; i++) to[i] = from[i * stride];
}

void conv_unfold(const conv_geometry *g, const real *image, real *columns)
{
    ptrdiff_t at;
    size_t n = (size_t)g->columns;
    for (int ch = 0; ch < g->channels; ch++, image += (size_t)g->height * (size_t)g->width)
        for (int k = 0; k < g->kernel * g->kernel; k++) {
            reach r = reach_of(g, k % g->kernel);
            for (int oy = 0; oy < g->rows; oy++, columns += n) {
                bool inside = line_of(g, oy, k / g->kernel, k % g->kernel, &at);
                int first = inside ? r.first : 0, end = inside ? r.end : 0;
                for (int ox = 0; ox < first; ox++) columns[ox] = 0;
                for (int ox = end; ox < g->columns; ox++) columns[ox] = 0;
                if (end > first)
                    read_line(image + at + first * g->stride, g->stride, end - first,
                              columns + first);
            }
        }
}

void conv_fold(const conv_geometry *g, const real *columns, real *image, bool add)
{
    ptrdiff_t at;
    size_t plane = (size_t)g->height * (size_t)g->width;
    if (!add) memset(image, 0, (size_t)g->channels * plane * sizeof *image);
    for (int ch = 0; ch < g->channels; ch++, image += plane)
        for (int k = 0; k < g->kernel * g->kernel; k++) {
            reach r = reach_of(g, k % g->kernel);
            for (int oy = 0; oy < g->rows; oy++, columns += g->columns)
                if (line_of(g, oy, k / g->kernel, k % g->kernel, &at))
                    for (int ox = r.first; ox < r.end; ox++)
                        image[at + ox * g->stride] += columns[ox];
        }
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
