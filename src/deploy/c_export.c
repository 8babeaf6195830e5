/* c_export.c - each operation becomes a call of its kernel. */
#include "deploy/c_export.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/version.h"
#include "deploy/code.h"
#include "deploy/half.h"

extern const char embedded_math_f32[], embedded_half[], embedded_kernels[]; /* the files' texts */

/* ---- the header ------------------------------------------------------------------------------ */

/* Flags and the reward are single numbers, all else is an array. */
static bool is_single(int input)
{
    return input >= TICK_reward && input <= TICK_seen;
}

static void put_field(text *out, const tick_name *n, int width, bool single)
{
    if (width == 0) return;
    text_add(out, "    float %s", n->name);
    if (!single) text_add(out, "[%d]", width);
    text_add(out, "; /* %s */\n", n->help);
}

static int state_floats(const program *p)
{
    return p->shape.state > 0 ? p->shape.state : 1; /* C has no empty arrays */
}

void c_export_header(const program *p, const char *name, text *out)
{
    const program_shape *z = &p->shape;
    text_add(out,
             "/* %s.h - a policy by %s, written by FANS %s. Add %s.c to your program, and -lm. */\n"
             "#ifndef FANS_%s_H\n#define FANS_%s_H\n\n"
             "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
             name, p->algo, fans_version(), name, name, name);
    text_add(out, "/* What is known before a step. */\ntypedef struct %s_tick {\n", name);
    for (int i = 0; i < TICK_IN; i++) put_field(out, &tick_inputs[i], z->in[i].width, is_single(i));
    text_add(out, "} %s_tick;\n\ntypedef struct %s_answer {\n", name, name);
    for (int i = 0; i < TICK_OUT; i++) put_field(out, &tick_outputs[i], z->out[i].width, false);
    text_add(out,
             "} %s_answer;\n\n"
             "/* What a life carries from tick to tick. */\n"
             "typedef struct %s_state {\n    float carried[%d];\n} %s_state;\n\n",
             name, name, state_floats(p), name);
    text_add(out, "/* A new life. */\nvoid %s_begin(%s_state *life);\n\n", name, name);
    text_add(out,
             "/* One tick. Where an episode ends, give its last observation in a tick of its own "
             "and make\n"
             " * no action of its answer; the next tick then has seen = 0. */\n"
             "void %s_step(%s_state *life, const %s_tick *in, %s_answer *out);\n\n",
             name, name, name, name);
    text_add(out,
             "/* Repeats %d recorded ticks: the largest difference of an answer. 0 on x86, at most "
             "1e-5\n"
             " * elsewhere. */\n"
             "float %s_selftest(void);\n\n"
             "#ifdef __cplusplus\n}\n#endif\n#endif\n",
             C_EXPORT_TICKS, name);
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Nine digits give a float back exactly. */
static void put_float(text *out, float x)
{
    char number[32];
    text_write_number(number, sizeof number, 9, (double)x);
    text_add(out, "%s%sf", number, strpbrk(number, ".e") ? "" : ".0");
}

enum { PER_LINE = 8 };

static void put_floats(text *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_float(out, x[i]);
        text_add(out, i % PER_LINE == PER_LINE - 1 ? ",\n" : ", ");
    }
}

static void put_halves(text *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_add(out, "0x%04x%s", half_of(x[i]), i % PER_LINE == PER_LINE - 1 ? ",\n" : ", ");
}

/* At least one number: C has no empty arrays. */
static void put_constants(const program *p, text *out)
{
    text_add(out, "\nstatic const float numbers[] = {\n");
    put_floats(out, p->number_count ? p->numbers : (float[]){0},
               p->number_count ? p->number_count : 1);
    text_add(out, "};\n\nstatic const weight matrices[] = {\n");
    (p->f16 ? put_halves : put_floats)(out, p->matrices, p->matrix_count);
    text_add(out, "};\n");
}

/* ---- the step -------------------------------------------------------------------------------- */

/* "w + 12" or "numbers + 3". The last four stay valid. */
static const char *place(const program *p, int v)
{
    static _Thread_local char texts[4][32];
    static _Thread_local int next;
    char *to = texts[next++ % 4];
    snprintf(to, sizeof texts[0], "%s + %d", value_is_constant(p, v) ? "numbers" : "w",
             value_at(p, v));
    return to;
}

static void put_copy(text *out, const char *to, int at, const char *from, int n)
{
    text_add(out, "    memcpy(%s + %d, %s, %d * sizeof(float));\n", to, at, from, n);
}

static void put_join(const program *p, const code_op *op, text *out)
{
    int at = value_at(p, op->out);
    for (int k = 0; k < op->in_count; k++) {
        put_copy(out, "w", at, place(p, op->in[k]), value_width(p, op->in[k]));
        at += value_width(p, op->in[k]);
    }
}

static void put_pair(text *out, float low, float high)
{
    put_float(out, low);
    text_add(out, ", ");
    put_float(out, high);
}

/* In the order of kernels.h. */
static const char *const MAPS[] = {"LINEAR", "RELU",     "LEAKY_RELU", "ELU",
                                   "TANH",   "SIGMOID",  "SOFTPLUS",   "EXP",
                                   "NUMBER", "MEASURED", "INVERSE"};

static void put_map(text *out, int f, const char *x, const char *z, int n)
{
    text_add(out, "    map(MAP_%s, %s, %s, %d);\n", MAPS[f], x, z, n);
}

static void put_op(const program *p, const code_op *op, text *out)
{
    static const char *const names[] = {
#define X(name) #name,
        CODE_KINDS(X)
#undef X
    };
    const char *x = place(p, op->in[0]), *z = place(p, op->out);
    const char *y = op->in_count > 1 ? place(p, op->in[1]) : "NULL";
    int n = value_width(p, op->out);
    if (op->kind == CODE_join) {
        put_join(p, op, out);
        return;
    }
    if (op->kind == CODE_map) {
        put_map(out, op->f, x, z, n);
        return;
    }
    text_add(out, "    %s(", names[op->kind]);
    switch (op->kind) {
    case CODE_dense:
        text_add(out, "%d, %d, %d, %s, matrices + %zu, %s, %s", op->members, op->rows, op->columns,
                 x, op->matrix, y, z);
        break;
    case CODE_norm:
        text_add(out, "%s, %s, %s, %s, %d", x, y, place(p, op->in[2]), z, n);
        break;
    case CODE_cell:
        text_add(out, "%d, %s, %s, %s", n / 2, x, y, z);
        break;
    case CODE_affine:
    case CODE_clip:
        text_add(out, "%s, ", x);
        put_pair(out, op->low, op->high);
        text_add(out, ", %s, %d", z, n);
        break;
    default: /* add, sub, mul */
        text_add(out, "%s, %s, %d, %s, %d", x, y, op_step(p, op), z, n);
    }
    text_add(out, ");\n");
    if (op->f != NN_LINEAR) put_map(out, op->f, z, z, n);
}

static void put_step(const program *p, const char *name, text *out)
{
    const program_shape *z = &p->shape;
    int at = 0;
    text_add(out,
             "\nvoid %s_begin(%s_state *life)\n{\n    memset(life, 0, sizeof *life);\n}\n\n"
             "void %s_step(%s_state *life, const %s_tick *in, %s_answer *out)\n{\n"
             "    float w[%d];\n    memcpy(w, in, sizeof *in);\n",
             name, name, name, name, name, name, z->work);
    if (z->state)
        put_copy(out, "w", z->inputs, "life->carried", z->state);
    else
        text_add(out, "    (void)life;\n");
    for (size_t i = 0; i < p->op_count; i++) put_op(p, &p->ops[i], out);
    for (int i = 0; i < TICK_OUT; i++)
        if (p->out[i] >= 0)
            text_add(out, "    memcpy(out->%s, %s, %d * sizeof(float));\n", tick_outputs[i].name,
                     place(p, p->out[i]), z->out[i].width);
    for (int i = 0; i < p->slot_count; at += value_width(p, p->after[i++]))
        put_copy(out, "life->carried", at, place(p, p->after[i]), value_width(p, p->after[i]));
    text_add(out, "}\n");
}

/* ---- the self-test --------------------------------------------------------------------------- */

static int put_ticks(const program *p, const recording *r, text *out)
{
    const program_shape *z = &p->shape;
    int count = r->count < C_EXPORT_TICKS ? r->count : C_EXPORT_TICKS, rc = 0;
    float *room = mem_alloc((size_t)(z->state + z->outputs + z->work) * sizeof *room);
    TRY(room ? 0 : FANS_ENOMEM);
    text_add(out, "\nstatic const float ticks[%d][%d] = {\n", count, z->inputs);
    for (int i = 0; i < count; i++) {
        text_add(out, "{");
        put_floats(out, r->in + i * z->inputs, (size_t)z->inputs);
        text_add(out, "},\n");
    }
    text_add(out, "};\nstatic const float answers[%d][%d] = {\n", count, z->outputs);
    for (int i = 0; i < count; i++) {
        program_step(p, 1, r->in + i * z->inputs, room, room + z->state,
                     room + z->state + z->outputs);
        text_add(out, "{");
        put_floats(out, room + z->state, (size_t)z->outputs);
        text_add(out, "},\n");
    }
    text_add(out, "};\n");
out:
    mem_free(room);
    return rc;
}

static void put_selftest(const char *name, text *out)
{
    text_add(out,
             "\nfloat %s_selftest(void)\n{\n"
             "    %s_state life;\n    %s_tick in;\n    %s_answer out;\n"
             "    float got[sizeof answers[0] / sizeof answers[0][0]], most = 0;\n"
             "    size_t count = sizeof ticks / sizeof ticks[0];\n"
             "    %s_begin(&life);\n"
             "    for (size_t i = 0; i < count; i++) {\n"
             "        memcpy(&in, ticks[i], sizeof in);\n"
             "        %s_step(&life, &in, &out);\n"
             "        memcpy(got, &out, sizeof got);\n"
             "        for (size_t k = 0; k < sizeof got / sizeof got[0]; k++) {\n"
             "            float apart = fabsf(got[k] - answers[i][k]);\n"
             "            if (apart > most || apart != apart) most = apart; /* NaN stays */\n"
             "        }\n    }\n    return most;\n}\n",
             name, name, name, name, name, name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_kernels(const program *p, text *out)
{
    text_add(out, "typedef float real;\n#define NN_MATH static inline\n");
    text_add(out, "#ifdef __clang__\n#    pragma STDC FP_CONTRACT OFF\n#endif\n\n%s\n",
             embedded_math_f32);
    if (p->f16) text_add(out, "%s\n", embedded_half);
    text_add(
        out,
        "typedef %s weight;\n\nstatic inline float weight_of(weight w)\n{\n    return %s;\n}\n\n",
        p->f16 ? "uint16_t" : "float", p->f16 ? "half_value(w)" : "w");
    text_add_n(out, embedded_kernels, strlen(embedded_kernels));
}

int c_export_source(const program *p, const char *name, const recording *r, text *out)
{
    text_add(out,
             "/* %s.c - a policy by %s, written by FANS %s; see %s.h. */\n#include \"%s.h\"\n\n"
             "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n",
             name, p->algo, fans_version(), name, name);
    put_kernels(p, out);
    put_constants(p, out);
    put_step(p, name, out);
    int rc = put_ticks(p, r, out);
    put_selftest(name, out);
    return rc < 0 ? rc : text_done(out);
}

c_export_sizes c_export_sizes_of(const program *p)
{
    size_t each = p->f16 ? sizeof(uint16_t) : sizeof(float);
    return (c_export_sizes){p->matrix_count * each + p->number_count * sizeof(float),
                            (size_t)state_floats(p) * sizeof(float),
                            (size_t)p->shape.work * sizeof(float)};
}
