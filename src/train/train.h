/* train.h - the training loop: one agent that serves R runs side by side.
 *
 * A run is a seed on a task. Its folder is bit-identical whichever other runs share its training.
 * The runs of a training share the algorithm, its options and the dimensions; how their worlds
 * change may differ. A training resumes from checkpoints in the run folders, and runs until its
 * steps are done or it is told to stop. Whatever happens, the last checkpoint stays intact; a
 * resumed training is bit-identical to one that was never interrupted. */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "base/pool.h"
#include "data/state.h"
#include "env/worlds.h"
#include "fans/algo.h"
#include "train/run.h"

#define TRAIN_OPTIONS(X)                                                                     \
    X(TEXT, algo, "sac", "the algorithm; see `fans list algos`")                             \
    X(INT, seed, 0, 0, 2147483647, "seed of the run; of the first run if there are several") \
    X(INT, episodes, 3000, 1, 1000000000, "length of a run in episodes of full length")      \
    X(INT, worlds, 1, 1, 4096, "worlds per seed, which step at the same time")               \
    X(INT, checkpoint_every, 10000, 1, 1000000000,                                           \
      "steps of a seed between checkpoints; more if saving would take over 3 % of the time")
OPTIONS_STRUCT(train_options, TRAIN_OPTIONS)
const option_group *train_option_group(void);

typedef struct training training;

typedef struct train_run {
    const task *task;
    int seed;
    const char *folder; /* NULL: it writes no files and cannot be resumed */
    const char *name;   /* for messages, such as its config; NULL: its environment */
} train_run;

/* Everything it points to must outlive the training. */
typedef struct train_setup {
    const fans_algo_def *algo;
    train_options options; /* except the seed, which every run has */
    const train_run *runs; /* [count] */
    int count;
    config *config; /* with the algorithm's sections */
    pool *pool;
    struct nn_backend *backend;        /* not shared, so that no other training waits for it */
    const char *command, *system_json; /* stored in the folders */
    bool look_only; /* for evaluation: the folders must exist, nothing is written */
} train_setup;

/* Make it; then open the folders, and resume from their checkpoints. */
int training_new(training **out, const train_setup *s);
int training_begin(training *t);
void training_free(training *t);

/* The step of the checkpoint in a run's folder, and of the one that was about to replace it; -1 if
 * there is none. Runs of one training must have one of them in common. */
typedef struct run_position {
    int64_t tick, next;
} run_position;
int run_position_of(const char *folder, run_position *s);

/* Returns the number of factors that move in a task; fills `list` if given. */
int train_movements(const task *t, fans_moving *list);

/* How far it is. */
typedef struct train_progress {
    int64_t steps, total; /* of each run */
    int64_t episodes;     /* of the first run */
    double seconds;       /* spent training in this process */
    int64_t since;        /* steps done before this process */
} train_progress;
train_progress training_progress(const training *t);

/* Trains to the end. `watch` is called after every step and returns true to stop. Writes a
 * checkpoint on stopping and at the end. Returns 0, FANS_ESTOP, or an error. */
typedef bool train_watch_fn(void *user, const training *t);
int training_run(training *t, train_watch_fn *watch, void *user);

/* The run that stopped a training, and why: a loss that is NaN, say, or a world that failed. The
 * line names task, seed and step. */
typedef struct train_fault {
    int code, replica;
    char why[1024];
} train_fault;
const train_fault *training_fault(const training *t); /* NULL: no run failed */

/* Runs several trainings: in turn, a step each; or `threaded`, each on its own thread and pool,
 * which pays off if they wait for a GPU. `watch` is called after every step of each, one call at a
 * time, and may ask all for progress and returns; if it returns true, all stop. A training stopped
 * by one of its runs has a fault; the others finish, and 0 is returned. Any other failure stops
 * all. */
int trainings_run(training *const *list, int count, bool threaded, train_watch_fn *watch,
                  void *user);

/* Plays `episodes` in separate worlds without learning; returns[replica · episodes + i]. `film`, if
 * given, is called after every step of the first world. Training can continue afterwards as if
 * nothing had happened. */
typedef int train_film_fn(void *user, world *w);
int training_eval(training *t, int episodes, uint64_t seed, double *returns, train_film_fn *film,
                  void *user);

/* Seconds spent in each part of the loop. */
typedef struct train_times {
    double worlds, acting, updating, observing, saving;
} train_times;
train_times training_times(const training *t);

/* The final return of a run so far: the mean of its last 100 episodes, or of all if fewer. */
double training_final(const training *t, int replica);
int training_recent(const training *t, int replica); /* how many these are */
json_t *training_result(const training *t,
                        int replica); /* as in result.json; the caller frees it */
int training_count(const training *t);
const train_run *training_runs(const training *t);                /* [count] */
const state_list *training_state(const training *t, int replica); /* all that a checkpoint holds */
const char *training_folder(const training *t, int replica);

#endif
