/* norm.h - running mean and variance of a vector (Welford), and the units that follow from them. */
#ifndef DATA_NORM_H
#define DATA_NORM_H

#include "base/mem.h"
#include "data/state.h"

typedef struct norm {
    int n;
    double *count, *mean, *m2; /* [1], [n], [n] */
} norm;

/* Declares the memory of a norm of n numbers. */
int norm_declare(norm *x, arena *memory, int n);

/* Takes in v, or v - minus where `minus` is given; [n]. */
void norm_add(norm *x, const float *v, const float *minus);

/* (v + shift) · scale = (v - mean) / sd; 0 and 1 before two were seen. A dimension that never moves
 * keeps its scale: divided by next to nothing, its first movement would be enormous. */
void norm_units(const norm *x, float *shift, float *scale);

void norm_state(norm *x, const char *prefix, state_list *s);

#endif
