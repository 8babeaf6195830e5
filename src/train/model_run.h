/* model_run.h - a model fitted to a task, as a folder: resolved config and parameters. */
#ifndef TRAIN_MODEL_RUN_H
#define TRAIN_MODEL_RUN_H

#include "base/pool.h"
#include "base/text.h"
#include "env/world.h"
#include "learn/belief.h"
#include "learn/causal_graph.h"

#define MODEL_OPTIONS(X)                                                                        \
    X(INT, seed, 0, 0, 2147483647, "seed of data and model")                                    \
    X(INT, transitions, 20000, 100, 100000000, "transitions to collect with random actions")    \
    X(INT, starts, 3, 1, 64, "networks that a fit begins with; the best after a quarter stays") \
    X(CHOICE, edges, 0, "data|gates", "what decides on edges in the end: regression, or the masks")
OPTIONS_STRUCT(model_options, MODEL_OPTIONS)
const option_group *model_option_group(void);

enum { EDGES_BY_DATA, EDGES_BY_GATES }; /* the option `edges` */

typedef struct model_run {
    task *task;
    fnvae_options o;
    model_options data;
    int window_lacking; /* steps that the window should have, if it is too short; else 0 */
    fnvae_dims truth;   /* of the task, with its own numbers of factors */
    int64_t start;      /* which of the networks that the fit began with */
    pool *pool;
    nn_backend *backend;
    nn_graph *graph;
    replay *data_rows; /* what the model learns from: one lane, with the factors of each row */
    fnvae *f;
    belief *belief;
} model_run;

/* Loads a config over a preset and under the settings. Then `make`. */
int model_run_load(model_run *m, const char *config, const char *preset, const text_list *settings);
int model_run_make(model_run *m, const char *device, nn_precision precision, int threads);
void model_run_free(model_run *m);

/* A replay with room for `transitions`, with the factors of each row. */
int model_run_replay(const model_run *m, replay **out, int transitions);

/* Collects `count` transitions of lifetime `index` with random actions; or reads all from a file
 * that `fans rollout --csv` wrote for this task, into a new replay. */
int model_run_collect(const model_run *m, replay *to, uint32_t index, int count);
int model_run_read(const model_run *m, replay **out, const char *path, int *count);

/* Adds all data to the model's statistics. Call it before learning. */
void model_run_observe(model_run *m);

/* Once masks are frozen: replaces them by what regression says of the data (learn/mechanism.h).
 * Where these are too few to say anything, and for erf gates, masks stay as learned. */
int model_run_settle(model_run *m);

/* The folder. `open` also makes the model; `may_save` refuses a training run's folder. */
int model_run_may_save(const char *folder);
int model_run_save(const model_run *m, const char *folder);
int model_run_find_start(model_run *m, const char *folder); /* before `make`, to resume */
int model_run_resume(model_run *m, const char *folder);     /* the config must be the same */
int model_run_open(model_run *m, const char *folder, const char *device, int threads);

/* ---- scoring (model_eval.c) ------------------------------------------------------------------ */

enum { EVAL_FACTORS = 64 }; /* of a task, at most */
enum { EVAL_START, EVAL_TEN, EVAL_END, EVAL_ANY, EVAL_CARRIED, EVAL_TIMES };

typedef struct model_eval {
    bool graph_known;
    causal_score mask[CAUSAL_MASK_COUNT], touched, all; /* all: everything identifiable */
    int factors;
    double r2[EVAL_TIMES][EVAL_FACTORS]; /* [time][factor] */
    double error, error_blind, error_r,
        error_r_blind; /* normalised squared one-step errors; blind: without theta */
} model_eval;

int model_run_eval(const model_run *m, int episodes, model_eval *e);

/* What a step of its own data costs, in nats, predicted by beliefs about the steps before it. Only
 * differences mean something: between fits that began with other networks. */
int model_run_score(const model_run *m, double *nats);

bool model_eval_judges(const model_run *m, int mask); /* are its edges identifiable? */
const char *model_eval_factor(const model_run *m, int i);
json_t *model_eval_json(const model_run *m, const model_eval *e);

#endif
