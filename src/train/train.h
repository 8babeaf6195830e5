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

#define TRAIN_OPTIONS(X)                                                                       \
    X(TEXT, algo, "sac", "the algorithm; see `fans list algos`")                               \
    X(INT, seed, 0, 0, 2147483647, "seed of the run; of the first run if there are several")   \
    X(INT, episodes, 3000, 1, 1000000000, "length of a run in episodes of full length")        \
    X(INT, worlds, 1, 1, 4096, "worlds per seed, which step at the same time")                 \
    X(INT, prelude, 0, 0, 1000000000,                                                          \
      "first steps, rounded up to episodes, with moving factors drawn afresh in each episode") \
    X(CHOICE, told, 0, "boundaries|episodes|nothing",                                          \
      "what agents are told of when factors may change; reports know the truth")               \
    X(FLAG, prelude_free, false, "do not count the prelude in length, curves and results")     \
    X(INT, eval_every, 0, 0, 1000000000,                                                       \
      "steps of a seed between evaluations on the way, for evals.csv; 0: none")                \
    X(INT, eval_episodes, 10, 1, 1000000,                                                      \
      "episodes of such an evaluation; of each value, if a factor is chosen among some")       \
    X(REAL, eval_reach, 0, -1e9, 1e9,                                                          \
      "least reward of an episode's last step to count as reached; 0: none does")              \
    X(INT, checkpoint_every, 10000, 1, 1000000000,                                             \
      "steps of a seed between checkpoints; more if saving would take over 3 % of the time")
OPTIONS_STRUCT(train_options, TRAIN_OPTIONS)
const option_group *train_option_group(void);

typedef struct training training;

typedef struct train_run {
    const task *task;
    int seed;
    const char *folder; /* NULL: it writes no files and cannot be resumed */
    const char *name;   /* for messages, such as its config; NULL: its environment */
    bool claimed;       /* this process has locked the folder: see run_lock */
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
    bool look_only; /* for evaluation: the folders must exist, nothing is written; no worlds but
                       those of training_eval */
    bool outside;   /* one run, whose worlds the caller steps: see training_act */
} train_setup;

/* Make it; then open the folders, and resume from their checkpoints. */
int training_new(training **out, const train_setup *s);
int training_begin(training *t);
void training_free(training *t);

/* The step of the checkpoint in a run's folder, and of the one that was about to replace it; -1 if
 * there is none, nor a folder. Runs of one training must have one of them in common. */
typedef struct run_position {
    int64_t tick, next;
} run_position;
int run_position_of(const char *folder, run_position *s);

/* Steps of a run, in whole steps of all its worlds; and those of its prelude among them. */
int64_t train_length(const train_options *o, int horizon);
int64_t train_prelude(const train_options *o, int horizon);

/* Returns the number of factors that move in a task; fills `list` if given. */
int train_movements(const task *t, fans_moving *list);

/* The same as an agent may know them: their clocks are told with the boundaries only. */
int train_told_movements(const task *t, fans_tells tells, fans_moving *list);

/* FANS_ENOSUP where an algorithm does not apply to a task: factors that flow, pixels. */
int train_applies(const fans_algo_def *a, const task *t, fans_tells tells);

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

/* A step of a training whose worlds are the caller's: act, update, step them, observe. `change` and
 * `factors` may be NULL: a segment is an episode; the factors are not known. `did` may differ from
 * what act chose; NULL: it does not. Only training_save writes checkpoints, and the last step,
 * since `yours`, the state of those worlds, is part of them. */
int training_act(training *t, const float *obs, const uint8_t *change, const double *factors,
                 float *action);
int training_update(training *t);
int training_observe(training *t, const float *did, const fans_outcome *outcome);
int training_save(training *t, const void *yours, size_t bytes);
const void *training_yours(const training *t, size_t *bytes);
bool training_is_done(const training *t);

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

/* Playing: lifetimes in separate worlds, without learning. Play as many steps as you like, then end
 * it: training can continue afterwards as if nothing had happened. One play of a training at a
 * time. */
typedef struct play play;
int play_new(play **out, training *t, uint64_t seed); /* run r has seed + r */
int play_step(play *p);
int play_end(play *p); /* NULL is fine */

/* Starts the lifetimes anew, from the same seeds; also after a world has failed. Factors that are
 * held stay held. */
int play_restart(play *p);

/* Holds a factor in the worlds of a run at a value, whatever the schedule says; NaN lets it go. See
 * world_hold. */
int play_hold(play *p, int replica, int factor, double value);

/* The factors of the first world of a run as they are now. */
const double *play_factors(const play *p, int replica);

/* Whether agents are told when the world changes, as in their training (train.told); a change by
 * play_hold is one like the schedule's. They are, unless this says no. */
void play_tell(play *p, bool told);

/* The last step of the first world of a run. The belief is the one that its action was chosen by;
 * NULL where the algorithm has none. */
typedef struct play_view {
    world *world;           /* after the step */
    const double *factors;  /* during the step */
    bool change;            /* the agent was told that a segment begins with the step */
    double reward, success; /* NaN where the task has no such notion */
    bool ended;             /* the episode */
    const float *belief;
    int belief_width;
    const uint8_t *pixels; /* from pixels: what the agent saw before the step; else NULL */
} play_view;
play_view play_look(const play *p, int replica);

/* What the agent's model made of what it saw before the step, drawn again; NULL: nothing. */
const uint8_t *play_imagined(const play *p, int replica);

/* Plays `episodes`; returns[replica · episodes + i]. */
int training_eval(training *t, int episodes, uint64_t seed, double *returns);

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
void *training_agent(const training *t);
const char *training_folder(const training *t, int replica);

#endif
