/* learner.h - SAC with replay and normalisation: what every agent that learns by SAC is made of.
 *
 * Its input is the observation and `extra` numbers beside it: none for plain SAC, the true factors
 * for the oracle, a belief for an agent that infers them. */
#ifndef RL_LEARNER_H
#define RL_LEARNER_H

#include "fans/algo.h"
#include "rl/replay.h"
#include "rl/sac.h"

#define REPLAY_OPTIONS(X)                                             \
    X(INT, steps, 50000, 1, 100000000, "latest steps kept, per seed") \
    X(FLAG, normalize, false, "normalise observations by running mean and variance")
OPTIONS_STRUCT(replay_options, REPLAY_OPTIONS)
const option_group *replay_option_group(void);

typedef struct learner learner;

/* Takes [sac] and [replay] from the setup's config. */
int learner_new(learner **out, const fans_algo_setup *setup, int extra);
void learner_free(learner *l);

/* Draws the first batch of the updates that are due in this step, if any: called before acting, it
 * does so while the backend is busy with the last ones. Optional; without it they draw it. */
void learner_prepare(learner *l);

/* Actions for all rows; `extra` (rows, extra) or NULL. Random ones while SAC's random_steps last.
 */
int learner_act(learner *l, const float *obs, const float *extra, bool explore, float *action);

/* Stores a step of all rows; next_extra is what stands beside the successor at an episode's end. */
void learner_store(learner *l, const fans_moment *before, const float *extra, const float *action,
                   const fans_outcome *o, const float *next_extra);

/* What SAC sees of a row: `present` may change the observation and the extra numbers in place,
 * whenever a row is about to be shown, in acting and in learning. */
typedef void learner_present_fn(const void *user, int replica, float *obs, float *extra);
void learner_present(learner *l, learner_present_fn *present, const void *user);

/* Acts at random and does not learn before so many steps of a seed. */
void learner_hold(learner *l, int64_t steps);

/* As many updates as are due before this step. */
int learner_update(learner *l);

replay *learner_replay(learner *l);
void learner_state(learner *l, int replica, state_list *s);
void learner_scalars(learner *l, int replica, fans_scalar_fn *emit, void *user);

#endif
