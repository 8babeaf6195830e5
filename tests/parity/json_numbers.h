/* json_numbers.h - tensors and groups of parameters as JSON, for comparisons with Python. */
#ifndef PARITY_JSON_NUMBERS_H
#define PARITY_JSON_NUMBERS_H

#include "base/json.h"
#include "nn/op.h"

static inline json_t *json_numbers(const real *x, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real((double)x[i]));
    return list;
}

static inline json_t *json_tensor(nn_var v, bool gradient)
{
    nn_shape s = nn_shape_of(v);
    return json_pack("{s:[i,i,i], s:o}", "shape", s.T, s.B, s.D, "value",
                     json_numbers(gradient ? nn_grad(v, 0) : nn_data(v, 0), nn_size(s)));
}

static inline json_t *json_group(nn_group *group, bool gradients)
{
    json_t *all = json_object();
    for (int i = 0; i < nn_group_params(group); i++) {
        nn_var p = nn_group_param(group, i);
        json_object_set_new(all, nn_name_of(p), json_tensor(p, gradients));
    }
    return all;
}

/* The normals of the `which`-th gauss_sample that was recorded. */
static inline json_t *json_noise(const nn_graph *g, int which)
{
    for (size_t i = 0; i < g->count; i++) {
        const nn_node *n = &g->nodes[i];
        if (n->op == NN_OP_gauss_sample && which-- == 0)
            return json_numbers(n->scratch, nn_size(n->shape));
    }
    return NULL;
}

#endif
