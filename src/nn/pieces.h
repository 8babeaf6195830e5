/* pieces.h - a program cut into pieces: what each waits for, and the queue it goes to. For
 * backends that run a program as a whole and some of it side by side. */
#ifndef NN_PIECES_H
#define NN_PIECES_H

#include "nn/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PIECE_STEPS = 24 }; /* at most */

/* One or several row steps, a single other step, or none: the start (gradients of losses are set,
 * others cleared, optimiser steps counted) and the end (random operators are counted). */
typedef struct nn_piece {
    int steps[PIECE_STEPS], count;
    size_t rows; /* that each step works on one by one; 0 where it does not */
    int queue;
    int before; /* the longest way from the start to here: products count two, all else one … */
    int way;    /* … and from here to the end */
    int heir;   /* of those that wait for it the one with the longest way; -1: none does */
} nn_piece;

typedef struct nn_pieces {
    nn_piece *list; /* in an order that keeps all waits; first the start, last the end */
    int count;
    bool *waits; /* [count][count]: for an earlier one, and through no other */
} nn_pieces;

/* Whether there was memory. */
bool pieces_new(nn_pieces *out, const nn_program *p, int queues, const nn_host *m);
void pieces_free(nn_pieces *x, const nn_host *m);

static inline bool piece_waits(const nn_pieces *x, int later, int earlier)
{
    return x->waits[(size_t)later * (size_t)x->count + (size_t)earlier];
}

#ifdef __cplusplus
}
#endif

#endif
