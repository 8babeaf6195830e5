/* belief.h - what is believed about theta while living: predict, then correct.
 *
 * At the start of a segment the belief is p_gamma of the last one; every transition corrects it by
 * q_phi, whose LSTM state is carried along the lifetime. It is the same network as the one that
 * learns, recorded for one step of many worlds, so it equals the posterior of a window that begins
 * with the lifetime. */
#ifndef LEARN_BELIEF_H
#define LEARN_BELIEF_H

#include "learn/fnvae.h"

typedef struct belief belief;

/* For the worlds that `f` was made for (belief_batch per replica); `f` must outlive it. */
int belief_new(belief **out, fnvae *f);
void belief_free(belief *b);

/* A new lifetime: the belief is N(0, 1). */
void belief_reset(belief *b, int replica, int world);

/* Notes the transition that a world went through; then all worlds are corrected at once. Begun
 * only, the correction is queued where the backend works beside the host, and known once it is
 * settled: by belief_settle, or by the next prediction. */
void belief_note(belief *b, int replica, int world, const fnvae_row *row);
int belief_correct(belief *b);
int belief_correct_begin(belief *b);
void belief_settle(belief *b);

/* Advances the worlds whose coming step begins a segment: change[replica * worlds + world]. */
int belief_predict(belief *b, const uint8_t *change);

/* Believes `theta` from now on: the mean, or with n = 2 (p + q) the log standard deviations too.
 * The LSTM's state is left alone. */
void belief_set(belief *b, int replica, int world, const float *theta, int n);

/* [p + q]: theta_s, then theta_r. The log standard deviations lie behind it. */
const float *belief_mean(const belief *b, int replica, int world);

/* What the masked decoders expect of the noted transitions under the present beliefs, in
 * normalised units: the change of state [d], then the reward. */
int belief_decode(belief *b);
const float *belief_expected(const belief *b, int replica, int world);

/* What is carried along the lifetimes of one replica: all that a restart needs. */
enum { BELIEF_PARTS = 3 };
typedef struct belief_part {
    const char *name;
    int rows, width;
    float *data;
} belief_part;
void belief_parts(belief *b, int replica, belief_part parts[BELIEF_PARTS]);

#endif
