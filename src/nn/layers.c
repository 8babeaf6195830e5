/* layers.c - operators together with the parameters they need. All weights start uniformly within
 * ± 1/sqrt(fan-in), biases too, as in the SAC implementations we are compared with. */
#include <stdio.h>

#include "nn/graph.h"

static int joined(nn_list x)
{
    int D = 0;
    for (int k = 0; k < x.count; k++) D += nn_shape_of(x.var[k]).D;
    return D;
}

static nn_var weights(nn_group *group, const char *name, int N, int rows, int columns)
{
    char full[48];
    snprintf(full, sizeof full, "%s.W", name);
    return nn_param(group, full, N, rows, columns, NN_INIT_FAN_IN, 1);
}

/* Drawn like the weights: init is by rows, and a bias has but one. */
static nn_var bias(nn_group *group, const char *name, int N, int fan_in, int columns)
{
    char full[48];
    snprintf(full, sizeof full, "%s.b", name);
    double scale = 1 / sqrt(fan_in > 0 ? fan_in : 1);
    return nn_param(group, full, N, 1, columns, NN_INIT_FAN_IN, scale);
}

nn_var nn_dense(nn_group *group, const char *name, nn_list x, int N, bool shared, int units,
                nn_act act)
{
    int inputs = shared ? joined(x) : joined(x) / N;
    nn_var W = weights(group, name, shared ? 1 : N, inputs, shared ? N * units : units);
    nn_var b = bias(group, name, N, inputs, units);
    return nn_linear(x, W, b, act);
}

/* The layers behind the first, for a bank of N. */
static nn_var deeper(nn_group *group, const char *name, nn_var h, int N, int hidden, int width,
                     nn_act act, int units)
{
    char layer[40];
    for (int i = 2; i <= hidden; i++) {
        snprintf(layer, sizeof layer, "%s.%d", name, i);
        h = nn_dense(group, layer, NN_IN(h), N, false, width, act);
    }
    snprintf(layer, sizeof layer, "%s.out", name);
    return nn_dense(group, layer, NN_IN(h), N, false, units, NN_LINEAR);
}

nn_var nn_mlp(nn_group *group, const char *name, nn_list x, int N, int hidden, int width,
              nn_act act, int units)
{
    assert(hidden >= 1);
    char layer[40];
    snprintf(layer, sizeof layer, "%s.1", name);
    nn_var h = nn_dense(group, layer, x, N, true, width, act);
    return deeper(group, name, h, N, hidden, width, act, units);
}

nn_var nn_norm_dense(nn_group *group, const char *name, nn_list x, int N, bool shared, int units,
                     nn_act act)
{
    char full[48];
    nn_var h = nn_dense(group, name, x, N, shared, units, NN_LINEAR);
    snprintf(full, sizeof full, "%s.gain", name);
    nn_var gain = nn_param(group, full, N, 1, units, NN_INIT_CONSTANT, 1);
    snprintf(full, sizeof full, "%s.shift", name);
    return nn_layer_norm(h, gain, nn_param(group, full, N, 1, units, NN_INIT_ZERO, 0), act);
}

nn_var nn_norm_mlp(nn_group *group, const char *name, nn_list x, int N, int hidden, int width,
                   nn_act act, int units)
{
    assert(hidden >= 1);
    char layer[40];
    for (int i = 1; i <= hidden; i++) {
        snprintf(layer, sizeof layer, "%s.%d", name, i);
        x = NN_IN(nn_norm_dense(group, layer, x, N, i == 1, width, act));
    }
    snprintf(layer, sizeof layer, "%s.out", name);
    return nn_dense(group, layer, x, N, false, units, NN_LINEAR);
}

/* One linear map of a bank's shared inputs, behind a mask where there is one. */
static nn_var masked(nn_group *group, const char *name, nn_list x, nn_var C, int N, int width,
                     nn_act act)
{
    nn_var W = weights(group, name, 1, joined(x), N * width);
    nn_var b = bias(group, name, N, joined(x), width);
    return nn_linear(x, C.graph ? nn_fold_mask(W, C) : W, b, act);
}

nn_var nn_masked_mlp(nn_group *group, const char *name, nn_list x, nn_var C, int N, int hidden,
                     int width, nn_act act, int units)
{
    assert(hidden >= 1);
    char layer[40];
    snprintf(layer, sizeof layer, "%s.1", name);
    nn_var h = masked(group, layer, x, C, N, width, act);
    return deeper(group, name, h, N, hidden, width, act, units);
}

nn_var nn_gain_mlp(nn_group *group, const char *name, nn_list x, nn_list by, nn_var C, int N,
                   int hidden, int width, nn_act act, int units)
{
    char layer[40];
    snprintf(layer, sizeof layer, "%s.1", name);
    nn_var h = masked(group, layer, x, C, N, width, act);
    if (C.graph) { /* the mask's rows are x's: where those are that do not scale, there are zeros */
        nn_list all = x;
        for (int k = 0; k < x.count - by.count; k++) all.var[k] = nn_affine(x.var[k], 0, 0);
        by = all;
    }
    snprintf(layer, sizeof layer, "%s.gain", name);
    nn_var gain = masked(group, layer, by, C, N, width, NN_LINEAR);
    return deeper(group, name, nn_mul(h, nn_affine(gain, 1, 1)), N, hidden, width, act, units);
}

nn_var nn_product_layer(nn_group *group, const char *name, nn_list x, int units)
{
    char layer[40];
    snprintf(layer, sizeof layer, "%s.left", name);
    nn_var left = nn_dense(group, layer, x, 1, true, units, NN_LINEAR);
    snprintf(layer, sizeof layer, "%s.right", name);
    return nn_mul(left, nn_dense(group, layer, x, 1, true, units, NN_LINEAR));
}

nn_var nn_conv_layer(nn_group *group, const char *name, nn_var x, nn_conv c, bool transpose,
                     nn_act act)
{
    int area = c.kernel * c.kernel, fan_in = c.channels * area;
    nn_var b = bias(group, name, 1, fan_in, c.filters);
    if (!transpose) return nn_conv2d(x, weights(group, name, 1, fan_in, c.filters), b, c, act);
    char full[48];
    snprintf(full, sizeof full, "%s.W", name);
    nn_var W = nn_param(group, full, 1, c.channels, c.filters * area, NN_INIT_FAN_IN,
                        1 / sqrt(area > 0 ? area : 1));
    return nn_conv2d_transpose(x, W, b, c, act);
}

nn_var nn_lstm_layer(nn_group *group, const char *name, nn_list x, int units, double memory,
                     nn_var state, nn_var reset)
{
    char full[48];
    if (memory > 0) { /* the biases' first values; otherwise the dense layer's own */
        snprintf(full, sizeof full, "%s.b", name);
        nn_param(group, full, 1, 1, 4 * units, NN_INIT_MEMORY, memory);
    }
    nn_var gates = nn_dense(group, name, x, 1, true, 4 * units, NN_LINEAR);
    snprintf(full, sizeof full, "%s.h", name);
    return nn_lstm(gates, weights(group, full, 1, units, 4 * units), state, reset);
}
