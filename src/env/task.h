/* task.h - what a config says about the world: which environment, with which options, and how its
 * factors move. One task serves any number of worlds. */
#ifndef ENV_TASK_H
#define ENV_TASK_H

#include "env/registry.h"
#include "env/schedule.h"

/* The keys of [env] that every environment has; its own options follow. A task without pixels does
 * not list `pixels`: it is then written, and called, as before there were any. */
#define ENV_OPTIONS(X)                                                                        \
    X(TEXT, name, "", "an environment of `fans list envs`, or the path of a shared library")  \
    X(INT, horizon, 0, 0, 1000000000, "steps per episode; 0: the environment's own")          \
    X(INT, world_seed, 0, 0, 2147483647, "seed of the world itself, where worlds are random") \
    X(FLAG, pixels, false, "agents see what the cameras see, not the state")
OPTIONS_STRUCT(env_options, ENV_OPTIONS)
const option_group *env_option_group(void);

typedef struct task {
    env_source source;
    const fans_env_def *def; /* = source.def */
    fans_env_info info;      /* horizon as configured, names never NULL */
    env_options *options;    /* followed by the environment's own values */
    const double *values;    /* [def->option_count] */
    option_group group;      /* common and own options of [env] together */
    option *rows;
    schedule *change;
    void *sample; /* an environment that owns what `info` points to */
    char **names; /* [name_count] default names, where it gave none */
    int name_count;
    fans_factor *factors; /* of another program's worlds; else NULL */
} task;

/* Takes [env] and every [change.X]. */
int task_load(task **out, config *c);
void task_free(task *t);

/* Appends the resolved sections; they read back to the same task. */
void task_dump(const task *t, text *out);

/* Opens one more environment of this task; it has the same info. */
int task_open(const task *t, void **env);

/* Bytes of what all cameras of a world see. */
static inline size_t task_pixels(const task *t)
{
    return (size_t)t->info.views * (size_t)t->info.height * (size_t)t->info.width * 3;
}

/* The masks of the true graph; row-major, [effect][cause]. */
typedef struct task_graph {
    int d, m, p, q;  /* state, action, dynamics factors, reward factors */
    uint8_t *C_ss;   /* [d][d] */
    uint8_t *C_as;   /* [d][m] */
    uint8_t *C_ts;   /* [d][p] */
    uint8_t *c_sr;   /* [d] */
    uint8_t *c_ar;   /* [m] */
    uint8_t *C_tt_s; /* [p][p] */
    uint8_t *C_tt_r; /* [q][q] */
    uint8_t *memory; /* holds them all */
} task_graph;

/* The truth where the environment knows it (FANS_ENOSUP elsewhere). The factors are driven by
 * schedules that do not read each other, so C_tt is diagonal: 1 where the factor's next value
 * depends on its present one, 0 where it is sampled afresh. */
int task_truth(const task *t, task_graph *out);
void task_graph_free(task_graph *g);

#endif
