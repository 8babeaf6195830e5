/* staged.c - inputs and their host memory. */
#include "learn/staged.h"

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

int staged_rows(staged *s, arena *memory, nn_graph *g, const char *name, int T, int B)
{
    *s = (staged){.var = nn_index(g, name, T, B), .rows = true};
    return declare(s, memory, g, (size_t)T * (size_t)B);
}

void staged_send(const staged *s)
{
    if (s->rows)
        nn_write_index_all(s->var, s->host);
    else
        nn_write_all(s->var, s->host);
}
