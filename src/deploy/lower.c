/* lower.c - from a recording to a program: walks from the outputs to the inputs and writes down
 * each operator that depends on an input. All others are known and become constants, so masks are
 * folded and gates decided here. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "deploy/code.h"
#include "deploy/half.h"
#include "nn/sketch.h"

typedef struct lowering {
    program *p;
    const tick *t;
    int replica;
    int *value_of; /* [id of a tensor]: 1 + its value; 0: none yet */
    program_options o;
} lowering;

static int lower(lowering *l, nn_var v);

/* ---- building -------------------------------------------------------------------------------- */

static int add_value(program *p, code_value v)
{
    int rc = mem_grow(&p->values, &p->value_room, p->value_count + 1, sizeof *p->values);
    if (rc < 0) return rc;
    p->values[p->value_count] = v;
    return (int)p->value_count++;
}

/* Adds an operation whose result has this width; returns the result. */
static int add_op(program *p, code_op op, int width)
{
    int rc = mem_grow(&p->ops, &p->op_room, p->op_count + 1, sizeof *p->ops);
    if (rc < 0) return rc;
    op.out = rc = add_value(p, (code_value){.kind = VALUE_RESULT, .width = width});
    if (rc >= 0) p->ops[p->op_count++] = op;
    return rc;
}

static int room_for(float **list, size_t *room, size_t count, size_t more)
{
    if (count + more > INT32_MAX) return fans_fail(FANS_ENOSUP, "the networks are too large");
    return mem_grow(list, room, count + more, sizeof **list);
}

static int add_constant(program *p, nn_var v, int replica)
{
    nn_shape z = nn_shape_of(v);
    size_t n = nn_size(z);
    int rc = room_for(&p->numbers, &p->number_room, p->number_count, n);
    if (rc == 0) rc = nn_known_value(v, replica, p->numbers + p->number_count);
    if (rc < 0) return rc;
    p->number_count += n;
    return add_value(p, (code_value){VALUE_CONSTANT, (int)n, 0, (int)(p->number_count - n)});
}

static int round_matrix(float *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabsf(w[i]) < 65520)) /* more is infinite */
            return fans_fail(FANS_ENOSUP, "a weight is %g, too large for f16: use f32",
                             (double)w[i]);
        w[i] = half_value(half_of(w[i]));
    }
    return 0;
}

static int add_matrix(lowering *l, nn_var W, size_t *at)
{
    program *p = l->p;
    size_t n = nn_size(nn_shape_of(W));
    int rc = 0;
    if (!nn_is_known(W)) return fans_fail(FANS_ENOSUP, "the weights '%s' vary", nn_name_of(W));
    TRY(room_for(&p->matrices, &p->matrix_room, p->matrix_count, n));
    TRY(nn_known_value(W, l->replica, p->matrices + p->matrix_count));
    if (l->o.f16) TRY(round_matrix(p->matrices + p->matrix_count, n));
    *at = p->matrix_count;
    p->matrix_count += n;
out:
    return rc;
}

/* ---- operators ------------------------------------------------------------------------------- */

static nn_var operand(nn_var v, int k)
{
    return (nn_var){v.graph, nn_recorded_of(v).in[k]};
}

/* Lowers the first `count` operands of v into an operation. */
static int lower_operands(lowering *l, nn_var v, int count, code_op *op)
{
    for (int k = 0; k < count; k++) {
        int x = lower(l, operand(v, k));
        if (x < 0) return x;
        op->in[op->in_count++] = x;
    }
    return 0;
}

static int lower_simple(lowering *l, nn_var v, code_op op)
{
    nn_recorded r = nn_recorded_of(v);
    int rc = lower_operands(l, v, r.in_count, &op);
    return rc < 0 ? rc : add_op(l->p, op, nn_shape_of(v).D);
}

static int lower_part(lowering *l, nn_var v)
{
    int of = lower(l, operand(v, 0));
    if (of < 0) return of;
    return add_value(l->p,
                     (code_value){VALUE_PART, nn_shape_of(v).D, of, nn_recorded_of(v).attr->i[0]});
}

/* The first `count` operands as one value. */
static int lower_joined(lowering *l, nn_var v, int count)
{
    code_op op = {.kind = CODE_join};
    int rc = lower_operands(l, v, count, &op), width = 0;
    if (rc < 0 || count == 1) return rc < 0 ? rc : op.in[0];
    for (int k = 0; k < count; k++) width += value_width(l->p, op.in[k]);
    return add_op(l->p, op, width);
}

static int lower_linear(lowering *l, nn_var v)
{
    const nn_attr *a = nn_recorded_of(v).attr;
    int inputs = a->i[0], x = lower_joined(l, v, inputs), b = 0, rc;
    nn_var W = operand(v, inputs);
    nn_shape z = nn_shape_of(W);
    code_op op = {.kind = CODE_dense,
                  .in = {x},
                  .in_count = 1,
                  .f = a->i[1],
                  .members = z.T,
                  .rows = z.B,
                  .columns = z.D};
    if (x < 0) return x;
    if (a->i[2] && (b = lower(l, operand(v, inputs + 1))) < 0) return b;
    if (a->i[2]) op.in[op.in_count++] = b;
    rc = add_matrix(l, W, &op.matrix);
    return rc < 0 ? rc : add_op(l->p, op, z.T * z.D);
}

static int lower_norm(lowering *l, nn_var v)
{
    if (nn_shape_of(operand(v, 1)).T > 1)
        return fans_fail(FANS_ENOSUP, "a bank of layer norms has no place in a program");
    return lower_simple(l, v, (code_op){.kind = CODE_norm, .f = nn_recorded_of(v).attr->i[0]});
}

/* The state before a step: zeros where it is reset. */
static int lower_state(lowering *l, nn_var v)
{
    const nn_attr *a = nn_recorded_of(v).attr;
    int state = lower(l, operand(v, a->i[1])), width = nn_shape_of(v).D;
    if (state < 0 || a->i[2] < 0) return state;
    int reset = lower(l, operand(v, a->i[2]));
    if (reset < 0) return reset;
    code_op keep = {.kind = CODE_affine, .in = {reset}, .in_count = 1, .low = -1, .high = 1};
    int kept = add_op(l->p, keep, 1);
    if (kept < 0) return kept;
    return add_op(l->p, (code_op){.kind = CODE_mul, .in = {state, kept}, .in_count = 2}, width);
}

/* gates + h W, then the cell. */
static int lower_lstm(lowering *l, nn_var v)
{
    int units = nn_shape_of(v).D / 2, gates = lower(l, operand(v, 0)), state, h, c, rc;
    code_op dense = {.kind = CODE_dense, .members = 1, .rows = units, .columns = 4 * units};
    if (gates < 0 || (state = lower_state(l, v)) < 0) return gates < 0 ? gates : state;
    if ((h = add_value(l->p, (code_value){VALUE_PART, units, state, 0})) < 0) return h;
    if ((c = add_value(l->p, (code_value){VALUE_PART, units, state, units})) < 0) return c;
    if ((rc = add_matrix(l, operand(v, 1), &dense.matrix)) < 0) return rc;
    dense.in[0] = h;
    dense.in[1] = gates;
    dense.in_count = 2;
    if ((rc = add_op(l->p, dense, 4 * units)) < 0) return rc;
    return add_op(l->p, (code_op){.kind = CODE_cell, .in = {rc, c}, .in_count = 2}, 2 * units);
}

static int lower_op(lowering *l, nn_var v)
{
    nn_recorded r = nn_recorded_of(v);
    float low = (float)r.attr->f[0], high = (float)r.attr->f[1];
    switch (r.op) {
    case NN_OP_linear:
        return lower_linear(l, v);
    case NN_OP_lstm:
        return lower_lstm(l, v);
    case NN_OP_layer_norm:
        return lower_norm(l, v);
    case NN_OP_concat:
        return lower_joined(l, v, r.in_count);
    case NN_OP_slice:
        return lower_part(l, v);
    case NN_OP_detach:
        return lower(l, operand(v, 0));
    case NN_OP_activate:
        return lower_simple(l, v, (code_op){.kind = CODE_map, .f = r.attr->i[0]});
    case NN_OP_add:
        return lower_simple(l, v, (code_op){.kind = CODE_add});
    case NN_OP_sub:
        return lower_simple(l, v, (code_op){.kind = CODE_sub});
    case NN_OP_mul:
        return lower_simple(l, v, (code_op){.kind = CODE_mul});
    case NN_OP_affine:
        return lower_simple(l, v, (code_op){.kind = CODE_affine, .low = low, .high = high});
    case NN_OP_clip:
        return lower_simple(l, v, (code_op){.kind = CODE_clip, .low = low, .high = high});
    default:
        return fans_fail(FANS_ENOSUP, "the operator '%s' has no place in a program",
                         nn_op_name(r.op));
    }
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static int lower_input(lowering *l, int which, nn_var v)
{
    return add_value(l->p, (code_value){VALUE_INPUT, nn_shape_of(v).D, which, 0});
}

static int lower_map(lowering *l, int x, int f)
{
    if (x < 0) return x;
    return add_op(l->p, (code_op){.kind = CODE_map, .in = {x}, .in_count = 1, .f = f},
                  value_width(l->p, x));
}

/* The reward as it is given may be NaN. */
static int lower_reward(lowering *l, int f)
{
    int raw = -1;
    for (size_t i = 0; i < l->p->value_count; i++)
        if (l->p->values[i].kind == VALUE_INPUT && l->p->values[i].of == TICK_reward) raw = (int)i;
    if (raw < 0) raw = lower_input(l, TICK_reward, l->t->in[TICK_reward]);
    return lower_map(l, raw, f);
}

static int lower_leaf(lowering *l, nn_var v)
{
    if (v.id == l->t->measured.id) return lower_reward(l, CODE_MEASURED);
    if (v.id == l->t->in[TICK_reward].id) return lower_reward(l, CODE_NUMBER);
    for (int i = 0; i < TICK_IN; i++)
        if (v.id == l->t->in[i].id) return lower_input(l, i, v);
    for (int i = 0; i < l->t->slot_count; i++)
        if (v.id == l->t->slots[i].before.id) return l->p->before[i];
    for (int i = 0; i < l->t->inverse_count; i++)
        if (v.id == l->t->inverses[i].is.id)
            return lower_map(l, lower(l, l->t->inverses[i].of), CODE_INVERSE);
    return fans_fail(FANS_ENOSUP, "'%s' is no input of a tick", nn_name_of(v));
}

static int lower_new(lowering *l, nn_var v)
{
    if (nn_is_known(v)) return add_constant(l->p, v, l->replica);
    return nn_recorded_of(v).op < 0 ? lower_leaf(l, v) : lower_op(l, v);
}

/* The value of a tensor, or an error. */
static int lower(lowering *l, nn_var v)
{
    if (l->value_of[v.id] > 0) return l->value_of[v.id] - 1;
    int x = lower_new(l, v);
    if (x >= 0) l->value_of[v.id] = x + 1;
    return x;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_wanted(const lowering *l, int output)
{
    if (l->t->out[output].id < 0) return false;
    return l->o.sampling || output == TICK_actions || output == TICK_belief;
}

/* Operands are recorded before what is made of them. */
static size_t ids_of(const tick *t)
{
    int most = 0;
    for (int i = 0; i < TICK_OUT; i++)
        if (t->out[i].id > most) most = t->out[i].id;
    for (int i = 0; i < t->slot_count; i++)
        if (t->slots[i].after.id > most) most = t->slots[i].after.id;
    return (size_t)most + 1;
}

static int lower_slots(lowering *l)
{
    program *p = l->p;
    int rc = 0;
    for (int i = 0; i < l->t->slot_count; i++)
        TRY(p->before[i] =
                add_value(p, (code_value){VALUE_SLOT, nn_shape_of(l->t->slots[i].before).D, i, 0}));
    p->slot_count = l->t->slot_count;
    for (int i = 0; i < p->slot_count; i++) TRY(p->after[i] = lower(l, l->t->slots[i].after));
out:
    return rc < 0 ? rc : 0;
}

int lower_tick(program *p, const tick *t, int replica, program_options o)
{
    lowering l = {.p = p, .t = t, .replica = replica, .o = o};
    int rc = 0;
    p->f16 = o.f16;
    TRY((l.value_of = mem_alloc(ids_of(t) * sizeof *l.value_of)) ? 0 : FANS_ENOMEM);
    TRY(lower_slots(&l));
    for (int i = 0; i < TICK_OUT; i++) {
        p->out[i] = -1;
        if (is_wanted(&l, i)) TRY(p->out[i] = lower(&l, t->out[i]));
    }
out:
    mem_free(l.value_of);
    return rc < 0 ? rc : 0;
}
