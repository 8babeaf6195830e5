/* principal.h - principal components of rows of numbers. */
#ifndef LEARN_PRINCIPAL_H
#define LEARN_PRINCIPAL_H

/* Eigenvalues [n], the largest first, and eigenvectors, a row each, of a symmetric matrix (n, n),
 * which is overwritten. */
void principal_axes(double *A, int n, double *values, double *vectors);

#endif
