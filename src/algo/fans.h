/* fans.h - the options of the agent. */
#ifndef ALGO_FANS_H
#define ALGO_FANS_H

#include "base/options.h"

#define FANS_OPTIONS(X)                                                                          \
    X(INT, initial, 5000, 0, 1000000000, "steps with random actions to learn model and graph")   \
    X(INT, model_every, 25, 1, 1000000, "steps between rounds of model updates, from then on")   \
    X(INT, model_updates, 1, 0, 1000000, "model updates in a round")                             \
    X(INT, refresh, 500, 0, 1000000000, "steps between encodings of what is stored; 0 = never")  \
    X(CHOICE, belief, 0, "filter|prior", "corrected by what is seen, or only rolled forward")    \
    X(FLAG, normalize, true, "show beliefs in units of their spread, of all together")           \
    X(REAL, floor, 0.5, 1e-6, 1e6, "smallest spread that counts: before anything is found")      \
    X(FLAG, log_std, false, "show how sure the belief is, too: its log standard deviations")     \
    X(INT, hindsight, 1, 0, 1000, "critics judge so many first steps of a segment in hindsight") \
    X(FLAG, compact, true, "show only what can reach the reward by the graph")
OPTIONS_STRUCT(fans_options, FANS_OPTIONS)
const option_group *fans_option_group(void);

#endif
