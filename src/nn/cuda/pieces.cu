/* pieces.cu - what of a program may run beside what.
 *
 * Consecutive row steps become one piece, every other step is a piece by itself. A piece waits for
 * those that write what it reads or writes, or read what it writes; the steps say which memory that
 * is. Nothing is read that a body does not look at: the gradient of a mean need not wait for the
 * mean, and so the way from a loss to its gradients is as short as can be. */
#include "nn/cuda/pieces.cuh"

/* ---- cutting --------------------------------------------------------------------------------- */

/* Rows of another batch than those gathered so far: they may come at the same time. */
static bool gathers_others(const nn_program *p, const piece *x, const nn_step *s)
{
    if (s->op != NN_OP_gather) return false;
    for (int i = x->first; i < x->first + x->count; i++)
        if (p->steps[i].op == NN_OP_gather && p->steps[i].call.in[1].v != s->call.in[1].v)
            return true;
    return false;
}

static bool joins(const nn_program *p, const piece *x, const nn_step *s)
{
    const nn_step *first = &p->steps[x->first];
    return x->rows && x->count < MOST_ROW_STEPS && row_count(s) == row_count(first) &&
           s->backward == first->backward && !gathers_others(p, x, s);
}

int cut_pieces(const nn_program *p, piece *out)
{
    int n = 0, steps = (int)p->step_count;
    out[n++].first = -1;
    for (int i = 0; i < steps;) {
        piece *x = &out[n++];
        x->first = i;
        x->rows = row_count(&p->steps[i]) > 0;
        do {
            x->count++;
            i++;
        } while (i < steps && joins(p, x, &p->steps[i]));
    }
    out[n++].first = steps;
    return n;
}

/* ---- which memory ---------------------------------------------------------------------------- */

/* Memory of a group: all parameters of all replicas. */
typedef struct stretch {
    const char *from, *to;
} stretch;

typedef struct accesses {
    const void *reads[MOST_ROW_STEPS * (2 * NN_MOST_INPUTS + 4) + 4 + MOST_ENDS];
    const void *writes[MOST_ROW_STEPS * (NN_MOST_INPUTS + 4) + 4 + MOST_ENDS];
    int read_count, write_count;
    stretch read, written; /* a group's; empty for most */
} accesses;

static stretch stretch_of(const real *at, size_t n)
{
    return {(const char *)at, (const char *)(at + n)};
}

static void note_group(accesses *a, const nn_step *s)
{
    if (s->op == NN_STEP_ADAM) {
        const nn_adam_step *x = (const nn_adam_step *)s->what;
        size_t n = x->n * (size_t)x->replicas;
        a->read = stretch_of(x->g, n); /* moments are nobody else's */
        a->written = stretch_of(x->w, n);
    } else {
        const nn_follow_step *x = (const nn_follow_step *)s->what;
        a->read = stretch_of(x->source, x->n);
        a->written = stretch_of(x->target, x->n);
    }
}

static bool is_cost(const nn_step *s)
{
    return s->op == NN_OP_mean || s->op == NN_OP_mse || s->op == NN_OP_l1 ||
           s->op == NN_OP_gauss_nll || s->op == NN_OP_gauss_kl;
}

/* Without weights: its gradient needs nothing that the cost itself has found out. */
static bool is_even_cost(const nn_step *s)
{
    return is_cost(s) && s->call.in_count == s->call.attr.i[0];
}

/* What a backward body looks at, of the values: all, where nothing else is known. */
static bool looks_at_operand(const nn_step *s, int k)
{
    switch (s->op) {
    case NN_OP_add:
    case NN_OP_affine:
    case NN_OP_concat:
    case NN_OP_slice:
        return false;
    case NN_OP_mean:
        return k > 0;
    }
    return true;
}

static bool looks_at_result(const nn_step *s)
{
    return looks_at_operand(s, 0) && !is_cost(s) && s->op != NN_OP_mul && s->op != NN_OP_min;
}

static void note_step(accesses *a, const nn_step *s)
{
    const nn_call *c = &s->call;
    if (s->op == NN_STEP_CHECK) {
        const nn_program *p = (const nn_program *)s->what;
        for (int i = 0; i < p->loss_count && i < MOST_ENDS; i++)
            a->reads[a->read_count++] = p->losses[i].v;
        return;
    }
    if (s->op > NN_STEP_CHECK) {
        note_group(a, s);
        return;
    }
    for (int k = 0; k < c->in_count; k++) {
        if (!s->backward || looks_at_operand(s, k)) a->reads[a->read_count++] = c->in[k].v;
        if (s->backward && c->in[k].g) a->writes[a->write_count++] = c->in[k].g;
    }
    if (c->scratch && !(s->backward && is_even_cost(s))) a->writes[a->write_count++] = c->scratch;
    if (s->backward) {
        if (looks_at_result(s)) a->reads[a->read_count++] = c->out.v;
        a->writes[a->write_count++] = c->out.g; /* slopes are applied in place */
    } else {
        if (c->counter) a->reads[a->read_count++] = c->counter;
        a->writes[a->write_count++] = c->out.v;
    }
}

static bool meet(const void *const *a, int n, const void *const *b, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (a[i] == b[j]) return true;
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

/* ---- waits ----------------------------------------------------------------------------------- */

/* Does one write what the other reads or writes? */
static bool disturbs(const accesses *a, const accesses *b)
{
    return meet(a->writes, a->write_count, b->reads, b->read_count) ||
           meet(a->writes, a->write_count, b->writes, b->write_count) ||
           inside(a->written, b->reads, b->read_count) ||
           inside(a->written, b->writes, b->write_count) ||
           inside(b->read, a->writes, a->write_count) ||
           inside(b->written, a->writes, a->write_count) || overlap(a->written, b->read) ||
           overlap(a->written, b->written);
}

static bool depends(const accesses *later, const accesses *earlier)
{
    return disturbs(earlier, later) || disturbs(later, earlier);
}

/* The last piece moves counters on, which may be long before the end. */
static void note_end(accesses *a, const nn_program *p)
{
    const int most = sizeof a->writes / sizeof *a->writes;
    for (size_t i = 0; i < p->step_count && a->write_count < most; i++)
        if (p->steps[i].call.counter) a->writes[a->write_count++] = p->steps[i].call.counter;
}

/* A group is moved only after its gradients' losses were looked at. */
static bool guards(const nn_program *p, const piece *earlier, const piece *later)
{
    return earlier->count > 0 && later->count > 0 && p->steps[earlier->first].op == NN_STEP_CHECK &&
           p->steps[later->first].op == NN_STEP_ADAM;
}

/* Gradients of losses are set, others cleared, and optimiser steps counted in the first piece. */
static bool needs_start(const nn_program *p, const piece *x)
{
    return x->count > 0 && (p->steps[x->first].backward || p->steps[x->first].op == NN_STEP_ADAM);
}

static bool find_waits(gpu *self, const nn_program *p, piece *list, int count)
{
    accesses *all = (accesses *)self->host.alloc((size_t)count * sizeof *all);
    if (!all) return false;
    for (int i = 0; i < count; i++) {
        piece *q = &list[i];
        for (int k = 0; k < q->count; k++) note_step(&all[i], &p->steps[q->first + k]);
        if (i == count - 1) note_end(&all[i], p);
        for (int j = i - 1; j >= 0; j--) {
            bool must = (j == 0 && needs_start(p, q)) || guards(p, &list[j], q) ||
                        depends(&all[i], &all[j]);
            if (q->after[j] || !must) continue;
            q->waits[j] = q->after[j] = true;
            for (int k = 0; k < j; k++) q->after[k] = q->after[k] || list[j].after[k];
        }
    }
    self->host.free(all);
    return true;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void find_ways(piece *list, int count)
{
    for (int i = 0; i < count; i++) {
        list[i].heir = -1;
        for (int j = 0; j < i; j++)
            if (list[i].waits[j] && list[j].before >= list[i].before)
                list[i].before = list[j].before + 1;
    }
    for (int i = count - 1; i >= 0; i--) {
        list[i].way = 1 + (list[i].heir < 0 ? 0 : list[list[i].heir].way);
        for (int j = 0; j < i; j++)
            if (list[i].waits[j] && (list[j].heir < 0 || list[i].way >= list[list[j].heir].way))
                list[j].heir = i;
    }
}

/* A piece that inherits a lane is started while its predecessor still runs: the one with the
 * longest way before it does, and behind the predecessor that comes last. Others take a lane that
 * nobody will inherit and that is done by then, else the one that was used least lately. */
static int choose_lane(const piece *list, int i, const int *last)
{
    int best = -1, oldest = 0;
    for (int l = 0; l < LANES; l++)
        if (last[l] >= 0 && list[last[l]].heir == i &&
            (best < 0 || list[last[l]].before > list[last[best]].before))
            best = l;
    for (int l = 0; best < 0 && l < LANES; l++)
        if (last[l] < 0 || (list[i].after[last[l]] && list[last[l]].heir < i)) best = l;
    for (int l = 1; l < LANES; l++)
        if (last[l] < last[oldest]) oldest = l;
    return best < 0 ? oldest : best;
}

bool order_pieces(gpu *self, const nn_program *p, piece *list, int count)
{
    int last[LANES];
    if (!find_waits(self, p, list, count)) return false;
    find_ways(list, count);
    for (int l = 0; l < LANES; l++) last[l] = -1;
    for (int i = 0; i < count; i++) last[list[i].lane = choose_lane(list, i, last)] = i;
    return true;
}
