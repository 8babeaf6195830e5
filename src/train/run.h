/* run.h - the folder of a run: what every tool that looks at results reads.
 *
 *     config.ini    everything that was asked for, resolved; reads back to the same run
 *     command.txt   how it was started, one line a start
 *     system.json   versions, machine and precision
 *     metrics.csv   one row per episode: the same seed gives the same bytes
 *     beliefs.csv   what was believed, and what was true, at some steps of every episode
 *     graph.json    the causal graph that was found; `fans graph` draws it
 *     events…       the same and more for TensorBoard
 *     checkpoint.safetensors    all that a resume needs
 *     result.json   at the end
 *
 * Tables and events are appended to; a checkpoint notes their lengths, and a resume cuts
 * them back to that, so that they go on as if nothing had happened. */
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
    run_table metrics, beliefs;
    int64_t events_bytes;
    events *events;
} run;
#define RUN_CLOSED \
    ((run){.held = -1, .metrics = {"metrics.csv", -1, 0}, .beliefs = {"beliefs.csv", -1, 0}})

/* Makes the folder, or looks into an old one, whose config must be the same but for the lengths in
 * `loose` (a list of "key = " beginnings that may differ, NULL-ended). With `look_only` nothing is
 * made, compared or written; otherwise it is this process's alone from now on. */
int run_open(run *r, const char *path, const char *config, const char *const *loose,
             bool look_only);
void run_close(run *r);

/* Refuses a folder of a version whose checkpoints this one cannot read. */
int run_check_version(const char *path);

int run_file(const run *r, const char *name, char *out); /* out[RUN_PATH] */
int run_note(const run *r, const char *command, const char *system_json);

/* Opens metrics, events and, where wanted, beliefs; from their noted lengths on when `resume`, else
 * anew. */
int run_begin(run *r, bool resume, bool beliefs);
int run_row(run *r, run_table *t, const text *row);

/* Notes the lengths that a checkpoint keeps; and sees to it that so much is on the disk. */
void run_mark(run *r);
int run_sync(const run *r);

#endif
