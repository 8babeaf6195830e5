/* cuda_abi.h - the one function that the CUDA library exports, and how both sides make sure that
 * they were built from the same source. */
#ifndef NN_CUDA_ABI_H
#define NN_CUDA_ABI_H

#include "fans/fans.h"
#include "nn/op.h"

/* What both sides must agree on; the library compares it byte by byte. */
typedef struct nn_cuda_abi {
    size_t version, ops, op, backend, call, step, program, adam; /* numbers and sizes */
} nn_cuda_abi;

NN_FN nn_cuda_abi nn_cuda_abi_here(void)
{
    const size_t version =
        FANS_VERSION_MAJOR * 10000 + FANS_VERSION_MINOR * 100 + FANS_VERSION_PATCH;
    nn_cuda_abi a = {version,         NN_OP_COUNT,     sizeof(nn_op),      sizeof(nn_backend),
                     sizeof(nn_call), sizeof(nn_step), sizeof(nn_program), sizeof(nn_adam_step)};
    return a;
}

/* Fills in the backend; or returns -1 with one line in `why`. With `b` NULL only looks for a device
 * and describes it in `why`. */
#define NN_CUDA_OPEN "fans_cuda_open"
typedef int nn_cuda_open_fn(const nn_cuda_abi *abi, const nn_host *host, nn_backend *b,
                            const nn_cuda_options *o, char *why, size_t size);

#endif
