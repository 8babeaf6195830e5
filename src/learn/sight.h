/* sight.h - what models read of cameras: a few numbers in place of the observation.
 *
 * Policy and critics see frames by convolutions that their own loss trains (learn/pixels.h). A
 * model of the world wants a state: the same few numbers for all its networks, over long windows,
 * without convolutions on every row. So an encoder turns the last frames into `width` numbers once,
 * when a step is made, and the replay keeps them as the row's observation. As the encoder learns
 * they grow stale: sight_again computes those of all stored rows anew. */
#ifndef LEARN_SIGHT_H
#define LEARN_SIGHT_H

#include "base/pool.h"
#include "data/replay.h"
#include "learn/pixels.h"
#include "learn/staged.h"

typedef struct sight sight;

int sight_new(sight **out, const fans_algo_setup *setup, const pixels *eyes, sight_encoder e);
void sight_free(sight *x);

/* After the replay and the eyes are recorded; after everything is; after the commit. */
int sight_record(sight *x, nn_graph *g, replay *r);
int sight_plan(sight *x);
int sight_ready(sight *x);

/* Before a step, once the eyes have taken the frames in; and after it. The moment and the outcome
 * with these numbers as observations are valid until the next call. */
int sight_look(sight *x, const fans_moment *now, const fans_moment **out);
int sight_look_after(sight *x, const fans_outcome *o, const fans_outcome **out);

/* The numbers of the last look before a step: (rows, width). */
const float *sight_seen(const sight *x);

/* Computes the numbers of all stored rows anew. */
int sight_again(sight *x, pool *p);

#endif
