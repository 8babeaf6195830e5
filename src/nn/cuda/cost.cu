/* cost.cu - costs: the mean over rows, weighted. Rows are cut into pieces by their number alone;
 * the last block to finish adds up the pieces in order, in double. */
#include "nn/cuda/cuda.cuh"
#include "nn/cuda/rows_cost.cuh"

enum { THREADS = 256, MOST_PIECES = 64 };

typedef struct cost_sum {
    double cost, weight;
} cost_sum;

__device__ static double gauss_nll_element(const nn_call *c, int r, size_t i)
{
    real z = nn_v(&c->in[0], r)[i] - nn_v(&c->in[1], r)[i];
    if (c->attr.i[0] < 3) return (double)(z * z) / 2;
    real s = nn_v(&c->in[2], r)[i];
    z *= nn_exp(-s);
    return (double)(z * z) / 2 + (double)s + 0.91893853320467274178; /* ln sqrt(2 pi) */
}

__device__ static double gauss_kl_element(const nn_call *c, int r, size_t i)
{
    real mq = nn_v(&c->in[0], r)[i], sq = nn_v(&c->in[1], r)[i];
    real mp = nn_v(&c->in[2], r)[i], sp = nn_v(&c->in[3], r)[i];
    real ratio = nn_exp(2 * (sq - sp)), z = (mq - mp) * nn_exp(-sp);
    return (double)(sp - sq) + (double)(ratio + z * z) / 2 - 0.5;
}

__device__ static double mse_element(const nn_call *c, int r, size_t i, size_t row)
{
    double d = (double)(nn_v(&c->in[0], r)[i] - nn_v(&c->in[1], r)[c->in[1].shape.D > 1 ? i : row]);
    return d * d;
}

template <int OP> __device__ static double element(const nn_call *c, int r, size_t i, size_t row)
{
    switch (OP) {
    case NN_OP_mean:
        return (double)nn_v(&c->in[0], r)[i];
    case NN_OP_mse:
        return mse_element(c, r, i, row);
    case NN_OP_l1:
        return (double)nn_abs(nn_v(&c->in[0], r)[i]);
    case NN_OP_gauss_nll:
        return gauss_nll_element(c, r, i);
    default:
        return gauss_kl_element(c, r, i);
    }
}

template <int OP>
__global__ void sum_cost(const __grid_constant__ nn_call c, cost_sum *parts, unsigned *tickets)
{
    await_previous();
    int r = (int)blockIdx.y;
    size_t rows = nn_rows(c.in[0].shape), D = (size_t)c.in[0].shape.D;
    cost_sum s = {0, 0};
    for (size_t row = blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (size_t)gridDim.x * THREADS) {
        double w = (double)cost_weight(&c, r, row), sum = 0;
        s.weight += w;
        if (w == 0) continue;
        for (size_t j = 0; j < D; j++) sum += element<OP>(&c, r, row * D + j, row);
        s.cost += w * sum;
    }
    s.cost = block_sum(s.cost);
    s.weight = block_sum(s.weight);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = s;
        if (!last_block(&tickets[r], gridDim.x)) return;
        s = {0, 0};
        if (threadIdx.x < gridDim.x) s = parts[blockIdx.y * gridDim.x + threadIdx.x];
        s.cost = block_sum(s.cost);
        s.weight = block_sum(s.weight);
    }
    if (threadIdx.x == 0) {
        double scale = s.weight != 0 ? 1 / s.weight : 0;
        *nn_scratch(&c, r) = (real)scale;
        *nn_v(&c.out, r) = (real)(s.cost * scale);
    }
}

template <int OP> static void forward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    unsigned pieces = blocks_of(nn_rows(c->in[0].shape), THREADS);
    if (pieces > MOST_PIECES) pieces = MOST_PIECES;
    launch(self, "cost", sum_cost<OP>, dim3(pieces, (unsigned)c->replicas), THREADS, *c,
           (cost_sum *)self->now->workspace, self->now->tickets);
}

void mean_forward(const nn_call *c)
{
    forward<NN_OP_mean>(c);
}

void mse_forward(const nn_call *c)
{
    forward<NN_OP_mse>(c);
}

void l1_forward(const nn_call *c)
{
    forward<NN_OP_l1>(c);
}

void gauss_nll_forward(const nn_call *c)
{
    forward<NN_OP_gauss_nll>(c);
}

void gauss_kl_forward(const nn_call *c)
{
    forward<NN_OP_gauss_kl>(c);
}
