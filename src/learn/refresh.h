/* refresh.h - infers all stored beliefs of a replay again.
 *
 * Stored beliefs grow stale as q_phi learns. Here the same networks are recorded for o.encode
 * windows of twice o.window steps, forward only, so that a few runs update a whole replay. An LSTM
 * that starts in the middle of a lifetime needs some steps before its belief is as good as one
 * carried from the start, so windows overlap.
 *
 * Where a segment has started afresh, the state is cleared. Where several beliefs are possible, two
 * windows are encoded from the same steps: see refresh_way.
 *
 * The replay's column has the belief with which each row's action was chosen: the means [p + q],
 * and with `spread` the log standard deviations. An episode's last row has the belief reached
 * there. */
#ifndef LEARN_REFRESH_H
#define LEARN_REFRESH_H

#include "learn/fnvae.h"

typedef struct refresh refresh;

/* How the belief of a row follows from those before it. All but the first need the replay's next
 * column, which says more of each row. */
typedef enum refresh_way {
    REFRESH_CARRIES, /* it always carries on */
    REFRESH_DOUBTS,  /* with each segment it may start afresh: learn/hypotheses.h, its weights */
    REFRESH_POINTS   /* it starts afresh where a change was found: learn/points.h, points_keep */
} refresh_way;

/* Records it on the model's graph. Then plan, commit, ready. */
int refresh_new(refresh **out, fnvae *f, replay *r, int column, bool spread, refresh_way way);
int refresh_plan(refresh *x);
int refresh_ready(refresh *x);
void refresh_free(refresh *x);

/* Infers all stored beliefs again, by the current model. */
int refresh_run(refresh *x, pool *p);

/* Mean and spread of the stored means of a replica, [p + q] each. */
void refresh_measure(const refresh *x, int replica, float *mean, float *spread);

/* ---- windows, for tests ---------------------------------------------------------------------- */

int refresh_length(const refresh *x); /* steps of a window */
void refresh_window(refresh *x, int replica, int b, const replay_step *steps);
int refresh_encode(refresh *x);
/* after step t of window b: the posterior mean */
const float *refresh_reached(const refresh *x, int replica, int b, int t);

#endif
