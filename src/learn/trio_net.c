/* trio_net.c - network and loss. */
#include "learn/trio_net.h"

enum { EMBED_A = 16, EMBED_S = 32, EMBED_R = 16, EMBED_PRIOR = 1, HEAD = 16 };
static const double PRIOR_WEIGHT = 0.1;

nn_var trio_record_states(const trio_net *t, seen x, trio_gauss prior, nn_var state, nn_var reset)
{
    nn_group *g = t->group;
    nn_var a = nn_dense(g, "a", NN_IN(x.a), 1, true, EMBED_A, NN_ELU);
    nn_var s = nn_dense(g, "s", NN_IN(x.s1), 1, true, EMBED_S, NN_ELU);
    nn_var r = nn_dense(g, "r", NN_IN(x.r), 1, true, EMBED_R, NN_ELU);
    nn_list in = NN_IN(prior.mean, nn_activate(nn_affine(prior.log_std, 2, 0), NN_EXP));
    nn_var p = nn_dense(g, "prior", in, 1, true, EMBED_PRIOR, NN_ELU);
    return nn_lstm_layer(g, "lstm", NN_IN(a, s, r, p), t->lstm, 0, state, reset);
}

trio_gauss trio_record_posterior(const trio_net *t, nn_var states, trio_gauss prior,
                                 nn_var per_step)
{
    int n = t->factors;
    nn_var v0 = nn_activate(nn_affine(prior.log_std, 2, 0), NN_EXP);
    nn_list in = NN_IN(nn_slice(states, 0, t->lstm), prior.mean, v0, per_step);
    nn_var h = nn_dense(t->group, "head", in, 1, true, HEAD, NN_ELU);
    nn_var out = nn_dense(t->group, "out", NN_IN(h), 1, true, 2 * n, NN_LINEAR);
    nn_var log_std = nn_clip(nn_affine(nn_slice(out, n, n), 0.5, 0), -5, 2);
    return (trio_gauss){nn_slice(out, 0, n), log_std};
}

/* Of each factor, without the constant. */
static nn_var divergence(trio_gauss q, trio_gauss p)
{
    nn_var d = nn_sub(q.mean, p.mean), v = nn_activate(nn_affine(q.log_std, 2, 0), NN_EXP);
    nn_var per_v0 = nn_activate(nn_affine(p.log_std, -2, 0), NN_EXP);
    nn_var square = nn_affine(nn_mul(nn_add(v, nn_mul(d, d)), per_v0), 0.5, -0.5);
    return nn_add(nn_sub(p.log_std, q.log_std), square);
}

nn_var trio_record_cost(trio_gauss q, trio_gauss prior, nn_var z, nn_var per_step, nn_var weight)
{
    nn_var v = nn_activate(nn_affine(q.log_std, 2, 0), NN_EXP);
    nn_var kl = nn_mul(divergence(q, prior), nn_affine(per_step, PRIOR_WEIGHT, 0));
    return nn_add(nn_mse(q.mean, z, weight), nn_mean(nn_add(v, kl), weight));
}
