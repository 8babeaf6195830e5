/* points.h - the belief of an agent that nobody tells when the world may have changed.
 *
 * It keeps several beliefs about theta, each of which has seen the steps since another moment, and
 * weighs them by how well they predict (learn/run_lengths.h, learn/evidence.h). The likeliest is
 * what the agent acts by, theta_s and theta_r separately. A new belief starts with every step, with
 * an empty LSTM state; before it has seen anything, it predicts from thetas of all times.
 *
 * A change that changes nothing is none: a younger belief that says the same as a likelier older
 * one leaves it its probability. And a kind of theta that has hardly been seen to move does not
 * change.
 *
 * Where the likeliest belief began is a **point**: there a segment begins, also in the replay, for
 * the steps since then. The model learns on these segments. As long as it cannot be relied on, that
 * is until points_find, segments are episodes, and there is one belief, which carries on.
 *
 * Beside each row the replay has, for each kind of theta, what points_keep says: whether a segment
 * began there, and whether the belief that was acted by was still that of the segment before. With
 * this a refresh infers the same beliefs again from two windows, in one of which every other
 * segment starts afresh, in the other one the rest. */
#ifndef LEARN_POINTS_H
#define LEARN_POINTS_H

#include "learn/fnvae.h"
#include "learn/run_lengths.h"

typedef struct points points;

typedef enum points_rule { POINTS_BOCPD, POINTS_CUSUM } points_rule;
typedef struct points_options {
    points_rule rule;
    double hazard; /* the probability of a change in a step; 0: no points are looked for */
} points_options;

/* Records it on the model's graph; `column` of the replay has what points_keep writes, and the one
 * before it the beliefs. Then plan, commit, ready. */
int points_new(points **out, fnvae *f, replay *r, int column, points_options o);
int points_plan(points *p);
int points_ready(points *p);
void points_free(points *p);

void points_reset(points *p, int row); /* a new lifetime */

/* Note the step of each row; then run all at once; finish waits for it. */
void points_note(points *p, int row, const float *obs, const float *action, float reward,
                 const float *next_obs);
int points_begin(points *p);
void points_finish(points *p);

/* The outcome of that step: before points_find, an episode's end ends a segment. */
void points_ended(points *p, const fans_outcome *o);

/* The moment with the segments that it knows of. */
const fans_moment *points_moment(points *p, const fans_moment *told);

/* The likeliest belief: [mean | log_std]. */
const float *points_shown(points *p, int row);

/* The probability that theta_s or theta_r changed within the last `steps` steps. */
double points_changed(const points *p, int row, int64_t steps);

/* For the coming step of all rows: (rows, RUN_KINDS). */
void points_keep(const points *p, float *to);
enum { POINTS_ODD = 1, POINTS_STARTS = 2, POINTS_LATE = 4 }; /* bits of what is kept */

/* ---- in learning ----------------------------------------------------------------------------- */

/* After each step: begins segments in the replay where points were found. */
void points_split(points *p);

/* The model can be relied on: from now on, points are found. Looks for them in the whole replay,
 * and again whenever that is called; the stored beliefs must be those of now. */
int points_find(points *p, pool *threads);
bool points_found(const points *p); /* ... is that so? */

/* What is learned, and what is carried along the lifetimes of a replica. */
void points_state(points *p, int replica, state_list *s);
void points_carried(points *p, int replica, state_list *s);

#endif
