/* algo.h - how to write an algorithm.
 *
 * An algorithm is one constant fans_algo_def and a private agent. One agent serves R replicas (runs
 * that learn side by side, each on its own task, from its own data) with W worlds each. All arrays
 * have R·W rows; row r·W + w belongs to world w of replica r. Replicas must not influence each
 * other: replica r behaves exactly as a separate run with seeds[r] would.
 *
 * The training loop is, for every step of all worlds,
 *
 *     act(now) → update() → worlds step → observe(now, action, outcome)
 *
 * and nothing else: evaluation, checkpoints, curves and progress work the same for every algorithm.
 * An update learns from everything observed before this step. It comes before the worlds step
 * because on a GPU it only queues its work, which runs while the worlds step on the CPU.
 * Checkpoints are written between steps.
 *
 * src/algo/list.h lists the built-in algorithms. Your own is a shared library that exports `const
 * fans_algo_def fans_algo`; `--algo ./mine.so` loads it. examples/custom_algo.c is a complete
 * example, explained in docs/guide/algorithms.md. */
#ifndef FANS_ALGO_H
#define FANS_ALGO_H

#include "fans/env.h"
#include "fans/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below changes. FANS refuses a library built for another number. */
#define FANS_ALGO_ABI 5

struct nn_backend;
struct pool;
struct state_list;
struct text;

/* ---- what an algorithm is told --------------------------------------------------------------- */

/* The factors that a task's schedule moves. */
typedef struct fans_movements {
    const fans_moving *list; /* [count] */
    int count;
} fans_movements;

/* What a training tells of when factors may change (train.told): each first step of a segment; that
 * it may be with each episode; or nothing, and then there are no segments. */
typedef enum { FANS_TELLS_BOUNDARIES, FANS_TELLS_EPISODES, FANS_TELLS_NOTHING } fans_tells;

/* The options of one of the algorithm's groups, read from the config. */
typedef struct fans_taken {
    const fans_option_group *group;
    void *options;
} fans_taken;

/* What `open` gets; it stays valid as long as the agent. The tasks of the replicas agree in `info`
 * and in what `shape` asks for; how their factors move may differ. */
typedef struct fans_algo_setup {
    int replicas, worlds;
    int64_t steps;                /* of the whole training, per replica; 0: it will not learn */
    const uint64_t *seeds;        /* [replicas] */
    bool pixels;                  /* env.pixels: learn from pixels, not from obs */
    const fans_env_info *info;    /* dimensions, horizon, factors */
    const fans_movements *moving; /* [replicas] */
    fans_tells tells;             /* what moments say of segments */
    const fans_taken *taken;      /* the algorithm's groups in order; ends with group NULL */
    struct nn_backend *backend;   /* for built-in algorithms: where networks run, … */
    struct pool *pool;            /* … shared threads, … */
    struct text *warning;         /* … and warnings to the user */
} fans_algo_setup;

/* The options of one section, as the user set them; NULL if the algorithm has no such section.
 * `open` may still change them: the run's config.ini gets the values that `open` leaves. */
FANS_API void *fans_options(const fans_algo_setup *setup, const char *section);

/* What is known when the next action is chosen. */
typedef struct fans_moment {
    const float *obs;       /* (rows, obs_dim) */
    const double *factors;  /* (rows, factor_count): the truth; for oracles only */
    const int64_t *segment; /* (rows): which stretch of constant factors, from 0, … */
    const uint8_t *change;  /* (rows): 1 if the coming step is the first of one; as `tells` says */
    const uint8_t *pixels;  /* (rows, views, height, width, 3): RGB; NULL without env.pixels */
} fans_moment;

/* What a step led to. */
typedef struct fans_outcome {
    const float *reward; /* (rows) */
    const uint8_t *terminated, *truncated;
    const float *next_obs;      /* (rows, obs_dim): the successor, even at the end of an episode */
    const uint8_t *next_pixels; /* (rows, views, height, width, 3), or NULL: likewise */
} fans_outcome;

typedef void fans_scalar_fn(void *user, const char *name, double value);

/* ---- what must survive a restart ------------------------------------------------------------- */

typedef enum { FANS_F32, FANS_F64, FANS_I64, FANS_U64, FANS_U8 } fans_type;

/* Lists an array of the agent. Checkpoints are written from it and read back into it, so it must
 * not move. `name` is unique within the algorithm; rank is at most 4. */
FANS_API void fans_state_add(struct state_list *s, const char *name, fans_type type, int rank,
                             const int64_t *shape, void *data);

/* ---- randomness ------------------------------------------------------------------------------ */

/* A stream of random numbers, determined by a seed and a purpose, for fans_rng_uniform and
 * fans_rng_normal. fans_rng_state lists its position, so that a resumed run draws the same. */
FANS_API int fans_rng_new(fans_rng **out, uint64_t seed, const char *purpose);
FANS_API void fans_rng_free(fans_rng *r);
FANS_API void fans_rng_state(fans_rng *r, struct state_list *s, const char *name);

/* ---- the definition -------------------------------------------------------------------------- */

/* What an algorithm is told about the factors: nothing; when they may change; their values as
 * labels in training; their values at every step. Tables show it with the results. */
typedef enum {
    FANS_TOLD_NOTHING,
    FANS_TOLD_BOUNDARIES,
    FANS_TOLD_LABELS,
    FANS_TOLD_TRUTH
} fans_told;

/* What --preset NAME means to the algorithm: INI text that the config file overrides. */
typedef struct fans_preset {
    const char *name, *ini;
} fans_preset;

typedef struct fans_algo_def {
    int abi; /* FANS_ALGO_ABI */
    const char *name, *help;
    fans_told told;
    bool piecewise; /* it needs factors that stay for a while: a task where one moves at every step
                       is refused */
    bool wants_pixels; /* it can learn from what cameras see: without, env.pixels is refused */

    /* Its config sections, ended by NULL, and presets, ended by {0}. Optional. */
    fans_option_group_fn *const *groups;
    const fans_preset *presets;

    int (*open)(void **agent, const fans_algo_setup *setup);
    void (*close)(void *agent);

    /* Appends what the tasks of one agent must share besides `info` and the options, such as the
     * number of visible factors. `setup` describes a single replica, without options, backend, pool
     * and warning. Runs whose texts are equal share an agent. Optional. */
    void (*shape)(const fans_algo_setup *setup, struct text *out);

    /* New lifetimes start: forget what was carried along the old ones. Optional. */
    void (*start)(void *agent);

    /* Chooses actions in [-1, 1] for all rows; without `explore` the best known, not a sample. */
    int (*act)(void *agent, const fans_moment *now, bool explore, float *action);

    /* All worlds made a step. `learn` is false in evaluation: track the worlds, but remember
     * nothing. Optional. */
    int (*observe)(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn);

    /* Learns. In training, called after each `act`, before the worlds step. Must not allocate.
     * Optional. */
    int (*update)(void *agent);

    /* List, for one replica, what is learned, and what is carried along its lifetimes, which
     * evaluation sets aside and restores. Together they are all that a resume needs. Optional. */
    void (*state)(void *agent, int replica, struct state_list *s);
    void (*carried)(void *agent, int replica, struct state_list *s);

    /* The belief about the hidden factors of one row at the last `act`, `*n` numbers, for reports.
     * Optional. */
    const float *(*belief)(void *agent, int row, int *n);

    /* The probability that a factor of a row has changed within its last `steps` steps, as of the
     * last `act`; for an algorithm that finds out by itself. NAN: it was told. Optional; without
     * it, an algorithm that is `piecewise` is refused where nothing is told. */
    double (*changed)(void *agent, int row, int64_t steps);

    /* What the model of one row makes of the pixels at the last `act`, drawn again: (views, height,
     * width, 3). From pixels only; NULL: nothing. Optional. */
    const uint8_t *(*imagine)(void *agent, int row);

    /* Writes files for people into a seed's folder, with every checkpoint. Optional. */
    int (*leave)(void *agent, int replica, const char *folder);

    /* Emits numbers for curves, such as losses: the same names in the same order every time.
     * Optional. */
    void (*scalars)(void *agent, int replica, fans_scalar_fn *emit, void *user);
} fans_algo_def;

#ifdef __cplusplus
}
#endif
#endif
