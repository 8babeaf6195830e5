/* inference.h - online use of an FN-VAE: the model, its current beliefs, and the refresh of stored
 * ones; recorded and freed together. */
#ifndef LEARN_INFERENCE_H
#define LEARN_INFERENCE_H

#include "learn/belief.h"
#include "learn/refresh.h"

typedef struct inference {
    fnvae *model;
    belief *belief;
    refresh *refresh;
    points *points; /* the belief's; NULL: it is told where segments begin */
} inference;

/* Records all three on a graph; `column` of the replay stores the beliefs; `doubt` is belief_new's,
 * and `look`, if not NULL, says how to find where segments begin. With either, the next column has
 * what belongs to it.
 * Then plan, commit, ready. Start from {0}; free it even after a failure. */
int inference_record(inference *x, nn_graph *g, replay *r, int column, const fnvae_options *o,
                     fnvae_dims z, bool spread, double doubt, const points_options *look);
int inference_plan(inference *x);
int inference_ready(inference *x);
void inference_free(inference *x);

/* Starts to correct the beliefs of all rows by a step; with `learn`, adds it to the statistics. */
int inference_note(inference *x, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn);

/* Copies the current beliefs of all rows: (rows, width). */
void inference_beliefs(const inference *x, int width, float *to);

/* Makes `updates` updates on random windows, or none if there are too few rows yet. */
int inference_learn(inference *x, int64_t updates, rng *draws, pool *p);

#endif
