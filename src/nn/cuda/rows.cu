/* rows.cu - operators that work on each row by itself, several in one kernel.
 *
 * A policy's head is eight such operators on 256 rows of 6 numbers: as kernels of their own they
 * would cost eight launches and next to no work. So steps over the same rows (nn/pieces.c) become
 * one kernel, in which a block takes some rows through all steps; nothing passes between blocks.
 * The steps' calls travel as kernel arguments: fetching them from memory would take longer than the
 * work. */
#include "nn/cuda/cuda.cuh"
#include "nn/cuda/rows_cost.cuh"
#include "nn/cuda/rows_gauss.cuh"
#include "nn/cuda/rows_point.cuh"
#include "nn/pieces.h"

typedef struct row_step {
    int op;
    bool backward;
    nn_call call;
} row_step;

template <int MOST> struct row_list {
    int count;
    idx rows, height; /* all, and of a block */
    row_step step[MOST];
};

__device__ static void run_forward(int op, const nn_call *c, int r, idx from, idx to)
{
    switch (op) {
    case NN_OP_activate:
        return rows_activate(c, r, from, to);
    case NN_OP_add:
        return rows_add(c, r, from, to);
    case NN_OP_sub:
        return rows_sub(c, r, from, to);
    case NN_OP_mul:
        return rows_mul(c, r, from, to);
    case NN_OP_broadcast:
        return rows_broadcast(c, r, from, to);
    case NN_OP_affine:
        return rows_affine(c, r, from, to);
    case NN_OP_clip:
        return rows_clip(c, r, from, to);
    case NN_OP_concat:
        return rows_concat(c, r, from, to);
    case NN_OP_slice:
        return rows_slice(c, r, from, to);
    case NN_OP_gather:
        return rows_gather(c, r, from, to);
    case NN_OP_detach:
    case NN_OP_grad_scale:
        return rows_copy(c, r, from, to);
    case NN_OP_gate:
        return rows_gate(c, r, from, to);
    case NN_OP_gate_open:
        return rows_gate_open(c, r, from, to);
    case NN_OP_gauss_sample:
        return rows_gauss_sample(c, r, from, to);
    case NN_OP_squash_logp:
        return rows_squash_logp(c, r, from, to);
    case NN_OP_min:
        return rows_min(c, r, from, to);
    case NN_OP_td_target:
        return rows_td_target(c, r, from, to);
    case NN_OP_auto_weight:
        return rows_auto_weight(c, r);
    }
}

__device__ static void run_backward(int op, const nn_call *c, int r, idx from, idx to)
{
    switch (op) {
    case NN_OP_activate:
        return rows_activate_back(c, r, from, to);
    case NN_OP_add:
        return rows_add_back(c, r, from, to, 1);
    case NN_OP_sub:
        return rows_add_back(c, r, from, to, -1);
    case NN_OP_mul:
        return rows_mul_back(c, r, from, to);
    case NN_OP_broadcast:
        return rows_broadcast_back(c, r, from, to);
    case NN_OP_affine:
        return rows_scale_back(c, r, from, to, (real)c->attr.f[0]);
    case NN_OP_grad_scale:
        return rows_scale_back(c, r, from, to, *nn_v(&c->in[1], r));
    case NN_OP_clip:
        return rows_clip_back(c, r, from, to);
    case NN_OP_concat:
        return rows_concat_back(c, r, from, to);
    case NN_OP_slice:
        return rows_slice_back(c, r, from, to);
    case NN_OP_gate:
        return rows_gate_back(c, r, from, to);
    case NN_OP_gate_open:
        return rows_gate_open_back(c, r, from, to);
    case NN_OP_gauss_sample:
        return rows_gauss_sample_back(c, r, from, to);
    case NN_OP_squash_logp:
        return rows_squash_logp_back(c, r, from, to);
    case NN_OP_min:
        return rows_min_back(c, r, from, to);
    case NN_OP_auto_weight:
        return rows_auto_weight_back(c, r);
    case NN_OP_mean:
        return rows_mean_back(c, r, from, to);
    case NN_OP_mse:
        return rows_mse_back(c, r, from, to);
    case NN_OP_l1:
        return rows_l1_back(c, r, from, to);
    case NN_OP_gauss_nll:
        return rows_gauss_nll_back(c, r, from, to);
    case NN_OP_gauss_kl:
        return rows_gauss_kl_back(c, r, from, to);
    }
}

template <int MOST> __global__ void run_rows(const __grid_constant__ row_list<MOST> list)
{
    await_previous();
    idx from = blockIdx.x * list.height, to = from + list.height;
    if (to > list.rows) to = list.rows;
    for (int i = 0; i < list.count; i++) {
        const row_step *s = &list.step[i];
        if (s->backward)
            run_backward(s->op, &s->call, (int)blockIdx.y, from, to);
        else
            run_forward(s->op, &s->call, (int)blockIdx.y, from, to);
        __syncthreads();
    }
}

/* ---- how many at once ------------------------------------------------------------------------ */

template <int MOST> static void run_list(gpu *self, const row_step *steps, int count, size_t rows)
{
    static thread_local row_list<MOST> list; /* large */
    int replicas = steps[0].call.replicas;
    size_t wanted = (size_t)self->processors * 8; /* blocks */
    list.count = count;
    list.rows = (idx)rows;
    list.height = (idx)((rows * (size_t)replicas + wanted - 1) / wanted);
    for (int i = 0; i < count; i++) list.step[i] = steps[i];
    dim3 grid(blocks_of(rows, list.height), (unsigned)replicas);
    launch(self, "row steps", run_rows<MOST>, grid, 128, list);
}

static void launch_list(gpu *self, const row_step *steps, int count, size_t rows)
{
    if (count <= 1)
        run_list<1>(self, steps, count, rows);
    else if (count <= 6)
        run_list<6>(self, steps, count, rows);
    else
        run_list<PIECE_STEPS>(self, steps, count, rows);
}

void run_row_steps(gpu *self, const nn_step *steps, int count, size_t rows)
{
    static thread_local row_step list[PIECE_STEPS];
    if (run_policy_steps(self, steps, count)) return;
    for (int i = 0; i < count; i++) list[i] = {steps[i].op, steps[i].backward, steps[i].call};
    launch_list(self, list, count, rows);
}

void run_row_step(const nn_call *c, int op, bool backward)
{
    row_step s = {op, backward, *c};
    launch_list(gpu_of(c), &s, 1, nn_rows(c->out.shape));
}
