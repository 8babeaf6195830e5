/* big.cu - large products by cublasLt, which adds the bias and applies the ReLU while it writes.
 *
 * Row-major matrices are column-major ones transposed: C = A B is asked for as C^T = B^T A^T. The
 * workspace is the queue's own, so that products side by side do not meet, and which kernel is
 * chosen depends on the shapes alone. */
#include "nn/cuda/big.cuh"

#include <stdio.h>

static bool lt_ok(gpu *self, cublasStatus_t s, const char *what)
{
    if (s == CUBLAS_STATUS_SUCCESS) return true;
    if (!self->why[0])
        snprintf(self->why, sizeof self->why, "cuda: %s: %s", what, cublasLtGetStatusString(s));
    return false;
}

static cublasComputeType_t compute_type(nn_precision p)
{
    switch (p) {
    case NN_TF32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    case NN_BF16:
        return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
        return CUBLAS_COMPUTE_32F;
    }
}

#define SET(desc, name, value) cublasLtMatmulDescSetAttribute(desc, name, &(value), sizeof(value))

static cublasLtMatmulDesc_t describe(gpu *self, const big_product *p)
{
    cublasLtMatmulDesc_t d = NULL;
    lt_ok(self, cublasLtMatmulDescCreate(&d, compute_type(self->precision), CUDA_R_32F),
          "describing a product");
    cublasOperation_t left = p->tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t right = p->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    SET(d, CUBLASLT_MATMUL_DESC_TRANSA, left);
    SET(d, CUBLASLT_MATMUL_DESC_TRANSB, right);
    cublasLtEpilogue_t end = CUBLASLT_EPILOGUE_DEFAULT;
    if (p->bias) {
        int64_t stride = (int64_t)p->bias_stride;
        end = p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
        SET(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
        SET(d, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stride);
    } else if (p->relu) {
        end = CUBLASLT_EPILOGUE_RELU;
    }
    SET(d, CUBLASLT_MATMUL_DESC_EPILOGUE, end);
    return d;
}

static cublasLtMatrixLayout_t layout(gpu *self, int rows, int columns, int ld, int count,
                                     size_t stride)
{
    cublasLtMatrixLayout_t l = NULL;
    int64_t step = (int64_t)stride;
    lt_ok(self, cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, (uint64_t)rows, (uint64_t)columns, ld),
          "describing a matrix");
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                     sizeof step);
    return l;
}

/* What the library may assume of a pointer. */
static void promise(cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t which,
                    const void *p)
{
    uintptr_t at = (uintptr_t)p;
    uint32_t bytes = (uint32_t)(at & (~at + 1) & 0xff);
    if (bytes == 0) bytes = 256;
    cublasLtMatmulPreferenceSetAttribute(wish, which, &bytes, sizeof bytes);
}

static cublasLtMatmulPreference_t wishes(gpu *self, const big_product *p)
{
    size_t most = WORKSPACE;
    cublasLtMatmulPreference_t w = NULL;
    lt_ok(self, cublasLtMatmulPreferenceCreate(&w), "choosing a product");
    cublasLtMatmulPreferenceSetAttribute(w, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most);
    promise(w, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p->B);
    promise(w, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p->A);
    promise(w, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p->C);
    promise(w, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p->C);
    return w;
}

static void run_batch(gpu *self, const big_product *p)
{
    float one = 1, beta = p->add ? 1 : 0;
    int found = 0;
    cublasLtMatmulHeuristicResult_t best = {};
    cublasLtMatmulPreference_t wish = wishes(self, p);
    cublasLtMatmulDesc_t d = describe(self, p);
    cublasLtMatrixLayout_t left =
        layout(self, p->tb ? p->k : p->n, p->tb ? p->n : p->k, p->ldb, p->count, p->B_stride);
    cublasLtMatrixLayout_t right =
        layout(self, p->ta ? p->m : p->k, p->ta ? p->k : p->m, p->lda, p->count, p->A_stride);
    cublasLtMatrixLayout_t to = layout(self, p->n, p->m, p->ldc, p->count, p->C_stride);
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(self->lt, d, left, right, to, to, wish, 1, &best, &found);
    if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
    bool ok = lt_ok(self, status, "choosing a product");
    if (ok)
        lt_ok(self,
              cublasLtMatmul(self->lt, d, &one, p->B, left, p->A, right, &beta, p->C, to, p->C, to,
                             &best.algo, self->now->workspace, WORKSPACE, self->now->stream),
              "a product");
    cublasLtMatmulPreferenceDestroy(wish);
    cublasLtMatrixLayoutDestroy(to);
    cublasLtMatrixLayoutDestroy(right);
    cublasLtMatrixLayoutDestroy(left);
    cublasLtMatmulDescDestroy(d);
}

/* How many products of a batch fill all processors a whole number of times, if the rest is small
 * enough to be better off by itself, where the library splits it along k: 17 products of 8 tiles
 * would take two rounds of 132 processors, 16 take one. Tiles are as large as the library's largest
 * on tensor cores. */
static int whole_rounds(const gpu *self, const big_product *p)
{
    enum { TALL = 128, WIDE = 256 };
    int tiles = ((p->m + TALL - 1) / TALL) * ((p->n + WIDE - 1) / WIDE);
    int rounds = tiles * p->count / self->processors;
    int whole = rounds * self->processors / tiles, rest = p->count - whole;
    bool pays = rounds > 0 && rounds < 4 && rest * tiles * 4 <= self->processors;
    return self->precision != NN_FP32 && pays && rest > 0 ? whole : p->count;
}

void run_big(gpu *self, const big_product *p)
{
    big_product some = *p, rest = *p;
    some.count = whole_rounds(self, p);
    rest.count -= some.count;
    run_batch(self, &some);
    if (rest.count == 0) return;
    rest.A += (size_t)some.count * p->A_stride;
    rest.B += (size_t)some.count * p->B_stride;
    rest.C += (size_t)some.count * p->C_stride;
    if (p->bias) rest.bias += (size_t)some.count * p->bias_stride;
    run_batch(self, &rest);
}
