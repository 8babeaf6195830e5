/* conv.h - what convolution and transposed convolution share.
 *
 * Both are a matrix product per image between the weights and the image unfolded into columns, one
 * column per position of the kernel. Images are divided into a fixed number of groups; a group is
 * run by one thread, with columns and a partial weight gradient of its own, and the partial
 * gradients are summed in order. */
#ifndef NN_CONV_H
#define NN_CONV_H

#include "nn/op.h"

enum { CONV_GROUPS = 16 };

/* The unfolded image, and the positions the kernel takes on it. */
typedef struct conv_geometry {
    int channels, height, width;
    int kernel, stride, pad;
    int rows, columns; /* positions */
} conv_geometry;

NN_FN size_t conv_depth(const conv_geometry *g) /* numbers in a column */
{
    return (size_t)g->channels * (size_t)g->kernel * (size_t)g->kernel;
}

NN_FN size_t conv_positions(const conv_geometry *g)
{
    return (size_t)g->rows * (size_t)g->columns;
}

void conv_unfold(const conv_geometry *g, const real *image, real *columns);
void conv_fold(const conv_geometry *g, const real *columns, real *image, bool add);

/* The geometry and the activation, packed into attributes while recording. 0: one data operand; 1,
 * 2, 3: the image; 4: filters; 5: kernel, stride, pad and extra, a byte each; 6: activation; 7: has
 * a bias */
nn_attr conv_attr(nn_conv c, nn_act act, bool bias);
nn_act conv_act(const nn_attr *a);

NN_FN nn_conv conv_of(const nn_attr *a)
{
    int p = a->i[5];
    nn_conv c = {a->i[1], a->i[2],      a->i[3],       a->i[4],
                 p & 255, p >> 8 & 255, p >> 16 & 255, p >> 24 & 255};
    return c;
}

NN_FN int conv_extent(nn_conv c, int extent, bool transpose)
{
    if (transpose) return (extent - 1) * c.stride - 2 * c.pad + c.kernel + c.extra;
    return (extent + 2 * c.pad - c.kernel) / c.stride + 1;
}

/* The unfolded image: x, or, for the transposed convolution, the output, whose positions are the
 * pixels of x. */
NN_FN conv_geometry conv_geometry_of(const nn_attr *a, bool transpose)
{
    nn_conv c = conv_of(a);
    int rows = conv_extent(c, c.height, transpose), columns = conv_extent(c, c.width, transpose);
    conv_geometry plain = {c.channels, c.height, c.width, c.kernel, c.stride, c.pad, rows, columns};
    conv_geometry turned = {c.filters, rows, columns, c.kernel, c.stride, c.pad, c.height, c.width};
    return transpose ? turned : plain;
}

/* A group's share of the images, and of the scratch memory. */
typedef struct conv_share {
    int replica;
    size_t from, to; /* images */
    real *columns, *dW, *db;
} conv_share;

size_t conv_scratch(nn_shape x, size_t column_numbers, size_t weights, size_t filters);
conv_share conv_group(const nn_call *c, int item, size_t column_numbers);
int conv_items(const nn_call *c);

/* Adds the bias and applies the activation to one output image of `filters` planes. */
void conv_finish(const nn_call *c, int replica, real *image, size_t plane);

/* Turns an image's dL/dy into that before the activation, in place; adds its sums to db. */
void conv_slope(const nn_call *c, const real *y, real *d, size_t plane, real *db);

/* Sums the groups' partial gradients into those of W and b. */
void conv_gather(const nn_call *c, size_t column_numbers);

nn_var conv_record(int op, nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act);

#endif
