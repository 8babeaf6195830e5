/* belief.h - what is believed about theta while living: predict, then correct.
 *
 * At the start of a segment the belief is p_gamma of the last one; every step corrects it by q_phi,
 * whose LSTM state is carried along the lifetime. It is the network that learns, recorded for one
 * step of every world, so it equals the posterior of a window that begins with the lifetime. */
#ifndef LEARN_BELIEF_H
#define LEARN_BELIEF_H

#include "learn/fnvae.h"

typedef struct belief belief;

/* Records it on the model's graph, for the worlds of its replay. Then plan, commit, make ready. */
int belief_new(belief **out, fnvae *f);
int belief_plan(belief *b);
int belief_ready(belief *b);
void belief_free(belief *b);

/* Rows are worlds: replica · worlds + world. */

void belief_reset(belief *b, int row); /* a new lifetime: the belief is N(0, 1) */

/* Notes the step that a world went through; then all worlds are corrected at once. Where the
 * backend is asynchronous, `begin` only queues the correction: it is known after belief_finish, or
 * the next prediction. */
void belief_note(belief *b, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change);
int belief_correct(belief *b);
int belief_correct_begin(belief *b);
void belief_finish(belief *b);

/* Advances the worlds whose coming step begins a segment: change[rows]. */
int belief_predict(belief *b, const uint8_t *change);

/* Believes `theta` from now on: the mean, or with n = 2 (p + q) the log standard deviations too.
 * The LSTM's state is left alone. */
void belief_set(belief *b, int row, const float *theta, int n);

/* [p + q]: theta_s, then theta_r. The log standard deviations follow it. */
const float *belief_mean(const belief *b, int row);

/* What the masked decoders expect of the noted steps under the present beliefs, in normalised
 * units: the change of state [d], then the reward. */
int belief_decode(belief *b);
const float *belief_expected(const belief *b, int row);

/* What is carried along the lifetimes of one replica. */
void belief_carried(belief *b, int replica, state_list *s);

#endif
