/* sketch.h - reads what was recorded, for those who translate graphs into something else.
 *
 * A tensor is **known** if it follows from parameters, scalars and inputs that have memory: masks
 * folded into weights, units of normalisation. What depends on an input of a sketch is not known
 * before that input is. */
#ifndef NN_SKETCH_H
#define NN_SKETCH_H

#include "nn/op.h"

/* What a tensor is made of. The pointers stay valid until something else is recorded. */
typedef struct nn_recorded {
    int op; /* negative: a leaf */
    const nn_attr *attr;
    const int *in; /* [in_count]: ids in the same graph */
    int in_count;
} nn_recorded;
nn_recorded nn_recorded_of(nn_var v);

bool nn_is_known(nn_var v);

/* The value of a known tensor in a replica, from the parameters as they are now. */
int nn_known_value(nn_var v, int replica, real *to);

#endif
