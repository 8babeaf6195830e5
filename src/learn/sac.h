/* sac.h - soft actor-critic (Haarnoja et al. 2018): twin critics as one bank, a squashed Gaussian
 * policy, an automatic temperature; for R replicas at once.
 *
 * It knows nothing of worlds: whoever uses it names the rows of a memory that make a batch, and
 * calls sac_update. The networks read a row's observation and the extra numbers beside it, of which
 * an agent may make what it likes (the true factors, a belief), shifted and scaled. */
#ifndef LEARN_SAC_H
#define LEARN_SAC_H

#include "base/config.h"
#include "data/state.h"

#define SAC_OPTIONS(X)                                                                        \
    X(INT, hidden, 2, 1, 8, "hidden layers of the policy and the critics")                    \
    X(INT, width, 256, 1, 8192, "units of a hidden layer")                                    \
    X(REAL, lr, 3e-4, 1e-8, 1, "learning rate of policy, critics and temperature")            \
    X(INT, batch, 256, 1, 65536, "transitions per update")                                    \
    X(REAL, discount, 0.99, 0, 1, "of future rewards")                                        \
    X(REAL, tau, 0.005, 1e-6, 1, "how fast the target critics follow")                        \
    X(REAL, temp, 1, 1e-6, 1000, "temperature to start with")                                 \
    X(FLAG, auto_temp, true, "learn the temperature, so that the entropy reaches its target") \
    X(REAL, target_entropy, -1, -100, 100, "entropy to aim at, per dimension of the action")  \
    X(REAL, clip, 0, 0, 1e6, "largest norm of a gradient; 0 = any")                           \
    X(INT, random_steps, 1000, 0, 1000000000, "steps with random actions to begin with")      \
    X(INT, update_every, 1, 1, 1000000, "steps between rounds of updates")                    \
    X(INT, updates, 1, 0, 1000000, "updates in a round")
OPTIONS_STRUCT(sac_options, SAC_OPTIONS)
const option_group *sac_option_group(void);

typedef struct sac sac;

/* What SAC learns from lies in the caller's memory, and a GPU has a copy of it: per replica
 * `memory` rows [observation | action | reward | terminated], and as many of `extra` numbers. */
typedef struct sac_shape {
    int obs, extra, actions;
    int rows; /* actions asked for at a time, per replica */
    int replicas, memory;
    double bound;   /* the networks' inputs are cut off there; 0: nowhere */
    bool hindsight; /* critics see the extra numbers of other rows than the policy */
} sac_shape;
int sac_new(sac **out, nn_backend *b, const sac_options *o, sac_shape z, float *steps, float *extra,
            const uint64_t *seeds);
void sac_free(sac *s);

/* Rows of the memory were written. */
void sac_changed(sac *s, const nn_place *places, int count);
void sac_changed_extra(sac *s, int replica, int first, int count); /* only what stands beside */
void sac_changed_all(sac *s);

/* Shift and scale of every input, [replicas][obs + extra] each, to be written where they stand
 * (0 and 1 at first); sac_units then makes them count. */
typedef struct sac_view {
    float *shift, *scale;
} sac_view;
sac_view sac_view_of(sac *s, int replica);
void sac_units(sac *s);

/* Actions (replicas · rows, actions) for inputs (replicas · rows, obs + extra): samples, or the
 * means. */
int sac_act(sac *s, const float *inputs, bool explore, float *actions);

/* The next batch of a replica: rows of its memory, and those of their successors; (batch) each.
 * With hindsight also the rows beside which stands what critics see there: they only judge, and may
 * know what the policy could not know yet. */
typedef struct sac_batch {
    int32_t *at, *next;
    int32_t *judged_at, *judged_next;
} sac_batch;
sac_batch sac_batch_of(sac *s, int replica);

/* One update of critics, policy, temperature and targets on the batches of all replicas. */
int sac_update(sac *s);

typedef struct sac_losses {
    double critic, actor, temp, entropy;
} sac_losses;
sac_losses sac_losses_of(sac *s, int replica); /* of the last update */

void sac_state(sac *s, int replica, state_list *list);

#endif
