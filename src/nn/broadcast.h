/* broadcast.h - operators whose operand y repeats where its extent is 1: z = f(x, y), and y alone,
 * repeated to another shape. y is the last operand, and z has the shape of x.
 *
 * What an operator computes is a function of two numbers, given where the compiler sees it. */
#ifndef NN_BROADCAST_H
#define NN_BROADCAST_H

#include "nn/op.h"

/* Infers the shape of x ∘ y; what is wrong with a y that is to be repeated to `shape`, or NULL. */
const char *broadcast_infer(nn_inference *f);
const char *broadcast_check(nn_shape y, nn_shape shape);

/* Steps through y (of shape y) while x's rows go by: the place of row i, and 0 or 1 along it. */
NN_FN size_t broadcast_row(nn_shape y, nn_shape x, size_t i)
{
    size_t t = i / (size_t)x.B, b = i % (size_t)x.B;
    size_t row = (y.T > 1 ? t : 0) * (size_t)y.B + (y.B > 1 ? b : 0);
    return row * (size_t)y.D;
}

NN_FN size_t broadcast_step(nn_shape y)
{
    return y.D > 1 ? 1 : 0;
}

#ifndef __cplusplus

#    define NN_INLINE static inline __attribute__((always_inline))

typedef real broadcast_fn(real, real);

/* z = f(x, y) in rows [from, to). */
NN_INLINE void broadcast_rows(const nn_call *c, int r, size_t from, size_t to, broadcast_fn *f)
{
    nn_shape sx = c->in[0].shape, sy = c->in[1].shape;
    size_t D = (size_t)sx.D, step = broadcast_step(sy);
    for (size_t i = from; i < to; i++) {
        const real *x = nn_v(&c->in[0], r) + i * D;
        const real *y = nn_v(&c->in[1], r) + broadcast_row(sy, sx, i);
        real *z = nn_v(&c->out, r) + i * D;
        for (size_t j = 0; j < D; j++) z[j] = f(x[j], y[j * step]);
    }
}

/* dy = Σ f(d, x), with d = dz. Several elements may go to one of y: in order, one thread per
 * replica. Where y is the only operand, it passes for x too, which f then ignores. */
NN_INLINE void broadcast_sum(const nn_call *c, int r, broadcast_fn *f)
{
    const nn_tensor *ty = &c->in[c->in_count - 1];
    nn_shape s = c->out.shape;
    size_t D = (size_t)s.D, step = broadcast_step(ty->shape);
    const real *x = c->in_count > 1 ? nn_v(&c->in[0], r) : nn_g(&c->out, r);
    const real *d = nn_g(&c->out, r);
    real *g = nn_g(ty, r);
    for (size_t i = 0; !ty->add && i < nn_size(ty->shape); i++) g[i] = 0;
    for (size_t i = 0; i < nn_rows(s); i++) {
        real *to = g + broadcast_row(ty->shape, s, i);
        for (size_t j = 0; j < D; j++) to[j * step] += f(d[i * D + j], x[i * D + j]);
    }
}

/* dx = dz, over elements [from, to): sums and differences. */
void broadcast_pass(const nn_call *c, int r, size_t from, size_t to);

#endif

#endif
