/* varibad_net.h - VariBAD's networks and its ELBO (Zintgraf et al. 2020).
 *
 * A segment has one latent z. After t of its steps the belief about z is q_t = N(mu_t, sigma_t²),
 * by an LSTM over the steps; q_0 is the head of the empty state. From every q_t a decoder predicts
 * a random step of the whole segment, also one to come:
 *
 *     -ELBO = E_t [ -log p(r | z, s, a, s') - log p(Δs | z, s, a) + beta KL(q_t ‖ q_t-1) ]
 *
 * with z from q_t, q_-1 = N(0, 1), and unit variances in the decoders. */
#ifndef LEARN_VARIBAD_NET_H
#define LEARN_VARIBAD_NET_H

#include "learn/seen.h"

typedef struct varibad_net {
    nn_group *encoder, *decoder;
    int latents, lstm;
    bool gain; /* z scales the decoders' first layers */
} varibad_net;

/* A belief: log_std is half the log variance. */
typedef struct varibad_belief {
    nn_var mean, log_std; /* (T, B, latents) */
} varibad_belief;

/* The LSTM's states (T, B, 2 lstm) after each step. */
nn_var varibad_record_states(const varibad_net *v, seen x, nn_var state, nn_var reset);

/* The beliefs in some states, of which the first `lstm` numbers count. */
varibad_belief varibad_record_belief(const varibad_net *v, nn_var states);

/* The three parts of -ELBO. Row t of x is the step that follows t others; `decoded` (T, B, 1) is
 * the row to predict from q_t, and `weight` (T, B, 1) says which rows there are. */
typedef struct varibad_costs {
    nn_var reward, step, kl;
} varibad_costs;
varibad_costs varibad_record_costs(const varibad_net *v, seen x, nn_var decoded, nn_var weight);

#endif
