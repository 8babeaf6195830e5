/* imagined.h - steps under other factors as an FN-VAE imagines them: the model that relabelling
 * asks (learn/relabel.h).
 *
 * Rewards come from p_beta2, or from a network of their own that learns with the critics. States
 * come from p_alpha2, and only those change that a factor of the dynamics has an edge to. */
#ifndef LEARN_IMAGINED_H
#define LEARN_IMAGINED_H

#include "learn/causal_graph.h"
#include "learn/fnvae.h"
#include "learn/relabel.h"

/* Set `width` and `own` before the relabelling is made, `relabel` after, `model` once recorded. */
typedef struct imagined {
    fnvae *model;
    relabel *relabel;
    int width;    /* numbers of a context: theta, and its log_std if shown */
    bool own;     /* rewards come from a network of their own */
    int d;        /* numbers of s */
    float *reach; /* (replicas, d): 1 if a factor of the dynamics has an edge to the state */
} imagined;

int imagined_declare(imagined *x, arena *memory, int replicas, int d);
relabel_model imagined_model(imagined *x);

/* The graph is found. */
void imagined_reach(imagined *x, int replica, const causal_graph *g);

void imagined_state(imagined *x, int replica, state_list *s);

#endif
