/* trio_net.h - TRIO's inference network and its loss (Poiani et al. 2021).
 *
 * The latent z is known while it learns: what is to be inferred are the true factors. An LSTM reads
 * the steps of a segment and a prior N(mu0, v0) about its z; after n steps a head gives N(mu, v):
 *
 *     loss = E [ |mu - z|² + Σ v + (0.1 / n) KL(N(mu, v) ‖ N(mu0, v0)) ]
 *
 * over all prefixes of a segment. */
#ifndef LEARN_TRIO_NET_H
#define LEARN_TRIO_NET_H

#include "learn/seen.h"

typedef struct trio_net {
    nn_group *group;
    int factors, lstm;
} trio_net;

/* Gaussians (T, B, factors). */
typedef struct trio_gauss {
    nn_var mean, log_std;
} trio_gauss;

/* The LSTM's states (T, B, 2 lstm) after each step. */
nn_var trio_record_states(const trio_net *t, seen x, trio_gauss prior, nn_var state, nn_var reset);

/* The posterior in some states; `per_step` (T, B, 1) is 1 / n. */
trio_gauss trio_record_posterior(const trio_net *t, nn_var states, trio_gauss prior,
                                 nn_var per_step);

/* Mean over the rows that `weight` names. */
nn_var trio_record_cost(trio_gauss q, trio_gauss prior, nn_var z, nn_var per_step, nn_var weight);

#endif
