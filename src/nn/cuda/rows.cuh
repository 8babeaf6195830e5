/* rows.cuh - row steps that have a kernel of their own. */
#ifndef NN_CUDA_ROWS_CUH
#define NN_CUDA_ROWS_CUH

#include "nn/cuda/cuda.cuh"

/* Whether these steps are those behind a policy, and queued: rows_policy.cu. */
bool run_policy_steps(gpu *self, const nn_step *steps, int count);

#endif
