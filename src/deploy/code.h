/* code.h - the inside of a program, for the files of this layer.
 *
 * Operations read and write **values**, rows of numbers. Every value is written once. A value is an
 * input, a slot of the state, a constant, a part of another value, or a result; all but constants
 * have their place in `work`. */
#ifndef DEPLOY_CODE_H
#define DEPLOY_CODE_H

#include "deploy/program.h"
#include "nn/nn.h"

/* X(name): each is a function of kernels.h, where `f` is one of its maps: an nn_act, or … */
enum { CODE_NUMBER = NN_EXP + 1, CODE_MEASURED, CODE_INVERSE };
#define CODE_KINDS(X)                                           \
    X(join)  /* the operands one after the other: any number */ \
    X(dense) /* f(b + x W): x, and b unless it has none */      \
    X(map)   /* f(x) */                                         \
    X(add)   /* x + y, where y may be a single number */        \
    X(sub)                                                      \
    X(mul)                                                      \
    X(affine) /* low · x + high */                             \
    X(clip)   /* x cut to [low, high] */                        \
    X(norm)   /* a layer norm, then f: x, gain, shift */        \
    X(cell)   /* an LSTM's: gates and old c; gives h, then c */
typedef enum {
#define X(name) CODE_##name,
    CODE_KINDS(X)
#undef X
} code_kind;

typedef enum { VALUE_INPUT, VALUE_SLOT, VALUE_CONSTANT, VALUE_PART, VALUE_RESULT } value_kind;

typedef struct code_value {
    value_kind kind;
    int width;
    int of; /* which input or slot; of which value it is a part */
    int at; /* constants: where in `numbers`; parts: where in the whole; others: where in `work` */
} code_value;

typedef struct code_op {
    code_kind kind;
    int out, in[NN_MOST_INPUTS], in_count; /* values */
    int f;
    int members, rows, columns; /* dense */
    size_t matrix;              /* dense: where in `matrices` */
    float low, high;
} code_op;

enum { PROGRAM_NAME = 32 };

struct program {
    program_shape shape;
    char algo[PROGRAM_NAME];
    bool f16;
    code_value *values;
    code_op *ops;
    float *numbers, *matrices; /* constants; the weights of dense operations */
    size_t value_count, op_count, number_count, matrix_count;
    size_t value_room, op_room, number_room, matrix_room;
    int out[TICK_OUT];                         /* values; -1: none */
    int before[TICK_SLOTS], after[TICK_SLOTS]; /* values of the slots */
    int slot_count;
};

/* Where a value lies, in `work` or, where it is a constant, in `numbers`. */
static inline int value_at(const program *p, int v)
{
    const code_value *x = &p->values[v];
    return x->kind == VALUE_PART ? value_at(p, x->of) + x->at : x->at;
}

static inline bool value_is_constant(const program *p, int v)
{
    return p->values[v].kind == VALUE_CONSTANT;
}

static inline int value_width(const program *p, int v)
{
    return p->values[v].width;
}

/* How its second operand is read: number by number, or the same again and again. */
static inline int op_step(const program *p, const code_op *op)
{
    return value_width(p, op->in[1]) > 1 || value_width(p, op->out) == 1;
}

/* Translates a recording; then gives the results their places (place.c). */
int lower_tick(program *p, const tick *t, int replica, program_options o);
void place_values(program *p);

#endif
