/* segments.h - batches of whole segments from the replay, for networks that infer what holds during
 * a segment.
 *
 * Column b of a batch has the n steps of a segment in rows 0 to n - 1. Row n has no step: what is
 * known before row t is known after t steps. Segments of more than `most` steps give a part. */
#ifndef LEARN_SEGMENTS_H
#define LEARN_SEGMENTS_H

#include "base/pool.h"
#include "learn/seen_units.h"

/* Draws what else belongs to column b, a segment of n steps. */
typedef void segments_fn(void *self, int replica, int b, int n, rng *draw);

typedef struct segments {
    const replay *replay;
    int most, T, B; /* T = most + 1 */
    seen_units units;
    staged at, next; /* (T, B, 1): rows of steps and their successors; -1: none */
    staged weight;   /* (T, B, 1): 1 in rows 0 to n */
    seen seen;
    segments_fn *also;
    void *self;
    rng *draws;          /* [replica] */
    replay_step *window; /* [replica][most] */
} segments;

int segments_record(segments *x, arena *memory, nn_graph *g, const replay *r, int most, int B,
                    segments_fn *also, void *self);
void segments_start(segments *x, const uint64_t *seeds); /* after the arena is committed */
void segments_free(segments *x);

/* Draws and sends a batch, in the units of now; false if there is no step yet. */
bool segments_draw(segments *x, pool *p);

void segments_state(segments *x, int replica, state_list *s);

#endif
