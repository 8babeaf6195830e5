/* principal.c - Jacobi's rotations: slow for large matrices, but short, and ours have one row per
 * state. */
#include "learn/principal.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 50 };

/* Rotates rows and columns p and q so that A[p][q] becomes 0. */
static void rotate(double *A, double *V, int n, int p, int q)
{
    double gap = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
    double t = (gap < 0 ? -1 : 1) / (fabs(gap) + sqrt(gap * gap + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = A[k * n + p], y = A[k * n + q];
        A[k * n + p] = c * x - s * y;
        A[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = A[p * n + k], y = A[q * n + k], v = V[p * n + k], w = V[q * n + k];
        A[p * n + k] = c * x - s * y;
        A[q * n + k] = s * x + c * y;
        V[p * n + k] = c * v - s * w;
        V[q * n + k] = s * v + c * w;
    }
}

static double off_diagonal(const double *A, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) sum += A[i * n + j] * A[i * n + j];
    return sum;
}

static void swap_rows(double *values, double *V, int n, int i, int j)
{
    double x = values[i];
    values[i] = values[j];
    values[j] = x;
    for (int k = 0; k < n; k++) {
        x = V[i * n + k];
        V[i * n + k] = V[j * n + k];
        V[j * n + k] = x;
    }
}

void principal_axes(double *A, int n, double *values, double *V)
{
    memset(V, 0, (size_t)n * (size_t)n * sizeof *V);
    for (int i = 0; i < n; i++) V[i * n + i] = 1;
    double all = off_diagonal(A, n);
    for (int k = 0; k < SWEEPS && off_diagonal(A, n) > 1e-20 * all; k++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (A[p * n + q] != 0) rotate(A, V, n, p, q);
    for (int i = 0; i < n; i++) values[i] = A[i * n + i];
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (values[j] > values[i]) swap_rows(values, V, n, i, j);
}
