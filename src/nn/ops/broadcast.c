/* broadcast.c - y repeated where its extent is 1, to the shape in the attributes. Its gradient is
 * the sum over the repeats. */
#include "nn/broadcast.h"

static const char *infer(nn_inference *f)
{
    f->out = (nn_shape){f->attr.i[0], f->attr.i[1], f->attr.i[2]};
    return broadcast_check(f->in[0], f->out);
}

static void forward_rows(const nn_call *c, int r, size_t from, size_t to)
{
    nn_shape sy = c->in[0].shape;
    size_t D = (size_t)c->out.shape.D, step = broadcast_step(sy);
    for (size_t i = from; i < to; i++) {
        const real *y = nn_v(&c->in[0], r) + broadcast_row(sy, c->out.shape, i);
        real *z = nn_v(&c->out, r) + i * D;
        for (size_t j = 0; j < D; j++) z[j] = y[j * step];
    }
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), c->out.shape.D, forward_rows);
}

static inline real same(real d, real x)
{
    (void)x;
    return d;
}

static void backward_replica(const nn_call *c, int r)
{
    broadcast_sum(c, r, same);
}

static void backward(const nn_call *c)
{
    nn_replicas(c, backward_replica);
}

const nn_op nn_op_broadcast = {.name = "broadcast",
                               .help = "x, repeated to another shape where its extent is 1",
                               .infer = infer,
                               .ignores = NN_OPERANDS | NN_RESULT,
                               .forward = forward,
                               .backward = backward};

nn_var nn_broadcast(nn_var x, nn_var like)
{
    nn_shape s = nn_shape_of(like);
    nn_list operands = like.id < 0 ? NN_IN(x, like) : NN_IN(x); /* a missing one is an error */
    return nn_record(NN_OP_broadcast, operands, (nn_attr){.i = {s.T, s.B, s.D}});
}
