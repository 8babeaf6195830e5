/* seen_units.h - lived steps in the units that networks read: running statistics of observations,
 * their changes, and rewards. */
#ifndef LEARN_SEEN_UNITS_H
#define LEARN_SEEN_UNITS_H

#include "data/replay.h"
#include "learn/scales.h"
#include "learn/seen.h"

typedef struct seen_units {
    const replay *replay;
    scales scales;
} seen_units;

/* Settle them once the arena is committed. Free them even after a failure. */
int seen_units_record(seen_units *x, arena *memory, nn_graph *g, const replay *r);
void seen_units_free(seen_units *x);

/* Adds a step of all worlds to the statistics; makes the statistics so far the units. */
void seen_units_observe(seen_units *x, const fans_moment *before, const fans_outcome *o);
void seen_units_settle(seen_units *x);

/* Steps in these units: given as they are, or as rows of the replay and their successors. */
seen see_steps(const seen_units *x, nn_var obs, nn_var action, nn_var reward, nn_var next_obs);
seen see_rows(const seen_units *x, nn_var at, nn_var next);

/* The same steps from states (T, B, ·) that are computed anew. */
seen see_from(const seen_units *x, seen steps, nn_var obs);

/* 1 / the spread of rewards: (1, 1, 1). */
nn_var seen_units_reward(const seen_units *x);

/* Lists the statistics, and the units as `name`. */
void seen_units_state(seen_units *x, int replica, const char *name, state_list *s);

#endif
