/* nn.h - the numeric core: record a graph once, compile plans, run them without allocating.
 *
 *     nn_graph *g;                        a graph for R replicas on a backend
 *     nn_group *actor = nn_group_new(g, "actor");
 *     nn_var x = nn_input(g, "obs", 1, 256, 17);
 *     nn_var y = nn_mlp(actor, "pi", NN_IN(x), …);
 *     nn_var loss = nn_mse(y, target, NN_NONE);
 *     nn_plan *fit;
 *     nn_plan_new(&fit, g, &loss, 1, 1, &actor, 1);
 *     nn_graph_commit(g);                 the only allocation
 *     for (;;) { …fill nn_data(x, r)…; nn_plan_run(fit); nn_group_adam(actor, &adam); }
 *
 * Tensors. Every tensor is (T, B, D) = time, batch, feature, once per replica; replica is the
 * outermost index in memory, so that a replica is one contiguous piece and its T·B rows are the
 * rows of one matrix. Parameters are tensors too, read as (N, rows, columns): N members of a bank.
 *
 * Banks. N networks of the same shape lie side by side in the feature dimension: their output is
 * (T, B, N·D). The first layer of a bank, which all members share as input, is simply one wide
 * layer; the next ones multiply column block n by matrix n.
 *
 * Errors while recording are kept by the graph: the functions below then return NN_NONE, and
 * nn_plan_new and nn_graph_commit report the first one. Model code needs no checks in between. */
#ifndef NN_NN_H
#define NN_NN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef NN_DOUBLE
typedef double real; /* for the tests of gradients */
#else
typedef float real;
#endif

typedef struct nn_graph nn_graph;
typedef struct nn_group nn_group;
typedef struct nn_routine nn_routine;
typedef struct nn_plan nn_plan;
typedef struct nn_backend nn_backend;

/* A tensor of a graph. */
typedef struct nn_var {
    nn_graph *graph;
    int id;
} nn_var;
#define NN_NONE ((nn_var){NULL, -1})

/* Several tensors that an operator reads as if joined along the feature dimension. */
enum { NN_MOST_INPUTS = 12 };
typedef struct nn_list {
    nn_var var[NN_MOST_INPUTS];
    int count;
} nn_list;
#define NN_IN(...) \
    ((nn_list){{__VA_ARGS__}, (int)(sizeof((nn_var[]){__VA_ARGS__}) / sizeof(nn_var))})

typedef struct nn_shape {
    int T, B, D;
} nn_shape;

typedef enum {
    NN_LINEAR,
    NN_RELU,
    NN_LEAKY_RELU, /* slope 0.2 below zero */
    NN_ELU,
    NN_TANH,
    NN_SIGMOID,
    NN_SOFTPLUS,
    NN_EXP
} nn_act;

/* What a tensor holds. All but tables and indices hold reals. */
typedef enum {
    NN_F32, /* `real`s: floats, but doubles in the double build */
    NN_U8,  /* bytes, which operators read as the numbers 0 to 255 */
    NN_I32  /* numbers of rows or time steps: nn_index */
} nn_type;

/* ---- backends -------------------------------------------------------------------------------- */

struct pool;
int nn_cpu_new(nn_backend **out, struct pool *p); /* borrows the pool */

/* A GPU. The code for it is a library of its own, opened here; fails with one line that says what
 * is missing. Plans and optimiser steps are then only queued: they return before they are done. */
typedef enum { NN_FP32, NN_TF32, NN_BF16 } nn_precision; /* of matrix products */
typedef struct nn_cuda_options {
    int device;
    nn_precision precision;
} nn_cuda_options;
int nn_cuda_new(nn_backend **out, const nn_cuda_options *o);

/* By name, as users choose it: "cpu", "cuda", "cuda:1" (the second GPU), or "auto", which is a GPU
 * where there is one and the CPU where not. `why`, where not NULL, gets a line on what "auto" chose
 * and why. The CPU computes in fp32 and refuses anything lower, "auto" then finds a GPU or fails.
 */
int nn_device_new(nn_backend **out, const char *device, nn_precision precision, struct pool *p,
                  char *why, size_t size);

/* "fp32", "tf32" or "bf16". */
int nn_precision_find(nn_precision *out, const char *name);

/* Says in one line which GPU there is, or why there is none; 0 or a negative code. */
int nn_cuda_probe(char *out, size_t size);

void nn_backend_free(nn_backend *b);
const char *nn_backend_name(const nn_backend *b);
bool nn_backend_is_async(const nn_backend *b); /* works while the host does something else */

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A graph of R replicas. Replica r draws its random numbers from seeds[r]. */
int nn_graph_new(nn_graph **out, nn_backend *backend, int replicas, const uint64_t *seeds);
int nn_graph_commit(nn_graph *g);
void nn_graph_free(nn_graph *g); /* its groups and plans too */
int nn_graph_replicas(const nn_graph *g);
size_t nn_graph_bytes(const nn_graph *g);

/* Waits for what was queued, and fails when a loss or a gradient since the last call was not
 * finite. On the CPU nothing is queued, and such faults were told at once. */
int nn_graph_check(nn_graph *g);

/* After the commit: what is recorded between these two gets no memory and is never run. It is there
 * to be read (nn/sketch.h): a computation in the terms of this graph's parameters. It may not ask
 * for new parameters or random numbers. The second returns 0 or what went wrong;
 * the sketch is forgotten then. */
void nn_sketch_begin(nn_graph *g);
int nn_sketch_end(nn_graph *g);

/* The counters of the graph's random operators: with the parameters, all that a resume needs. */
uint64_t *nn_graph_counters(nn_graph *g, int *count);

nn_shape nn_shape_of(nn_var v);
const char *nn_name_of(nn_var v);
const char *nn_stream_of(nn_var v); /* what names the random numbers of a random operator */

/* Copies a tensor of reals, of one replica, in or out. nn_data and nn_grad are the memory itself,
 * where the backend's memory can be read by this process (the CPU's can). */
void nn_write(nn_var v, int replica, const real *from);
void nn_read(nn_var v, int replica, real *to);
void nn_write_all(nn_var v, const real *from); /* all replicas, one behind the other */
void nn_read_all(nn_var v, real *to);
void nn_copy_in(nn_graph *g, void *to, const void *from,
                size_t bytes); /* to the backend's memory */
void nn_copy_out(nn_graph *g, void *to, const void *from, size_t bytes);
real *nn_data(nn_var v, int replica);
real *nn_grad(nn_var v, int replica);

/* ---- leaves ---------------------------------------------------------------------------------- */

nn_var nn_input(nn_graph *g, const char *name, int T, int B, int D);

/* Numbers of rows or time steps (T, B, K), from 0 to 2^31 - 1, or -1: none. For nn_gather and, with
 * K = 1, nn_pick. Written like an input; starts as zeros. */
nn_var nn_index(nn_graph *g, const char *name, int T, int B, int K);
void nn_write_index(nn_var v, int replica, const int32_t *from);
void nn_write_index_all(nn_var v, const int32_t *from); /* all replicas, one after the other */

/* Rows that stay in the caller's memory, `rows` of D numbers per replica, one replica after the
 * other: for nn_gather. `type` is NN_F32 (the memory holds `real`s) or NN_U8 (bytes). A table may
 * be larger than 2^31 numbers; other tensors may not. A backend with memory of its own has a copy,
 * of the same type, to which changed rows are sent; elsewhere sending does nothing. */
nn_var nn_table(nn_graph *g, const char *name, int rows, int D, nn_type type, void *memory);
typedef struct nn_place {
    int replica, row;
} nn_place;
void nn_table_send_rows(nn_var table, const nn_place *places, int count); /* one here, one there */
void nn_table_send(nn_var table, int replica, int first, int count);      /* a stretch */

/* A number that plans read from memory, so that it may change between runs. */
nn_var nn_scalar(nn_graph *g, const char *name, double value);
void nn_scalar_set(nn_var v, int replica, double value);
double nn_scalar_get(nn_var v, int replica);

/* ---- groups of parameters -------------------------------------------------------------------- */

nn_group *nn_group_new(nn_graph *g, const char *name);

typedef enum {
    NN_INIT_ZERO,
    NN_INIT_CONSTANT, /* init_scale itself */
    NN_INIT_FAN_IN,   /* uniform in ± init_scale / sqrt(rows) */
    NN_INIT_GLOROT,   /* uniform in ± init_scale · sqrt(6 / (rows + columns)) */
    NN_INIT_NORMAL,   /* normal with standard deviation init_scale */
    NN_INIT_MEMORY    /* biases of an LSTM's gates: units remember for 1 … init_scale steps */
} nn_init;

/* The parameter of that name; asked for a second time, the same one, so that a network may be
 * recorded on several inputs. */
nn_var nn_param(nn_group *group, const char *name, int N, int rows, int columns, nn_init init,
                double init_scale);

/* Draws all parameters anew from each replica's seed; clears the optimiser. After commit. */
void nn_group_init(nn_group *group);

/* One step of Adam on the gradients that the last plans left, over the whole group at once. With
 * clip > 0 the gradient of each replica is first scaled down to that norm. Fails when a gradient is
 * not finite; the message names the parameter. Nothing is changed then; but without clipping, on a
 * GPU, only the stretch of 2,048 numbers around it is sure to stay: blocks that need not know of
 * each other's gradients do not wait for each other. */
typedef struct nn_adam {
    double lr, beta1, beta2, eps, clip;
} nn_adam;
#define NN_ADAM_DEFAULT ((nn_adam){3e-4, 0.9, 0.999, 1e-8, 0})
int nn_group_adam(nn_group *group, const nn_adam *o);

/* target += tau (source - target); tau = 1 copies. The groups must have the same parameters. */
void nn_group_follow(nn_group *target, const nn_group *source, double tau);

/* The group's contiguous memory of one replica, for checkpoints and tests. */
typedef enum { NN_VALUES, NN_GRADIENTS, NN_MOMENT_1, NN_MOMENT_2 } nn_block;
size_t nn_group_size(const nn_group *group); /* numbers in a block */
real *nn_group_data(nn_group *group, nn_block which, int replica);
uint64_t *nn_group_steps(nn_group *group); /* Adam steps so far */
const char *nn_group_name(const nn_group *group);
double nn_group_grad_norm(const nn_group *group,
                          int replica); /* before clipping, at the last step that clips */
int nn_group_params(const nn_group *group);
nn_var nn_group_param(const nn_group *group, int i);

/* ---- plans ----------------------------------------------------------------------------------- */

/* What to run to get `wanted`, and the gradients of those that are losses (shape (1,1,1), `losses`
 * of them standing first) for the parameters of `groups`. Gradients flow through other groups but
 * do not touch them. */
int nn_plan_new(nn_plan **out, nn_graph *g, const nn_var *wanted, int wanted_count, int losses,
                nn_group *const *groups, int group_count);

/* Forward, then backward. Fails when a loss is not finite; the message names it. On a GPU this
 * becomes known some runs later; until it is told, parameters stay as they were before it. */
int nn_plan_run(nn_plan *p);
double nn_plan_flops(const nn_plan *p); /* multiply-adds counted as two, matrix products only */

/* ---- routines -------------------------------------------------------------------------------- */

/* Plans, optimiser steps and followings that always come in the same order, run as one: a GPU
 * queues them at once, computes once what two plans share, and lets side by side what need not wait
 * for each other. Put together before the graph is committed; belongs to it. At most sixteen parts;
 * a random operator may stand in one of the plans only. */
int nn_routine_new(nn_routine **out, nn_graph *g);
void nn_routine_plan(nn_routine *r, nn_plan *p);
void nn_routine_adam(nn_routine *r, nn_group *group, const nn_adam *o);
void nn_routine_follow(nn_routine *r, nn_group *target, const nn_group *source, double tau);

/* Fails as its parts do. */
int nn_routine_run(nn_routine *r);

/* ---- operators: see ops/ for each one's equation --------------------------------------------- */

nn_var nn_linear(nn_list x, nn_var W, nn_var b, nn_act act); /* act(x W + b); b may be NN_NONE */
nn_var nn_fold_mask(nn_var W, nn_var C);                     /* W with the mask C multiplied in */
nn_var nn_layer_norm(nn_var x, nn_var gain, nn_var shift, nn_act act); /* of N members: (N,1,D) */
nn_var nn_lstm(nn_var gates, nn_var W, nn_var state, nn_var reset);

/* Images are rows of channels × height × width numbers. W is (1, channels·kernel², filters) for the
 * convolution and (1, channels, filters·kernel²) for the transposed one; b is (1, 1, filters). */
typedef struct nn_conv {
    int channels, height, width; /* of the input */
    int filters, kernel, stride, pad;
    int extra; /* transposed: rows and columns added at the far sides of the output */
} nn_conv;
nn_var nn_conv2d(nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act);
nn_var nn_conv2d_transpose(nn_var x, nn_var W, nn_var b, nn_conv c, nn_act act);
int nn_conv_out(nn_conv c, int extent, bool transpose); /* height or width of the output */

typedef enum { NN_GATE_HARD_CONCRETE, NN_GATE_GUMBEL, NN_GATE_ERF } nn_gate_kind;
nn_var nn_gate(nn_var logits, nn_gate_kind kind, nn_var temperature, nn_var frozen);
nn_var nn_gate_open(nn_var logits, nn_gate_kind kind, nn_var temperature); /* P(gate ≠ 0) */

nn_var nn_activate(nn_var x, nn_act act);
nn_var nn_add(nn_var x, nn_var y);          /* y broadcasts where its extent is 1 */
nn_var nn_sub(nn_var x, nn_var y);          /* likewise */
nn_var nn_mul(nn_var x, nn_var y);          /* likewise */
nn_var nn_broadcast(nn_var x, nn_var like); /* x, repeated to the shape of `like` */
nn_var nn_affine(nn_var x, double scale, double shift);
nn_var nn_clip(nn_var x, double low, double high);
nn_var nn_concat(nn_list x);
nn_var nn_slice(nn_var x, int from, int count); /* of the features */
nn_var nn_gather(nn_var table, nn_var at); /* rows at (T,B,K) of the table, joined: (T,B,K·D) */

/* Pictures of a table, one film for each row of `at` (T,B,K): K rows of `views` pictures each, all
 * moved by `shift` (T,B,2), an index from 0 to 2 · pad, or NN_NONE: not at all. Gives planes of
 * numbers from -0.5 to 0.5 for a convolution: (T,B,K·views·3·height·width). */
typedef struct nn_film {
    int views, height, width, pad;
} nn_film;
nn_var nn_frames(nn_var table, nn_var at, nn_var shift, nn_film f);

nn_var nn_shift(nn_var x, nn_var first); /* y_t = x_{t-1}; y_0 = first, or 0 */
nn_var nn_hold(nn_var x, nn_var when);   /* y_t = x_t where when_t (T,B,1) is not 0, else y_{t-1} */
nn_var nn_pick(nn_var x, nn_var at);     /* y_k = x_t, t = at_k, an index (K,B,1); 0 for -1 */
nn_var nn_pool(nn_var x, nn_var weight); /* the mean over time, weighted by (T,B,1): (1,B,D) */
nn_var nn_roll(nn_var x);                /* y_i = x_{i+1}; for the last row, the first */
nn_var nn_detach(nn_var x);              /* no gradient passes */
nn_var nn_grad_scale(nn_var x, nn_var k); /* x, with its gradient multiplied by the scalar k */

nn_var nn_gauss_sample(nn_var mean, nn_var log_std);
nn_var nn_squash_logp(nn_var u, nn_var mean, nn_var log_std);
nn_var nn_min(nn_var x);  /* over the features */
nn_var nn_norm(nn_var x); /* the length of each row: (T,B,1) */
nn_var nn_td_target(nn_var reward, nn_var terminated, nn_var q, nn_var logp, nn_var temp,
                    nn_var discount); /* a scalar, or one per row (T,B,1) */

/* Costs are scalars: sums over the features, means over the rows weighted by `weight` (T,B,1), or
 * over all rows where it is NN_NONE. */
nn_var nn_mean(nn_var x, nn_var weight);
nn_var nn_mse(nn_var x, nn_var target, nn_var weight);
nn_var nn_l1(nn_var x, nn_var weight);
nn_var nn_gauss_nll(nn_var target, nn_var mean, nn_var log_std, nn_var weight);
nn_var nn_gauss_kl(nn_var mean_q, nn_var log_std_q, nn_var mean_p, nn_var log_std_p, nn_var weight);
nn_var nn_auto_weight(nn_list losses, nn_var c);

/* The operators there are, by number: for lists, tests and benchmarks. */
int nn_op_count(void);
const char *nn_op_name(int op);
const char *nn_op_help(int op);

/* ---- layers: parameters and operators together ----------------------------------------------- */

/* A dense layer of `N` members with `units` outputs each: shared = the members read the same x. */
nn_var nn_dense(nn_group *group, const char *name, nn_list x, int N, bool shared, int units,
                nn_act act);

/* The same with a layer norm before `act`. */
nn_var nn_norm_dense(nn_group *group, const char *name, nn_list x, int N, bool shared, int units,
                     nn_act act);

/* A bank of N perceptrons on a shared input: `hidden` layers of `width` with `act`, then `units`.
 */
nn_var nn_mlp(nn_group *group, const char *name, nn_list x, int N, int hidden, int width,
              nn_act act, int units);

/* The same with a layer norm before each `act`. */
nn_var nn_norm_mlp(nn_group *group, const char *name, nn_list x, int N, int hidden, int width,
                   nn_act act, int units);

/* The perceptrons with a mask (1, inputs, N) folded into the first layer: member n sees input i
 * where C[i, n] is open. */
nn_var nn_masked_mlp(nn_group *group, const char *name, nn_list x, nn_var C, int N, int hidden,
                     int width, nn_act act, int units);

/* The same, with the first layer's units multiplied by 1 + a linear map of `by`: finds inputs that
 * scale the effect of others, which sums of units find hardly. C may be NN_NONE; behind a mask,
 * `by` are the last of x. */
nn_var nn_gain_mlp(nn_group *group, const char *name, nn_list x, nn_list by, nn_var C, int N,
                   int hidden, int width, nn_act act, int units);

/* Products of two linear maps of x. */
nn_var nn_product_layer(nn_group *group, const char *name, nn_list x, int units);

nn_var nn_conv_layer(nn_group *group, const char *name, nn_var x, nn_conv c, bool transpose,
                     nn_act act);

/* An LSTM layer; gives (T, B, 2·units): h, then the cell. `state` (1, B, 2·units) or NN_NONE. With
 * memory ≥ 1 its cells start as means over the last steps, one for the first unit and `memory` for
 * the last; with 0 as they are drawn. */
nn_var nn_lstm_layer(nn_group *group, const char *name, nn_list x, int units, double memory,
                     nn_var state, nn_var reset);

#endif
