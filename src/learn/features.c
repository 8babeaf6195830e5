/* features.c - functions of one input and products of two. */
#include "learn/features.h"

#include <math.h>

enum { OWN = 5, FACTORS = 3 };

/* More are not worth their time, nor are they if fewer rows than this are there for each. */
enum { MOST_RICH = 900, MOST = FEATURES_COUNT, ROWS = 6 };

static int count_of(const features *f)
{
    int pairs = f->inputs * (f->inputs - 1) / 2 - f->held * (f->held - 1) / 2;
    return (f->inputs - f->held) * f->own + pairs * f->of_pair;
}

features features_for(int inputs, int held, double rows, bool rich)
{
    static const struct {
        int own, of_pair, most;
    } kinds[] = {{OWN, FACTORS * FACTORS, MOST_RICH}, {OWN, 1, MOST}, {OWN, 0, MOST}};
    features f = {.inputs = inputs, .held = held};
    for (int k = !rich; k < 3; k++) {
        f.own = kinds[k].own;
        f.of_pair = kinds[k].of_pair;
        f.count = count_of(&f);
        if (f.count <= kinds[k].most && f.count * ROWS <= rows) return f;
    }
    f.own = 1;
    f.count = count_of(&f);
    return f;
}

/* A few functions of one input, to be multiplied. */
static void factors_of(const features *f, double x, double *to)
{
    to[0] = x;
    if (f->of_pair == 1) return;
    to[1] = sin(1.3 * x);
    to[2] = cos(x) - 1;
}

static real *put_own(const features *f, double x, real *to)
{
    *to++ = (real)x;
    if (f->own == 1) return to;
    *to++ = (real)sin(x);
    *to++ = (real)cos(x);
    *to++ = (real)sin(2 * x);
    *to++ = (real)cos(2 * x);
    return to;
}

static bool paired(const features *f, int j)
{
    return f->of_pair > 0 && j < f->inputs - f->held; /* the first of a pair is not held */
}

void features_of(const features *f, const double *x, real *to)
{
    double z[FEATURES_MOST][FACTORS];
    int n = f->of_pair == 1 ? 1 : FACTORS;
    for (int i = 0; i < f->inputs; i++) factors_of(f, x[i], z[i]);
    for (int i = 0; i < f->inputs - f->held; i++) to = put_own(f, x[i], to);
    for (int i = 0; paired(f, i); i++)
        for (int j = i + 1; j < f->inputs; j++)
            for (int k = 0; k < n * n; k++) *to++ = (real)(z[i][k / n] * z[j][k % n]);
}

void features_with(const features *f, const bool *in, bool *marked)
{
    for (int i = 0; i < f->inputs - f->held; i++)
        for (int k = 0; k < f->own; k++) *marked++ = in[i];
    for (int i = 0; paired(f, i); i++)
        for (int j = i + 1; j < f->inputs; j++)
            for (int k = 0; k < f->of_pair; k++) *marked++ = in[i] || in[j];
}
