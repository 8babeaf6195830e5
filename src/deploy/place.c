/* place.c - gives the values of a program their places in its memory: inputs and state first, then
 * results, each where nothing lies that is still needed. */
#include "deploy/code.h"

/* The value whose memory this is, or is a part of. */
static int whole_of(const program *p, int v)
{
    return p->values[v].kind == VALUE_PART ? whole_of(p, p->values[v].of) : v;
}

static bool reads(const program *p, const code_op *op, int whole)
{
    for (int k = 0; k < op->in_count; k++)
        if (whole_of(p, op->in[k]) == whole) return true;
    return false;
}

/* Is a result needed by this operation, a later one, or whoever reads the outputs? */
static bool is_needed(const program *p, int whole, size_t from)
{
    for (size_t i = from; i < p->op_count; i++)
        if (reads(p, &p->ops[i], whole)) return true;
    for (int i = 0; i < TICK_OUT; i++)
        if (p->out[i] >= 0 && whole_of(p, p->out[i]) == whole) return true;
    for (int i = 0; i < p->slot_count; i++)
        if (whole_of(p, p->after[i]) == whole) return true;
    return false;
}

/* Finds the lowest gap for the result of operation i. */
static void place_result(program *p, size_t i, int first)
{
    code_value *v = &p->values[p->ops[i].out];
    v->at = first;
    for (size_t k = 0; k < i; k++) {
        const code_value *x = &p->values[p->ops[k].out];
        bool apart = x->at + x->width <= v->at || v->at + v->width <= x->at;
        if (apart || !is_needed(p, p->ops[k].out, i)) continue;
        v->at = x->at + x->width;
        k = (size_t)-1; /* look at all again */
    }
    int end = v->at + v->width;
    if (end > p->shape.work) p->shape.work = end;
}

static void place_inputs(program *p)
{
    program_shape *z = &p->shape;
    for (int which = 0; which < TICK_IN; which++)
        for (size_t i = 0; i < p->value_count; i++) {
            code_value *v = &p->values[i];
            if (v->kind != VALUE_INPUT || v->of != which) continue;
            z->in[which] = (program_field){v->at = z->inputs, v->width};
            z->inputs += v->width;
        }
}

void place_values(program *p)
{
    program_shape *z = &p->shape;
    place_inputs(p);
    for (int i = 0; i < p->slot_count; i++) {
        code_value *v = &p->values[p->before[i]];
        v->at = z->inputs + z->state;
        z->state += v->width;
    }
    for (int i = 0; i < TICK_OUT; i++) {
        int width = p->out[i] < 0 ? 0 : p->values[p->out[i]].width;
        z->out[i] = (program_field){z->outputs, width};
        z->outputs += width;
    }
    z->work = z->inputs + z->state;
    for (size_t i = 0; i < p->op_count; i++) place_result(p, i, z->inputs + z->state);
}
