/* run.h - the folder of a run: what every tool that looks at results reads.
 *
 *     config.ini    everything that was asked for, resolved; reads back to the same run
 *     command.txt   how it was started, one line a start
 *     system.json   versions and machine
 *     metrics.csv   one row per episode: the same seed gives the same bytes
 *     events…       the same and more for TensorBoard
 *     checkpoint.safetensors    all that a resume needs
 *     result.json   at the end
 *
 * metrics.csv and the events are appended to; a checkpoint notes their lengths, and a resume cuts
 * them back to that, so that they go on as if nothing had happened. */
#ifndef RL_RUN_H
#define RL_RUN_H

#include "base/json.h"
#include "base/text.h"
#include "rl/events.h"

enum { RUN_PATH = 4096 };

typedef struct run {
    char path[RUN_PATH - 64];
    int metrics; /* file descriptor; -1 while closed */
    int64_t metrics_bytes, events_bytes;
    events *events;
} run;

/* Makes the folder, or looks into an old one, whose config must be the same but for the lengths in
 * `loose` (a list of "key = " beginnings that may differ, NULL-ended). With `look_only` nothing is
 * made or written. */
int run_open(run *r, const char *path, const char *config, const char *const *loose,
             bool look_only);
void run_close(run *r);

int run_file(const run *r, const char *name, char *out); /* out[RUN_PATH] */
int run_note(const run *r, const char *command, const char *system_json);

/* Opens metrics and events; from `metrics_bytes` and `events_bytes` on when `resume`, else anew. */
int run_begin(run *r, bool resume);
int run_row(run *r, const text *row);

/* Notes the lengths that a checkpoint keeps; and sees to it that so much is on the disk. */
void run_mark(run *r);
int run_sync(const run *r);

#endif
