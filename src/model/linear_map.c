/* linear_map.c - least squares by Cholesky's decomposition of the normal equations, with a little
 * ridge: unused latents may be constant. */
#include "model/linear_map.h"

#include <math.h>
#include <stddef.h>

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

static double judge(const double *w, const float *x, int k, const double *y, int n)
{
    double mean = 0, left = 0, all = 0, count = 0;
    for (int i = 1; i < n; i += 2, count++) mean += y[i];
    mean /= count;
    for (int i = 1; i < n; i += 2) {
        double guess = w[k];
        for (int j = 0; j < k; j++) guess += w[j] * (double)x[(size_t)i * (size_t)k + (size_t)j];
        left += (y[i] - guess) * (y[i] - guess);
        all += (y[i] - mean) * (y[i] - mean);
    }
    return all > 1e-12 ? 1 - left / all : NAN;
}

double linear_map_r2(const float *x, int k, const double *y, int n)
{
    size_t width = (size_t)k + 1;
    if (n < 2 * (k + 2)) return NAN;
    double *A = mem_alloc(width * width * sizeof *A), *b = mem_alloc(width * sizeof *b), r2 = NAN;
    if (A && b) {
        for (int i = 0; i < n; i += 2) add_sample(A, b, x + (size_t)i * (size_t)k, k, y[i]);
        for (size_t i = 0; i < width; i++) A[i * width + i] += 1e-6 * n;
        solve(A, b, k + 1);
        r2 = judge(b, x, k, y, n);
    }
    mem_free(A);
    mem_free(b);
    return r2;
}
