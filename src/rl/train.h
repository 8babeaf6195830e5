/* train.h - the training loop: one algorithm, one task, R seeds side by side.
 *
 * A training is made from a config, resumes from the run folders if they hold a checkpoint, and
 * runs until its steps are done or it is told to stop. Whatever happens, the last checkpoint stays
 * whole; an interrupted training that is resumed leaves the same bytes as one that was not. */
#ifndef RL_TRAIN_H
#define RL_TRAIN_H

#include "base/pool.h"
#include "env/worlds.h"
#include "fans/algo.h"
#include "rl/run.h"
#include "rl/state.h"

#define TRAIN_OPTIONS(X)                                                                         \
    X(TEXT, algo, "sac", "which algorithm: see `fans list algos`")                               \
    X(INT, seed, 0, 0, 2147483647, "of the run; of the first one where there are several")       \
    X(INT, episodes, 3000, 1, 1000000000, "length of a run, counted in episodes of full length") \
    X(INT, worlds, 1, 1, 4096, "worlds that a seed lives in at the same time")                   \
    X(INT, checkpoint_every, 10000, 1, 1000000000, "steps of a seed between checkpoints")
OPTIONS_STRUCT(train_options, TRAIN_OPTIONS)
const option_group *train_option_group(void);

typedef struct training training;

typedef struct train_setup {
    const fans_algo_def *algo;
    train_options options;
    const task *task;
    config *config; /* the algorithm takes its sections; what is left over is refused */
    pool *pool;
    struct nn_backend *backend;
    int seeds;
    const char *out;                   /* folder; with several seeds, of folders seed-N */
    const char *command, *system_json; /* kept in the folder */
    bool look_only; /* for evaluation: the folder must be there, nothing is written */
} train_setup;

int training_new(training **out, const train_setup *s);
void training_free(training *t);

/* Where it stands. */
typedef struct train_progress {
    int64_t steps, total; /* of each seed */
    int64_t episodes;     /* of the first seed */
    double recent;        /* mean return of the last 100 episodes, over all seeds */
    double seconds;       /* since this process began to train */
    int64_t since;        /* steps that were done before that */
} train_progress;
train_progress training_progress(const training *t);

/* Trains to the end. `watch` is called after every step and returns true to stop: then, and at the
 * end, a checkpoint is written. Returns 0, FANS_ESTOP, or an error. */
typedef bool train_watch_fn(void *user, const training *t);
int training_run(training *t, train_watch_fn *watch, void *user);

/* Plays `episodes` in new lifetimes without learning; returns[replica · episodes + i]. `film`, if
 * given, is called after every step of the first world with that world. */
typedef int train_film_fn(void *user, world *w);
int training_eval(training *t, int episodes, uint64_t seed, double *returns, train_film_fn *film,
                  void *user);

/* Seconds spent in worlds, acting, learning, and in all. */
typedef struct train_times {
    double worlds, acting, updating, total;
} train_times;
train_times training_times(const training *t);

/* The final return of a seed so far: the mean of its last 100 episodes. */
double training_final(const training *t, int replica);
int training_seeds(const training *t);
const state_list *training_state(const training *t, int replica); /* all that a checkpoint holds */
const char *training_folder(const training *t, int replica);

#endif
