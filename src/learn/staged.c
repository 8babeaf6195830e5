/* staged.c - inputs and their host memory. */
#include "learn/staged.h"

#include <assert.h>

static int declare(staged *s, arena *memory, nn_graph *g, size_t each)
{
    s->each = each;
    return arena_declare(memory, &s->host, (size_t)nn_graph_replicas(g) * each * sizeof(float));
}

int staged_numbers(staged *s, arena *memory, nn_graph *g, const char *name, int T, int B, int D)
{
    *s = (staged){.var = nn_input(g, name, T, B, D)};
    return declare(s, memory, g, (size_t)T * (size_t)B * (size_t)D);
}

int staged_rows(staged *s, arena *memory, nn_graph *g, const char *name, int T, int B, int K)
{
    *s = (staged){.var = nn_index(g, name, T, B, K), .rows = true};
    return declare(s, memory, g, (size_t)T * (size_t)B * (size_t)K);
}

void staged_send(const staged *s)
{
    if (s->rows)
        nn_write_index_all(s->var, s->host);
    else
        nn_write_all(s->var, s->host);
}

/* ---- the inputs of a batch ------------------------------------------------------------------- */

static const staged **next_of(stage *t)
{
    assert(t->count < STAGE_MOST);
    return &t->all[t->count++];
}

void stage_numbers(stage *t, staged *s, const char *name, int T, int B, int D)
{
    *next_of(t) = s;
    int rc = staged_numbers(s, t->memory, t->graph, name, T, B, D);
    if (t->rc == 0) t->rc = rc;
}

void stage_rows(stage *t, staged *s, const char *name, int T, int B, int K)
{
    *next_of(t) = s;
    int rc = staged_rows(s, t->memory, t->graph, name, T, B, K);
    if (t->rc == 0) t->rc = rc;
}

void stage_send(const stage *t)
{
    for (int i = 0; i < t->count; i++) staged_send(t->all[i]);
}
