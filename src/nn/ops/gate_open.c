/* gate_open.c - the probability that a gate is not 0: what the sparsity cost counts. For AdaRL's
 * raw masks, which have no probability, |erf(logit)|. */
#include <math.h>

#include "nn/gates.h"
#include "nn/math.h"
#include "nn/op.h"

#define KIND(c) ((nn_gate_kind)(c)->attr.i[0])

static const char *infer(nn_inference *f)
{
    if (!nn_is_scalar(f->in[1])) return "the temperature is not a scalar";
    f->out = f->in[0];
    f->skip = 2;
    return NULL;
}

static void forward_replica(const nn_call *c, int r)
{
    const real *logit = nn_v(&c->in[0], r);
    real shift = 0, *p = nn_v(&c->out, r);
    if (KIND(c) == NN_GATE_HARD_CONCRETE)
        shift = *nn_v(&c->in[1], r) * (real)log(-GATE_LOW / GATE_HIGH);
    for (size_t i = 0, n = nn_size(c->out.shape); i < n; i++)
        p[i] = KIND(c) == NN_GATE_ERF ? (real)fabs(erf((double)logit[i]))
                                      : nn_sigmoid(logit[i] - shift);
}

static void forward(const nn_call *c)
{
    nn_replicas(c, forward_replica);
}

static void backward_replica(const nn_call *c, int r)
{
    const nn_tensor *x = &c->in[0];
    const real *logit = nn_v(x, r), *p = nn_v(&c->out, r), *d = nn_g(&c->out, r);
    real *g = nn_g(x, r);
    for (size_t i = 0, n = nn_size(c->out.shape); i < n; i++) {
        double l = (double)logit[i], bell = M_2_SQRTPI * exp(-l * l);
        real slope = KIND(c) == NN_GATE_ERF ? (real)(l > 0   ? bell
                                                     : l < 0 ? -bell
                                                             : 0)
                                            : p[i] * (1 - p[i]);
        NN_PUT(x->add, g[i], d[i] * slope);
    }
}

static void backward(const nn_call *c)
{
    nn_replicas(c, backward_replica);
}

const nn_op nn_op_gate_open = {.name = "gate_open",
                               .help = "the probability that a gate is not 0",
                               .infer = infer,
                               .forward = forward,
                               .backward = backward};

nn_var nn_gate_open(nn_var logits, nn_gate_kind kind, nn_var temperature)
{
    return nn_record(NN_OP_gate_open, NN_IN(logits, temperature), (nn_attr){.i = {(int)kind}});
}
