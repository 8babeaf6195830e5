/* kernels.h - the operations of a program, one loop each.
 *
 * In C99, because these lines run in two places and must give the same bits there: in program.c,
 * and in the files that `fans export --to c` writes, which contain this one. It needs `weight`, the
 * type of a matrix's numbers, and weight_of(), their value; and math_f32.h. No sum depends on the
 * width of vectors, so compilers may use any. */
#ifndef DEPLOY_KERNELS_H
#define DEPLOY_KERNELS_H

/* A program calls them dozens of times: copies would fill a small machine's memory. */
#ifdef __GNUC__
#    define KERNEL static __attribute__((noinline, unused))
#else
#    define KERNEL static inline
#endif

/* Functions of one number: the activations of nn.h in their order, … */
enum {
    MAP_LINEAR,
    MAP_RELU,
    MAP_LEAKY_RELU,
    MAP_ELU,
    MAP_TANH,
    MAP_SIGMOID,
    MAP_SOFTPLUS,
    MAP_EXP,
    MAP_NUMBER,   /* … 0 for NaN, and … */
    MAP_MEASURED, /* … 0 for NaN, 1 for all others, and … */
    MAP_INVERSE   /* … 1/x */
};

#define EACH(value)                             \
    for (int i = 0; i < n; i++) y[i] = (value); \
    break

/* y = f(x); they may be the same. */
KERNEL void map(int f, const float *x, float *y, int n)
{
    switch (f) {
    case MAP_RELU:
        EACH(x[i] < 0 ? 0 : x[i]);
    case MAP_LEAKY_RELU:
        EACH(x[i] > 0 ? x[i] : 0.2f * x[i]);
    case MAP_ELU:
        EACH(x[i] > 0 ? x[i] : nn_exp(x[i] > 0 ? 0 : x[i]) - 1);
    case MAP_TANH:
        EACH(nn_tanh(x[i]));
    case MAP_SIGMOID:
        EACH(nn_sigmoid(x[i]));
    case MAP_SOFTPLUS:
        EACH(nn_softplus(x[i]));
    case MAP_EXP:
        EACH(nn_exp(x[i]));
    case MAP_NUMBER:
        EACH(x[i] == x[i] ? x[i] : 0);
    case MAP_MEASURED:
        EACH(x[i] == x[i] ? 1 : 0);
    case MAP_INVERSE:
        EACH(1 / x[i]);
    default:
        break;
    }
}
#undef EACH

/* y = b + x W for each member of a bank: x (members, rows), W (members, rows, columns); b may be
 * NULL. Four rows of W at a time, added in their order. */
KERNEL void dense(int members, int rows, int columns, const float *restrict x,
                  const weight *restrict W, const float *b, float *restrict y)
{
    for (int m = 0; m < members; m++, y += columns) {
        for (int j = 0; j < columns; j++) y[j] = b ? b[m * columns + j] : 0;
        for (int i = rows / 4; i > 0; i--, x += 4, W += 4 * columns) {
            const weight *restrict W1 = W + columns, *restrict W2 = W1 + columns;
            const weight *restrict W3 = W2 + columns;
            float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
            for (int j = 0; j < columns; j++)
                y[j] = y[j] + x0 * weight_of(W[j]) + x1 * weight_of(W1[j]) + x2 * weight_of(W2[j]) +
                       x3 * weight_of(W3[j]);
        }
        for (int i = rows % 4; i > 0; i--, x++, W += columns)
            for (int j = 0; j < columns; j++) y[j] = y[j] + *x * weight_of(W[j]);
    }
}

/* An LSTM's cell of n units: gates i, f, g, o and the old c give h, then c. */
KERNEL void cell(int n, const float *restrict gates, const float *restrict old, float *restrict h)
{
    float *restrict c = h + n;
    for (int j = 0; j < n; j++)
        c[j] = nn_sigmoid(gates[n + j]) * old[j] + nn_sigmoid(gates[j]) * nn_tanh(gates[2 * n + j]);
    for (int j = 0; j < n; j++) h[j] = nn_sigmoid(gates[3 * n + j]) * nn_tanh(c[j]);
}

/* (x - mean) / sd · gain + shift. */
KERNEL void norm(const float *restrict x, const float *restrict gain, const float *restrict shift,
                 float *restrict y, int n)
{
    float mean = 0, square = 0;
    for (int j = 0; j < n; j++) mean += x[j];
    mean /= (float)n;
    for (int j = 0; j < n; j++) square += (x[j] - mean) * (x[j] - mean);
    float scale = 1 / nn_sqrt(square / (float)n + 1e-5f);
    for (int j = 0; j < n; j++) y[j] = (x[j] - mean) * scale * gain[j] + shift[j];
}

/* z = x ∘ y, where y is read at every `step`, 1 or 0. */
static inline void add(const float *x, const float *y, int step, float *restrict z, int n)
{
    for (int i = 0; i < n; i++) z[i] = x[i] + y[i * step];
}

static inline void sub(const float *x, const float *y, int step, float *restrict z, int n)
{
    for (int i = 0; i < n; i++) z[i] = x[i] - y[i * step];
}

static inline void mul(const float *x, const float *y, int step, float *restrict z, int n)
{
    for (int i = 0; i < n; i++) z[i] = x[i] * y[i * step];
}

static inline void affine(const float *x, float scale, float shift, float *restrict y, int n)
{
    for (int i = 0; i < n; i++) y[i] = x[i] * scale + shift;
}

static inline void clip(const float *x, float low, float high, float *restrict y, int n)
{
    for (int i = 0; i < n; i++) y[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

#endif
