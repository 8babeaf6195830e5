/* auto_weight.c - Σ_k L_k / (2 c_k²) + ln(1 + c_k²): costs weighted by learned c (Liebel & Körner
 * 2018). The c, one per cost, are a parameter (1, 1, n) that starts at 1. Costs must not be
 * negative. */
#include <math.h>

#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    int n = f->in_count - 1;
    for (int k = 0; k < n; k++)
        if (!nn_is_scalar(f->in[k])) return "a cost is not a scalar";
    if (!nn_same(f->in[n], (nn_shape){1, 1, n})) return "there is not one c per cost";
    f->out = (nn_shape){1, 1, 1};
    return NULL;
}

static void forward_replica(const nn_call *c, int r)
{
    int n = c->in_count - 1;
    const real *w = nn_v(&c->in[n], r);
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double c2 = (double)w[k] * (double)w[k];
        sum += (double)*nn_v(&c->in[k], r) / (2 * c2) + log1p(c2);
    }
    *nn_v(&c->out, r) = (real)sum;
}

static void forward(const nn_call *c)
{
    nn_replicas(c, forward_replica);
}

static void backward_replica(const nn_call *c, int r)
{
    int n = c->in_count - 1;
    const nn_tensor *tc = &c->in[n];
    double d = (double)*nn_g(&c->out, r);
    for (int k = 0; k < n; k++) {
        double w = (double)nn_v(tc, r)[k], L = (double)*nn_v(&c->in[k], r);
        if (c->in[k].g) NN_PUT(c->in[k].add, *nn_g(&c->in[k], r), (real)(d / (2 * w * w)));
        if (tc->g)
            NN_PUT(tc->add, nn_g(tc, r)[k], (real)(d * (2 * w / (1 + w * w) - L / (w * w * w))));
    }
}

static void backward(const nn_call *c)
{
    nn_replicas(c, backward_replica);
}

const nn_op nn_op_auto_weight = {.name = "auto_weight",
                                 .help = "sum of costs with learned weights",
                                 .infer = infer,
                                 .forward = forward,
                                 .backward = backward};

nn_var nn_auto_weight(nn_list losses, nn_var c)
{
    assert(losses.count < NN_MOST_INPUTS);
    losses.var[losses.count++] = c;
    return nn_record(NN_OP_auto_weight, losses, (nn_attr){0});
}
