/* uses.h - which memory the steps of a program read and write, and so which must wait for which. */
#ifndef NN_USES_H
#define NN_USES_H

#include "nn/op.h"

/* Memory of a group: all parameters of all replicas. */
typedef struct stretch {
    const char *from, *to;
} stretch;

enum { MOST_READS = 2 * NN_MOST_INPUTS + 4, MOST_WRITES = NN_MOST_INPUTS + 4 };

typedef struct step_uses {
    const void *reads[MOST_READS], *writes[MOST_WRITES];
    int read_count, write_count;
    stretch read, written;   /* a group's; empty for most */
    const nn_program *looks; /* at the losses of this */
} step_uses;

step_uses uses_of(const nn_step *s);

/* Whether `later` must wait for `s`, which comes before it. */
bool must_follow(const nn_step *s, const step_uses *a, const nn_step *later, const step_uses *b);

/* Rows that the step works on one by one, or 0 where it does not. */
size_t step_rows(const nn_step *s);

/* Whether it takes long, as matrix products do. */
bool step_is_product(const nn_step *s);

#endif
