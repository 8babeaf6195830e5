/* truth.h - the factors that a schedule moves, as networks see them: scaled to [-1, 1] by their
 * range, or one-hot if they jump among a few values. */
#ifndef LEARN_TRUTH_H
#define LEARN_TRUTH_H

#include "fans/algo.h"

int truth_width(const fans_moving *m);
int truth_width_of_all(const fans_movements *moving);

/* `factors` are those of one world. */
void truth_show(const fans_movements *moving, const double *factors, float *to);

#endif
