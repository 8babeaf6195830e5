/* worker.h - trains the runs of a plan, one batch after another: what `fans work` and `fans
 * reproduce` share.
 *
 * Any number of workers may share a plan: each has a shard of its lines. A folder's lock is the
 * second guard: a run that another process is training is left to it. */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "cli/watch.h"

typedef enum {
    FATE_WAITING,
    FATE_DONE_BEFORE,
    FATE_DONE,
    FATE_FAILED,
    FATE_ELSEWHERE, /* another process trains it */
    FATES
} fate;

typedef struct worker {
    run_plan plan; /* of all */
    int first, n;  /* its share */
    session list;  /* of its share, to ask which are done */
    fate *fates;   /* [n] */
    session_wish how;
    plan_run *batch;   /* [n] the runs that train together */
    int *which, *held; /* [n] their places in the share; their locks */
    int batch_count;
} worker;

/* Prepares for shard k of n of w->plan; w->how must be set. Start from {0}. */
int worker_open(worker *w, int k, int n);
void worker_close(worker *w);

/* Trains what is not done, at most `together` runs at a time. 0, or what watch_train returns. */
int worker_train(worker *w, watch *eye, int together);

/* How many runs met that fate. */
int worker_count(const worker *w, fate f);

/* What became of the runs: on the terminal, as JSON for programs, and as the command's status: 75
 * as long as another start would find something to do. */
int worker_sum_up(const worker *w, const watch *eye);
json_t *worker_figures(const worker *w);

/* "3:50:00", "50:00" or "90": hours, minutes, seconds. `name` is what messages call it. */
int read_time(const char *name, const char *s, double *seconds);

#endif
