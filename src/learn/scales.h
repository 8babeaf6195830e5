/* scales.h - running statistics of several vectors, and the units in which networks read them. */
#ifndef LEARN_SCALES_H
#define LEARN_SCALES_H

#include "data/norm.h"
#include "learn/staged.h"

enum { SCALES_MOST = 5 };

typedef struct scales {
    int count, replicas, widths[SCALES_MOST];
    staged units; /* (1, 1, ·): shift and scale of every statistic */
    nn_var shift[SCALES_MOST], scale[SCALES_MOST];
    norm *norms; /* [replica][count] */
} scales;

/* Records the units of `count` vectors and declares their memory. Free it even after a failure. */
int scales_record(scales *x, arena *memory, nn_graph *g, const int *widths, int count);
void scales_free(scales *x);

/* Adds a sample v, or v - minus if `minus` is given. */
void scales_add(scales *x, int replica, int which, const float *v, const float *minus);

/* Forgets all samples of a replica. */
void scales_clear(scales *x, int replica);

/* Makes the statistics so far the units of normalisation. */
void scales_settle(scales *x);

/* v in these units; a unit of dimension i; and one value in these units. */
nn_var scales_apply(const scales *x, int which, nn_var v);
float scales_unit(const scales *x, int replica, int which, int i);
double scales_to(const scales *x, int replica, int which, int i, double v);

/* Lists the statistics as "scale.NAME" and the units as `units`. */
void scales_state(scales *x, int replica, const char *const *names, const char *units,
                  state_list *s);

#endif
