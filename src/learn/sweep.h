/* sweep.h - goes over all steps of a replay in overlapping windows, to infer stored numbers again.
 *
 * A recurrence that starts in the middle of a lifetime needs some steps before its state is as good
 * as one carried from the start, so windows overlap by a warm-up whose results do not count. */
#ifndef LEARN_SWEEP_H
#define LEARN_SWEEP_H

#include "base/mem.h"
#include "base/pool.h"
#include "data/replay.h"

typedef struct sweep sweep;

/* B windows of T steps at a time, for every replica. */
typedef struct sweep_user {
    void *self;
    /* Takes window b of a replica; on any thread. */
    void (*window)(void *self, int replica, int b, const replay_step *steps);
    int (*infer)(void *self); /* all windows at once */
    /* Stores what was inferred at step t of window b, the step in row i of a lane. */
    void (*keep)(void *self, int replica, int b, int t, int lane, int i);
} sweep_user;
int sweep_new(sweep **out, replay *r, int T, int B, int warm_up, sweep_user user);
void sweep_free(sweep *x);

/* All steps of all lanes. Changes the column, so that the backend gets it again. */
int sweep_run(sweep *x, int column, pool *p);

/* Stores the numbers reached after the step in row i: in an episode's last row, and in the next
 * step; or there `foreseen`, if a segment starts. */
void sweep_keep(const replay *r, int column, int lane, int i, const float *reached,
                const float *foreseen);

/* Mean and spread of the first n numbers of a replica's column. */
enum { SWEEP_MOST = 256 };
void sweep_measure(const replay *r, int column, int replica, int n, float *mean, float *spread);

#endif
