/* varibad_net.c - encoder, decoders and costs. */
#include "learn/varibad_net.h"

#include <stdio.h>

enum { EMBED_S = 32, EMBED_A = 16, EMBED_R = 16, DECODER_1 = 64, DECODER_2 = 32 };

nn_var varibad_record_states(const varibad_net *v, seen x, nn_var state, nn_var reset)
{
    nn_group *g = v->encoder;
    nn_var s = nn_dense(g, "s", NN_IN(x.s1), 1, true, EMBED_S, NN_RELU);
    nn_var a = nn_dense(g, "a", NN_IN(x.a), 1, true, EMBED_A, NN_RELU);
    nn_var r = nn_dense(g, "r", NN_IN(x.r), 1, true, EMBED_R, NN_RELU);
    return nn_lstm_layer(g, "lstm", NN_IN(s, a, r), v->lstm, 0, state, reset);
}

varibad_belief varibad_record_belief(const varibad_net *v, nn_var states)
{
    int n = v->latents;
    nn_var h = nn_slice(states, 0, v->lstm);
    nn_var out = nn_dense(v->encoder, "head", NN_IN(h), 1, true, 2 * n, NN_LINEAR);
    return (varibad_belief){nn_slice(out, 0, n),
                            nn_clip(nn_affine(nn_slice(out, n, n), 0.5, 0), -5, 2)};
}

/* 64-32. Sums of units hardly find a latent that scales the effect of others, such as the sign of a
 * motor: `gain` gives them products. */
static nn_var decode(const varibad_net *v, const char *name, nn_list x, nn_var z, int units)
{
    char last[16];
    nn_group *g = v->decoder;
    nn_var h = v->gain
                   ? nn_gain_mlp(g, name, x, NN_IN(z), NN_NONE, 1, 1, DECODER_1, NN_RELU, DECODER_2)
                   : nn_mlp(g, name, x, 1, 1, DECODER_1, NN_RELU, DECODER_2);
    h = nn_activate(h, NN_RELU);
    snprintf(last, sizeof last, "%s.last", name);
    return nn_dense(g, last, NN_IN(h), 1, true, units, NN_LINEAR);
}

varibad_costs varibad_record_costs(const varibad_net *v, seen x, nn_var decoded, nn_var weight)
{
    /* before the first step the state is zero, and so are mean and log_std before q_0: N(0, 1) */
    nn_var before = nn_shift(varibad_record_states(v, x, NN_NONE, NN_NONE), NN_NONE);
    varibad_belief q = varibad_record_belief(v, before);
    nn_var mean = nn_shift(q.mean, NN_NONE), log_std = nn_shift(q.log_std, NN_NONE);
    nn_var z = nn_gauss_sample(q.mean, q.log_std);
    nn_var s = nn_pick(x.s, decoded), a = nn_pick(x.a, decoded), s1 = nn_pick(x.s1, decoded);
    nn_var r = nn_pick(x.r, decoded), ds = nn_pick(x.ds, decoded);
    nn_var expected_r = decode(v, "r", NN_IN(z, s, a, s1), z, 1);
    nn_var expected_ds = decode(v, "ds", NN_IN(z, s, a), z, nn_shape_of(ds).D);
    return (varibad_costs){nn_gauss_nll(r, expected_r, NN_NONE, weight),
                           nn_gauss_nll(ds, expected_ds, NN_NONE, weight),
                           nn_gauss_kl(q.mean, q.log_std, mean, log_std, weight)};
}
