/* learner.h - SAC with replay and normalisation: what every agent that learns by SAC is made of.
 *
 * Its input is the observation and `extra` numbers beside it: none for plain SAC, the true factors
 * for the oracle, a belief for an agent that infers them. */
#ifndef LEARN_LEARNER_H
#define LEARN_LEARNER_H

#include "data/replay.h"
#include "fans/algo.h"
#include "learn/sac.h"

/* Steps and ends of episodes are numbered together, up to 2^31 - 1 (nn_index). */
#define REPLAY_OPTIONS(X)                                              \
    X(INT, steps, 50000, 1, 1000000000, "latest steps kept, per seed") \
    X(FLAG, normalize, false, "normalise observations by running mean and variance")
OPTIONS_STRUCT(replay_options, REPLAY_OPTIONS)
const option_group *replay_option_group(void);

typedef struct learner learner;

/* Takes [sac] and [replay] from the setup's config. With hindsight the critics, which only judge,
 * see beside the first so many steps of a segment the extra numbers of the step behind them: what
 * was found out meanwhile. */
int learner_new(learner **out, const fans_algo_setup *setup, int extra, int hindsight);
void learner_free(learner *l);

/* Actions for all rows; `extra` (rows, extra) or NULL. Random ones while SAC's random_steps last.
 */
int learner_act(learner *l, const float *obs, const float *extra, bool explore, float *action);

/* Stores a step of all rows; next_extra is what stands beside the successor at an episode's end. */
void learner_store(learner *l, const fans_moment *before, const float *extra, const float *action,
                   const fans_outcome *o, const float *next_extra);

/* In which units SAC sees a row. `units` is asked when they are needed and may have changed: it
 * finds those of the observation [obs] as normalisation left them, those of the extra numbers
 * [extra] at 0 and 1, and may write both. Whoever makes it answer differently says so. */
typedef void learner_units_fn(const void *user, int replica, sac_view obs, sac_view extra);
void learner_units(learner *l, learner_units_fn *units, const void *user);
void learner_units_changed(learner *l);

/* The extra numbers of all stored rows were changed, by way of learner_replay. */
void learner_extra_changed(learner *l);

/* Acts at random and does not learn before so many steps of a seed, by that option. */
void learner_hold(learner *l, int64_t steps, const char *by);

/* Warns if a run ends before that. */
void learner_check_length(const learner *l, const fans_algo_setup *setup);

/* As many updates as are due before this step. */
int learner_update(learner *l);

replay *learner_replay(learner *l);
void learner_state(learner *l, int replica, state_list *s);
void learner_scalars(learner *l, int replica, fans_scalar_fn *emit, void *user);

#endif
