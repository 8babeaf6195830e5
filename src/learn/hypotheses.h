/* hypotheses.h - has theta jumped? Two beliefs, weighed by how well they predict.
 *
 * One carries on: its LSTM state has seen the whole lifetime, so it knows weak factors, but it
 * trusts that theta moves as it always has. The other starts afresh with every segment, so it
 * believes what it sees. What is shown is their mixture, with the weight w of starting afresh:
 *
 *     log odds of w  +=  l_fresh - l_carried
 *
 * separately for theta_s and theta_r. It is Bayesian online change point detection cut to two run
 * lengths (learn/evidence.h has l). LSTM states are never mixed: where w is nearly 1, the belief
 * that carries on takes over the other's state. */
#ifndef LEARN_HYPOTHESES_H
#define LEARN_HYPOTHESES_H

#include "learn/fnvae.h"
#include "learn/online.h"

typedef struct hypotheses hypotheses;

/* A belief's numbers, of a row: [mean | log_std | LSTM states], theta_s before theta_r in each. */

/* Records it on the model's graph, where segments start afresh with probability `prior`. Then plan,
 * commit, ready. */
int hypotheses_new(hypotheses **out, fnvae *f, double prior);
int hypotheses_plan(hypotheses *h);
int hypotheses_ready(hypotheses *h);
void hypotheses_free(hypotheses *h);

void hypotheses_reset(hypotheses *h, int row); /* a new lifetime */

/* Note the step of each row with the belief that carries on; then run all at once, beside the
 * correction of that belief. */
void hypotheses_note(hypotheses *h, int row, const float *obs, const float *action, float reward,
                     const float *next_obs, bool change);
int hypotheses_begin(hypotheses *h, const online *carried);

/* Once that belief is corrected: weighs the two. */
void hypotheses_finish(hypotheses *h, online *carried);

/* A segment starts: `carried` becomes the likelier of the two, and the other starts afresh. */
void hypotheses_split(hypotheses *h, int row, float *carried);

/* The weights of starting afresh: theta_s, theta_r. */
enum { HYPOTHESES_KINDS = 2 };
void hypotheses_weights(const hypotheses *h, int row, float *w);

/* The mixture: [mean | log_std]. */
void hypotheses_mix(const hypotheses *h, int row, const float *carried, float *to);

/* The same of any two beliefs; with `spread` their log_stds, too. */
void hypotheses_blend(fnvae_dims z, const float *w, const float *carried, const float *fresh,
                      bool spread, float *to);

void hypotheses_carried(hypotheses *h, int replica, state_list *s);

#endif
