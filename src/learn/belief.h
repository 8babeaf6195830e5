/* belief.h - the online belief about theta: predict, then correct.
 *
 * At the start of a segment p_gamma predicts the belief from the last segments; every step corrects
 * it by q_phi, whose LSTM state is carried along the lifetime. These are the networks that learn,
 * recorded for one step of every world, so the belief equals the posterior of a window that starts
 * with the lifetime. */
#ifndef LEARN_BELIEF_H
#define LEARN_BELIEF_H

#include "learn/fnvae.h"
#include "learn/online.h"
#include "learn/points.h"
#include "learn/tick.h"

typedef struct belief belief;

/* Records it on the model's graph, for the worlds of its replay. With doubt > 0 a segment starts
 * afresh with that probability (learn/hypotheses.h). With `found`, which it takes over, nobody has
 * to tell it where segments begin. Then plan, commit, ready. */
int belief_new(belief **out, fnvae *f, double doubt, points *found);
int belief_plan(belief *b);
int belief_ready(belief *b);
void belief_free(belief *b);

/* Rows are worlds: replica · worlds + world. */

void belief_reset(belief *b, int row); /* a new lifetime: the belief is N(0, 1) */

/* Note the step of each world, then correct all worlds at once. On an asynchronous backend, `begin`
 * only queues the correction; belief_finish or the next prediction waits for it. */
void belief_note(belief *b, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change);
int belief_correct(belief *b);
int belief_correct_begin(belief *b);
void belief_finish(belief *b);

/* Predicts for the worlds whose coming step starts a segment: change[rows]. */
int belief_predict(belief *b, const uint8_t *change);

/* Sets the belief: the mean, or with n = 2 (p + q) the log standard deviations too. Leaves the
 * LSTM's state alone. */
void belief_set(belief *b, int row, const float *theta, int n);

/* [p + q]: theta_s, then theta_r; the log standard deviations follow. */
const float *belief_mean(const belief *b, int row);

/* With doubt: how likely theta_s and theta_r started afresh in this segment, [2]. */
void belief_weights(const belief *b, int row, float *w);

/* What the masked decoders predict for the noted steps under the current beliefs, in normalised
 * units: the change of state [d], then the reward. */
int belief_decode(belief *b);
const float *belief_expected(const belief *b, int row);

/* The same as a recording: correct by the last step, if `filter`; then predict. Where a reward was
 * not measured, the belief about theta_r stays. Sets the tick's belief. */
void belief_tick(const belief *b, bool filter, tick *t);

/* Lists what is carried along the lifetimes of one replica. */
void belief_carried(belief *b, int replica, state_list *s);

/* q_phi on one step: (1, worlds, [mean | log_std | LSTM states]). */
nn_var belief_record_step(fnvae *f, online_step x);

#endif
