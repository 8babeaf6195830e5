/* math_f32.h - exp, tanh and what follows from them, in single precision; see math.h.
 *
 * A file of its own because it leaves the library: `fans export --to c` writes it into code for
 * other machines. So it is C99 and relies on nothing but `real`, NN_MATH and C's own headers. */
#ifndef NN_MATH_F32_H
#define NN_MATH_F32_H

NN_MATH real nn_exp(real x)
{
    x = x > 88.37f ? 88.37f : x;
    x = x < -87.33f ? -87.33f : x;
    /* x = k ln 2 + f with |f| <= ln 2 / 2 */
    real k = rintf(x * 1.44269502f);
    real f = fmaf(k, -0.693145752f, x);
    f = fmaf(k, -1.42860677e-6f, f);
    real p = fmaf(fmaf(fmaf(fmaf(fmaf(1.98756912e-4f, f, 1.39819994e-3f), f, 8.33345205e-3f), f,
                            4.16657962e-2f),
                       f, 1.66666657e-1f),
                  f, 0.5f);
    p = fmaf(p * f, f, f) + 1.0f;
    /* NaN becomes 0 here, and p stays NaN */
    int32_t bits = ((int32_t)(k > -127.0f ? k : -127.0f) + 127) << 23;
    real scale;
    memcpy(&scale, &bits, 4);
    return p * scale;
}

NN_MATH real nn_log(real x)
{
    return logf(x);
}
NN_MATH real nn_log1p(real x)
{
    return log1pf(x);
}
NN_MATH real nn_sqrt(real x)
{
    return sqrtf(x);
}
NN_MATH real nn_abs(real x)
{
    return fabsf(x);
}

NN_MATH real nn_tanh(real x)
{
    real a = fabsf(x);
    a = a > 9.1f ? 9.1f : a;
    /* far from zero: 1 - 2 / (e^2a + 1); near it: the odd polynomial, which keeps the last bits */
    real far = 1.0f - 2.0f / (nn_exp(2.0f * a) + 1.0f);
    real z = a * a;
    real p = fmaf(
        fmaf(fmaf(fmaf(-5.70498872e-3f, z, 2.06390887e-2f), z, -5.37397155e-2f), z, 1.33314422e-1f),
        z, -3.33332819e-1f);
    real near = fmaf(p * z, a, a);
    real t = a < 0.625f ? near : far;
    return x < 0 ? -t : t;
}

NN_MATH real nn_sigmoid(real x)
{
    return (real)1 / ((real)1 + nn_exp(-x));
}

/* ln(1 + e^x) without overflow. */
NN_MATH real nn_softplus(real x)
{
    return (x > 0 ? x : 0) + nn_log1p(nn_exp(-nn_abs(x)));
}

#endif
