/* inference.h - an FN-VAE that lives: the model, the belief that it holds online, and the refresh
 * of what it believed earlier, recorded, saved and freed together. */
#ifndef LEARN_INFERENCE_H
#define LEARN_INFERENCE_H

#include "learn/belief.h"
#include "learn/refresh.h"

typedef struct inference {
    fnvae *model;
    belief *belief;
    refresh *refresh;
} inference;

/* Records all three on a graph, to learn from a replay whose column keeps the beliefs. Then plan,
 * commit, make ready. Start from {0}; free also what was made in part. */
int inference_record(inference *x, nn_graph *g, replay *r, int column, const fnvae_options *o,
                     fnvae_dims z, bool spread);
int inference_plan(inference *x);
int inference_ready(inference *x);
void inference_free(inference *x);

/* Begins to correct the beliefs of all rows by a step; with `learn` it enters the statistics, too.
 */
int inference_note(inference *x, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn);

/* The beliefs of all rows as they are now: (rows, width). */
void inference_beliefs(const inference *x, int width, float *to);

/* So many updates on random windows, as long as there is enough to learn from. */
int inference_learn(inference *x, int64_t updates, rng *draws, pool *p);

#endif
