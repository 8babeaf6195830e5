/* algo.h - how to write an algorithm.
 *
 * An algorithm is one constant fans_algo_def and a private agent. One agent serves R replicas
 * (runs that learn side by side, each on its own task, from its own data) with W worlds each; all
 * arrays have R·W rows, row r·W + w belonging to world w of replica r. Replicas must not influence
 * each other: replica r behaves as a run of its own with seeds[r] would.
 *
 * The training loop is, for every step of all worlds,
 *
 *     act(now) → update() → worlds step → observe(now, action, outcome)
 *
 * and nothing else: evaluation, checkpoints, curves and progress stand around it and are the same
 * for every algorithm. An update learns from all that was observed before this step. It stands in
 * front of the worlds because on a GPU it only queues its work, which is then done while the worlds
 * step on the CPU; an update that reads back what it has queued would wait for it, and gain
 * nothing. Checkpoints fall between steps.
 * Built-in algorithms are registered in src/algo/list.h.
 */
#ifndef FANS_ALGO_H
#define FANS_ALGO_H

#include "fans/env.h"

#ifdef __cplusplus
extern "C" {
#endif

struct config;
struct nn_backend;
struct pool;
struct state_list;
struct text;

/* The factors that the schedule of a task moves. */
typedef struct fans_movements {
    const fans_moving *list; /* [count] */
    int count;
} fans_movements;

/* What an agent is told when it is made. The tasks of its replicas agree in `info`, and in whatever
 * `shape` asks for; how their factors move may differ. */
typedef struct fans_algo_setup {
    int replicas, worlds;
    int64_t steps;                /* of a whole training, per replica; 0 where nothing is learned */
    const uint64_t *seeds;        /* [replicas] */
    const fans_env_info *info;    /* dimensions, horizon, factors */
    const fans_movements *moving; /* [replicas] */
    struct config *config;        /* an algorithm takes its own sections from it */
    struct nn_backend *backend;
    struct pool *pool;
    struct text *dump;    /* ... and appends them here as it understood them */
    struct text *warning; /* what the user should know though all is well: told in the beginning */
} fans_algo_setup;

/* The moment in which the next action is taken; see "now" in src/env/world.h. */
typedef struct fans_moment {
    const float *obs;       /* (rows, obs_dim) */
    const double *factors;  /* (rows, factor_count): the truth; only an oracle may look */
    const int64_t *segment; /* (rows) */
    const uint8_t *change;  /* (rows) */
} fans_moment;

/* What a step led to. */
typedef struct fans_outcome {
    const float *reward; /* (rows) */
    const uint8_t *terminated, *truncated;
    const float *next_obs; /* (rows, obs_dim): the successor, also at the end of an episode */
} fans_outcome;

typedef void fans_scalar_fn(void *user, const char *name, double value);

typedef struct fans_algo_def {
    const char *name, *help;

    int (*open)(void **agent, const fans_algo_setup *setup);
    void (*close)(void *agent);

    /* Appends what the tasks of one agent must have in common beside `info` and the config's
     * sections, such as the number of factors that are shown; `setup` is that of a single replica,
     * without config, backend, pool and texts. Runs whose texts agree share an agent. Optional. */
    void (*shape)(const fans_algo_setup *setup, struct text *out);

    /* New lifetimes begin: forget what was carried along from the old ones. Optional. */
    void (*start)(void *agent);

    /* Actions in [-1, 1] for all rows; without `explore`, the best known instead of a sample. */
    int (*act)(void *agent, const fans_moment *now, bool explore, float *action);

    /* One step of all worlds. `learn` is false in evaluation: follow the world, keep nothing.
     * Optional. */
    int (*observe)(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn);

    /* Learns; called after every act of training, before the worlds step. Optional. Must not
     * allocate. */
    int (*update)(void *agent);

    /* Lists all that must survive a restart, for one replica (src/data/state.h). Optional. */
    void (*state)(void *agent, int replica, struct state_list *s);

    /* What is believed about the hidden factors in the moment of the last act, `*n` numbers of one
     * row: for reports. Optional. */
    const float *(*belief)(void *agent, int row, int *n);

    /* Leaves files for people in a seed's folder, with every checkpoint. Optional. */
    int (*leave)(void *agent, int replica, const char *folder);

    /* Numbers for curves: losses and the like; always the same names in the same order. Optional.
     */
    void (*scalars)(void *agent, int replica, fans_scalar_fn *emit, void *user);
} fans_algo_def;

#ifdef __cplusplus
}
#endif
#endif
