/* run_lengths.h - when was the last change? Bayesian online change point detection (Adams and
 * MacKay 2007) cut to a few hypotheses.
 *
 * Each hypothesis says that the last change was so many steps ago. In every step a new one is
 * added, which has the share H (the hazard) of the probability; then all are weighed by how well
 * they predict the step:
 *
 *     w_j  <-  (1 - H) w_j e^l_j        w_new  <-  H e^l_new
 *
 * When there is no room, the least likely one makes place. Several kinds of factors are weighed
 * separately, and share the hypotheses.
 *
 * CUSUM, for comparison, has no posterior: the newest hypothesis starts anew as long as it is no
 * better than the accepted one, and is accepted once it is better by the odds of 1 to H. */
#ifndef LEARN_RUN_LENGTHS_H
#define LEARN_RUN_LENGTHS_H

enum { RUN_MOST = 8, RUN_KINDS = 2 };

/* Plain numbers without padding: a state lists them as floats. */
typedef struct run_lengths {
    float age[RUN_MOST];              /* steps since that change; -1: not in use */
    float log_w[RUN_KINDS][RUN_MOST]; /* the log of its probability */
} run_lengths;

/* A lifetime starts: the only hypothesis is that nothing has changed since. */
void run_lengths_start(run_lengths *x);

/* Something may change with the coming step. Returns the place of the new hypothesis. */
int run_lengths_add(run_lengths *x, double hazard);

/* The same for CUSUM; -1: the newest one keeps its place. */
int run_lengths_add_cusum(run_lengths *x, double hazard);

/* The coming step has become the last one, and hypothesis j predicted it with log probability l[j].
 */
void run_lengths_weigh(run_lengths *x, int kind, const double *l);
void run_lengths_grow(run_lengths *x); /* after all kinds */

/* A younger hypothesis makes no difference: its probability goes to the older one. */
void run_lengths_join(run_lengths *x, int kind, int older, int younger);

/* The likeliest that has seen a step. */
int run_lengths_best(const run_lengths *x, int kind);

/* The probability that the last change is at most `steps` steps ago. */
double run_lengths_recent(const run_lengths *x, int kind, double steps);

#endif
