/* compact.h - the compact representation: what a policy sees of state and belief, in which units.
 *
 * s^min and theta^min are the states and factors with a path to the reward in the learned graph.
 * All others are shown as zeros, so that replicas with different graphs have the same shape. The
 * unit of beliefs is the overall spread of theta^min: one unit for all latents keeps those that
 * carry nothing small. */
#ifndef LEARN_COMPACT_H
#define LEARN_COMPACT_H

#include "learn/causal_graph.h"
#include "learn/context.h"

typedef struct compact {
    int d, n, width;      /* states, factors, numbers of a belief: n, or 2 n with log_std */
    float *s_min;         /* (replicas, d): 1 if the policy sees a state, else 0 */
    float *theta_min;     /* (replicas, n): the same for theta */
    float *shift, *scale; /* (replicas, n): the units of theta */
} compact;

/* Declares it in an arena; after the commit, compact_start shows everything in raw units. */
int compact_declare(compact *c, arena *memory, int replicas, int d, int n, int width);
void compact_start(compact *c, int replicas);

/* Finds it in the graph of a replica; NULL: everything is in it. */
void compact_find(compact *c, int replica, const causal_graph *g);

/* Sets the units by the mean and spread [n] of the stored beliefs, the overall spread being at
 * least `floor`; NULL: raw units. */
void compact_scale(compact *c, int replica, const float *mean, const float *spread, double floor);

/* The units in which SAC sees a row: see context.h. `states` are scales [d] of the states, or NULL
 * where SAC sees no states. */
void compact_show(const compact *c, int replica, float *states, units theta);

void compact_state(compact *c, int replica, state_list *s);

#endif
