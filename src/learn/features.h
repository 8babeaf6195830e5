/* features.h - smooth functions of several inputs, as sums of functions of one and of two of them.
 *
 * Of each input x, in units of its spread: x, sin x, cos x, sin 2x, cos 2x; of each pair, products
 * of two such functions. How rich the products are depends on how many rows there are to tell them
 * apart. Inputs that are constant within a block ("held") have no functions of their own there. */
#ifndef LEARN_FEATURES_H
#define LEARN_FEATURES_H

#include <stdbool.h>

#include "nn/nn.h"

enum { FEATURES_MOST = 256, FEATURES_COUNT = 1600 }; /* inputs and features, at most */

typedef struct features {
    int inputs, held; /* the last `held` inputs are constant within a block */
    int own, of_pair; /* functions of an input, 1 or 5; of a pair, 0, 1 or 9 */
    int count;
} features;

/* The richest for `rows` rows; or the richest but one, which costs a fraction. */
features features_for(int inputs, int held, double rows, bool rich);

/* Writes the features of inputs x, in units of their spread. */
void features_of(const features *f, const double *x, real *to);

/* Marks the features in which one of the inputs with in[i] takes part. */
void features_with(const features *f, const bool *in, bool *marked);

#endif
