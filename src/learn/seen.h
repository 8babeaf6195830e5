/* seen.h - steps as networks read them: in normalised units, (T, B, ·) each. */
#ifndef LEARN_SEEN_H
#define LEARN_SEEN_H

#include "nn/nn.h"

typedef struct seen {
    nn_var s, a, s1, ds, r;
} seen;

#endif
