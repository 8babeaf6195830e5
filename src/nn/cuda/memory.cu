/* memory.cu - the device's memory, and what goes in and out.
 *
 * Large copies pass through slots, pieces of page-locked memory that are used in turn: the runtime
 * would wait for all queued work before it touched ordinary memory. */
#include <string.h>

#include "nn/cuda/cuda.cuh"

void *gpu_take(void *arg, size_t bytes)
{
    gpu *self = gpu_here(arg);
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError(); /* reported as out of memory */
        return NULL;
    }
    gpu_ok(self, cudaMemsetAsync(memory, 0, bytes, self->queues[0].stream), "clearing memory");
    return memory;
}

void gpu_give(void *arg, void *memory)
{
    gpu *self = gpu_here(arg);
    gpu_ok(self, cudaStreamSynchronize(self->queues[0].stream), "waiting");
    gpu_ok(self, cudaFree(memory), "freeing memory");
}

void gpu_clear(void *arg, void *at, size_t bytes)
{
    gpu *self = gpu_here(arg);
    gpu_ok(self, cudaMemsetAsync(at, 0, bytes, self->queues[0].stream), "clearing memory");
}

/* The oldest slot, free again; NULL after a failure. */
static slot *next_slot(gpu *self, const char *what)
{
    slot *s = &self->slots[self->next_slot];
    self->next_slot = (self->next_slot + 1) % SLOTS;
    return gpu_ok(self, cudaEventSynchronize(s->done), what) ? s : NULL;
}

static void leave_slot(gpu *self, slot *s, const char *what)
{
    gpu_ok(self, cudaEventRecord(s->done, self->queues[0].stream), what);
}

/* ---- in -------------------------------------------------------------------------------------- */

static void send(gpu *self, void *to, const void *from, size_t bytes)
{
    cudaStream_t stream = self->queues[0].stream;
    gpu_ok(self, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying in");
}

/* The bytes are taken before this returns, and sent when the work that is queued before them is
 * done. A few are taken at once by the runtime itself. */
void gpu_copy_in(void *arg, void *to, const void *from, size_t bytes)
{
    gpu *self = gpu_here(arg);
    if (bytes <= TAKEN_AT_ONCE) {
        send(self, to, from, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += SLOT) {
        size_t n = bytes - at < SLOT ? bytes - at : SLOT;
        slot *s = next_slot(self, "copying in");
        if (!s) return;
        memcpy(s->memory, (const char *)from + at, n);
        send(self, (char *)to + at, s->memory, n);
        leave_slot(self, s, "copying in");
    }
}

/* A table on both sides: `rows` of `width` bytes per replica. */
typedef struct table_pair {
    char *to;
    const char *from;
    size_t rows, width;
} table_pair;

static size_t place_in(const table_pair *t, nn_place p)
{
    return ((size_t)p.replica * t->rows + (size_t)p.row) * t->width;
}

/* A slot with places, and the rows after them. */
typedef struct rows_in {
    const nn_place *places;
    const char *rows;
    char *to;
    size_t width, stride; /* in words */
    int count;
} rows_in;

/* In words of four bytes where rows consist of these, else of one. */
template <class WORD> __global__ void scatter(const __grid_constant__ rows_in x)
{
    await_previous();
    for (int i = (int)blockIdx.x; i < x.count; i += (int)gridDim.x) {
        nn_place p = x.places[i];
        WORD *to = (WORD *)x.to + (size_t)p.replica * x.stride + (size_t)p.row * x.width;
        const WORD *from = (const WORD *)x.rows + (size_t)i * x.width;
        for (size_t k = threadIdx.x; k < x.width; k += blockDim.x) to[k] = from[k];
    }
}

static rows_in pack(slot *s, const table_pair *t, const nn_place *places, int n, size_t word)
{
    size_t head = ((size_t)n * sizeof *places + 15) / 16 * 16, width = t->width / word;
    char *rows = s->memory + head;
    memcpy(s->memory, places, (size_t)n * sizeof *places);
    for (int i = 0; i < n; i++)
        memcpy(rows + (size_t)i * t->width, t->from + place_in(t, places[i]), t->width);
    return {(const nn_place *)s->memory, rows, t->to, width, t->rows * width, n};
}

/* Rows that no slot can hold. */
static void put_wide_rows(gpu *self, const table_pair *t, const nn_place *places, int count)
{
    for (int i = 0; i < count; i++) {
        size_t at = place_in(t, places[i]);
        gpu_copy_in(self, t->to + at, t->from + at, t->width);
    }
}

/* The kernel reads the slot itself: a few rows are not worth a copy of their own. */
void gpu_put_rows(void *arg, void *to, const void *from, size_t rows, size_t width,
                  const nn_place *places, int count)
{
    gpu *self = gpu_here(arg);
    const table_pair t = {(char *)to, (const char *)from, rows, width};
    int most = (int)((SLOT - 16) / (sizeof *places + width));
    size_t word = width % 4 ? 1 : 4;
    if (most == 0) return put_wide_rows(self, &t, places, count);
    for (int at = 0; at < count; at += most) {
        int n = count - at < most ? count - at : most;
        slot *s = next_slot(self, "sending rows");
        if (!s) return;
        launch(self, "sending rows", word == 4 ? scatter<uint32_t> : scatter<uint8_t>,
               dim3((unsigned)n), 64, pack(s, &t, places + at, n, word));
        leave_slot(self, s, "sending rows");
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Piece i of an array that is copied out: where it begins, and its bytes. */
typedef struct piece_out {
    size_t at, bytes;
} piece_out;

static piece_out piece_of(size_t i, size_t bytes)
{
    size_t at = i * SLOT;
    return {at, bytes - at < SLOT ? bytes - at : SLOT};
}

static slot *fetch(gpu *self, const void *from, piece_out p)
{
    slot *s = next_slot(self, "copying out");
    if (!s) return NULL;
    gpu_ok(self,
           cudaMemcpyAsync(s->memory, (const char *)from + p.at, p.bytes, cudaMemcpyDeviceToHost,
                           self->queues[0].stream),
           "copying out");
    leave_slot(self, s, "copying out");
    return s;
}

static void take_up(gpu *self, slot *s, void *to, piece_out p)
{
    bool here = s && gpu_ok(self, cudaEventSynchronize(s->done), "copying out");
    if (here && !self->why[0])
        memcpy((char *)to + p.at, s->memory, p.bytes);
    else
        memset((char *)to + p.at, 0, p.bytes);
}

/* Waits for all that is queued. Some pieces are on their way while one is taken up. After a failure
 * the numbers are zeros. */
void gpu_copy_out(void *arg, void *to, const void *from, size_t bytes)
{
    enum { AHEAD = SLOTS / 2 };
    gpu *self = gpu_here(arg);
    slot *way[AHEAD];
    size_t pieces = (bytes + SLOT - 1) / SLOT;
    for (size_t i = 0; i < pieces + AHEAD; i++) {
        slot **s = &way[i % AHEAD];
        if (i >= AHEAD && i - AHEAD < pieces) take_up(self, *s, to, piece_of(i - AHEAD, bytes));
        if (i < pieces) *s = fetch(self, from, piece_of(i, bytes));
    }
}
