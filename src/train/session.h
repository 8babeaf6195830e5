/* session.h - from planned runs to trainings: configs, tasks, algorithms, threads. Used by train,
 * work, eval and play.
 *
 * Every pair of a config and an algorithm is an **entry**; an entry has a run per seed. Runs that
 * one agent can serve share a training (see session_group.c). */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "nn/nn.h"
#include "train/run_plan.h"
#include "train/source.h"

typedef struct session_entry {
    source *from;
    const fans_algo_def *algo;
    char given[OPTION_TEXT];     /* as the user gave it: a name or a path */
    char name[OPTION_TEXT + 96]; /* CONFIG-ALGO */
    char folder[RUN_PATH];
    int first, count; /* of its runs */
    text key;         /* equal for runs that can share a training */
} session_entry;

typedef struct session_run {
    session_entry *entry;
    int seed;
    const char *folder;
    bool claimed; /* this process has locked the folder */
    run_position position;
    int training, replica; /* its place; -1 before it has one, or after it failed */
    char fault[1024];      /* why it failed: one line with task, seed and step; else empty */
} session_run;

/* What a command asks for. All that it points to must outlive the session. */
typedef struct session_wish {
    const plan_run *runs; /* [count] */
    int count;
    const char *command;   /* stored in the folders */
    const char *device;    /* auto, cpu or cuda */
    const char *precision; /* fp32, tf32 or bf16 */
    int threads;
    bool look_only;
    bool outside; /* the caller steps the worlds: see training_act */
} session_wish;
#define SESSION_WISH ((session_wish){.device = "auto", .precision = "fp32"})

typedef struct session {
    pool *pool;
    char *system;
    source *sources;
    session_entry *entries;
    session_run *runs; /* entry by entry */
    int source_count, entry_count, run_count;
    nn_precision precision;
    training **trainings;
    nn_backend **backends; /* one per training, so that none waits for another's queue */
    pool **pools;          /* one per training if threaded; NULL: it uses `pool` */
    bool threaded;         /* trainings have threads of their own, since they wait for a GPU */
    train_run *members;    /* [run_count] the runs, training by training */
    int training_count;
    session_wish wish;  /* as given to session_open */
    run_plan looked_at; /* the run of session_look */
} session;

int session_open(session *s, const session_wish *w);

/* Only reads configs and tasks: enough to ask which runs are done. */
int session_list(session *s, const session_wish *w);

/* Has a run been trained to its end? A folder of a different run is refused. */
int session_is_done(const session *s, int i, bool *done);

/* What a run is: see source_identity. out[SOURCE_IDENTITY] */
int session_identity(const session *s, int i, char *out);

/* Opens an existing run to look at: its own config, one seed; `settings` change its task. */
int session_look(session *s, const char *folder, const text_list *settings, int threads);
void session_close(session *s);

/* Assigns the runs to trainings, and makes these. */
int session_group(session *s);

/* Trains all runs to their end. A run that fails stops alone: the others of its training resume
 * from their last checkpoint without it, and 0 is returned (see session_run.fault). Else returns 0,
 * FANS_ESTOP, or an error. */
int session_train(session *s, train_watch_fn *watch, void *user);

/* Of a run so far: its final return, the number of episodes in that mean, and its result.json. If
 * it failed: NAN, 0, and the status "failed". */
double session_final(const session *s, const session_run *r);
int session_recent(const session *s, const session_run *r);
json_t *session_result(const session *s, const session_run *r);

/* Run number i (from 0) of an entry. */
const session_run *session_run_of(const session *s, int entry, int i);

#endif
