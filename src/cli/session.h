/* session.h - from a command line to a training: config, task, algorithm, threads, seeds. Shared by
 * train, eval and play. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/args.h"
#include "nn/nn.h"
#include "rl/train.h"

typedef struct session {
    config *config;
    task *task;
    pool *pool;
    nn_backend *backend;
    char *system;
    train_setup setup;
    training *training;
} session;

/* What the command line said; negative numbers and NULL mean: nothing. */
typedef struct session_wish {
    const char *config; /* file */
    const arg_list *settings;
    const char *algo, *out, *command;
    const char *device; /* auto, cpu or cuda */
    int seed, seeds, steps, threads;
    bool look_only;
} session_wish;
#define SESSION_WISH ((session_wish){.device = "auto", .seed = -1, .seeds = 1, .steps = -1})

int session_open(session *s, const session_wish *w);

/* A run that is there, to look at: its own config, one seed. */
int session_look(session *s, const char *folder, int threads);
void session_close(session *s);

#endif
