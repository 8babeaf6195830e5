/* evidence.h - how well beliefs predict a step, for those who weigh several: two hypotheses about a
 * segment (learn/hypotheses.h), or many about where the last one began (learn/points.h).
 *
 *     l = log 1/J Σ_j p(y | s, a, theta_j)       theta_j from the belief before the step
 *
 * separately for theta_s (y is the change of state) and theta_r (y is the reward): a jump of the
 * speed must not erase the friction.
 *
 * Where a decoder is wrong in one number, it is wrong in most: at a contact, say, and then every
 * belief is. So a step counts as one observation, however many numbers it has, and what counts is
 * by which factor one belief errs less than another:
 *
 *     log p  =  −2 log(1 + u² / 3)  +  const          Student's t with three degrees of freedom
 *
 * u² is the mean square of the errors, in units of a third of the decoders' spread, which was
 * learned with theta uncertain. */
#ifndef LEARN_EVIDENCE_H
#define LEARN_EVIDENCE_H

#include "learn/fnvae.h"
#include "learn/online.h"

enum { EVIDENCE_SAMPLES = 16, EVIDENCE_KINDS = 2 };

typedef struct evidence {
    fnvae *f;
    int beliefs, n; /* of a world; p + q */
    staged guesses; /* (beliefs · SAMPLES, worlds, [step | theta]) */
    nn_var errors;  /* (beliefs · SAMPLES, worlds, d + 1): in units of the decoders' spread */
    nn_plan *plan;
    float *host;   /* `errors` of all replicas */
    float *normal; /* [SAMPLES][n]: where samples lie, in standard deviations */
} evidence;

/* Records it for so many beliefs of each world; then plan; start once the arena is committed. */
int evidence_record(evidence *e, arena *memory, fnvae *f, int beliefs);
int evidence_plan(evidence *e);
void evidence_start(evidence *e);

/* A step (as online_seen has it) of a row, predicted from a belief: [mean | log_std]; or from
 * SAMPLES thetas. Then run it for all, and read it. */
void evidence_guess(evidence *e, int row, int belief, const float *step, const float *from);
void evidence_guess_any(evidence *e, int row, int belief, const float *step, const float *thetas);
int evidence_run(evidence *e);
void evidence_read(evidence *e);
double evidence_of(const evidence *e, int row, int belief, int kind);

#endif
