/* plan.c - what to run for which losses and which parameters.
 *
 * A plan marks the nodes that its wanted tensors depend on, and among them those that lie between
 * its groups' parameters and its losses: only these get a gradient. It becomes a flat list of
 * calls, forward then backward, with every pointer resolved. The first reader of a tensor to be run
 * backward writes its gradient, the later ones add: gradients are never cleared. */
#include "nn/graph.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static bool in_groups(const nn_plan *p, const nn_group *group)
{
    for (int i = 0; i < p->group_count; i++)
        if (p->groups[i] == group) return true;
    return false;
}

static void mark_forward(nn_plan *p, int wanted)
{
    p->forward[wanted] = true;
    for (int i = wanted; i >= 0; i--) {
        const nn_node *n = &p->graph->nodes[i];
        if (p->forward[i])
            for (int k = 0; k < n->in_count; k++) p->forward[n->in[k]] = true;
    }
}

static bool passes_gradient(const nn_node *n, int k)
{
    return n->op >= 0 && nn_ops[n->op]->backward && !(n->skip >> k & 1);
}

/* A node gets a gradient when a wanted parameter lies above it and a loss below it. */
static void mark_backward(nn_plan *p)
{
    nn_graph *g = p->graph;
    for (size_t i = 0; i < g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (!p->forward[i]) continue;
        if (n->op == LEAF_PARAM) p->backward[i] = in_groups(p, n->group);
        for (int k = 0; k < n->in_count; k++)
            if (passes_gradient(n, k) && p->backward[n->in[k]]) p->backward[i] = true;
    }
}

/* Forgets the gradients from which no loss can be reached. */
static void prune_backward(nn_plan *p, bool *reaches_loss)
{
    nn_graph *g = p->graph;
    for (int i = 0; i < p->loss_count; i++) reaches_loss[p->losses[i]] = true;
    for (int i = (int)g->count - 1; i >= 0; i--) {
        const nn_node *n = &g->nodes[i];
        if (!reaches_loss[i] || !p->backward[i]) continue;
        for (int k = 0; k < n->in_count; k++)
            if (passes_gradient(n, k)) reaches_loss[n->in[k]] = true;
    }
    for (size_t i = 0; i < g->count; i++) {
        p->backward[i] = p->backward[i] && reaches_loss[i];
        if (p->backward[i]) g->nodes[i].needs_grad = true;
    }
}

/* Parameters of the groups that this plan's losses do not reach: their gradient is zero. */
static void list_zero(nn_plan *p)
{
    for (size_t i = 0; i < p->graph->count; i++) {
        const nn_node *n = &p->graph->nodes[i];
        if (n->op == LEAF_PARAM && in_groups(p, n->group) && !p->backward[i])
            p->zero[p->program.zero_count++] = (int)i;
    }
}

static void count_flops(nn_plan *p)
{
    for (size_t i = 0; i < p->graph->count; i++) {
        const nn_node *n = &p->graph->nodes[i];
        if (n->op < 0 || !p->forward[i]) continue;
        p->flops += n->flops;
        p->program.step_count++;
        if (!p->backward[i]) continue;
        p->program.step_count++;
        /* a product has two operands, each gradient costs as much as the product; of several joined
         * inputs only those wanted are computed */
        double inputs = 0, wanted = 0;
        bool weights = false;
        for (int k = 0; k < n->in_count; k++) {
            if (p->graph->nodes[n->in[k]].op == LEAF_PARAM || k >= n->attr.i[0]) {
                weights = weights || p->backward[n->in[k]];
                continue;
            }
            inputs += p->graph->nodes[n->in[k]].shape.D;
            if (p->backward[n->in[k]]) wanted += p->graph->nodes[n->in[k]].shape.D;
        }
        p->flops += n->flops * (weights ? 1 : 0) + (inputs > 0 ? n->flops * wanted / inputs : 0);
    }
}

static int check_wanted(nn_graph *g, const nn_var *wanted, int count, int losses)
{
    if (g->rc < 0) return fans_fail(g->rc, "%s", g->why);
    for (int i = 0; i < count; i++) {
        if (wanted[i].graph != g)
            return fans_fail(FANS_EINVAL, "plan: tensor %d is not of this graph", i);
        const nn_node *n = &g->nodes[wanted[i].id];
        if (i < losses && !nn_is_scalar(n->shape))
            return fans_fail(FANS_EINVAL,
                             "plan: the loss '%s' has the shape (%d, %d, %d), not (1, 1, 1)",
                             n->name, n->shape.T, n->shape.B, n->shape.D);
    }
    return 0;
}

static int make_program(nn_plan *p)
{
    nn_program *x = &p->program;
    x->loss_count = p->loss_count;
    x->replicas = p->graph->replicas;
    if (p->graph->backend->run && x->loss_count) x->step_count++; /* they are looked at */
    x->steps = mem_alloc(x->step_count * sizeof *x->steps);
    x->losses = mem_alloc((size_t)x->loss_count * sizeof *x->losses);
    x->zero = mem_alloc(x->zero_count * sizeof *x->zero);
    return x->steps && x->losses && x->zero ? 0 : FANS_ENOMEM;
}

int nn_plan_new(nn_plan **out, nn_graph *g, const nn_var *wanted, int wanted_count, int losses,
                nn_group *const *groups, int group_count)
{
    assert(!g->committed && losses <= wanted_count);
    bool *reaches_loss = NULL;
    nn_plan *p = NULL;
    int rc = check_wanted(g, wanted, wanted_count, losses);
    if (rc < 0) return rc;
    TRY(mem_grow(&g->plans, &g->plan_capacity, g->plan_count + 1, sizeof *g->plans));
    TRY((p = mem_alloc(sizeof *p)) ? 0 : FANS_ENOMEM);
    g->plans[g->plan_count++] = p;
    p->graph = g;
    p->forward = mem_alloc(g->count);
    p->backward = mem_alloc(g->count);
    reaches_loss = mem_alloc(g->count);
    p->zero = mem_alloc(g->count * sizeof *p->zero);
    p->losses = mem_alloc((size_t)losses * sizeof *p->losses);
    p->groups = mem_alloc((size_t)group_count * sizeof *p->groups);
    if (!p->forward || !p->backward || !reaches_loss || !p->zero || !p->losses || !p->groups) {
        rc = FANS_ENOMEM;
        goto out;
    }
    p->loss_count = losses;
    p->group_count = group_count;
    if (group_count) memcpy(p->groups, groups, (size_t)group_count * sizeof *groups);
    for (int i = 0; i < losses; i++) p->losses[i] = wanted[i].id;
    for (int i = 0; i < wanted_count; i++) mark_forward(p, wanted[i].id);
    mark_backward(p);
    prune_backward(p, reaches_loss);
    list_zero(p);
    count_flops(p);
    TRY(make_program(p));
    *out = p;
out:
    mem_free(reaches_loss);
    return rc;
}

void plan_free(nn_plan *p)
{
    if (!p) return;
    const nn_backend *b = p->graph->backend;
    if (b->forget) b->forget(b->self, &p->program);
    mem_free(p->program.steps);
    mem_free(p->program.losses);
    mem_free(p->program.zero);
    mem_free(p->forward);
    mem_free(p->backward);
    mem_free(p->zero);
    mem_free(p->losses);
    mem_free(p->groups);
    mem_free(p);
}

/* ---- linking: after the memory is there ------------------------------------------------------ */

static nn_tensor tensor_of(const nn_node *n)
{
    return (nn_tensor){
        .v = n->value, .stride = n->stride, .type = (uint8_t)n->type, .shape = n->shape};
}

static nn_call call_of(nn_graph *g, const nn_node *n)
{
    nn_call c = {.out = tensor_of(n),
                 .in_count = n->in_count,
                 .attr = n->attr,
                 .scratch = n->scratch,
                 .scratch_size = n->scratch_size,
                 .seeds = g->live_seeds,
                 .replicas = g->replicas,
                 .backend = g->backend->self};
    if (nn_ops[n->op]->random) {
        c.counter = &g->live_counters[n->counter];
        c.purpose = rng_purpose(n->stream);
    }
    for (int k = 0; k < n->in_count; k++) c.in[k] = tensor_of(&g->nodes[n->in[k]]);
    return c;
}

static nn_step step_of(nn_graph *g, const nn_node *n, bool backward)
{
    const nn_backend *b = g->backend;
    return (nn_step){.name = n->name,
                     .op = n->op,
                     .kind = nn_ops[n->op],
                     .backward = backward,
                     .body = backward ? b->backward[n->op] : b->forward[n->op],
                     .call = call_of(g, n)};
}

/* Of a gradient: whether it was written so far, and the last step to do so, through which operand.
 */
typedef struct writer {
    bool any;
    nn_step *step;
    int operand;
} writer;

static void link_backward(nn_plan *p, nn_step *step, const nn_node *n, writer *writers)
{
    step->call.out.g = n->grad;
    for (int k = 0; k < n->in_count; k++) {
        int i = n->in[k];
        if (!p->backward[i] || !passes_gradient(n, k)) continue;
        step->call.in[k].g = p->graph->nodes[i].grad;
        step->call.in[k].add = writers[i].any;
        writers[i] = (writer){true, step, k};
    }
}

/* Losses, and the parameters that none of them reaches. */
static void link_ends(nn_plan *p)
{
    const nn_node *nodes = p->graph->nodes;
    for (int i = 0; i < p->loss_count; i++) {
        p->program.losses[i] = tensor_of(&nodes[p->losses[i]]);
        p->program.losses[i].g = nodes[p->losses[i]].grad;
    }
    for (size_t i = 0; i < p->program.zero_count; i++) {
        p->program.zero[i] = tensor_of(&nodes[p->zero[i]]);
        p->program.zero[i].g = nodes[p->zero[i]].grad;
    }
}

/* The last to write a result's gradient has it in the cache: it multiplies it by the slope of the
 * result's activation there and then, and the result's own step finds that done. */
static void hand_slope(nn_step *step, const nn_node *n, const writer *last)
{
    int act = nn_ops[n->op]->act ? n->attr.i[nn_ops[n->op]->act - 1] : NN_LINEAR;
    if (act == NN_LINEAR || !last->step || !last->step->kind->slopes) return;
    last->step->call.in[last->operand].slope = (uint8_t)act;
    step->call.out.sloped = true;
}

int plan_link(nn_plan *p)
{
    nn_graph *g = p->graph;
    const nn_backend *back = g->backend;
    writer *writers = mem_alloc(g->count * sizeof *writers);
    if (!writers) return FANS_ENOMEM;
    link_ends(p);
    nn_step *s = p->program.steps;
    for (size_t i = 0; i < g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (n->op < 0 || !p->forward[i]) continue;
        *s++ = step_of(g, n, false);
    }
    if (back->run && p->loss_count)
        *s++ = (nn_step){.name = "check", .op = NN_STEP_CHECK, .what = &p->program};
    for (int i = 0; i < p->loss_count; i++) writers[p->losses[i]].any = true; /* with 1, by run */
    for (int i = (int)g->count - 1; i >= 0; i--) {
        const nn_node *n = &g->nodes[i];
        if (n->op < 0 || !p->backward[i]) continue;
        *s = step_of(g, n, true);
        if (!back->run) hand_slope(s, n, &writers[i]);
        link_backward(p, s++, n, writers);
    }
    assert(s <= p->program.steps + p->program.step_count);
    p->program.step_count = (size_t)(s - p->program.steps);
    mem_free(writers);
    return back->prepare ? back->prepare(back->self, &p->program) : 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void seed_gradients(const nn_plan *p)
{
    const nn_backend *b = p->graph->backend;
    const real one = 1;
    for (int i = 0; i < p->loss_count; i++) {
        const nn_tensor *t = &p->program.losses[i];
        for (int r = 0; t->g && r < p->graph->replicas; r++)
            b->copy_in(b->self, nn_g(t, r), &one, sizeof one);
    }
    for (size_t i = 0; i < p->program.zero_count; i++) {
        const nn_tensor *t = &p->program.zero[i];
        for (int r = 0; r < p->graph->replicas; r++)
            b->clear(b->self, nn_g(t, r), nn_size(t->shape) * sizeof(real));
    }
}

static int check_losses(const nn_plan *p)
{
    for (int i = 0; i < p->loss_count; i++) {
        nn_var loss = {p->graph, p->losses[i]};
        for (int r = 0; r < p->graph->replicas; r++) {
            double x = nn_scalar_get(loss, r);
            if (!isfinite(x))
                return fans_fail_replica(FANS_ENUMERIC, r, "the loss '%s' is %g", nn_name_of(loss),
                                         x);
        }
    }
    return 0;
}

void program_tell_counters(nn_graph *g, const nn_program *p)
{
    size_t bytes = (size_t)g->counter_count * sizeof *g->counters;
    if (memcmp(g->counters, g->told, bytes)) nn_copy_in(g, g->live_counters, g->counters, bytes);
    for (size_t i = 0; i < p->step_count; i++) {
        const nn_step *s = &p->steps[i];
        if (s->call.counter && !s->backward) g->counters[s->call.counter - g->live_counters]++;
    }
    memcpy(g->told, g->counters, bytes);
}

int plan_run_steps(nn_plan *p, const bool *known)
{
    const nn_backend *b = p->graph->backend;
    seed_gradients(p);
    b->begin(b->self);
    for (size_t i = 0; i < p->program.step_count; i++)
        if (!known || !known[i]) p->program.steps[i].body(&p->program.steps[i].call);
    int rc = b->end(b->self);
    return rc < 0 ? rc : check_losses(p);
}

int nn_plan_run(nn_plan *p)
{
    assert(p->graph->committed);
    const nn_backend *b = p->graph->backend;
    if (!b->run) return plan_run_steps(p, NULL);
    program_tell_counters(p->graph, &p->program);
    b->run(b->self, &p->program);
    return graph_fault(p->graph, false);
}

double nn_plan_flops(const nn_plan *p)
{
    return p->flops * p->graph->replicas;
}
