/* nn_cases.h - one small call of every operator and layer, shared by two tests: gradients against
 * central differences (in double) and values and gradients against PyTorch (in float). Every
 * operand is a parameter, so that its gradient is checked; constants are operands whose name
 * begins with an underscore. tests/golden/make_golden.py has the same cases, by name. */
#ifndef TESTS_NN_CASES_H
#define TESTS_NN_CASES_H

#include "nn/nn.h"

enum { CASE_OPERANDS = 9 };

typedef struct nn_case_operand {
    const char *name;
    int T, B, D;
    double low, high; /* values are drawn from here */
    bool binary;      /* ... and rounded to 0 or 1 */
    bool index;       /* ... or rounded down: an nn_index, not a parameter */
    bool bytes;       /* a table of bytes, case_bytes */
} nn_case_operand;

typedef struct nn_case {
    const char *name;
    nn_case_operand operands[CASE_OPERANDS];
    nn_var (*build)(const nn_var *v);
} nn_case;

/* T, B, D of most operands */
#define ROWS 3, 4

static nn_var case_linear(const nn_var *v)
{
    return nn_linear(NN_IN(v[0]), v[1], v[2], NN_RELU);
}
static nn_var case_linear_no_bias(const nn_var *v)
{
    return nn_linear(NN_IN(v[0]), v[1], NN_NONE, NN_LINEAR);
}
static nn_var case_linear_joined(const nn_var *v)
{
    return nn_linear(NN_IN(v[0], v[1], v[2]), v[3], v[4], NN_TANH);
}
static nn_var case_linear_bank(const nn_var *v)
{
    return nn_linear(NN_IN(v[0]), v[1], v[2], NN_SOFTPLUS);
}
static nn_var case_linear_heads(const nn_var *v)
{
    return nn_linear(NN_IN(v[0]), v[1], v[2], NN_LINEAR);
}
static nn_var case_linear_wide(const nn_var *v)
{
    return nn_linear(NN_IN(v[0]), v[1], v[2], NN_ELU);
}
static nn_var case_layer_norm(const nn_var *v)
{
    return nn_layer_norm(v[0], v[1], v[2], NN_TANH);
}
static nn_var case_layer_norm_bank(const nn_var *v)
{
    return nn_layer_norm(v[0], v[1], v[2], NN_RELU);
}
static nn_var case_fold_mask(const nn_var *v)
{
    return nn_fold_mask(v[0], v[1]);
}
static nn_var case_lstm(const nn_var *v)
{
    return nn_lstm(v[0], v[1], v[2], v[3]);
}
static nn_var case_lstm_bare(const nn_var *v)
{
    return nn_lstm(v[0], v[1], NN_NONE, NN_NONE);
}
static nn_var case_conv2d(const nn_var *v)
{
    nn_conv c = {
        .channels = 2, .height = 6, .width = 5, .filters = 3, .kernel = 3, .stride = 2, .pad = 1};
    return nn_conv2d(v[0], v[1], v[2], c, NN_LEAKY_RELU);
}
/* Without an edge; and with more edge and stride than kernel. */
static nn_var case_conv2d_inner(const nn_var *v)
{
    nn_conv c = {.channels = 2, .height = 5, .width = 6, .filters = 3, .kernel = 3, .stride = 1};
    return nn_conv2d(v[0], v[1], v[2], c, NN_TANH);
}
static nn_var case_conv2d_sparse(const nn_var *v)
{
    nn_conv c = {
        .channels = 2, .height = 7, .width = 5, .filters = 3, .kernel = 2, .stride = 3, .pad = 3};
    return nn_conv2d(v[0], v[1], v[2], c, NN_TANH);
}
static nn_var case_conv2d_transpose(const nn_var *v)
{
    nn_conv c = {.channels = 3,
                 .height = 3,
                 .width = 4,
                 .filters = 2,
                 .kernel = 3,
                 .stride = 2,
                 .pad = 1,
                 .extra = 1};
    return nn_conv2d_transpose(v[0], v[1], v[2], c, NN_TANH);
}
static nn_var case_gate_hard_concrete(const nn_var *v)
{
    return nn_gate(v[0], NN_GATE_HARD_CONCRETE, v[1], v[2]);
}
static nn_var case_gate_erf(const nn_var *v)
{
    return nn_gate(v[0], NN_GATE_ERF, v[1], v[2]);
}
static nn_var case_gate_open_hard_concrete(const nn_var *v)
{
    return nn_gate_open(v[0], NN_GATE_HARD_CONCRETE, v[1]);
}
static nn_var case_gate_open_gumbel(const nn_var *v)
{
    return nn_gate_open(v[0], NN_GATE_GUMBEL, v[1]);
}
static nn_var case_gate_open_erf(const nn_var *v)
{
    return nn_gate_open(v[0], NN_GATE_ERF, v[1]);
}
#define ACTIVATION(name, act)                  \
    static nn_var case_##name(const nn_var *v) \
    {                                          \
        return nn_activate(v[0], act);         \
    }
ACTIVATION(relu, NN_RELU)
ACTIVATION(leaky_relu, NN_LEAKY_RELU)
ACTIVATION(elu, NN_ELU)
ACTIVATION(tanh, NN_TANH)
ACTIVATION(sigmoid, NN_SIGMOID)
ACTIVATION(softplus, NN_SOFTPLUS)
ACTIVATION(exp, NN_EXP)
static nn_var case_add(const nn_var *v)
{
    return nn_add(nn_add(v[0], v[1]), v[2]);
}
static nn_var case_mul(const nn_var *v)
{
    return nn_mul(nn_mul(nn_mul(v[0], v[1]), v[2]), v[3]);
}
static nn_var case_sub(const nn_var *v)
{
    return nn_sub(nn_sub(v[0], v[1]), v[2]);
}
/* Repeated rows, and features alone. */
static nn_var case_broadcast(const nn_var *v)
{
    return nn_mul(nn_broadcast(v[1], v[0]), nn_broadcast(v[2], v[0]));
}
static nn_var case_affine(const nn_var *v)
{
    return nn_affine(v[0], -1.5, 0.25);
}
static nn_var case_clip(const nn_var *v)
{
    return nn_clip(v[0], -0.5, 0.75);
}
static nn_var case_concat(const nn_var *v)
{
    return nn_concat(NN_IN(v[0], v[1]));
}
static nn_var case_slice(const nn_var *v)
{
    return nn_add(nn_slice(v[0], 1, 3), nn_slice(v[0], 2, 3));
}
static nn_var case_shift(const nn_var *v)
{
    return nn_add(nn_shift(v[0], NN_NONE), nn_shift(v[0], v[1]));
}
static nn_var case_hold(const nn_var *v)
{
    return nn_add(nn_hold(v[0], v[1]), nn_affine(v[0], 0.5, 0));
}
static nn_var case_pick(const nn_var *v)
{
    return nn_add(nn_pick(v[0], v[1]), nn_pick(nn_affine(v[0], 0.5, 0), v[1]));
}
/* Two views of 3 × 4 pixels, two frames of each, moved by up to a pixel. */
static nn_var case_frames(const nn_var *v)
{
    nn_film f = {.views = 2, .height = 3, .width = 4, .pad = 1};
    return nn_mul(nn_frames(v[0], v[1], v[2], f), v[3]);
}
static nn_var case_pool(const nn_var *v)
{
    return nn_pool(v[0], v[1]);
}
static nn_var case_roll(const nn_var *v)
{
    return nn_mul(nn_roll(v[0]), v[0]);
}
static nn_var case_gauss_sample(const nn_var *v)
{
    return nn_gauss_sample(v[0], v[1]);
}
static nn_var case_squash_logp(const nn_var *v)
{
    return nn_squash_logp(v[0], v[1], v[2]);
}
static nn_var case_min(const nn_var *v)
{
    return nn_min(v[0]);
}
static nn_var case_norm(const nn_var *v)
{
    return nn_norm(v[0]);
}
static nn_var case_mean(const nn_var *v)
{
    return nn_mean(v[0], v[1]);
}
static nn_var case_mse(const nn_var *v)
{
    return nn_mse(v[0], v[1], v[2]);
}
static nn_var case_mse_twin(const nn_var *v)
{
    return nn_mse(v[0], v[1], NN_NONE);
}
static nn_var case_l1(const nn_var *v)
{
    return nn_l1(nn_add(v[0], nn_affine(nn_shift(v[0], NN_NONE), -1, 0)), v[1]);
}
static nn_var case_gauss_nll(const nn_var *v)
{
    return nn_gauss_nll(v[0], v[1], v[2], v[3]);
}
static nn_var case_gauss_nll_fixed(const nn_var *v)
{
    return nn_gauss_nll(v[0], v[1], NN_NONE, NN_NONE);
}
static nn_var case_gauss_kl(const nn_var *v)
{
    return nn_gauss_kl(v[0], v[1], v[2], v[3], v[4]);
}
static nn_var case_auto_weight(const nn_var *v)
{
    return nn_auto_weight(NN_IN(v[0], v[1], v[2]), v[3]);
}
/* A bank of masked two-layer perceptrons, as the FN-VAE's transition decoder. */
static nn_var case_masked_bank(const nn_var *v)
{
    nn_var h = nn_linear(NN_IN(v[0], v[1]), nn_fold_mask(v[2], v[3]), v[4], NN_RELU);
    return nn_linear(NN_IN(nn_linear(NN_IN(h), v[5], v[6], NN_TANH)), v[7], v[8], NN_LINEAR);
}
/* A whole LSTM layer: input weights, recurrence, output. */
static nn_var case_lstm_layer(const nn_var *v)
{
    nn_var gates = nn_linear(NN_IN(v[0], v[1]), v[2], v[3], NN_LINEAR);
    nn_var hc = nn_lstm(gates, v[4], NN_NONE, v[5]);
    return nn_linear(NN_IN(nn_slice(hc, 0, 3)), v[6], v[7], NN_LINEAR);
}

static const nn_case nn_cases[] = {
    {"linear", {{"x", ROWS, 5, -1, 1}, {"W", 1, 5, 6, -1, 1}, {"b", 1, 1, 6, -1, 1}}, case_linear},
    {"linear_no_bias", {{"x", ROWS, 5, -1, 1}, {"W", 1, 5, 6, -1, 1}}, case_linear_no_bias},
    {"linear_joined",
     {{"x", ROWS, 3, -1, 1},
      {"y", ROWS, 1, -1, 1},
      {"z", ROWS, 2, -1, 1},
      {"W", 1, 6, 4, -1, 1},
      {"b", 1, 1, 4, -1, 1}},
     case_linear_joined},
    {"linear_bank",
     {{"x", ROWS, 6, -1, 1}, {"W", 3, 2, 4, -1, 1}, {"b", 3, 1, 4, -1, 1}},
     case_linear_bank},
    {"linear_heads",
     {{"x", ROWS, 6, -1, 1}, {"W", 2, 3, 1, -1, 1}, {"b", 2, 1, 1, -1, 1}},
     case_linear_heads},
    {"linear_wide",
     {{"x", 10, 20, 2, -1, 1}, {"W", 1, 2, 3, -1, 1}, {"b", 1, 1, 3, -1, 1}},
     case_linear_wide},
    {"fold_mask", {{"W", 1, 4, 6, -1, 1}, {"C", 1, 4, 3, 0, 1}}, case_fold_mask},
    {"lstm",
     {{"gates", 4, 3, 8, -1, 1},
      {"W", 1, 2, 8, -1, 1},
      {"state", 1, 3, 4, -1, 1},
      {"_reset", 4, 3, 1, 0, 0.7, true}},
     case_lstm},
    {"lstm_bare", {{"gates", 4, 19, 8, -2, 2}, {"W", 1, 2, 8, -1, 1}}, case_lstm_bare},
    {"conv2d",
     {{"x", 2, 2, 60, -1, 1}, {"W", 1, 18, 3, -1, 1}, {"b", 1, 1, 3, -1, 1}},
     case_conv2d},
    {"conv2d_inner",
     {{"x", 2, 2, 60, -1, 1}, {"W", 1, 18, 3, -1, 1}, {"b", 1, 1, 3, -1, 1}},
     case_conv2d_inner},
    {"conv2d_sparse",
     {{"x", 1, 3, 70, -1, 1}, {"W", 1, 8, 3, -1, 1}, {"b", 1, 1, 3, -1, 1}},
     case_conv2d_sparse},
    {"conv2d_transpose",
     {{"x", 1, 3, 36, -1, 1}, {"W", 1, 3, 18, -1, 1}, {"b", 1, 1, 2, -1, 1}},
     case_conv2d_transpose},
    {"gate_hard_concrete",
     {{"logits", 1, 5, 7, -2, 3}, {"_temp", 1, 1, 1, 0.6, 0.7}, {"_frozen", 1, 1, 1, 0, 0}},
     case_gate_hard_concrete},
    {"gate_erf",
     {{"logits", 1, 5, 7, -2, 3}, {"_temp", 1, 1, 1, 0.6, 0.7}, {"_frozen", 1, 1, 1, 0, 0}},
     case_gate_erf},
    {"gate_open_hard_concrete",
     {{"logits", 1, 3, 4, -2, 2}, {"_temp", 1, 1, 1, 0.6, 0.7}},
     case_gate_open_hard_concrete},
    {"gate_open_gumbel",
     {{"logits", 1, 3, 4, -2, 2}, {"_temp", 1, 1, 1, 0.6, 0.7}},
     case_gate_open_gumbel},
    {"gate_open_erf",
     {{"logits", 1, 3, 4, -2, 2}, {"_temp", 1, 1, 1, 0.6, 0.7}},
     case_gate_open_erf},
    {"relu", {{"x", ROWS, 5, -2, 2}}, case_relu},
    {"leaky_relu", {{"x", ROWS, 5, -2, 2}}, case_leaky_relu},
    {"elu", {{"x", ROWS, 5, -2, 2}}, case_elu},
    {"tanh", {{"x", ROWS, 5, -3, 3}}, case_tanh},
    {"sigmoid", {{"x", ROWS, 5, -6, 6}}, case_sigmoid},
    {"softplus", {{"x", ROWS, 5, -6, 6}}, case_softplus},
    {"exp", {{"x", ROWS, 5, -3, 3}}, case_exp},
    {"add", {{"x", ROWS, 5, -1, 1}, {"y", ROWS, 5, -1, 1}, {"z", 1, 4, 1, -1, 1}}, case_add},
    {"mul",
     {{"x", ROWS, 5, -1, 1}, {"y", 3, 1, 5, -1, 1}, {"z", 3, 4, 1, -1, 1}, {"s", 1, 1, 1, -1, 1}},
     case_mul},
    {"sub", {{"x", ROWS, 5, -1, 1}, {"y", ROWS, 5, -1, 1}, {"z", 1, 4, 1, -1, 1}}, case_sub},
    {"broadcast",
     {{"_like", ROWS, 5, -1, 1}, {"y", 1, 1, 5, -1, 1}, {"z", 3, 4, 1, -1, 1}},
     case_broadcast},
    {"affine", {{"x", ROWS, 5, -1, 1}}, case_affine},
    {"clip", {{"x", ROWS, 5, -2, 2}}, case_clip},
    {"concat", {{"x", ROWS, 2, -1, 1}, {"y", ROWS, 3, -1, 1}}, case_concat},
    {"slice", {{"x", ROWS, 6, -1, 1}}, case_slice},
    {"shift", {{"x", ROWS, 2, -1, 1}, {"first", 1, 4, 2, -1, 1}}, case_shift},
    {"hold", {{"x", ROWS, 2, -1, 1}, {"_when", ROWS, 1, 0, 1, true}}, case_hold},
    {"pick", {{"x", ROWS, 2, -1, 1}, {"_at", 5, 4, 1, -1, 3, false, true}}, case_pick},
    {"frames",
     {{"_table", 1, 4, 72, 0, 1, false, false, true},
      {"_at", 1, 3, 2, -1, 4, false, true},
      {"_shift", 1, 3, 2, 0, 3, false, true},
      {"x", 1, 3, 144, -1, 1}},
     case_frames},
    {"pool", {{"x", ROWS, 2, -1, 1}, {"_weight", ROWS, 1, 0, 1, true}}, case_pool},
    {"roll", {{"x", ROWS, 2, -1, 1}}, case_roll},
    {"gauss_sample", {{"mean", ROWS, 5, -1, 1}, {"log_std", ROWS, 5, -2, 0.5}}, case_gauss_sample},
    {"squash_logp",
     {{"u", ROWS, 3, -3, 3}, {"mean", ROWS, 3, -1, 1}, {"log_std", ROWS, 3, -1, 0.5}},
     case_squash_logp},
    {"min", {{"x", ROWS, 2, -1, 1}}, case_min},
    {"norm", {{"x", ROWS, 3, -1, 1}}, case_norm},
    {"mean", {{"x", ROWS, 3, -1, 1}, {"_weight", ROWS, 1, 0, 1, true}}, case_mean},
    {"mse",
     {{"x", ROWS, 3, -1, 1}, {"_target", ROWS, 3, -1, 1}, {"_weight", ROWS, 1, 0, 1}},
     case_mse},
    {"mse_twin", {{"x", ROWS, 2, -1, 1}, {"_target", ROWS, 1, -1, 1}}, case_mse_twin},
    {"l1", {{"x", ROWS, 3, -1, 1}, {"_weight", ROWS, 1, 0, 1}}, case_l1},
    {"gauss_nll",
     {{"_target", ROWS, 3, -1, 1},
      {"mean", ROWS, 3, -1, 1},
      {"log_std", ROWS, 3, -1, 0.5},
      {"_weight", ROWS, 1, 0, 1}},
     case_gauss_nll},
    {"gauss_nll_fixed",
     {{"_target", ROWS, 3, -1, 1}, {"mean", ROWS, 3, -1, 1}},
     case_gauss_nll_fixed},
    {"gauss_kl",
     {{"mq", ROWS, 3, -1, 1},
      {"sq", ROWS, 3, -1, 0.5},
      {"mp", ROWS, 3, -1, 1},
      {"sp", ROWS, 3, -1, 0.5},
      {"_weight", ROWS, 1, 0, 1}},
     case_gauss_kl},
    {"auto_weight",
     {{"a", 1, 1, 1, 0, 2},
      {"b", 1, 1, 1, 0, 2},
      {"c", 1, 1, 1, 0, 2},
      {"weights", 1, 1, 3, 0.5, 2}},
     case_auto_weight},
    {"masked_bank",
     {{"s", ROWS, 3, -1, 1},
      {"theta", ROWS, 2, -1, 1},
      {"W1", 1, 5, 12, -1, 1},
      {"C", 1, 5, 3, 0, 1},
      {"b1", 1, 1, 12, -1, 1},
      {"W2", 3, 4, 4, -1, 1},
      {"b2", 3, 1, 4, -1, 1},
      {"W3", 3, 4, 1, -1, 1},
      {"b3", 3, 1, 1, -1, 1}},
     case_masked_bank},
    {"layer_norm",
     {{"x", ROWS, 5, -2, 2}, {"gain", 1, 1, 5, 0.5, 2}, {"shift", 1, 1, 5, -1, 1}},
     case_layer_norm},
    {"layer_norm_bank",
     {{"x", 5, 16, 12, -1, 3}, {"gain", 3, 1, 4, 0.5, 2}, {"shift", 3, 1, 4, -1, 1}},
     case_layer_norm_bank},
    {"lstm_layer",
     {{"x", 5, 3, 2, -1, 1},
      {"y", 5, 3, 1, -1, 1},
      {"Wx", 1, 3, 12, -1, 1},
      {"bx", 1, 1, 12, -1, 1},
      {"Wh", 1, 3, 12, -1, 1},
      {"_reset", 5, 3, 1, 0, 0.7, true},
      {"Wo", 1, 3, 2, -1, 1},
      {"bo", 1, 1, 2, -1, 1}},
     case_lstm_layer},
};
enum { NN_CASES = sizeof nn_cases / sizeof *nn_cases };

/* What tables hold, in every replica: bytes without a pattern. */
enum { CASE_BYTES = 2 * 4 * 72 };
static inline uint8_t *case_bytes(void)
{
    static uint8_t bytes[CASE_BYTES];
    for (int i = 0; i < CASE_BYTES; i++) bytes[i] = (uint8_t)(i % (CASE_BYTES / 2) * 37 % 251);
    return bytes;
}

/* After the commit: a backend with memory of its own gets its copy. */
static inline void case_send(nn_var v, const nn_case_operand *o, int replicas)
{
    for (int r = 0; o->bytes && r < replicas; r++) nn_table_send(v, r, 0, o->B);
}

/* Operand i of a case, as a parameter of the group, as an index or as a table. */
static inline nn_var case_operand(nn_group *group, nn_graph *g, const nn_case_operand *o)
{
    if (o->index) return nn_index(g, o->name, o->T, o->B, o->D);
    if (o->bytes) return nn_table(g, o->name, o->B, o->D, NN_U8, case_bytes());
    return nn_param(group, o->name, o->T, o->B, o->D, NN_INIT_ZERO, 0);
}

static inline int case_operand_count(const nn_case *k)
{
    int n = 0;
    while (n < CASE_OPERANDS && k->operands[n].name) n++;
    return n;
}

#endif
