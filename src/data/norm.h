/* norm.h - running mean and variance of a vector (Welford), and what it makes of an observation. */
#ifndef DATA_NORM_H
#define DATA_NORM_H

#include "data/state.h"

typedef struct norm {
    int n;
    double count, *mean, *m2; /* the caller's memory: [n] each, zero to begin with */
} norm;

void norm_add(norm *x, const float *v);

/* What makes it (v + shift) · scale = (v - mean) / sd; 0 and 1 before two were seen. */
void norm_units(const norm *x, float *shift, float *scale);

void norm_state(norm *x, const char *prefix, state_list *s);

#endif
