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

/* rows_name and rows_name_back, for all operators that work by rows (ops/list.h). */
#define RUN(name, fn)  \
    case NN_OP_##name: \
        return fn(c, r, from, to);
#define FORWARD_ROWS(name)    RUN(name, rows_##name)
#define FORWARD_REPEATS(name) RUN(name, rows_##name)
#define FORWARD_COST(name)
#define FORWARD_WHOLE(name)
#define FORWARD_PRODUCT(name)
#define BACKWARD_ROWS(name)    RUN(name, rows_##name##_back)
#define BACKWARD_REPEATS(name) RUN(name, rows_##name##_back)
#define BACKWARD_COST(name)    RUN(name, rows_##name##_back)
#define BACKWARD_WHOLE(name)
#define BACKWARD_PRODUCT(name)

__device__ static void run_forward(int op, const nn_call *c, int r, idx from, idx to)
{
    switch (op) {
#define X(name, work) FORWARD_##work(name)
#include "nn/ops/list.h"
#undef X
    }
}

__device__ static void run_backward(int op, const nn_call *c, int r, idx from, idx to)
{
    switch (op) {
#define X(name, work) BACKWARD_##work(name)
#include "nn/ops/list.h"
#undef X
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
