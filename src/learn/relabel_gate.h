/* relabel_gate.h - whether a model may say what experience would have been under other factors.
 *
 * It is judged on steps that it has not learned from: by its error against the change that other
 * factors would make, and by whether what was observed bears these changes out. */
#ifndef LEARN_RELABEL_GATE_H
#define LEARN_RELABEL_GATE_H

#include "data/state.h"

/* Means over held-out steps: of the squared error, of the squared change, of their product. */
typedef struct gate {
    double error, change, both, open;
    int64_t seen; /* steps */
} gate;

/* Moves it by n more steps, where the model missed the observation by missed[i · stride] and other
 * factors would have moved it by moved[i · stride]. `limit` is the fault at which it closes. */
void gate_move(gate *g, const float *missed, const float *moved, int stride, int n, double limit);

/* How much of a change is borne out. With other factors in place of the right ones a model must err
 * more, by the square of the change: then this is 1. Where factors have no effect, others are as
 * good as the right ones: 0. */
double gate_slope(const gate *g);

/* Lists it under "PREFIX/…". */
void gate_state(gate *g, const char *prefix, state_list *s);

#endif
