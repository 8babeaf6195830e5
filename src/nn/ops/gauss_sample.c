/* gauss_sample.c - y = mean + exp(log_std) ε, ε standard normal (the reparameterised sample). */
#include "nn/math.h"
#include "nn/op.h"

static const char *infer(nn_inference *f)
{
    if (!nn_same(f->in[0], f->in[1])) return "mean and log_std differ in shape";
    f->out = f->in[0];
    f->scratch = (nn_size(f->out) + 3) / 4 * 4; /* ε */
    return NULL;
}

/* Ranges begin at multiples of four, the numbers of one Philox block. */
static void forward_range(const nn_call *c, int r, size_t from, size_t to)
{
    const real *mean = nn_v(&c->in[0], r), *log_std = nn_v(&c->in[1], r);
    real *eps = nn_scratch(c, r), *y = nn_v(&c->out, r);
    uint64_t first = *c->counter * (c->scratch_size / 4);
    for (size_t i = from; i < to; i += 4) {
        float e[4];
        rng_normal_block(c->seeds[r], c->purpose, 0, first + i / 4, e);
        for (size_t j = 0; j < 4; j++) eps[i + j] = (real)e[j];
    }
    for (size_t i = from; i < to; i++) y[i] = mean[i] + nn_exp(log_std[i]) * eps[i];
}

static void forward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, forward_range);
    ++*c->counter;
}

static void backward_range(const nn_call *c, int r, size_t from, size_t to)
{
    const nn_tensor *mean = &c->in[0], *log_std = &c->in[1];
    const real *d = nn_g(&c->out, r), *eps = nn_scratch(c, r);
    if (mean->g) {
        real *g = nn_g(mean, r);
        for (size_t i = from; i < to; i++) NN_PUT(mean->add, g[i], d[i]);
    }
    if (log_std->g) {
        const real *l = nn_v(log_std, r);
        real *g = nn_g(log_std, r);
        for (size_t i = from; i < to; i++) NN_PUT(log_std->add, g[i], d[i] * nn_exp(l[i]) * eps[i]);
    }
}

static void backward(const nn_call *c)
{
    nn_ranges(c, nn_size(c->out.shape), 1, backward_range);
}

const nn_op nn_op_gauss_sample = {.name = "gauss_sample",
                                  .help = "a sample of N(mean, exp(log_std)²)",
                                  .infer = infer,
                                  .random = true,
                                  .forward = forward,
                                  .backward = backward};

nn_var nn_gauss_sample(nn_var mean, nn_var log_std)
{
    return nn_record(NN_OP_gauss_sample, NN_IN(mean, log_std), (nn_attr){0});
}
