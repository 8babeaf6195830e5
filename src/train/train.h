/* train.h - the training loop: one agent, and R runs side by side that it serves.
 *
 * A run is a seed on a task, with a folder of its own that holds the same bytes whichever other
 * runs stand beside it. The runs of a training have the algorithm, its options and the dimensions
 * in common; how their worlds change may differ. A training resumes from the run folders if they
 * hold checkpoints, and runs until its steps are done or it is told to stop. Whatever happens, the
 * last checkpoint stays whole; an interrupted training that is resumed leaves the same bytes as one
 * that was not. */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "base/pool.h"
#include "data/state.h"
#include "env/worlds.h"
#include "fans/algo.h"
#include "train/run.h"

#define TRAIN_OPTIONS(X)                                                                         \
    X(TEXT, algo, "sac", "which algorithm: see `fans list algos`")                               \
    X(INT, seed, 0, 0, 2147483647, "of the run; of the first one where there are several")       \
    X(INT, episodes, 3000, 1, 1000000000, "length of a run, counted in episodes of full length") \
    X(INT, worlds, 1, 1, 4096, "worlds that a seed lives in at the same time")                   \
    X(INT, checkpoint_every, 10000, 1, 1000000000,                                               \
      "steps of a seed between checkpoints; more where they would take over 3 % of the time")
OPTIONS_STRUCT(train_options, TRAIN_OPTIONS)
const option_group *train_option_group(void);

typedef struct training training;

typedef struct train_run {
    const task *task;
    int seed;
    const char *folder; /* NULL: it leaves no files, and cannot be resumed */
    const char *name;   /* what messages call it: its config, say; NULL: its environment */
} train_run;

/* What it points to must outlive the training. */
typedef struct train_setup {
    const fans_algo_def *algo;
    train_options options; /* but for the seed, which every run has for itself */
    const train_run *runs; /* [count] */
    int count;
    config *config; /* the algorithm takes its sections */
    pool *pool;
    struct nn_backend *backend;        /* for this training alone, so that no other waits for it */
    const char *command, *system_json; /* kept in the folders */
    bool look_only; /* for evaluation: the folders must be there, nothing is written */
} train_setup;

/* Makes it; then opens the folders, and goes on from what they hold. */
int training_new(training **out, const train_setup *s);
int training_begin(training *t);
void training_free(training *t);

/* Where a run stands by the files of its folder: the step of its checkpoint, and of one that was
 * about to replace it; -1 where there is none. Runs of one training must agree in one of them. */
typedef struct run_position {
    int64_t tick, next;
} run_position;
int run_position_of(const char *folder, run_position *s);

/* The factors that move in a task: how many; and each, where `list` is given. */
int train_movements(const task *t, fans_moving *list);

/* Where it stands. */
typedef struct train_progress {
    int64_t steps, total; /* of each run */
    int64_t episodes;     /* of the first run */
    double seconds;       /* since this process began to train, until it was done */
    int64_t since;        /* steps that were done before that */
} train_progress;
train_progress training_progress(const training *t);

/* Trains to the end. `watch` is called after every step and returns true to stop: then, and at the
 * end, a checkpoint is written. Returns 0, FANS_ESTOP, or an error. */
typedef bool train_watch_fn(void *user, const training *t);
int training_run(training *t, train_watch_fn *watch, void *user);

/* Why a training stopped, where one of its runs is to blame: a loss that is no number, a world that
 * failed. The line names task, seed and step. */
typedef struct train_fault {
    int code, replica;
    char why[1024];
} train_fault;
const train_fault *training_fault(const training *t); /* NULL: all is well */

/* Several: in turn, a step each; or `threaded`, each on a thread of its own, and with a pool of its
 * own: worth it where they wait for a GPU. `watch` is called after every step of each, one call at
 * a time, and may ask all for their progress and returns; when it says so, all stop. A training
 * that one of its runs stopped has a fault; the others finish, and 0 is returned. Any other failure
 * stops all. */
int trainings_run(training *const *list, int count, bool threaded, train_watch_fn *watch,
                  void *user);

/* Plays `episodes` in worlds of its own without learning; returns[replica · episodes + i]. `film`,
 * if given, is called after every step of the first world with that world. A training that goes on
 * afterwards does so as if nothing had happened. */
typedef int train_film_fn(void *user, world *w);
int training_eval(training *t, int episodes, uint64_t seed, double *returns, train_film_fn *film,
                  void *user);

/* Seconds spent in worlds, acting, learning, taking in what came of it, and saving. */
typedef struct train_times {
    double worlds, acting, updating, observing, saving;
} train_times;
train_times training_times(const training *t);

/* The final return of a run so far: the mean of its last 100 episodes, or of the fewer there are.
 */
double training_final(const training *t, int replica);
int training_recent(const training *t, int replica);     /* how many */
json_t *training_result(const training *t, int replica); /* as in result.json; a new one */
int training_count(const training *t);
const train_run *training_runs(const training *t);                /* [count] */
const state_list *training_state(const training *t, int replica); /* all that a checkpoint holds */
const char *training_folder(const training *t, int replica);

#endif
