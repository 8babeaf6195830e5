/* run_plan.h - runs to train, a line each.
 *
 * `fans train` makes a plan and trains it at once; `fans sweep` writes it to a file, whose lines
 * `fans work` trains in any number of processes. The file is a CSV that people can read and edit:
 *
 *     run,config,algo,preset,seed,settings
 *     runs/pendulum-sac/seed-0,configs/pendulum.ini,sac,standard,0,
 *     runs/pendulum-sac-sac.lr=1e-4/seed-0,configs/pendulum.ini,sac,standard,0,sac.lr=1e-4
 *
 * Settings are separated by ';'. */
#ifndef TRAIN_RUN_PLAN_H
#define TRAIN_RUN_PLAN_H

#include <stdbool.h>

#include "base/text.h"

typedef struct plan_run {
    char *folder, *config;
    char *algo;     /* NULL: the config's */
    char *preset;   /* NULL: none */
    char *settings; /* lines of "section.key=value"; NULL: none */
    int seed;       /* -1: the config's */
    bool claimed;   /* this process has locked the folder: see run_lock */
} plan_run;

/* Start from {0}. */
typedef struct run_plan {
    plan_run *runs;
    int count;
    size_t capacity;
} run_plan;

/* Copies the texts. */
int run_plan_add(run_plan *p, const plan_run *r);
void run_plan_free(run_plan *p);

/* What a command line asks for: every config × algorithm × point of the grid × seed. */
typedef struct plan_wish {
    text_list configs, settings;
    text_list grid;     /* "section.key=value,value" */
    const char *preset; /* NULL: none */
    const char *algos;  /* separated by commas; NULL: the config's */
    const char *out;    /* NULL: runs */
    int seed, seeds;    /* seed -1: the config's */
    int steps;          /* of a run; -1: as configured */
    bool rounded;       /* ... up to whole episodes; the folder's name says how many */
    bool apart;         /* folders are DIR/CONFIG-ALGO/seed-N even for a single entry */
} plan_wish;
#define PLAN_WISH ((plan_wish){.preset = "standard", .seed = -1, .seeds = 1, .steps = -1})

/* Adds the wish's runs, after all their options were checked. FANS_ENOSUP: an algorithm does not
 * apply to a task. */
int run_plan_make(run_plan *p, const plan_wish *w);

int run_plan_write(const run_plan *p, const char *path);
int run_plan_read(run_plan *p, const char *path);

/* Shard k (from 0) of n is the lines from run_plan_cut(count, k, n) to before run_plan_cut(count, k
 * + 1, n): neighbours, since these can mostly train together. */
int run_plan_cut(int count, int k, int n);

#endif
