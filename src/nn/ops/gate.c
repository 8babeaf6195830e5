/* gate.c - learned 0/1 masks: one sample of every gate per run.
 *
 *   hard-concrete   s = σ((logit + ln u - ln(1 - u)) / temperature), z = s stretched and cut to
 * [0,1] gumbel          z = 1 where that s > 1/2, else 0; its gradient is that of s
 * (straight-through) erf             z = erf(logit), no noise: the raw masks of AdaRL
 *
 * Where the scalar `frozen` is 1, z is the decision, 0 or 1, without noise and without gradient. */
#include <math.h>

#include "nn/gates.h"
#include "nn/math.h"
#include "nn/op.h"

#define KIND(c) ((nn_gate_kind)(c)->attr.i[0])

static const char *infer(nn_inference *f)
{
    if (!nn_is_scalar(f->in[1]) || !nn_is_scalar(f->in[2]))
        return "temperature and frozen are not scalars";
    f->out = f->in[0];
    f->scratch = (nn_size(f->out) + 3) / 4 * 4; /* s */
    f->skip = 6;
    return NULL;
}

static real decide(nn_gate_kind kind, real logit)
{
    if (kind == NN_GATE_ERF) return fabs(erf((double)logit)) > GATE_ERF_PRESENT;
    return logit > 0;
}

static real sample(nn_gate_kind kind, real s)
{
    if (kind == NN_GATE_GUMBEL) return s > (real)0.5;
    real z = s * (real)(GATE_HIGH - GATE_LOW) + (real)GATE_LOW;
    return z < 0 ? 0 : z > 1 ? 1 : z;
}

/* A mask is small: one thread per replica. */
static void forward_replica(const nn_call *c, int r)
{
    const real *logit = nn_v(&c->in[0], r);
    real temperature = *nn_v(&c->in[1], r), *z = nn_v(&c->out, r), *s = nn_scratch(c, r);
    bool frozen = *nn_v(&c->in[2], r) != 0;
    uint64_t first = *c->counter * (c->scratch_size / 4);
    rng_block block = {{0}};
    for (size_t i = 0, n = nn_size(c->out.shape); i < n; i++) {
        if (i % 4 == 0) block = rng_philox(c->seeds[r], c->purpose, 0, first + i / 4);
        if (frozen) {
            z[i] = decide(KIND(c), logit[i]);
        } else if (KIND(c) == NN_GATE_ERF) {
            z[i] = (real)erf((double)logit[i]);
        } else {
            double u = (double)rng_unit(block.v[i % 4]);
            s[i] = nn_sigmoid((logit[i] + (real)log(u / (1 - u))) / temperature);
            z[i] = sample(KIND(c), s[i]);
        }
    }
}

static void forward(const nn_call *c)
{
    nn_replicas(c, forward_replica);
    ++*c->counter;
}

static real slope(nn_gate_kind kind, real logit, real s, real z, real temperature)
{
    real ds = s * (1 - s) / temperature;
    switch (kind) {
    case NN_GATE_HARD_CONCRETE:
        return z > 0 && z < 1 ? (real)(GATE_HIGH - GATE_LOW) * ds : 0;
    case NN_GATE_GUMBEL:
        return ds;
    case NN_GATE_ERF:
        return (real)(M_2_SQRTPI * exp(-(double)logit * (double)logit));
    }
    return 0;
}

static void backward_replica(const nn_call *c, int r)
{
    const nn_tensor *x = &c->in[0];
    const real *logit = nn_v(x, r), *z = nn_v(&c->out, r), *s = nn_scratch(c, r);
    const real *d = nn_g(&c->out, r);
    real temperature = *nn_v(&c->in[1], r), *g = nn_g(x, r);
    bool frozen = *nn_v(&c->in[2], r) != 0;
    for (size_t i = 0, n = nn_size(c->out.shape); i < n; i++)
        NN_PUT(x->add, g[i], frozen ? 0 : d[i] * slope(KIND(c), logit[i], s[i], z[i], temperature));
}

static void backward(const nn_call *c)
{
    nn_replicas(c, backward_replica);
}

const nn_op nn_op_gate = {.name = "gate",
                          .help = "a sample of learned 0/1 masks, or their decision when frozen",
                          .infer = infer,
                          .random = true,
                          .forward = forward,
                          .backward = backward};

nn_var nn_gate(nn_var logits, nn_gate_kind kind, nn_var temperature, nn_var frozen)
{
    return nn_record(NN_OP_gate, NN_IN(logits, temperature, frozen), (nn_attr){.i = {(int)kind}});
}
