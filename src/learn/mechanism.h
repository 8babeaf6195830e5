/* mechanism.h - what drives each state and the reward, found by regression in blocks of rows.
 *
 *     s'_i = f_i(parents among s, a; theta^s) + noise         r = h(parents among s, a, s';
 * theta^r)
 *
 * f_i is a sum of smooth functions of one and of two inputs (learn/features.h). The mean of a
 * block, in which theta hardly moves, is taken off. So what a hidden factor adds vanishes, whether
 * anybody knows the factor or not. What it adds is then seen in the blocks' means: their principal
 * components, the *profiles*, stand in for theta where it scales something.
 *
 * An edge explains so many nats per row: ½ log of how much larger the unexplained variance is
 * without its cause. */
#ifndef LEARN_MECHANISM_H
#define LEARN_MECHANISM_H

#include "learn/blocks.h"
#include "learn/causal_graph.h"
#include "learn/regression.h"

/* Effects are the states, then the reward; causes the states, the actions, then theta. */
typedef struct mechanism {
    int d, m, profiles;
    regression_loss *edge; /* (d + 1, d + m + 1) */
    double *signal;        /* [d + 1]: variance explained by all causes, in units of the noise */
} mechanism;
enum { MECHANISM_PROFILES = 4 };

/* Are there rows enough to say anything? */
bool mechanism_possible(const blocks *x);

int mechanism_find(mechanism **out, const blocks *x);

/* How far each mechanism differs between two times; theta may have moved meanwhile. What theta
 * touches is not compared. */
int mechanism_differ(mechanism **out, const blocks *before, const blocks *after);
void mechanism_free(mechanism *x);

const regression_loss *mechanism_edge(const mechanism *x, int effect, int cause);

/* The probability that an edge is there; calibrated on worlds whose graph is known. */
double mechanism_probability(const mechanism *x, int effect, int cause);

/* ... that a mechanism has moved by no more than what is as good as nothing. */
double mechanism_unmoved(const mechanism *x, int effect, int cause);

/* Makes these the edges of a graph. Which of several factors touches a state, and how factors act
 * on each other, stays as it is; with `shown` factors, all of theirs does. */
void mechanism_graph(const mechanism *x, bool shown, causal_graph *g);

#endif
