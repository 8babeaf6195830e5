/* td_target.c - y = r + γ (1 - terminated) (q - temp · logp): SAC's target. γ is a scalar, or one
 * number per row: that of an n-step return is γⁿ. A constant: no gradient. */
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    for (int k = 0; k < 4; k++)
        if (!nn_is_weight(f->in[k], f->in[0]))
            return "reward, terminated, q and logp are not (T, B, 1)";
    if (!nn_is_scalar(f->in[4])) return "temp is not a scalar";
    if (!nn_is_scalar(f->in[5]) && !nn_is_weight(f->in[5], f->in[0]))
        return "discount is neither a scalar nor (T, B, 1)";
    f->out = f->in[0];
    f->skip = 0x3f;
    return NULL;
}

/* `step` is 0 or 1, and known to the compiler. */
static inline void targets(const nn_call *c, int r, size_t from, size_t to, size_t step)
{
    const real *reward = nn_v(&c->in[0], r), *end = nn_v(&c->in[1], r), *q = nn_v(&c->in[2], r);
    const real *logp = nn_v(&c->in[3], r), *discount = nn_v(&c->in[5], r);
    real temp = *nn_v(&c->in[4], r), *y = nn_v(&c->out, r);
    for (size_t i = from; i < to; i++)
        y[i] = reward[i] + discount[i * step] * (1 - end[i]) * (q[i] - temp * logp[i]);
}

static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    if (nn_is_scalar(c->in[5].shape))
        targets(c, r, from, to, 0);
    else
        targets(c, r, from, to, 1);
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_rows(c->out.shape), 1, forward_range);
}

const nn_op nn_op_td_target = {.name = "td_target",
                               .help = "reward + discount (1 - terminated) (q - temp logp)",
                               .infer = infer,
                               .forward = forward};

nn_var nn_td_target(nn_var reward, nn_var terminated, nn_var q, nn_var logp, nn_var temp,
                    nn_var discount)
{
    return nn_record(NN_OP_td_target, NN_IN(reward, terminated, q, logp, temp, discount),
                     (nn_attr){0});
}
