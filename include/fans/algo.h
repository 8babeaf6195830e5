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
 * and nothing else: evaluation, checkpoints, curves and progress are the same for every algorithm.
 * An update learns from all that was observed before this step. It comes before the worlds' step
 * because on a GPU it only queues its work, which is then done while the worlds step on the CPU.
 * Checkpoints fall between steps.
 *
 * Built-in algorithms are listed in src/algo/list.h. One of your own is a shared library that
 * exports `const fans_algo_def fans_algo`; `--algo ./mine.so` loads it. examples/custom_algo.c is a
 * complete one, and docs/guide/algorithms.md explains it. */
#ifndef FANS_ALGO_H
#define FANS_ALGO_H

#include "fans/env.h"
#include "fans/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below changes; a library built against another one is refused. */
#define FANS_ALGO_ABI 1

struct nn_backend;
struct pool;
struct state_list;
struct text;

/* ---- what an algorithm is told --------------------------------------------------------------- */

/* The factors that the schedule of a task moves. */
typedef struct fans_movements {
    const fans_moving *list; /* [count] */
    int count;
} fans_movements;

/* Options that were taken from the config for one of the algorithm's groups. */
typedef struct fans_taken {
    const fans_option_group *group;
    void *options;
} fans_taken;

/* What an agent is told when it is made; it stays valid while the agent lives. The tasks of its
 * replicas agree in `info`, and in whatever `shape` asks for; how their factors move may differ. */
typedef struct fans_algo_setup {
    int replicas, worlds;
    int64_t steps;                /* of a whole training, per replica; 0 where nothing is learned */
    const uint64_t *seeds;        /* [replicas] */
    const fans_env_info *info;    /* dimensions, horizon, factors */
    const fans_movements *moving; /* [replicas] */
    const fans_taken *taken;      /* the algorithm's groups in order, then one without a group */
    struct nn_backend *backend;   /* built-in algorithms: where networks are computed, … */
    struct pool *pool;            /* … threads to share, … */
    struct text *warning;         /* … and what the user should know though all is well */
} fans_algo_setup;

/* The options of one section, as the user set them. `open` may still complete them: what it leaves
 * is written to the run's config.ini. */
FANS_API void *fans_options(const fans_algo_setup *setup, const char *section);

/* The moment in which the next action is taken. */
typedef struct fans_moment {
    const float *obs;       /* (rows, obs_dim) */
    const double *factors;  /* (rows, factor_count): the truth; only an oracle may look */
    const int64_t *segment; /* (rows): stretches of constant factors, counted from 0 */
    const uint8_t *change;  /* (rows): 1 where the coming step is the first of a segment */
} fans_moment;

/* What a step led to. */
typedef struct fans_outcome {
    const float *reward; /* (rows) */
    const uint8_t *terminated, *truncated;
    const float *next_obs; /* (rows, obs_dim): the successor, also at the end of an episode */
} fans_outcome;

typedef void fans_scalar_fn(void *user, const char *name, double value);

/* ---- what must survive a restart ------------------------------------------------------------- */

typedef enum { FANS_F32, FANS_F64, FANS_I64, FANS_U64, FANS_U8 } fans_type;

/* Lists an array of the agent, which stays where it is: checkpoints are written from it and read
 * back into it. `name` is unique within the algorithm; rank at most 4. */
FANS_API void fans_state_add(struct state_list *s, const char *name, fans_type type, int rank,
                             const int64_t *shape, void *data);

/* ---- randomness ------------------------------------------------------------------------------ */

/* A stream of random numbers, named by a seed and a purpose: for fans_rng_uniform and
 * fans_rng_normal. fans_rng_state lists how far it has been drawn from. */
FANS_API int fans_rng_new(fans_rng **out, uint64_t seed, const char *purpose);
FANS_API void fans_rng_free(fans_rng *r);
FANS_API void fans_rng_state(fans_rng *r, struct state_list *s, const char *name);

/* ---- the definition -------------------------------------------------------------------------- */

/* What an algorithm learns of the factors: nothing; when they may change; their values as labels in
 * training; their values at every step. It stands in tables beside its results. */
typedef enum {
    FANS_TOLD_NOTHING,
    FANS_TOLD_BOUNDARIES,
    FANS_TOLD_LABELS,
    FANS_TOLD_TRUTH
} fans_told;

/* What --preset NAME means to the algorithm: INI text, below the config file. */
typedef struct fans_preset {
    const char *name, *ini;
} fans_preset;

typedef struct fans_algo_def {
    int abi; /* FANS_ALGO_ABI */
    const char *name, *help;
    fans_told told;

    /* Sections of the config that it takes, ended by NULL; and presets, ended by {0}. Optional. */
    fans_option_group_fn *const *groups;
    const fans_preset *presets;

    int (*open)(void **agent, const fans_algo_setup *setup);
    void (*close)(void *agent);

    /* Appends what the tasks of one agent must have in common beside `info` and the options, such
     * as the number of factors that are shown; `setup` is that of a single replica, without
     * options, backend, pool and texts. Runs whose texts agree share an agent. Optional. */
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

    /* List, for one replica, what is learned; and what is carried along its lifetimes, which
     * evaluation puts aside and brings back. Together they are all that a restart needs. Optional.
     */
    void (*state)(void *agent, int replica, struct state_list *s);
    void (*carried)(void *agent, int replica, struct state_list *s);

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
