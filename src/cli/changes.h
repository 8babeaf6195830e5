/* changes.h - what `fans graph --recent` prints: which mechanisms have changed. */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include "learn/mechanism.h"

/* Of all edges together, with at most this probability of one that has not changed. `g` names the
 * nodes. */
int changes_show(const mechanism *found, const causal_graph *g, double alarm, const char *json);

/* What each edge explains: a row per effect, the reward last; in it, for each cause, theta last,
 * the nats and their standard error. */
json_t *changes_nats(const mechanism *found);

#endif
