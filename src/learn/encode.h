/* encode.h - what would have been believed: posteriors of many stretches of the past at once.
 *
 * Beliefs that were stored while living grow stale as q_phi learns. Here the same parameters are
 * recorded for o.encode windows of twice o.window steps, forward only, so that a whole memory is
 * brought up to date in a few runs. An LSTM that begins in the middle of a life needs some steps
 * before its belief is as good as one carried from the start: callers leave out the first ones. */
#ifndef LEARN_ENCODE_H
#define LEARN_ENCODE_H

#include "learn/fnvae.h"

/* Steps of a window. */
int fnvae_encode_length(const fnvae *f);

/* Rows of the memory were written: `count` of a replica, from `first` on. */
void fnvae_tell(fnvae *f, int replica, int first, int count);

/* Fills window b with as many steps: in which rows of the memory they begin and end, and whether a
 * segment begins with them. Windows that are not filled again keep what they had. */
typedef struct fnvae_past {
    int at, next;
    bool change;
} fnvae_past;
void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_past *steps);

int fnvae_encode(fnvae *f);

/* After the t-th row of window b: the posterior mean [p + q], its log standard deviations where the
 * memory asks for them, and what p_gamma makes of it where the next row begins a segment or the
 * window ends. */
int fnvae_encoded_width(const fnvae *f);
const float *fnvae_encoded(const fnvae *f, int replica, int b, int t);
const float *fnvae_encoded_next(const fnvae *f, int replica, int b, int t);

#endif
