/* fans_parts.h - what the two files of the agent share: fans.c is the algorithm, fans_agent.c all
 * that stands around it. Nobody else looks inside. */
#ifndef ALGO_FANS_PARTS_H
#define ALGO_FANS_PARTS_H

#include "algo/fans.h"
#include "fans/algo.h"
#include "learn/causal_graph.h"
#include "learn/fnvae_state.h"
#include "learn/learner.h"
#include "learn/past.h"

typedef struct fans {
    fans_options o;
    fnvae_options fo;
    int replicas, worlds, rows, d, m;
    int n, width; /* p + q, and the numbers of a belief that are stored and shown: n or 2 n */
    fnvae *model;
    belief *belief;
    past *past;
    learner *learner;
    causal_graph *graph;
    pool *pool;
    float *s_min;               /* (replicas, d): 1 where the policy sees a state, or 0 */
    float *theta_min;           /* (replicas, n): likewise of theta */
    float *shift, *scale;       /* (replicas, n): the units in which the policy sees theta */
    float *theta, *theta_after; /* (rows, width): during the step, and behind it */
    float *costs;               /* (costs, replicas), for curves */
    bool costs_stale;
    bool *graph_left; /* [replicas]: its file is written */
    rng *windows;     /* [replicas] */
    int64_t *steps;   /* [replicas] */
    arena *memory;
} fans;

/* fans.c */
void fans_show(const void *agent, int replica, sac_view obs, sac_view extra);

/* fans_agent.c: see fans_algo_def */
int fans_agent_open(void **agent, const fans_algo_setup *s);
void fans_agent_close(void *agent);
void fans_agent_state(void *agent, int replica, state_list *s);
const float *fans_agent_belief(void *agent, int row, int *n);
int fans_agent_leave(void *agent, int replica, const char *folder);
void fans_agent_scalars(void *agent, int replica, fans_scalar_fn *emit, void *user);

#endif
