/* run.h - the folder of a run, which all tools for results read.
 *
 *     config.ini    the resolved config; gives the same run again
 *     command.txt   the commands that started it, one per line
 *     system.json   versions, machine and precision
 *     metrics.csv   one row per episode; bit-identical for the same seed
 *     beliefs.csv   belief and truth at some steps of every episode
 *     evals.csv     one row per evaluation on the way, of each value of a chosen factor
 *     segments.csv  one row per stretch between changes: rewards by steps since the change
 *     times.csv     seconds spent on the run so far, about a hundred rows
 *     graph.json    the causal graph found; `fans graph` draws it
 *     events…       metrics and more for TensorBoard
 *     checkpoint.safetensors    all that a resume needs
 *     result.json   written at the end
 *
 * Tables and events are appended to. A checkpoint notes their lengths, and a resume cuts them back,
 * so that they continue as if nothing had happened; times are cut back by their steps, since no
 * checkpoint knows their length. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "base/json.h"
#include "base/text.h"
#include "train/events.h"

enum { RUN_PATH = 4096 };

/* A file of rows; `fd` is -1 while it is closed. */
typedef struct run_table {
    const char *name;
    int fd;
    int64_t bytes;
} run_table;

typedef struct run {
    char path[RUN_PATH - 64];
    int held; /* the folder, open and locked; or -1 */
    run_table metrics, beliefs, segments, evals, times;
    int64_t events_bytes;
    events *events;
} run;
#define RUN_CLOSED                              \
    ((run){.held = -1,                          \
           .metrics = {"metrics.csv", -1, 0},   \
           .beliefs = {"beliefs.csv", -1, 0},   \
           .segments = {"segments.csv", -1, 0}, \
           .evals = {"evals.csv", -1, 0},       \
           .times = {"times.csv", -1, 0}})

/* Locks a folder for this process, and makes it where there is none. Returns 0, RUN_BUSY where
 * another process holds it, or an error. Close `held` to unlock it. A file system without locks is
 * warned of, and `held` is then -1 or locks nothing. */
enum { RUN_BUSY = 1 };
int run_lock(const char *path, int *held);

typedef enum {
    RUN_LOCK,    /* lock the folder */
    RUN_CLAIMED, /* the caller has locked it */
    RUN_LOOK     /* nothing is made, compared or written */
} run_mode;

/* Makes the folder, or opens an old one, whose config must be the same except for its length. */
int run_open(run *r, const char *path, const char *ini, run_mode mode);

/* 1 if the folder's config says that it was asked for as `id` (see source_identity) with this seed,
 * else 0. */
int run_is(const char *path, const char *id, int seed);

/* Refuses a folder whose config says something else than `ini`. */
int run_compare(const char *path, const char *ini);
void run_close(run *r);

/* The run that a user means by `folder`: itself, or the only one in it. out[RUN_PATH]. */
int run_find(const char *folder, char *out);

/* Refuses a folder of a version whose checkpoints this one cannot read. */
int run_check_version(const char *path);

int run_file(const run *r, const char *name, char *out); /* out[RUN_PATH] */
int run_note(const run *r, const char *command, const char *system_json);

/* Opens metrics, times, events and, if wanted, the other tables: at their noted lengths, times up
 * to `step`, if `resume`, else empty. */
typedef struct run_wants {
    bool beliefs, segments, evals;
} run_wants;
int run_begin(run *r, bool resume, int64_t step, run_wants wants);
int run_row(run *r, run_table *t, const text *row);

/* Note the lengths for a checkpoint; and make sure that this much is on the disk. */
void run_mark(run *r);
int run_sync(const run *r);

#endif
