/* regression.h - least squares on groups of features, with what each group explains.
 *
 *     y = F beta + noise                       y (rows, Y), F (rows, F)
 *
 * Rows are added block by block; the mean of each block is taken off. So whatever is constant
 * within a block, known or not, explains nothing. */
#ifndef LEARN_REGRESSION_H
#define LEARN_REGRESSION_H

#include "base/mem.h"
#include "nn/nn.h"

typedef struct regression {
    int F, Y;        /* features and targets */
    double rows;     /* that count: without one per block */
    double *moments; /* (F + Y, F + Y): sums of products */
    double *inverse; /* (F, F): of the features' moments */
    double *beta;    /* (F, Y) */
    double *noise;   /* [Y]: variance of what is not explained */
    double *signal;  /* [Y]: of what is, in units of it */
    real *sums;      /* scratch, (F + Y, F + Y) */
    double *scratch; /* (F, F + Y) */
    int *chosen;     /* scratch, [F] */
    arena *memory;
} regression;

int regression_new(regression **out, int F, int Y);
void regression_free(regression *x);

/* Adds `rows` rows of (F | Y), whose mean is taken off in place. */
void regression_add(regression *x, real *rows_of, int rows);

/* Call it once, after all rows were added. */
int regression_solve(regression *x);

/* The nats per row that target y loses if the features with in[f] are dropped, less what dropping
 * as many idle ones would lose; and its standard error. */
typedef struct regression_loss {
    double nats, error;
} regression_loss;
void regression_drop(regression *x, const bool *in, regression_loss *out);

/* The nats per row that are lost if the coefficients of these features are taken to be the same in
 * `a` and `b`, which have the same features, all others being free. */
void regression_differ(regression *a, const regression *b, const bool *in, regression_loss *out);

#endif
