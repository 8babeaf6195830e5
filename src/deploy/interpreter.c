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
                  MAP_MEASURED == (int)CODE_MEASURED && MAP_INVERSE == (int)CODE_INVERSE,
              "the maps are the activations, and three more");

static const float *value_of(const program *p, int v, const float *work)
{
    return (value_is_constant(p, v) ? p->numbers : work) + value_at(p, v);
}

/* ---- products of several lives --------------------------------------------------------------- */

enum { TOGETHER = 4, VECTOR = 8, TILE = 2 * VECTOR }; /* lives; numbers */
typedef float vector
    __attribute__((vector_size(VECTOR * sizeof(float)), aligned(sizeof(float)), may_alias));

/* A value of some lives: from one to the next it is `step` numbers, 0 for a constant. */
typedef struct operand {
    const float *at;
    size_t step;
} operand;

static operand operand_of(const program *p, int v, const float *work)
{
    return (operand){value_of(p, v, work), value_is_constant(p, v) ? 0 : (size_t)p->shape.work};
}

static operand beside(operand x, int columns)
{
    return x.at ? (operand){x.at + columns, x.step} : x;
}

static inline const vector *vectors(const float *x)
{
    return (const vector *)x;
}

/* TILE columns of y = b + x W. */
static inline void tile(int rows, int columns, operand x, const float *W, operand b, float *y,
                        size_t step)
{
    vector sum[TOGETHER][2];
    for (int k = 0; k < TOGETHER; k++)
        for (int h = 0; h < 2; h++)
            sum[k][h] = b.at ? vectors(b.at + (size_t)k * b.step)[h] : (vector){0};
    for (int i = 0; i < rows; i++, W += columns)
        for (int k = 0; k < TOGETHER; k++)
            for (int h = 0; h < 2; h++)
                sum[k][h] = sum[k][h] + x.at[(size_t)k * x.step + (size_t)i] * vectors(W)[h];
    for (int k = 0; k < TOGETHER; k++) memcpy(y + (size_t)k * step, sum[k], sizeof sum[k]);
}

/* What `dense` computes, in its order and so with its bits; but each weight is read once for all
 * lives. The last tile may overlap the one before. */
static void dense_together(const code_op *op, operand x, const float *W, operand b, float *y,
                           size_t step)
{
    for (int m = 0; m < op->members; m++) {
        for (int j = 0; j < op->columns; j += TILE) {
            int at = j + TILE <= op->columns ? j : op->columns - TILE;
            tile(op->rows, op->columns, x, W + at, beside(b, at), y + at, step);
        }
        x = beside(x, op->rows);
        b = beside(b, op->columns);
        W += (size_t)op->rows * (size_t)op->columns;
        y += op->columns;
    }
}

static void run_dense(const program *p, const code_op *op, int lives, float *work)
{
    const float *W = p->matrices + op->matrix;
    size_t step = (size_t)p->shape.work;
    int n = value_width(p, op->out);
    for (int done = 0, count; done < lives; done += count, work += (size_t)count * step) {
        operand x = operand_of(p, op->in[0], work), b = {0};
        float *z = work + value_at(p, op->out);
        if (op->in_count > 1) b = operand_of(p, op->in[1], work);
        count = op->columns >= TILE && lives - done >= TOGETHER ? TOGETHER : 1;
        if (count > 1)
            dense_together(op, x, W, b, z, step);
        else
            dense(op->members, op->rows, op->columns, x.at, W, b.at, z);
        for (int k = 0; k < count; k++) map(op->f, z + (size_t)k * step, z + (size_t)k * step, n);
    }
}

/* ---- all other operations, one life at a time ------------------------------------------------ */

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
    case CODE_dense: /* above */
        break;
    }
}

/* ---- a tick ---------------------------------------------------------------------------------- */

static float *put(const program *p, int v, const float *work, float *to)
{
    size_t n = (size_t)value_width(p, v);
    memcpy(to, value_of(p, v, work), n * sizeof *to);
    return to + n;
}

static void take_in(const program_shape *z, const float *in, const float *state, float *work)
{
    memcpy(work, in, (size_t)z->inputs * sizeof *work);
    memcpy(work + z->inputs, state, (size_t)z->state * sizeof *work);
}

static void give(const program *p, const float *work, float *state, float *out)
{
    for (int i = 0; i < TICK_OUT; i++)
        if (p->out[i] >= 0) out = put(p, p->out[i], work, out);
    for (int i = 0; i < p->slot_count; i++) state = put(p, p->after[i], work, state);
}

void program_step(const program *p, int lives, const float *in, float *state, float *out,
                  float *work)
{
    const program_shape *z = &p->shape;
    for (int k = 0; k < lives; k++)
        take_in(z, in + k * z->inputs, state + k * z->state, work + k * z->work);
    for (const code_op *op = p->ops; op < p->ops + p->op_count; op++) {
        if (op->kind == CODE_dense) run_dense(p, op, lives, work);
        for (int k = 0; k < lives && op->kind != CODE_dense; k++) run(p, op, work + k * z->work);
    }
    for (int k = 0; k < lives; k++)
        give(p, work + k * z->work, state + k * z->state, out + k * z->outputs);
}
