/* gemm.h - matrix products on one thread. The operators share out the tiles. */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include <signal.h>

#include "nn/nn.h"

/* C = op(A) op(B) + beta C, row-major: C is m × n with row length ldc, the inner extent is k;
 * op transposes where ta or tb says so. beta is 0 or 1. */
void gemm(bool ta, bool tb, int m, int n, int k, const real *A, int lda, const real *B, int ldb,
          real beta, real *C, int ldc);

/* Told of each finished tile, while it is still in the cache: C[row .. row+rows)[column ..). */
typedef void gemm_tile_fn(const void *arg, int replica, int member, int row, int rows, int column,
                          int columns);

/* The same product for every replica and every member of a bank; strides lead from one to the next.
 */
typedef struct gemm_batch {
    bool ta, tb;
    int m, n, k;
    const real *A, *B;
    real *C;
    int lda, ldb, ldc;
    real beta;
    size_t A_replica, B_replica, C_replica;
    size_t A_member, B_member, C_member;
    int members;
    gemm_tile_fn *done; /* or NULL */
    const void *arg;    /* its first argument */
} gemm_batch;

/* Runs `count` batches over the pool as one set of tiles, cut by shape alone. They must not depend
 * on each other. */
struct pool;
void gemm_run(struct pool *p, int replicas, const gemm_batch *list, int count);

/* Around the use of gemm on the calling thread: keeps the library from starting threads of its own,
 * and signal handlers from running inside it (oneDNN 2.6 points the stack pointer into the heap,
 * which a handler's frame would overwrite: its issue 4845). Leaving gives back what was set, and
 * fails if a product in between could not be computed. Threads of the pool need neither. */
typedef struct gemm_guard {
    int threads;
    unsigned faults;
    sigset_t signals;
} gemm_guard;
gemm_guard gemm_enter(void);
int gemm_leave(const gemm_guard *g);

#endif
