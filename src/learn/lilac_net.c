/* lilac_net.c - encoder, decoder and prior. */
#include "learn/lilac_net.h"

enum { HIDDEN = 2, WIDTH = 64 };

/* Bounded, so that the critics' loss cannot carry codes away from what the prior can follow. */
nn_var lilac_record_codes(const lilac_net *l, seen x)
{
    nn_list in = NN_IN(x.s, x.a, x.r, x.s1);
    nn_var e = nn_mlp(l->encoder, "e", in, 1, HIDDEN, WIDTH, NN_RELU, l->latents);
    return nn_activate(e, NN_TANH);
}

nn_var lilac_record_latent(nn_var codes)
{
    nn_var all = nn_affine(nn_slice(codes, 0, 1), 0, 1); /* every code counts 1 */
    return nn_broadcast(nn_pool(codes, all), codes);
}

nn_var lilac_record_states(const lilac_net *l, nn_var z, nn_var state)
{
    return nn_lstm_layer(l->prior, "lstm", NN_IN(z), l->latents, 0, state, NN_NONE);
}

/* An LSTM's output alone could not follow latents far from 0: it is between -1 and 1. */
nn_var lilac_record_expected(const lilac_net *l, nn_var states)
{
    nn_var h = nn_slice(states, 0, l->latents);
    return nn_dense(l->prior, "z", NN_IN(h), 1, true, l->latents, NN_LINEAR);
}

nn_var lilac_record_prior(const lilac_net *l, nn_var z)
{
    return lilac_record_expected(l, lilac_record_states(l, z, NN_NONE));
}

/* Rewards and changes of states, (T, B, 1 + d). */
static nn_var decode(const lilac_net *l, seen x, nn_var z)
{
    nn_list in = NN_IN(x.s, x.a, z);
    int units = 1 + nn_shape_of(x.ds).D;
    if (!l->gain) return nn_mlp(l->decoder, "d", in, 1, HIDDEN, WIDTH, NN_RELU, units);
    return nn_gain_mlp(l->decoder, "d", in, NN_IN(z), NN_NONE, 1, HIDDEN, WIDTH, NN_RELU, units);
}

lilac_costs lilac_record_decoding(const lilac_net *l, seen x, nn_var z)
{
    nn_var y = decode(l, x, z);
    nn_var ds = nn_slice(y, 1, nn_shape_of(x.ds).D);
    return (lilac_costs){nn_mse(nn_slice(y, 0, 1), x.r, NN_NONE), nn_mse(ds, x.ds, NN_NONE)};
}
