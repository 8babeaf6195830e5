/* relabel.h - experience under other factors: what a transition would have been worth.
 *
 * A factor that touches the reward alone leaves a transition as it was. It can then be learned from
 * under any value of that factor, with the reward that a model gives for it. So a share of each
 * batch is relabelled: both ends of the transition get other context numbers, drawn from those
 * stored with the replay's rows, and the reward changes by as much as the model says,
 *
 *     r' = r + m(s, a, s', θ') - m(s, a, s', θ)
 *
 * What the model does not explain stays as it was. A gate compares the model with steps it has not
 * learned from yet. It closes while the error is not small against the changes that the model would
 * make, or while rewards do not bear these out.
 *
 * All is recorded with the batch; the host draws row numbers. docs/explanation/experience.md has
 * the reasons. */
#ifndef LEARN_RELABEL_H
#define LEARN_RELABEL_H

#include "base/options.h"
#include "data/replay.h"
#include "learn/sac.h"
#include "learn/staged.h"

#define RELABEL_OPTIONS(X)                                                                       \
    X(CHOICE, factors, 0, "lived|between|beyond",                                                \
      "other factors: of one stored row, between those of two, or up to half as far beyond")     \
    X(FLAG, residual, true, "keep what the reward model does not explain")                       \
    X(REAL, error, 0.5, 0, 1e9,                                                                  \
      "held-out error of the reward model at which relabelling stops, relative to the change")   \
    X(FLAG, dynamics, false, "relabel factors of the dynamics too, and the states they lead to") \
    X(FLAG, all, false, "relabel factors of the dynamics too, as if they touched nothing")
OPTIONS_STRUCT(relabel_options, RELABEL_OPTIONS)
const option_group *relabel_option_group(void);

/* A model of what a step leads to, in its own units. Rows are those of the replay. */
typedef struct relabel_model {
    void *self;
    /* Records the reward under context numbers, and the reward that came: (1, B, 1). */
    nn_var (*expect)(void *self, nn_var now, nn_var next, nn_var numbers);
    nn_var (*observed)(void *self, nn_var now);
    float (*unit)(const void *self, int replica); /* in reward; NULL: 1 */
    /* Sets which of the context's numbers are of factors that touch the reward alone. */
    void (*which)(const void *self, int replica, float *numbers);

    /* The same for the change of state: (1, B, obs). All NULL: dynamics are not relabelled. */
    nn_var (*expect_step)(void *self, nn_var now, nn_var next, nn_var numbers);
    nn_var (*observed_step)(void *self, nn_var now, nn_var next);
    void (*reach)(const void *self, int replica, float *units); /* 0: no factor reaches the state */
} relabel_model;

typedef struct relabel relabel;

/* A network for `expect` that learns with the critics: from each batch as it was. */
nn_var relabel_learned(relabel *x, nn_list in);

/* For the agent of a setup, with its options [relabel]. `share` is the value of the option `name`;
 * where it cannot be had it becomes 0, with a warning. At 0 there is none: *out stays. */
int relabel_new(relabel **out, const fans_algo_setup *s, double *share, const char *name,
                relabel_model m);
void relabel_free(relabel *x);

/* ---- recording: in this order, by the agent -------------------------------------------------- */

/* Records the inputs of a batch of steps `now`, of a replay whose column 0 has the context. Of
 * their successors `next`, the observations become those under the other factors; nothing else is
 * left in it. */
int relabel_record(relabel *x, stage *t, const replay *r, int batch, nn_var now, nn_var *next);
nn_var relabel_numbers(const relabel *x, nn_var numbers); /* relabelled, at either end */
nn_var relabel_reward(const relabel *x, nn_var reward);
int relabel_plan(relabel *x, sac_also *also);
int relabel_ready(relabel *x); /* after the commit */

/* ---- learning -------------------------------------------------------------------------------- */

/* Decides what to relabel in a batch of one replica, on any thread. */
void relabel_draw(relabel *x, int replica, const int32_t *at);

/* Compares the model with the newest steps since the last time, and moves the gate. `steps` are
 * those of a seed so far. Call it before the model learns from them. */
int relabel_look(relabel *x, int64_t steps);

void relabel_state(relabel *x, int replica, state_list *s);
void relabel_scalars(const relabel *x, int replica, fans_scalar_fn *emit, void *user);

#endif
