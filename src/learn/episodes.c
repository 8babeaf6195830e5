/* episodes.c - a short list per lifetime, moved up when it is full. */
#include "learn/episodes.h"

#include <string.h>

#include "base/error.h"

int episodes_declare(episodes *e, arena *memory, int rows, int most, int n)
{
    int rc = 0;
    *e = (episodes){.rows = rows, .most = most, .n = n};
    TRY(arena_declare(memory, &e->lived, (size_t)rows * sizeof *e->lived));
    TRY(arena_declare(memory, &e->z, (size_t)rows * (size_t)most * (size_t)n * sizeof *e->z));
out:
    return rc;
}

void episodes_clear(episodes *e, int row)
{
    e->lived[row] = 0;
    memset(episodes_at(e, row, 0), 0, (size_t)e->most * (size_t)e->n * sizeof *e->z);
}

int episodes_known(const episodes *e, int row)
{
    return e->lived[row] < e->most ? (int)e->lived[row] : e->most;
}

float *episodes_at(const episodes *e, int row, int i)
{
    return e->z + ((size_t)row * (size_t)e->most + (size_t)i) * (size_t)e->n;
}

void episodes_add(episodes *e, int row, const float *z)
{
    int known = episodes_known(e, row), full = known == e->most;
    size_t bytes = (size_t)e->n * sizeof *z;
    if (full)
        memmove(episodes_at(e, row, 0), episodes_at(e, row, 1), (size_t)(e->most - 1) * bytes);
    memcpy(episodes_at(e, row, known - full), z, bytes);
    e->lived[row]++;
}

void episodes_copy(const episodes *e, int row, int i, int count, float *to, int stride)
{
    size_t bytes = (size_t)e->n * sizeof *to;
    for (int known = episodes_known(e, row); count-- > 0; i++, to += stride)
        if (i < known)
            memcpy(to, episodes_at(e, row, i), bytes);
        else
            memset(to, 0, bytes);
}

void episodes_carried(episodes *e, int replica, int worlds, state_list *s)
{
    int row = replica * worlds;
    state_add(s, "episodes/lived", FANS_I64, 1, (int64_t[]){worlds}, e->lived + row);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "episodes/z", FANS_F32, 3, (int64_t[]){worlds, e->most, e->n},
              episodes_at(e, row, 0));
}
