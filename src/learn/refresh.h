/* refresh.h - what would have been believed: all beliefs of a replay, inferred anew.
 *
 * Beliefs that were stored while living grow stale as q_phi learns. Here the same networks are
 * recorded for o.encode windows of twice o.window steps, forward only, so that a whole replay is
 * brought up to date in a few runs. An LSTM that begins in the middle of a life needs some steps
 * before its belief is as good as one carried from the start, so windows overlap.
 *
 * The replay's column has the belief in which each row's action was taken: the means [p + q], and
 * with `spread` the log standard deviations. Beside an episode's last row it has the belief that
 * was reached there. */
#ifndef LEARN_REFRESH_H
#define LEARN_REFRESH_H

#include "learn/fnvae.h"

typedef struct refresh refresh;

/* Records it on the model's graph. Then plan, commit, make ready. */
int refresh_new(refresh **out, fnvae *f, replay *r, int column, bool spread);
int refresh_plan(refresh *x);
int refresh_ready(refresh *x);
void refresh_free(refresh *x);

/* Infers all stored beliefs anew, by the model as it is now. */
int refresh_run(refresh *x, pool *p);

/* Mean and spread of the stored means of a replica, [p + q] each. */
void refresh_measure(const refresh *x, int replica, float *mean, float *spread);

/* ---- windows, for tests ---------------------------------------------------------------------- */

int refresh_length(const refresh *x); /* steps of a window */
void refresh_window(refresh *x, int replica, int b, const replay_step *steps);
int refresh_encode(refresh *x);
/* after step t of window b: the posterior mean */
const float *refresh_reached(const refresh *x, int replica, int b, int t);

#endif
