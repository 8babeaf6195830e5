/* causal_pair.h - two graphs of the same states and actions, edge by edge: a learned one against
 * the truth or another run's, an early one against a later one.
 *
 * Latent factors are known only up to order and mixture. So edges of theta_s are compared by the
 * states that they touch at all, and how factors act on each other is not. */
#ifndef LEARN_CAUSAL_PAIR_H
#define LEARN_CAUSAL_PAIR_H

#include "learn/causal_graph.h"

typedef struct causal_pair {
    causal_score mask[CAUSAL_MASK_COUNT]; /* of those that causal_pairs says */
    causal_score touched, all;
} causal_pair;

bool causal_pairs(int mask);

/* b as if a were the truth. Graphs of other states or actions are refused. */
int causal_pair_of(causal_pair *out, const causal_graph *a, const causal_graph *b);

/* Calls for every edge that only one of them has. */
typedef void causal_edge_fn(void *user, const char *cause, const char *effect, bool extra);
void causal_pair_edges(const causal_graph *a, const causal_graph *b, causal_edge_fn *fn,
                       void *user);

#endif
