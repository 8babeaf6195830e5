/* act.c - activation functions and their slopes, one vectorised loop each.
 *
 * The loops are static: a function with several forms (NN_WIDE) would be exported, hidden or not.
 */
#include "nn/act.h"

#include "nn/math.h"

static const real LEAK = (real)0.2;

#define EACH(statement)                       \
    for (size_t i = 0; i < n; i++) statement; \
    break

NN_WIDE static void forward(nn_act act, real *restrict x, size_t n)
{
    switch (act) {
    case NN_LINEAR:
        break;
    case NN_RELU:
        EACH(x[i] = x[i] < 0 ? 0 : x[i]); /* NaN passes: it must be seen */
    case NN_LEAKY_RELU:
        EACH(x[i] = x[i] > 0 ? x[i] : LEAK * x[i]);
    case NN_ELU:
        EACH(x[i] = x[i] > 0 ? x[i] : nn_exp(x[i] > 0 ? 0 : x[i]) - 1);
    case NN_TANH:
        EACH(x[i] = nn_tanh(x[i]));
    case NN_SIGMOID:
        EACH(x[i] = nn_sigmoid(x[i]));
    case NN_SOFTPLUS:
        EACH(x[i] = nn_softplus(x[i]));
    case NN_EXP:
        EACH(x[i] = nn_exp(x[i]));
    }
}

NN_WIDE static void forward_bias(nn_act act, real *restrict x, const real *restrict b, size_t n)
{
    if (act == NN_RELU) { /* by far the most common: one pass */
        for (size_t i = 0; i < n; i++) {
            real v = x[i] + b[i];
            x[i] = v < 0 ? 0 : v;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) x[i] += b[i];
    forward(act, x, n);
}

NN_WIDE static void backward(nn_act act, const real *restrict y, real *restrict d, size_t n)
{
    switch (act) {
    case NN_LINEAR:
        break;
    case NN_RELU:
        EACH(d[i] = y[i] > 0 ? d[i] : 0);
    case NN_LEAKY_RELU:
        EACH(d[i] *= y[i] > 0 ? 1 : LEAK);
    case NN_ELU:
        EACH(d[i] *= y[i] > 0 ? 1 : y[i] + 1);
    case NN_TANH:
        EACH(d[i] *= 1 - y[i] * y[i]);
    case NN_SIGMOID:
        EACH(d[i] *= y[i] * (1 - y[i]));
    case NN_SOFTPLUS:
        EACH(d[i] *= 1 - nn_exp(-y[i]));
    case NN_EXP:
        EACH(d[i] *= y[i]);
    }
}

NN_WIDE static void forward_block(nn_act act, act_block s, real *restrict x, const real *restrict b)
{
    if (act != NN_RELU || !b) {
        for (size_t i = 0; i < s.rows; i++, x += s.stride)
            if (b)
                forward_bias(act, x, b, s.n);
            else
                forward(act, x, s.n);
        return;
    }
    for (size_t i = 0; i < s.rows; i++, x += s.stride) {
        for (size_t j = 0; j < s.n; j++) {
            real v = x[j] + b[j];
            x[j] = v < 0 ? 0 : v;
        }
    }
}

NN_WIDE static void backward_block(nn_act act, act_block s, const real *restrict y,
                                   real *restrict d)
{
    if (act != NN_RELU) {
        for (size_t i = 0; i < s.rows; i++, y += s.stride, d += s.stride) backward(act, y, d, s.n);
        return;
    }
    for (size_t i = 0; i < s.rows; i++, y += s.stride, d += s.stride)
        for (size_t j = 0; j < s.n; j++) d[j] = y[j] > 0 ? d[j] : 0;
}

NN_WIDE static void sum_block(act_block s, const real *restrict d, real *restrict sum)
{
    size_t i = 0;
    for (; i + 4 <= s.rows; i += 4, d += 4 * s.stride) {
        const real *a = d, *b = a + s.stride, *c = b + s.stride, *e = c + s.stride;
        for (size_t j = 0; j < s.n; j++) sum[j] += (a[j] + b[j]) + (c[j] + e[j]);
    }
    for (; i < s.rows; i++, d += s.stride)
        for (size_t j = 0; j < s.n; j++) sum[j] += d[j];
}

/* ---- for other files ------------------------------------------------------------------------- */

void act_forward(nn_act act, real *restrict x, size_t n)
{
    forward(act, x, n);
}

void act_forward_bias(nn_act act, real *restrict x, const real *restrict b, size_t n)
{
    forward_bias(act, x, b, n);
}

void act_backward(nn_act act, const real *restrict y, real *restrict d, size_t n)
{
    backward(act, y, d, n);
}

void act_forward_block(nn_act act, act_block s, real *restrict x, const real *restrict b)
{
    forward_block(act, s, x, b);
}

void act_backward_block(nn_act act, act_block s, const real *restrict y, real *restrict d)
{
    backward_block(act, s, y, d);
}

void act_sum_block(act_block s, const real *restrict d, real *restrict sum)
{
    sum_block(s, d, sum);
}
