/* interpreter.c - runs a program: see kernels.h for what each operation does. */
#include <assert.h>
#include <string.h>

#include "deploy/code.h"
#include "nn/math.h"

typedef float weight;

static inline float weight_of(weight w)
{
    return w;
}

#include "deploy/kernels.h"

static_assert(MAP_EXP == (int)NN_EXP && MAP_NUMBER == (int)CODE_NUMBER &&
                  MAP_MEASURED == (int)CODE_MEASURED,
              "the maps are the activations, and two more");

static const float *value_of(const program *p, int v, const float *work)
{
    return (value_is_constant(p, v) ? p->numbers : work) + value_at(p, v);
}

static void join(const program *p, const code_op *op, float *work, float *to)
{
    for (int k = 0; k < op->in_count; k++) {
        size_t n = (size_t)value_width(p, op->in[k]);
        memcpy(to, value_of(p, op->in[k], work), n * sizeof *to);
        to += n;
    }
}

static void run(const program *p, const code_op *op, float *work)
{
    float *z = work + value_at(p, op->out);
    const float *x = value_of(p, op->in[0], work);
    const float *y = value_of(p, op->in[op->in_count > 1], work); /* x where there is none */
    int n = value_width(p, op->out);
    switch (op->kind) {
    case CODE_join:
        join(p, op, work, z);
        break;
    case CODE_dense:
        dense(op->members, op->rows, op->columns, x, p->matrices + op->matrix,
              op->in_count > 1 ? y : NULL, z);
        map(op->f, z, z, n);
        break;
    case CODE_map:
        map(op->f, x, z, n);
        break;
    case CODE_add:
        add(x, y, op_step(p, op), z, n);
        break;
    case CODE_sub:
        sub(x, y, op_step(p, op), z, n);
        break;
    case CODE_mul:
        mul(x, y, op_step(p, op), z, n);
        break;
    case CODE_affine:
        affine(x, op->low, op->high, z, n);
        break;
    case CODE_clip:
        clip(x, op->low, op->high, z, n);
        break;
    case CODE_norm:
        norm(x, y, value_of(p, op->in[2], work), z, n);
        map(op->f, z, z, n);
        break;
    case CODE_cell:
        cell(n / 2, x, y, z);
        break;
    }
}

static float *put(const program *p, int v, const float *work, float *to)
{
    size_t n = (size_t)value_width(p, v);
    memcpy(to, value_of(p, v, work), n * sizeof *to);
    return to + n;
}

void program_step(const program *p, const float *in, float *state, float *out, float *work)
{
    const program_shape *z = &p->shape;
    memcpy(work, in, (size_t)z->inputs * sizeof *work);
    memcpy(work + z->inputs, state, (size_t)z->state * sizeof *work);
    for (size_t i = 0; i < p->op_count; i++) run(p, &p->ops[i], work);
    for (int i = 0; i < TICK_OUT; i++)
        if (p->out[i] >= 0) out = put(p, p->out[i], work, out);
    for (int i = 0; i < p->slot_count; i++) state = put(p, p->after[i], work, state);
}
