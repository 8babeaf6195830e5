/* compact.h - the compact representation: what a policy sees of state and belief, and in which
 * units.
 *
 * s^min and theta^min are the states and factors with a path to the reward in the learned graph.
 * All others are shown as zeros, so that replicas with different graphs have the same shape.
 * Beliefs are shown in units of their spread, of all of theta^min together: latents keep their
 * sizes relative to each other, so that those which carry nothing stay small. */
#ifndef LEARN_COMPACT_H
#define LEARN_COMPACT_H

#include "learn/causal_graph.h"
#include "learn/context.h"

typedef struct compact {
    int d, n, width;      /* states, factors, numbers of a belief: n, or 2 n with log_std */
    float *s_min;         /* (replicas, d): 1 where the policy sees a state, or 0 */
    float *theta_min;     /* (replicas, n): likewise of theta */
    float *shift, *scale; /* (replicas, n): the units of theta */
} compact;

/* Declares it in an arena; after the commit, compact_start shows all, as it is. */
int compact_declare(compact *c, arena *memory, int replicas, int d, int n, int width);
void compact_start(compact *c, int replicas);

/* By the graph of a replica; NULL: all. */
void compact_find(compact *c, int replica, const causal_graph *g);

/* By the mean and spread [n] of the stored beliefs; a spread below `floor` counts as that. NULL: as
 * they are. */
void compact_scale(compact *c, int replica, const float *mean, const float *spread, double floor);

/* The units in which SAC sees a row: see context.h. */
void compact_show(const compact *c, int replica, units obs, units theta);

void compact_state(compact *c, int replica, state_list *s);

#endif
