/* routine.c - plans, optimiser steps and followings as one program.
 *
 * A backend that calls the steps of a plan in turn does the parts one after the other. One that
 * runs programs gets a single program with all their steps, in which optimiser steps are steps too.
 * What an earlier plan has computed is not computed again, unless parameters that it depends on
 * were moved in between; step by step, it is computed again also where a gradient passes, since a
 * backward body may have used its scratch memory for something else. */
#include "base/error.h"
#include "nn/graph.h"

enum { MOST = 16 };

typedef struct part {
    nn_plan *plan; /* or … */
    bool *known;   /* of its steps, step by step: whose results are there already */
    nn_group *group;
    const nn_group *source; /* which it follows; NULL: Adam */
    nn_adam adam;
    double tau;
} part;

struct nn_routine {
    nn_graph *graph;
    part parts[MOST];
    int count;
    nn_program program;
    nn_adam_step adam[MOST]; /* by part */
    nn_follow_step follow[MOST];
};

/* ---- putting together ------------------------------------------------------------------------ */

int nn_routine_new(nn_routine **out, nn_graph *g)
{
    assert(!g->committed);
    nn_routine *r = NULL;
    int rc = 0;
    TRY(mem_grow(&g->routines, &g->routine_capacity, g->routine_count + 1, sizeof *g->routines));
    TRY((r = mem_alloc(sizeof *r)) ? 0 : FANS_ENOMEM);
    g->routines[g->routine_count++] = r;
    r->graph = g;
    *out = r;
out:
    return rc;
}

static part *add(nn_routine *r)
{
    assert(r->count < MOST && !r->graph->committed);
    return &r->parts[r->count++];
}

void nn_routine_plan(nn_routine *r, nn_plan *p)
{
    add(r)->plan = p;
}

void nn_routine_adam(nn_routine *r, nn_group *group, const nn_adam *o)
{
    for (int i = 0; i < r->count; i++) /* a backend counts all steps at the start */
        assert(r->parts[i].group != group || r->parts[i].source);
    *add(r) = (part){.group = group, .adam = *o};
}

void nn_routine_follow(nn_routine *r, nn_group *target, const nn_group *source, double tau)
{
    assert(target->size == source->size);
    *add(r) = (part){.group = target, .source = source, .tau = tau};
}

void routine_free(nn_routine *r)
{
    if (!r) return;
    const nn_backend *b = r->graph->backend;
    if (b->forget) b->forget(b->self, &r->program);
    for (int i = 0; i < r->count; i++) mem_free(r->parts[i].known);
    mem_free(r->program.steps);
    mem_free(r->program.losses);
    mem_free(r->program.zero);
    mem_free(r);
}

/* ---- one program ----------------------------------------------------------------------------- */

/* What is known of a node while the parts are gone through. */
typedef struct known {
    bool computed; /* by an earlier part … */
    bool stale;    /* … but from what is another by now */
} known;

/* The plan's steps, but for those whose results are there already. */
static void append_plan(nn_routine *r, const nn_plan *p, known *k)
{
    const nn_graph *g = r->graph;
    const nn_step *from = p->program.steps, *end = from + p->program.step_count;
    nn_step *to = r->program.steps + r->program.step_count;
    for (int i = 0; i < (int)g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (n->op < 0 || !p->forward[i]) continue;
        assert(!k[i].computed || !nn_ops[n->op]->random);
        if (!k[i].computed || k[i].stale) *to++ = *from;
        k[i] = (known){.computed = true};
        from++;
    }
    while (from < end) *to++ = *from++;
    r->program.step_count = (size_t)(to - r->program.steps);
    for (int i = 0; i < p->loss_count; i++)
        r->program.losses[r->program.loss_count++] = p->program.losses[i];
    for (size_t i = 0; i < p->program.zero_count; i++)
        r->program.zero[r->program.zero_count++] = p->program.zero[i];
}

/* From here on the group's parameters are others, and so is what depends on them. */
static void age(const nn_graph *g, const nn_group *group, known *k)
{
    for (size_t i = 0; i < g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (n->op == LEAF_PARAM) k[i].stale = n->group == group;
        for (int j = 0; j < n->in_count; j++) k[i].stale = k[i].stale || k[n->in[j]].stale;
    }
}

/* Notes which of the plan's steps need not be done. */
static int note_known(part *x, const nn_graph *g, known *k)
{
    const nn_plan *p = x->plan;
    size_t at = 0;
    if (!(x->known = mem_alloc(p->program.step_count * sizeof *x->known))) return FANS_ENOMEM;
    for (size_t i = 0; i < g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (n->op < 0 || !p->forward[i]) continue;
        bool there = k[i].computed && !k[i].stale;
        x->known[at++] = there && !p->backward[i] && !nn_ops[n->op]->random;
        k[i] = (known){.computed = true};
    }
    return 0;
}

/* For backends that call the steps. */
static int link_parts(nn_routine *r, known *k)
{
    int rc = 0;
    for (int i = 0; i < r->count; i++) {
        part *x = &r->parts[i];
        if (x->plan)
            TRY(note_known(x, r->graph, k));
        else
            age(r->graph, x->group, k);
    }
out:
    return rc;
}

static void append_part(nn_routine *r, int i, known *k)
{
    const part *x = &r->parts[i];
    nn_step *to = &r->program.steps[r->program.step_count];
    if (x->plan) {
        append_plan(r, x->plan, k);
        return;
    }
    if (x->source) {
        r->follow[i] = (nn_follow_step){x->group->block[NN_VALUES], x->source->block[NN_VALUES],
                                        x->group->size * (size_t)r->graph->replicas, (real)x->tau};
        *to = (nn_step){.name = "follow", .op = NN_STEP_FOLLOW, .what = &r->follow[i]};
    } else {
        r->adam[i] = group_adam_step(x->group, &x->adam);
        *to = (nn_step){.name = "adam", .op = NN_STEP_ADAM, .what = &r->adam[i]};
    }
    r->program.step_count++;
    age(r->graph, x->group, k);
}

static int make_room(nn_routine *r)
{
    nn_program *x = &r->program;
    size_t steps = 0, losses = 0, zero = 0;
    for (int i = 0; i < r->count; i++) {
        const nn_plan *p = r->parts[i].plan;
        steps += p ? p->program.step_count : 1;
        losses += p ? (size_t)p->loss_count : 0;
        zero += p ? p->program.zero_count : 0;
    }
    x->replicas = r->graph->replicas;
    x->steps = mem_alloc(steps * sizeof *x->steps);
    x->losses = mem_alloc(losses * sizeof *x->losses);
    x->zero = mem_alloc(zero * sizeof *x->zero);
    return x->steps && x->losses && x->zero ? 0 : FANS_ENOMEM;
}

int routine_link(nn_routine *r)
{
    const nn_backend *b = r->graph->backend;
    known *k = NULL;
    int rc = 0;
    TRY((k = mem_alloc(r->graph->count * sizeof *k)) ? 0 : FANS_ENOMEM);
    if (!b->run) {
        TRY(link_parts(r, k));
        goto out;
    }
    TRY(make_room(r));
    for (int i = 0; i < r->count; i++) append_part(r, i, k);
    if (b->prepare) TRY(b->prepare(b->self, &r->program));
out:
    mem_free(k);
    return rc;
}

/* ---- running --------------------------------------------------------------------------------- */

static int run_part(const part *x)
{
    if (x->plan) return plan_run_steps(x->plan, x->known);
    if (!x->source) return nn_group_adam(x->group, &x->adam);
    nn_group_follow(x->group, x->source, x->tau);
    return 0;
}

int nn_routine_run(nn_routine *r)
{
    const nn_backend *b = r->graph->backend;
    int rc = 0;
    if (!b->run) {
        for (int i = 0; i < r->count && rc == 0; i++) rc = run_part(&r->parts[i]);
        return rc;
    }
    program_tell_counters(r->graph, &r->program);
    for (int i = 0; i < r->count; i++)
        if (!r->parts[i].plan && !r->parts[i].source) group_tell_step(r->parts[i].group);
    b->run(b->self, &r->program);
    return graph_fault(r->graph, false);
}
