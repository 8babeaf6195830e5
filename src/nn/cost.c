/* cost.c - weighted means over rows. */
#include "nn/cost.h"

const char *cost_infer(nn_inference *f, int operands)
{
    for (int k = 1; k < operands; k++)
        if (!nn_same(f->in[k], f->in[0])) return "the operands differ in shape";
    int n = f->attr.i[0];
    if (f->in_count > n) {
        if (!nn_is_weight(f->in[n], f->in[0])) return "the weight is not (T, B, 1)";
        f->skip |= 1 << n;
    }
    f->out = (nn_shape){1, 1, 1};
    f->scratch = 1; /* 1 / sum of weights */
    return NULL;
}

static double weight(const nn_call *c, int r, size_t row)
{
    int n = c->attr.i[0];
    return c->in_count > n ? (double)nn_v(&c->in[n], r)[row] : 1;
}

typedef struct cost_job {
    const nn_call *c;
    cost_fn *fn;
} cost_job;

static void sum_rows(void *arg, int r)
{
    const cost_job *j = arg;
    double sum = 0, weights = 0;
    for (size_t i = 0, rows = nn_rows(j->c->in[0].shape); i < rows; i++) {
        double w = weight(j->c, r, i);
        weights += w;
        if (w != 0) sum += w * j->fn(j->c, r, i);
    }
    double scale = weights != 0 ? 1 / weights : 0;
    *nn_scratch(j->c, r) = (real)scale;
    *nn_v(&j->c->out, r) = (real)(sum * scale);
}

void cost_forward(const nn_call *c, cost_fn *fn)
{
    cost_job j = {c, fn};
    nn_items(c, c->replicas, sum_rows, &j);
}

real cost_slope(const nn_call *c, int r, size_t row)
{
    return *nn_g(&c->out, r) * *nn_scratch(c, r) * (real)weight(c, r, row);
}

nn_var cost_record(int op, nn_list x, nn_var w)
{
    nn_attr attr = {.i = {x.count}};
    if (w.id >= 0) x.var[x.count++] = w;
    return nn_record(op, x, attr);
}
