/* session.h - from a command line to trainings: configs, tasks, algorithms, threads, seeds. Shared
 * by train, eval and play.
 *
 * Every config under every algorithm is an **entry**; an entry has a run per seed. Runs that one
 * agent can serve are put into one training (see session_group.c), the others into further ones. */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "base/text.h"
#include "nn/nn.h"
#include "train/train.h"

/* A config file: it and its task serve all algorithms. */
typedef struct session_config {
    const char *path;
    char name[96]; /* without folder and .ini */
    config *config;
    task *task;
    train_options options;
} session_config;

typedef struct session_entry {
    session_config *from;
    const fans_algo_def *algo;
    char given[OPTION_TEXT];     /* as the user named it: a name or a path */
    char name[OPTION_TEXT + 96]; /* CONFIG-ALGO */
    char folder[RUN_PATH];
    text key; /* what runs of one training have in common */
} session_entry;

typedef struct session_run {
    session_entry *entry;
    int seed;
    char *folder;
    run_position stand;
    int training, replica; /* where it went; -1 until then, or when it has failed */
    char *fault;           /* why it has failed: one line that names task, seed and step */
} session_run;

/* What the command line said; negative numbers and NULL mean: nothing. */
typedef struct session_wish {
    text_list configs; /* files */
    const text_list *settings;
    const char *preset;        /* NULL: the config says it all */
    const char *algos;         /* with commas between */
    const char *out, *command; /* out: NULL = below runs/ */
    const char *device;        /* auto, cpu or cuda */
    const char *precision;     /* fp32, tf32 or bf16 */
    int seed, seeds, steps, threads;
    bool look_only;
} session_wish;
#define SESSION_WISH                      \
    ((session_wish){.device = "auto",     \
                    .precision = "fp32",  \
                    .preset = "standard", \
                    .seed = -1,           \
                    .seeds = 1,           \
                    .steps = -1})

typedef struct session {
    pool *pool;
    char *system;
    session_config *configs;
    session_entry *entries;
    session_run *runs; /* entry by entry, seed by seed */
    int config_count, entry_count, run_count, seeds;
    nn_precision precision;
    training **trainings;
    nn_backend **backends; /* one each: what is queued for one must not wait for another */
    pool **pools;          /* likewise, where trainings run threaded; else NULL: all have `pool` */
    bool threaded;         /* they do, since they wait for a GPU */
    train_run *members;    /* [run_count] the runs once more, training by training */
    int training_count;
    session_wish wish; /* what it was opened by */
} session;

int session_open(session *s, const session_wish *w);

/* A run that is there, to look at: its own config, one seed; `settings` change what it meets. */
int session_look(session *s, const char *folder, const text_list *settings, int threads);
void session_close(session *s);

/* Shares the runs out among trainings, and makes these. */
int session_group(session *s);

/* Trains all to their end. A run that fails stops alone: the others of its training resume from
 * their last checkpoint without it. Returns 0 even then (see session_run.fault), FANS_ESTOP, or an
 * error. */
int session_train(session *s, train_watch_fn *watch, void *user);

/* Of a run so far: its final return, of how many episodes, and as in result.json. NAN, 0 and a
 * "failed" status where it has failed. */
double session_final(const session *s, const session_run *r);
int session_recent(const session *s, const session_run *r);
json_t *session_result(const session *s, const session_run *r);

/* Run number `seed` (from 0) of an entry. */
const session_run *session_run_of(const session *s, int entry, int seed);

#endif
