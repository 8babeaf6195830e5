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

/* Forgets all samples. */
void norm_clear(norm *x);

/* Adds a sample v[n], or v - minus if `minus` is given. */
void norm_add(norm *x, const float *v, const float *minus);

/* (v + shift) · scale = (v - mean) / sd; shift 0 and scale 1 before two samples. A
 * constant dimension keeps scale 1: dividing by almost zero would make its first movement huge. */
void norm_units(const norm *x, float *shift, float *scale);

void norm_state(norm *x, const char *prefix, state_list *s);

#endif
