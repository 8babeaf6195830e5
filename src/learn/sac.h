/* sac.h - soft actor-critic (Haarnoja et al. 2018): twin critics as one bank, a squashed Gaussian
 * policy, an automatic temperature; for R replicas at once.
 *
 * It records its losses on the inputs it is given and knows nothing of worlds or replays. Gradients
 * flow into all inputs that the caller did not detach: an encoder before the critics learns from
 * their loss if `sac_also` names its group. */
#ifndef LEARN_SAC_H
#define LEARN_SAC_H

#include "base/config.h"
#include "data/state.h"

/* Defaults that the number of threads follows from, too. */
enum { SAC_WIDTH = 256, SAC_BATCH = 256 };

#define SAC_OPTIONS(X)                                                                       \
    X(INT, hidden, 2, 1, 8, "hidden layers of the policy and the critics")                   \
    X(INT, width, SAC_WIDTH, 1, 8192, "units of a hidden layer")                             \
    X(CHOICE, layer_norm, 0, "off|critics|all", "networks with layer norms")                 \
    X(REAL, lr, 1e-3, 1e-8, 1, "learning rate of policy, critics and temperature")           \
    X(INT, batch, SAC_BATCH, 1, 65536, "transitions per update")                             \
    X(REAL, discount, 0, 0, 1, "discount of future rewards; 0: by the horizon")              \
    X(INT, n_step, 1, 1, 1000, "rewards summed in a critic's target before it bootstraps")   \
    X(FLAG, persist, true, "targets ignore changes within an episode: the context persists") \
    X(REAL, tau, 0.02, 1e-6, 1, "fraction by which the target critics follow, per update")   \
    X(REAL, temp, 1, 1e-6, 1000, "initial temperature")                                      \
    X(FLAG, auto_temp, true, "learn the temperature to keep the entropy at its target")      \
    X(REAL, target_entropy, -1, -100, 100, "target entropy, per dimension of the action")    \
    X(REAL, clip, 0, 0, 1e6, "largest gradient norm; 0: unlimited")                          \
    X(INT, random_steps, 1000, 0, 1000000000, "first steps of a seed, with random actions")  \
    X(INT, update_every, 1, 1, 1000000, "steps of a seed between rounds of updates")         \
    X(INT, updates, 1, 0, 1000000, "updates in a round")
OPTIONS_STRUCT(sac_options, SAC_OPTIONS)
const option_group *sac_option_group(void);

typedef struct sac sac;
int sac_new(sac **out, nn_graph *g, const sac_options *o, int actions);
void sac_free(sac *s);

/* How policy and critics read their inputs before their hidden layers, through layers of `group`:
 * the policy's, the critics' or the targets'. NULL: as they are. Say so before recording. */
typedef struct sac_front {
    void *self;
    nn_list (*policy)(const void *self, nn_group *group, nn_var input);
    nn_list (*critic)(const void *self, nn_group *group, nn_var input, nn_var action);
} sac_front;
void sac_use_front(sac *s, sac_front front);

/* What policy and critics read in sampled rows (T, B, D) and in their successors; and the actions
 * and outcomes of these rows (T, B, ·). */
typedef struct sac_inputs {
    nn_var actor, critic, next_actor, next_critic;
    nn_var action, reward, terminated;
    nn_var discount; /* of the successor's value: (1, 1, 1), (T, B, 1), or NN_NONE: the option's */
    nn_var weight;   /* (T, B, 1): which rows count; NN_NONE: all do */
} sac_inputs;
void sac_record(sac *s, const sac_inputs *in);

/* Records the policy on other inputs (1, rows, D), for acting; or only the Gaussian (1, rows,
 * actions) whose tanh is the action. */
void sac_record_act(sac *s, nn_var here);
typedef struct sac_gauss {
    nn_var mean, log_std;
} sac_gauss;
sac_gauss sac_record_gauss(const sac *s, nn_var here);

/* What else an update trains: groups that follow the critics' or the policy's loss, costs to
 * minimise together with the critics' loss, numbers to compute with it for curves, and targets that
 * follow such a group as the target critics do. Whoever names targets starts them, too. */
enum { SAC_ALSO = 6 };
typedef struct sac_number {
    const char *name; /* in curves and checkpoints */
    nn_var value;     /* (1, 1, 1) */
} sac_number;
typedef struct sac_also {
    nn_group *with_critic[SAC_ALSO], *with_actor[SAC_ALSO];
    nn_var costs[SAC_ALSO];
    sac_number shown[SAC_ALSO];
    nn_group *targets[SAC_ALSO], *sources[SAC_ALSO];
    int with_critic_count, with_actor_count, cost_count, shown_count, target_count;
    double rate; /* learning rate of these groups relative to SAC's; 0: the same */
} sac_also;

/* Plans updates and acting: after everything is recorded, before the graph is committed. */
int sac_plan(sac *s, const sac_also *also);
void sac_start(sac *s); /* after the commit: the targets start as the critics */

/* Actions (replicas · rows, actions) for the current inputs: samples, or the means. */
int sac_act(sac *s, bool explore, real *actions);

/* One update of critics, policy, temperature and targets on the current inputs. */
int sac_update(sac *s);

typedef struct sac_losses {
    double critic, actor, temp, entropy;
} sac_losses;
sac_losses sac_losses_of(sac *s, int replica); /* of the last update */

/* Emits what `also` shows, of the last update. */
void sac_scalars(sac *s, int replica, fans_scalar_fn *emit, void *user);

void sac_state(sac *s, int replica, state_list *list);

#endif
