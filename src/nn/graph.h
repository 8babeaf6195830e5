/* graph.h - the inside of graphs, groups and plans; for the files that share them. */
#ifndef NN_GRAPH_H
#define NN_GRAPH_H

#include "nn/op.h"

typedef struct nn_node {
    int op; /* or one of the leaves below */
    char name[48];
    nn_shape shape;
    nn_type type;
    int in[NN_MOST_INPUTS], in_count;
    nn_attr attr;
    size_t scratch_size;
    double flops;
    int skip;           /* operands that never get a gradient, as bits */
    bool needs_grad;    /* by any plan */
    nn_group *group;    /* parameters: where they live */
    size_t offset;      /* ... and where in the group's block */
    nn_init init;       /* ... and how they start */
    double initial;     /* ... and scalars: the first value */
    int counter;        /* random operators: which of the graph's counters, … */
    char stream[32];    /* … and the purpose of its numbers: no other operator disturbs them */
    void *caller;       /* tables: the rows themselves; `value` is these, or a copy */
    real *value, *grad; /* replica 0; of another type where `type` says so */
    size_t stride;
    real *scratch;
} nn_node;

enum { LEAF_INPUT = -1, LEAF_SCALAR = -2, LEAF_PARAM = -3, LEAF_TABLE = -4, LEAF_INDEX = -5 };

struct nn_graph {
    nn_backend *backend;
    arena *memory; /* the backend's */
    arena *host;   /* counters: the host reads them */
    int replicas;
    uint64_t *seeds, *live_seeds; /* the host's, and the backend's copy */
    nn_node *nodes;
    size_t count, capacity;
    nn_group **groups;
    size_t group_count, group_capacity;
    nn_plan **plans;
    size_t plan_count, plan_capacity;
    nn_routine **routines;
    size_t routine_count, routine_capacity;
    uint64_t *counters;      /* the host's; where the backend has its own memory, these … */
    uint64_t *live_counters; /* … advance beside them, … */
    uint64_t *told;          /* … and this is what they were last told */
    int counter_count;
    bool committed;
    bool sketching;  /* recording again, for readers only … */
    size_t sketched; /* … from this node on */
    int rc;          /* the first error while recording, and its message */
    char why[512];
};

struct nn_group {
    nn_graph *graph;
    char name[48];
    int *params; /* node ids */
    size_t count, capacity;
    size_t size;    /* numbers per replica, padded so that replicas stay aligned */
    real *block[4]; /* values, gradients, moments: (replicas, size) each */
    double *norm;   /* in the backend's memory */
    uint64_t steps; /* the host's; a backend that counts by itself has … */
    uint64_t *live_steps, told_steps; /* … these, and was last told that */
};

struct nn_plan {
    nn_graph *graph;
    int *losses;
    int loss_count;
    bool *forward, *backward; /* by node: is it run, does it get a gradient */
    nn_program program;
    int *zero; /* parameters of the groups that no loss reaches */
    nn_group **groups;
    int group_count;
    double flops;
};

/* Notes the first error of the recording; returns NN_NONE. */
nn_var graph_refuse(nn_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a zeroed node; NULL after an error. */
nn_node *graph_push(nn_graph *g, const char *name, nn_shape shape);

/* The fault that an asynchronous backend has met, if any, as this thread's error. */
int graph_fault(nn_graph *g, bool wait);
int group_blame(const nn_group *group, int replica);

/* A step of Adam as a backend sees it; and, where the backend counts, that one is about to be. */
nn_adam_step group_adam_step(const nn_group *group, const nn_adam *o);
void group_tell_step(nn_group *group);

/* The backend's counters follow the host's, which the caller may have changed, and which move on
 * here just as a run of the program moves those. */
void program_tell_counters(nn_graph *g, const nn_program *p);

int group_declare(nn_group *group);
int plan_link(nn_plan *p);

/* Runs a plan step by step, but for those steps whose results are `known`; NULL: none are. */
int plan_run_steps(nn_plan *p, const bool *known);
int routine_link(nn_routine *r);
void group_free(nn_group *group);
void plan_free(nn_plan *p);
void routine_free(nn_routine *r);

#endif
