/* true_graph.h - the true graph of the task of a config, where its environment knows it. */
#ifndef TRAIN_TRUE_GRAPH_H
#define TRAIN_TRUE_GRAPH_H

#include "learn/causal_graph.h"

/* `path` names the config; `settings` are lines of "section.key=value"; NULL: none. */
int true_graph(causal_graph **out, const char *path, const char *settings);

#endif
