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

static inline size_t conv_depth(const conv_geometry *g) /* numbers in a column */
{
    return (size_t)g->channels * (size_t)g->kernel * (size_t)g->kernel;
}

static inline size_t conv_positions(const conv_geometry *g)
{
    return (size_t)g->rows * (size_t)g->columns;
}

void conv_unfold(const conv_geometry *g, const real *image, real *columns);
void conv_fold(const conv_geometry *g, const real *columns, real *image, bool add);

/* The geometry, packed into attributes 1 .. 7 while recording: nn_conv and the activation. */
nn_attr conv_attr(nn_conv c, nn_act act, bool bias);
nn_conv conv_of(const nn_attr *a);
nn_act conv_act(const nn_attr *a);

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
