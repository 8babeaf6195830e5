/* encode.h - what would have been believed: posteriors of many stretches of the past at once.
 *
 * Beliefs that were stored while living grow stale as q_phi learns. Here the same parameters are
 * recorded for o.encode windows of twice o.window steps, forward only, so that a whole memory is
 * brought up to date in a few runs. An LSTM that begins in the middle of a life needs some steps
 * before its belief is as good as one carried from the start: callers leave out the first ones. */
#ifndef MODEL_ENCODE_H
#define MODEL_ENCODE_H

#include "model/fnvae.h"

/* Steps of a window. */
int fnvae_encode_length(const fnvae *f);

/* Fills window b with as many rows. Windows that are not filled again keep what they had. */
void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_row *rows);

int fnvae_encode(fnvae *f);

/* After the t-th row of window b: the posterior mean [p + q], and what p_gamma makes of it, should
 * the next row begin a segment. */
const float *fnvae_encoded(const fnvae *f, int replica, int b, int t);
const float *fnvae_encoded_next(const fnvae *f, int replica, int b, int t);

#endif
