/* env.h - how to write an environment.
 *
 * An environment is one constant fans_env_def and a private state. It need not know about agents,
 * schedules, time limits or threads:
 *
 *  - The caller owns every buffer; the environment writes into it.
 *  - Whatever may change in its world is a **factor** (wind, mass, target speed). `set_factor` sets
 *    one; FANS calls it whenever the schedule in the config moves that factor, and never during a
 *    step. `open` starts every factor at its `initial` value; FANS sets them all once more before
 *    the first reset of a lifetime, so that all lifetimes start alike.
 *  - All its randomness comes from the stream it is given, so that one seed gives one world.
 *  - Its state can be saved and restored, bit for bit.
 *  - A function that returns int returns 0, or a FANS_E code after fans_fail has said why.
 *
 * Built-in environments are registered in src/env/list.h. Your own is a shared library that exports
 * `const fans_env_def fans_env`. Give its path wherever a config or a command takes an environment;
 * a relative path starts in the folder where the tool runs. examples/custom_env.c is a complete
 * one; `fans check` tests it, `fans list envs ./mine.so` shows it.
 *
 * In C++ write `extern "C" FANS_API const fans_env_def fans_env = {...}`: without extern "C" a
 * constant is private to its file. Let no exception leave a function.
 */
#ifndef FANS_ENV_H
#define FANS_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fans/fans.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows whenever a struct below changes; a library built for another version is refused. */
#define FANS_ENV_ABI 2

/* ---- what an environment tells about itself -------------------------------------------------- */

/* What a factor changes: s' = f(s, a), or r = h(s, a). */
typedef enum { FANS_DYNAMICS, FANS_REWARD } fans_factor_kind;

typedef struct fans_factor {
    const char *name; /* as in [change.NAME] */
    fans_factor_kind kind;
    double low, high; /* fans_env_def.set_factor accepts these values and no others */
    double initial;   /* the value after `open`, and always where no schedule moves it */
    const char *help; /* unit and meaning, in a few words */
} fans_factor;

/* A factor that a schedule moves: between which values, or among which. */
typedef struct fans_moving {
    int factor;
    double low, high;
    int choices;          /* 0: anything in between */
    const double *values; /* [choices], times `scale` */
    double scale;
    bool flows;   /* it may change at every step */
    bool drawn;   /* its values are drawn anew, whatever they were before */
    double every; /* steps between changes, on average; INFINITY: it never changes */
} fans_moving;

/* A number in the config's [env] section. */
typedef struct fans_env_option {
    const char *name;
    double initial, low, high;
    const char *help;
} fans_env_option;

/* Filled in by `open`; constant while the environment lives. */
typedef struct fans_env_info {
    int obs_dim, act_dim;       /* actions are in [-1, 1] */
    int horizon;                /* steps after which an episode is truncated */
    const fans_factor *factors; /* owned by the environment */
    int factor_count;
    /* An environment with cameras: `draw` gives views × height × width × 3 bytes (RGB). */
    int views, height, width;
    /* Names for graphs, tables and CSV columns, such as torso_z: 1 to 31 of a-z, 0-9, '_' and '.',
     * each once. Owned by the environment. NULL: obs0, obs1, ... and act0, act1, ... */
    const char *const *obs_names; /* [obs_dim] */
    const char *const *act_names; /* [act_dim] */
} fans_env_info;

/* The result of one step, besides the observation. */
typedef struct fans_env_result {
    double reward;
    bool terminated; /* the episode ended for good, with no value beyond; not by a time limit */
    double success;  /* 0 or 1, or NaN where the task has no such notion */
} fans_env_result;

/* ---- randomness ------------------------------------------------------------------------------ */

typedef struct rng fans_rng;
FANS_API double fans_rng_uniform(fans_rng *r, double low, double high);
FANS_API double fans_rng_normal(fans_rng *r); /* mean 0, variance 1 */

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct fans_env_def {
    int abi; /* FANS_ENV_ABI */
    const char *name;
    const char *help; /* one line */
    const fans_env_option *options;
    int option_count;

    /* Makes an environment and describes it. `options` holds one value per entry of the list above,
     * within its range; `seed` fixes what is random about the world itself, not about its episodes.
     */
    int (*open)(void **env, fans_env_info *info, const double *options, uint64_t seed);
    void (*close)(void *env);

    /* Starts an episode and writes obs[obs_dim]. The factors keep their values. */
    int (*reset)(void *env, fans_rng *r, float *obs);

    /* Advances one step under action[act_dim] and writes obs and result. Values outside [-1, 1] are
     * clipped. Must not allocate. */
    int (*step)(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result);

    /* Sets a factor, from the next step or reset on; fails outside its range. Must not allocate. */
    int (*set_factor)(void *env, int factor, double value);

    /* The whole state, factors included, as `state_bytes(env)` bytes. A file may have been changed
     * since it was saved: `restore` calls fans_fail for bytes that `save` cannot have written. */
    size_t (*state_bytes)(const void *env);
    void (*save)(const void *env, void *bytes);
    void (*restore)(void *env, const void *bytes);

    /* Optional (NULL): what an agent's cameras see; a picture for people. RGB, top row first. */
    int (*draw)(void *env, uint8_t *pixels);
    int (*picture)(void *env, int width, int height, uint8_t *rgb);

    /* Optional (NULL): the true causal graph, where there is one. Entries are 0 or 1, row-major,
     * [effect][cause]; the widths follow from d = obs_dim, m = act_dim and the numbers p, q of
     * dynamics and reward factors. */
    int (*truth)(const void *env, uint8_t *C_ss, uint8_t *C_as, uint8_t *C_ts, uint8_t *c_sr,
                 uint8_t *c_ar, uint8_t *C_tt_s, uint8_t *C_tt_r);
} fans_env_def;

#ifdef __cplusplus
}
#endif
#endif
