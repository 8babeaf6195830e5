/* linear_map.c - least squares by Cholesky decomposition of the normal equations, with a small
 * ridge because unused latents may be constant. */
#include "learn/linear_map.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* A += v v^T, b += y v, for v = (x, 1). */
static void add_sample(double *A, double *b, const float *x, int k, double y)
{
    for (int i = 0; i <= k; i++) {
        double vi = i < k ? (double)x[i] : 1;
        b[i] += y * vi;
        for (int j = 0; j <= i; j++) A[i * (k + 1) + j] += vi * (j < k ? (double)x[j] : 1);
    }
}

/* Solves A w = b in place, A symmetric and given by its lower half. */
static void solve(double *A, double *b, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (int l = 0; l < j; l++) sum -= A[i * n + l] * A[j * n + l];
            A[i * n + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / A[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < i; l++) b[i] -= A[i * n + l] * b[l];
        b[i] /= A[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int l = i + 1; l < n; l++) b[i] -= A[l * n + i] * b[l];
        b[i] /= A[i * n + i];
    }
}

double linear_map_at(const double *w, const float *x, int k)
{
    double guess = w[k];
    for (int j = 0; j < k; j++) guess += w[j] * (double)x[j];
    return guess;
}

int linear_map_fit(const float *x, int k, const double *y, int n, int stride, double *w)
{
    size_t width = (size_t)k + 1;
    if (n < stride * (k + 2)) return 0;
    double *A = mem_alloc(width * width * sizeof *A);
    if (!A) return FANS_ENOMEM;
    memset(w, 0, width * sizeof *w);
    for (int i = 0; i < n; i += stride) add_sample(A, w, x + (size_t)i * (size_t)k, k, y[i]);
    for (size_t i = 0; i < width; i++) A[i * width + i] += 2e-6 * n / stride;
    solve(A, w, k + 1);
    mem_free(A);
    return 1;
}

static double score(const double *w, const float *x, int k, const double *y, int n)
{
    double mean = 0, left = 0, all = 0, count = 0;
    for (int i = 1; i < n; i += 2, count++) mean += y[i];
    mean /= count;
    for (int i = 1; i < n; i += 2) {
        double guess = linear_map_at(w, x + (size_t)i * (size_t)k, k);
        left += (y[i] - guess) * (y[i] - guess);
        all += (y[i] - mean) * (y[i] - mean);
    }
    return all > 1e-12 ? 1 - left / all : NAN;
}

int linear_map_r2(double *r2, const float *x, int k, const double *y, int n)
{
    double *w = mem_alloc(((size_t)k + 1) * sizeof *w);
    if (!w) return FANS_ENOMEM;
    int fitted = linear_map_fit(x, k, y, n, 2, w);
    *r2 = fitted > 0 ? score(w, x, k, y, n) : NAN;
    mem_free(w);
    return fitted < 0 ? fitted : 0;
}
