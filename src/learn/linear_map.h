/* linear_map.h - how much of y a linear map of x explains: R² on held-out samples. */
#ifndef LEARN_LINEAR_MAP_H
#define LEARN_LINEAR_MAP_H

/* x is [n][k], y [n]. The map (with a constant) is fitted to the even samples and scored on the odd
 * ones. R² is NaN if y is constant, or if there is too little data. */
int linear_map_r2(double *r2, const float *x, int k, const double *y, int n);

/* The map itself, from every `stride`-th sample: w[k + 1], the constant last. Returns 1; 0 if there
 * is too little data; or an error. */
int linear_map_fit(const float *x, int k, const double *y, int n, int stride, double *w);
double linear_map_at(const double *w, const float *x, int k);

#endif
