/* linear_map.h - how much of y a linear map of x explains: R² on samples that it was not fitted to.
 */
#ifndef MODEL_LINEAR_MAP_H
#define MODEL_LINEAR_MAP_H

/* x is [n][k], y [n]. The map (with a constant) is fitted to the even samples and judged on the odd
 * ones. NaN where y does not move, or where memory or samples are lacking. */
double linear_map_r2(const float *x, int k, const double *y, int n);

#endif
