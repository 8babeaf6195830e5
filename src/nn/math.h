/* math.h - exponentials that compilers turn into vector code.
 *
 * libm's expf and tanhf are calls, several nanoseconds each; an LSTM needs five per unit and step.
 * These are branch-free polynomials: loops over them vectorise, and the bits are the same whatever
 * the C library. Errors are below 2 units in the last place, tanh's below 4. In double precision,
 * for the tests, libm is used. */
#ifndef NN_MATH_H
#define NN_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nn/nn.h"

#ifdef __CUDACC__
#    define NN_MATH static inline __host__ __device__
#else
#    define NN_MATH static inline
#endif

/* A function that is compiled for wider vectors, too, and chosen when the program is loaded. It
 * computes the same bits: additions are fused where the source says so, nowhere else. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#    define NN_WIDE __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#    define NN_WIDE
#endif

#ifdef NN_DOUBLE

NN_MATH real nn_exp(real x)
{
    return exp(x);
}
NN_MATH real nn_log(real x)
{
    return log(x);
}
NN_MATH real nn_log1p(real x)
{
    return log1p(x);
}
NN_MATH real nn_tanh(real x)
{
    return tanh(x);
}
NN_MATH real nn_sqrt(real x)
{
    return sqrt(x);
}
NN_MATH real nn_abs(real x)
{
    return fabs(x);
}
NN_MATH real nn_sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}
NN_MATH real nn_softplus(real x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

#else
#    include "nn/math_f32.h"
#endif

#endif
