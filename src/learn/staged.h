/* staged.h - an input of a graph and the host memory in which it is prepared: replica by replica,
 * on any thread; then sent to the backend at once. */
#ifndef LEARN_STAGED_H
#define LEARN_STAGED_H

#include "base/mem.h"
#include "nn/nn.h"

typedef struct staged {
    nn_var var;
    size_t each; /* values per replica */
    void *host;  /* int32_t or float; valid after the arena is committed */
    bool rows;
} staged;

/* Records an input of numbers (T, B, D), or of row numbers (T, B, K), and declares its memory. */
int staged_numbers(staged *s, arena *memory, nn_graph *g, const char *name, int T, int B, int D);
int staged_rows(staged *s, arena *memory, nn_graph *g, const char *name, int T, int B, int K);

static inline float *numbers_of(const staged *s, int replica)
{
    return (float *)s->host + (size_t)replica * s->each;
}

static inline int32_t *rows_of(const staged *s, int replica)
{
    return (int32_t *)s->host + (size_t)replica * s->each;
}

void staged_send(const staged *s);

/* All inputs of a batch: recorded one by one, sent together. */
enum { STAGE_MOST = 24 };
typedef struct stage {
    nn_graph *graph;
    arena *memory;
    const staged *all[STAGE_MOST];
    int count;
    int rc; /* the first failure: whoever commits checks it */
} stage;
void stage_numbers(stage *t, staged *s, const char *name, int T, int B, int D);
void stage_rows(stage *t, staged *s, const char *name, int T, int B, int K);
void stage_send(const stage *t);

#endif
