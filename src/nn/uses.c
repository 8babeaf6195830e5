/* uses.c - what the steps of a program read and write.
 *
 * Nothing counts as read that a body does not look at: the gradient of a mean need not wait for the
 * mean, and so the way from a loss to its gradients is as short as can be. */
#include "nn/uses.h"

/* ---- row steps ------------------------------------------------------------------------------- */

static const nn_work works[NN_OP_COUNT] = {
#define X(name, work) NN_WORK_##work,
#include "nn/ops/list.h"
#undef X
};

static bool works_as(const nn_step *s, nn_work work)
{
    return s->op < NN_OP_COUNT && works[s->op] == work;
}

bool step_is_product(const nn_step *s)
{
    return works_as(s, NN_WORK_PRODUCT);
}

/* Whether the gradient of the last operand sums over rows: it repeats more than features. */
static bool sums_rows(const nn_step *s)
{
    const nn_tensor *y = &s->call.in[s->call.in_count - 1];
    nn_shape z = s->call.out.shape;
    return s->backward && y->g && (z.T != y->shape.T || z.B != y->shape.B);
}

size_t step_rows(const nn_step *s)
{
    if (s->op >= NN_OP_COUNT) return 0;
    switch (works[s->op]) {
    case NN_WORK_ROWS:
        return nn_rows(s->call.out.shape);
    case NN_WORK_REPEATS:
        return sums_rows(s) ? 0 : nn_rows(s->call.out.shape);
    case NN_WORK_COST:
        return s->backward ? nn_rows(s->call.in[0].shape) : 0;
    case NN_WORK_WHOLE:
    case NN_WORK_PRODUCT:
        return 0;
    }
    return 0;
}

/* ---- which memory ---------------------------------------------------------------------------- */

static stretch stretch_of(const real *at, size_t n)
{
    return (stretch){(const char *)at, (const char *)(at + n)};
}

static void note_group(step_uses *a, const nn_step *s)
{
    if (s->op == NN_STEP_ADAM) {
        const nn_adam_step *x = s->what;
        size_t n = x->n * (size_t)x->replicas;
        a->read = stretch_of(x->g, n); /* moments are nobody else's */
        a->written = stretch_of(x->w, n);
    } else {
        const nn_follow_step *x = s->what;
        a->read = stretch_of(x->source, x->n);
        a->written = stretch_of(x->target, x->n);
    }
}

/* Without weights: its gradient needs nothing that the cost itself has found out. */
static bool is_even_cost(const nn_step *s)
{
    return works_as(s, NN_WORK_COST) && s->call.in_count == s->call.attr.i[0];
}

static void note_backward(step_uses *a, const nn_step *s)
{
    const nn_call *c = &s->call;
    int ignores = s->kind->ignores;
    for (int k = 0; k < c->in_count; k++) {
        if (!(ignores >> k & 1)) a->reads[a->read_count++] = c->in[k].v;
        if (c->in[k].g) a->writes[a->write_count++] = c->in[k].g;
    }
    if (!(ignores & NN_RESULT)) a->reads[a->read_count++] = c->out.v;
    if (c->scratch && !is_even_cost(s)) a->writes[a->write_count++] = c->scratch;
    a->writes[a->write_count++] = c->out.g; /* slopes may be applied in place */
}

static void note_forward(step_uses *a, const nn_call *c)
{
    for (int k = 0; k < c->in_count; k++) a->reads[a->read_count++] = c->in[k].v;
    if (c->counter) a->reads[a->read_count++] = c->counter;
    if (c->scratch) a->writes[a->write_count++] = c->scratch;
    a->writes[a->write_count++] = c->out.v;
}

step_uses uses_of(const nn_step *s)
{
    step_uses a = {0};
    if (s->op == NN_STEP_CHECK)
        a.looks = s->what;
    else if (s->op > NN_STEP_CHECK)
        note_group(&a, s);
    else if (s->backward)
        note_backward(&a, s);
    else
        note_forward(&a, &s->call);
    return a;
}

static bool has(const void *const *list, int n, const void *x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

static bool meet(const void *const *a, int n, const void *const *b, int m)
{
    for (int i = 0; i < n; i++)
        if (has(b, m, a[i])) return true;
    return false;
}

static bool inside(stretch s, const void *const *a, int n)
{
    for (int i = 0; i < n; i++)
        if ((const char *)a[i] >= s.from && (const char *)a[i] < s.to) return true;
    return false;
}

static bool overlap(stretch a, stretch b)
{
    return a.from < b.to && b.from < a.to;
}

static bool writes_loss(const step_uses *a, const nn_program *looks)
{
    for (int i = 0; looks && i < looks->loss_count; i++)
        if (has(a->writes, a->write_count, looks->losses[i].v)) return true;
    return false;
}

/* Does one write what the other reads or writes? */
static bool disturbs(const step_uses *a, const step_uses *b)
{
    return meet(a->writes, a->write_count, b->reads, b->read_count) ||
           meet(a->writes, a->write_count, b->writes, b->write_count) || writes_loss(a, b->looks) ||
           inside(a->written, b->reads, b->read_count) ||
           inside(a->written, b->writes, b->write_count) ||
           inside(b->read, a->writes, a->write_count) ||
           inside(b->written, a->writes, a->write_count) || overlap(a->written, b->read) ||
           overlap(a->written, b->written);
}

/* A group is moved only after its gradients' losses were looked at. */
bool must_follow(const nn_step *s, const step_uses *a, const nn_step *later, const step_uses *b)
{
    return disturbs(a, b) || disturbs(b, a) ||
           (s->op == NN_STEP_CHECK && later->op == NN_STEP_ADAM);
}
