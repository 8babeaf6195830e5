/* big.cuh - products large enough for cuBLAS. */
#ifndef NN_CUDA_BIG_CUH
#define NN_CUDA_BIG_CUH

#include "nn/cuda/cuda.cuh"

/* C = op(A) op(B) (+ C) (+ bias), row-major, for `count` matrices that lie a stride apart; with
 * `relu`, negative results become 0. */
typedef struct big_product {
    bool ta, tb, add, relu;
    int m, n, k, count;
    const float *A, *B, *bias;
    float *C;
    int lda, ldb, ldc;
    size_t A_stride, B_stride, C_stride, bias_stride;
} big_product;

void run_big(gpu *self, const big_product *p);

#endif
