/* pieces.cuh - a program cut into pieces: what each waits for, and the lane it is queued on. */
#ifndef NN_CUDA_PIECES_CUH
#define NN_CUDA_PIECES_CUH

#include "nn/cuda/cuda.cuh"

enum { MOST_ENDS = 32 }; /* losses or counters that one kernel looks at */

typedef struct piece {
    int first, count; /* steps; count 0: the two ends */
    bool rows;        /* row steps, in one kernel */
    int lane;
    bool *after; /* by earlier piece: directly or through others */
    bool *waits; /* by earlier piece: directly */
    int before;  /* pieces on the longest way from the start to here … */
    int way;     /* … and from here to the end */
    int heir;    /* of those that wait for it the one with the longest way; -1: none does */
    cudaEvent_t done;
} piece;

/* At most two more than steps; returns how many. */
int cut_pieces(const nn_program *p, piece *out);

/* Finds waits and lanes; `after` and `waits` have room and are clear. Whether there was memory. */
bool order_pieces(gpu *self, const nn_program *p, piece *list, int count);

#endif
