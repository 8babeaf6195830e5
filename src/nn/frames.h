/* frames.h - what the bodies of `frames` share. */
#ifndef NN_FRAMES_H
#define NN_FRAMES_H

#include "nn/op.h"

enum { FRAMES_CHANNELS = 3 };

typedef struct frames_geometry {
    int views, height, width, pad;
} frames_geometry;

NN_FN frames_geometry frames_of(const nn_attr *a)
{
    frames_geometry g = {a->i[0], a->i[1], a->i[2], a->i[3]};
    return g;
}

NN_FN real frames_value(uint8_t byte)
{
    return (real)byte * ((real)1 / 255) - (real)0.5;
}

#endif
