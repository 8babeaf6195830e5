/* fans.h - FANS as a library: the manual of its C interface.
 *
 * FANS learns which hidden factors of a world drift, what they influence, and a policy that adapts
 * to them. env.h explains how to write an environment, algo.h how to write an algorithm.
 *
 * Conventions, everywhere:
 *  - A function that can fail returns 0, or one of the negative FANS_E... codes. fans_error() then
 *    returns one line: what is wrong, where, and what would be right. The message belongs to the
 *    calling thread and stays until its next failure.
 *  - `T **out` as the first parameter means that the caller owns the result and frees it with the
 *    matching x_free (NULL is fine). Any other returned pointer is borrowed.
 *  - Arrays of (n, k) are row-major, a row per world. Actions lie in [-1, 1].
 *  - A struct that is passed begins with `size`: set it to sizeof the struct. Later versions add
 *    fields at the end, and a program built for an older one keeps working.
 *  - Handles are opaque. One thread at a time may use a handle, whichever it is; a policy, which is
 *    constant, any number of threads. In the child of a fork they are of no use: calls fail.
 *  - A wrong argument is refused with FANS_EINVAL: NULL, out of range, NaN, a handle of another
 *    kind, a call at the wrong time. Freed memory cannot be told from a handle.
 *  - The library never prints, never exits, starts no thread that takes the host's signals, and
 *    makes no symbol global.
 */
#ifndef FANS_FANS_H
#define FANS_FANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FANS_VERSION_MAJOR 0
#define FANS_VERSION_MINOR 2
#define FANS_VERSION_PATCH 0

#define FANS_API           __attribute__((visibility("default")))

/* ---- errors ---------------------------------------------------------------------------------- */

enum {
    FANS_EINVAL = -1,   /* a value is out of range, a name is unknown, shapes disagree */
    FANS_ENOMEM = -2,   /* memory ran out */
    FANS_EIO = -3,      /* a file could not be read or written */
    FANS_EFORMAT = -4,  /* a file is not what it should be */
    FANS_ENUMERIC = -5, /* a value became NaN or infinite */
    FANS_ENOSUP = -6,   /* this build or this machine cannot do it */
    FANS_ESTOP = -7     /* stopped on request */
};

/* The message of this thread's last failure; "" if there was none. */
FANS_API const char *fans_error(void);

/* Sets this thread's message and returns `code`: `return fans_fail(FANS_EINVAL, "…")`. Use it in
 * your own environments and algorithms too. */
FANS_API int fans_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- version and log ------------------------------------------------------------------------- */

/* "0.2.0" */
FANS_API const char *fans_version(void);

/* Grows with every addition to this header. A program can compare its own FANS_ABI with that of the
 * library it was given: a library with a smaller number lacks what the program may call. */
#define FANS_ABI 2
FANS_API int fans_abi(void);

typedef enum { FANS_LOG_DEBUG, FANS_LOG_INFO, FANS_LOG_WARNING } fans_log_level;

/* Where log messages go; by default nowhere. `line` has no newline. Set it once, before other
 * threads call the library. */
typedef void fans_log_sink(void *user, fans_log_level level, const char *line);
FANS_API void fans_log_to(fans_log_sink *sink, void *user);

/* ---- options and configs --------------------------------------------------------------------- */

/* An option of a config file, as text. Sections with a '*', such as change.*, take a name there. */
typedef struct fans_option_info {
    size_t size;
    const char *key;     /* "sac.lr" */
    const char *kind;    /* "number", "whole number", "true or false", "choice", "text", "list" */
    const char *initial; /* its default */
    const char *range;   /* "1e-08 to 1", "a|b|c", or "" */
    const char *help;
} fans_option_info;

/* Option i, from 0; FANS_EINVAL after the last. The texts stay until this thread's next call. */
FANS_API int fans_option_at(int i, fans_option_info *out);

/* A config: a preset, an INI file that overrides it, and settings that override both. */
typedef struct fans_config fans_config;

/* `ini` is the path of a file, such as configs/pendulum_flip.ini; `preset` is paper, standard (what
 * `fans train` uses), small, classic or pixels. NULL: none. */
FANS_API int fans_config_new(fans_config **out, const char *ini, const char *preset);

/* "sac.lr", "3e-4". Unknown keys and values out of range are refused here; those of [env] and
 * [change.FACTOR], which depend on the environment, where worlds or a trainer are made. */
FANS_API int fans_config_set(fans_config *c, const char *key, const char *value);

/* The value, or the default if nothing sets it; FANS_EINVAL if it is longer than `size` - 1. */
FANS_API int fans_config_get(const fans_config *c, const char *key, char *out, size_t size);
FANS_API void fans_config_free(fans_config *c);

/* ---- worlds ---------------------------------------------------------------------------------- */

/* What a set of worlds is like. */
typedef struct fans_task {
    size_t size;
    int obs, act;             /* numbers of an observation and of an action */
    int horizon;              /* steps after which an episode is truncated */
    int worlds;               /* which step at the same time */
    int factors;              /* what may change, … */
    const char *const *names; /* [factors] … as in [change.NAME] */
    /* for trainers: */
    int threads;        /* 0: one per core */
    const char *device; /* "auto", "cpu", "cuda", "cuda:N"; NULL: auto */
} fans_task;

/* The worlds of a config: its environment, its schedules. All their arrays are in a fans_view.
 *
 * obs, factors, segment and change are the moment before the next action; reward, terminated,
 * truncated, success and final_obs what the last step led to. Episodes follow each other in the
 * same step: where terminated or truncated is 1, obs belongs to the next episode, and final_obs is
 * the last observation of the old one. final_obs is always the true successor. */
typedef struct fans_worlds fans_worlds;

/* `n` worlds of the run with seed train.seed, started; on `threads` threads (0: one per core). */
FANS_API int fans_worlds_open(fans_worlds **out, const fans_config *c, int n, int threads);
FANS_API int fans_worlds_task(const fans_worlds *w, fans_task *out);

/* A factor of these worlds. Where the schedule moves it, it stays within `from` and `to`; elsewhere
 * both are `initial`. */
typedef struct fans_factor_info {
    size_t size;
    const char *name; /* as in [change.NAME] */
    const char *help; /* unit and meaning */
    double low, high; /* what fans_worlds_hold accepts */
    double initial;   /* where no schedule moves it */
    double from, to;  /* where the schedule moves it */
    bool moves;
} fans_factor_info;
FANS_API int fans_worlds_factor(const fans_worlds *w, int k, fans_factor_info *out);

/* The arrays, which never move. */
typedef struct fans_view {
    size_t size;
    float *action;                         /* (n, act): write the next actions here */
    const float *obs;                      /* (n, obs) */
    const float *final_obs;                /* (n, obs) */
    const float *reward;                   /* (n) */
    const double *factors;                 /* (n, factors): the truth, for oracles and reports */
    const int64_t *segment;                /* (n): which stretch of constant factors, from 0 */
    const uint8_t *change;                 /* (n): 1 if the next step is the first of a segment */
    const uint8_t *terminated, *truncated; /* (n) */
    const float *success;                  /* (n): 0 or 1, NaN where the task has no such notion */
} fans_view;
FANS_API int fans_worlds_view(const fans_worlds *w, fans_view *out);

/* All worlds take their actions. Allocates nothing. After a failure, which names the world, start
 * that world again. */
FANS_API int fans_worlds_step(fans_worlds *w);

/* World i starts a new lifetime, that of the only world of a run with this seed. All worlds (i =
 * -1): those of a run with this seed and n worlds. */
FANS_API int fans_worlds_start(fans_worlds *w, int i, uint64_t seed);

/* Gives the episode up, in world i or in all (-1): the next one of the lifetime begins. The clocks
 * move as if a step had truncated it. An episode without a step yet stays as it is. */
FANS_API int fans_worlds_reset(fans_worlds *w, int i);

/* Holds a factor of world i at a value, from the next step on; NaN: as the schedule says again. */
FANS_API int fans_worlds_hold(fans_worlds *w, int i, const char *factor, double value);

/* The complete state of world i, as `bytes` bytes, and back: from there on the world lives the same
 * life again. Bytes of another task are refused; a factor that is held is not among them. */
FANS_API int64_t fans_worlds_bytes(const fans_worlds *w);
FANS_API int fans_worlds_save(const fans_worlds *w, int i, void *state, size_t bytes);
FANS_API int fans_worlds_restore(fans_worlds *w, int i, const void *state, size_t bytes);

/* A picture for people: height × width × 3 bytes, RGB, top row first. FANS_ENOSUP where the
 * environment draws none. */
FANS_API int fans_worlds_picture(fans_worlds *w, int i, int width, int height, uint8_t *rgb);

/* 1 where the environment draws pictures, 0 where not. */
FANS_API int fans_worlds_draws(const fans_worlds *w);
FANS_API void fans_worlds_free(fans_worlds *w);

/* ---- learning in your own loop --------------------------------------------------------------- */

/* A run of `fans train` whose worlds are yours. A step of all of them is
 *
 *     fans_trainer_act → fans_trainer_update → your worlds step → fans_trainer_observe
 *
 * until act returns FANS_ESTOP: the run has its train.episodes × horizon steps, and its result. */
typedef struct fans_trainer fans_trainer;

/* `t` describes your worlds: leave env.name out of the config, and say in [change.NAME] sections
 * between which values their factors move, if you know. If the config names an environment, the
 * worlds are like those of fans_worlds_open; `t` must agree, or be NULL for train.worlds of them.
 *
 * `run` is a folder like those of `fans train`, for all its tools to read; where it holds a
 * checkpoint, training resumes from it. NULL: nothing is kept. */
FANS_API int fans_trainer_new(fans_trainer **out, const fans_task *t, const fans_config *c,
                              const char *run);

/* Chooses actions (worlds, act). `change` is 1 where the coming step is the first of a segment, a
 * stretch of constant factors; NULL: every episode is one. `truth` (worlds, factors) is for methods
 * that are told the factors, which need it, and for reports; NULL: not known.
 *
 * Where act or observe fails in the middle of a step, which wrong arguments do not do, the trainer
 * can only be freed; its run resumes from the last checkpoint. */
FANS_API int fans_trainer_act(fans_trainer *t, const float *obs, const uint8_t *change,
                              const double *truth, float *action);

/* Learns whatever is due. On a GPU, this runs while your worlds step. */
FANS_API int fans_trainer_update(fans_trainer *t);

/* What the step led to. `did` is what was really done, clipped to [-1, 1]; NULL: as act said.
 * next_obs (worlds, obs) is the true successor, also where an episode ends. terminated and
 * truncated may be NULL: nothing ended. An episode of `horizon` steps counts as truncated. */
FANS_API int fans_trainer_observe(fans_trainer *t, const float *did, const float *reward,
                                  const uint8_t *terminated, const uint8_t *truncated,
                                  const float *next_obs);

/* Writes a checkpoint, with the state of your worlds; between observe and act. Nothing else writes
 * one but the end of the run. fans_trainer_yours gives the bytes back after a resume; until then
 * there are none. */
FANS_API int fans_trainer_save(fans_trainer *t, const void *yours, size_t bytes);
FANS_API const void *fans_trainer_yours(const fans_trainer *t, size_t *bytes);

/* Steps of the run so far, of all its worlds together; negative: a FANS_E code. */
FANS_API int64_t fans_trainer_steps(const fans_trainer *t);
FANS_API void fans_trainer_free(fans_trainer *t);

/* ---- acting ---------------------------------------------------------------------------------- */

/* What was learned, as it was at one moment: constant, for any number of threads. */
typedef struct fans_policy fans_policy;

typedef struct fans_shape {
    size_t size;
    int obs, act; /* numbers of an observation and of an action */
    int theta;    /* numbers of a belief's mean; 0: it has no belief */
    int horizon;  /* of the episodes that it was trained on */
} fans_shape;

/* From the folder of a run; or a copy from a trainer, which may learn on. Methods that must be told
 * the truth (oracle) are refused with FANS_ENOSUP. `shape` may be NULL. A policy can be freed
 * before its lives. */
FANS_API int fans_policy_open(fans_policy **out, const char *run, fans_shape *shape);
FANS_API int fans_trainer_policy(fans_policy **out, fans_trainer *t);
FANS_API int fans_policy_shape(const fans_policy *p, fans_shape *out);
FANS_API void fans_policy_free(fans_policy *p);

/* `n` lifetimes side by side: what they believe and remember. act and observe allocate nothing,
 * wait for nothing, and make no system call. */
typedef struct fans_life fans_life;
FANS_API int fans_life_new(fans_life **out, const fans_policy *p, int n, uint64_t seed);

/* Chooses actions (n, act). `change` is 1 where the coming step is the first of a segment; NULL:
 * nowhere. With `explore` it samples, by `seed`; else it takes the best that it knows. */
FANS_API int fans_life_act(fans_life *l, const float *obs, const uint8_t *change, bool explore,
                           float *action);

/* What the step led to. `did` NULL: as act said. `reward` NULL or NaN: not measured. `terminated`
 * NULL: nothing ended. Where an episode ends, next_obs is its last observation, and act gets the
 * first of the next one. A step without observe, or with a row of nothing but NaN, is not learned
 * from. */
FANS_API int fans_life_observe(fans_life *l, const float *did, const float *reward,
                               const uint8_t *terminated, const float *next_obs);

/* (n, 2 theta): the belief's mean and its log standard deviation at the last act; NULL and
 * FANS_ENOSUP's line where there is none. The array never moves. */
FANS_API const float *fans_life_belief(const fans_life *l);

/* Forgets what row `row` (-1: all) has seen: a new life. */
FANS_API int fans_life_restart(fans_life *l, int row);
FANS_API void fans_life_free(fans_life *l);

#ifdef __cplusplus
}
#endif
#endif
