/* data_graph.h - the graph in recorded data, and whether it has changed. */
#ifndef TRAIN_DATA_GRAPH_H
#define TRAIN_DATA_GRAPH_H

#include "base/text.h"
#include "learn/mechanism.h"

/* Of the task of a config, from the transitions in a file of `fans rollout --csv`. With `recent`,
 * such a file too, `found` is by how much mechanisms differ between them, and the graph that of
 * `data`. Free both. */
int data_graph(causal_graph **graph, mechanism **found, const char *path, const text_list *settings,
               const char *data, const char *recent);

#endif
