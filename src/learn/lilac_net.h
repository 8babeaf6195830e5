/* lilac_net.h - LILAC's networks and costs (Xie, Harrison and Finn 2020).
 *
 * An episode has one latent z, the mean of the codes e(x) of some of its steps x = (s, a, r, s').
 * A decoder predicts these steps from z, and a prior, an LSTM over the latents of past episodes,
 * predicts the z of the next. With p what the prior said about the episode of x:
 *
 *     E [ |r(s, a, z) - r|² + |Δs(s, a, z) - Δs|² ] + beta E |e(x) - p|²     for encoder and
 * decoder E |LSTM(z_0 … z_i-1) - z_i|²                                          for the prior
 *
 * The second is the KL divergence of Gaussians with one fixed variance. */
#ifndef LEARN_LILAC_NET_H
#define LEARN_LILAC_NET_H

#include "learn/seen.h"

typedef struct lilac_net {
    nn_group *encoder, *decoder, *prior;
    int latents;
    bool gain; /* z scales the decoder's first layer */
} lilac_net;

/* The codes (T, B, latents) of steps. */
nn_var lilac_record_codes(const lilac_net *l, seen x);

/* The mean of the T codes in each column, repeated for all of them: (T, B, latents). */
nn_var lilac_record_latent(nn_var codes);

/* The prior's states (T, B, 2 · latents) after each of T episodes with the latents `z`, from
 * `state` (1, B, 2 · latents) or NN_NONE; and what it then expects of the next one: (T, B,
 * latents). */
nn_var lilac_record_states(const lilac_net *l, nn_var z, nn_var state);
nn_var lilac_record_expected(const lilac_net *l, nn_var states);
nn_var lilac_record_prior(const lilac_net *l, nn_var z); /* both, from an empty state */

/* How badly z (T, B, latents) predicts rewards and changes of states. */
typedef struct lilac_costs {
    nn_var reward, step;
} lilac_costs;
lilac_costs lilac_record_decoding(const lilac_net *l, seen x, nn_var z);

#endif
