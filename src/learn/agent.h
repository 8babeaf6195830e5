/* agent.h - an agent that learns by SAC: a replay, a context, SAC, and a schedule of updates in one
 * unit, the steps of a seed (all its worlds together).
 *
 * It implements the functions of fans_algo_def: an algorithm writes its context and lists
 * AGENT_FUNCTIONS. Everything is recorded in one graph, so a critic's gradient can reach a context,
 * and a GPU has one copy of the replay. */
#ifndef LEARN_AGENT_H
#define LEARN_AGENT_H

#include "learn/context.h"

#define REPLAY_OPTIONS(X)                                              \
    X(INT, steps, 50000, 1, 1000000000, "latest steps kept, per seed") \
    X(FLAG, normalize, true, "normalise observations by running mean and variance")
OPTIONS_STRUCT(replay_options, REPLAY_OPTIONS)
const option_group *replay_option_group(void);

typedef struct agent agent;

/* Takes [sac] and [replay] from the setup. `c` may be NULL: no context. The agent owns the
 * context's self, which is freed even if this fails. */
int agent_new(agent **out, const fans_algo_setup *setup, const context *c);

/* Refuses sac.n_step > 1, for contexts to which it means nothing. */
int agent_learns_single_steps(const fans_algo_setup *setup);

/* Steps of a seed so far; and, of something done every `every` steps, how often it fell due in the
 * last step of all worlds. */
int64_t agent_steps(const agent *a);
int agent_rounds(const agent *a, int64_t every);

/* The same for `rounds` spread evenly over the steps from `from` until `until`. */
int64_t agent_rounds_within(const agent *a, int64_t from, int64_t until, int64_t rounds);

/* What the context's sight saw before the last step: (rows, width). */
const float *agent_saw(const agent *a);

/* Computes anew what stored rows have for the context's sight. */
int agent_look_again(agent *a);

/* Call it after changing what the context's `units` answers. */
void agent_units_changed(agent *a);

void *agent_context(agent *a);                       /* its self */
const float *agent_numbers(const agent *a, int row); /* the context of the coming step */

/* What it acts by, as a recording in its graph; recorded once, then the same. Fails if its context
 * cannot be recorded. */
int agent_tick(agent *a, const tick **out);

/* See fans_algo_def. */
void agent_free(void *agent);
void agent_start(void *agent);
int agent_act(void *agent, const fans_moment *now, bool explore, float *action);
int agent_observe(void *agent, const fans_moment *before, const float *action,
                  const fans_outcome *outcome, bool learn);
int agent_update(void *agent);
void agent_state(void *agent, int replica, state_list *s);
void agent_carried(void *agent, int replica, state_list *s);
void agent_scalars(void *agent, int replica, fans_scalar_fn *emit, void *user);

#define AGENT_FUNCTIONS                                                                    \
    .close = agent_free, .start = agent_start, .act = agent_act, .observe = agent_observe, \
    .update = agent_update, .state = agent_state, .carried = agent_carried,                \
    .scalars = agent_scalars

#endif
