/* lifetime.c - arrays of transitions. */
#include "learn/lifetime.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

struct lifetime {
    fnvae_dims z;
    int count, capacity;
    arena *memory;
    float *s, *a, *s1, *r, *theta_s, *theta_r;
    uint8_t *change, *first;
};

int lifetime_new(lifetime **out, fnvae_dims z, int capacity)
{
    int rc = 0;
    size_t n = (size_t)capacity;
    lifetime *l = mem_alloc(sizeof *l);
    if (!l) return FANS_ENOMEM;
    l->z = z;
    l->capacity = capacity;
    TRY(arena_new(&l->memory));
    TRY(arena_declare(l->memory, &l->s, n * (size_t)z.d * sizeof(float)));
    TRY(arena_declare(l->memory, &l->a, n * (size_t)z.m * sizeof(float)));
    TRY(arena_declare(l->memory, &l->s1, n * (size_t)z.d * sizeof(float)));
    TRY(arena_declare(l->memory, &l->r, n * sizeof(float)));
    TRY(arena_declare(l->memory, &l->theta_s, n * (size_t)z.p * sizeof(float)));
    TRY(arena_declare(l->memory, &l->theta_r, n * (size_t)z.q * sizeof(float)));
    TRY(arena_declare(l->memory, &l->change, n));
    TRY(arena_declare(l->memory, &l->first, n));
    TRY(arena_commit(l->memory));
    *out = l;
out:
    if (rc < 0) lifetime_free(l);
    return rc;
}

void lifetime_free(lifetime *l)
{
    if (!l) return;
    arena_free(l->memory);
    mem_free(l);
}

static float *row_of(float *array, int i, int width)
{
    return array + (size_t)i * (size_t)width;
}

static void copy(float *array, int i, int width, const float *from)
{
    if (from) memcpy(row_of(array, i, width), from, (size_t)width * sizeof(float));
}

void lifetime_add(lifetime *l, const fnvae_row *row)
{
    assert(l->count < l->capacity);
    int i = l->count++;
    copy(l->s, i, l->z.d, row->s);
    copy(l->a, i, l->z.m, row->a);
    copy(l->s1, i, l->z.d, row->s1);
    copy(l->theta_s, i, l->z.p, row->theta_s);
    copy(l->theta_r, i, l->z.q, row->theta_r);
    l->r[i] = row->r;
    l->change[i] = row->change;
    l->first[i] = row->first;
}

int lifetime_count(const lifetime *l)
{
    return l->count;
}

fnvae_row lifetime_at(const lifetime *l, int i)
{
    return (fnvae_row){.s = row_of(l->s, i, l->z.d),
                       .a = row_of(l->a, i, l->z.m),
                       .s1 = row_of(l->s1, i, l->z.d),
                       .r = l->r[i],
                       .change = l->change[i] != 0,
                       .first = l->first[i] != 0,
                       .theta_s = row_of(l->theta_s, i, l->z.p),
                       .theta_r = row_of(l->theta_r, i, l->z.q)};
}

void lifetime_window(const lifetime *l, int from, int count, fnvae_row *rows)
{
    assert(from >= 0 && from + count <= l->count);
    for (int t = 0; t < count; t++) rows[t] = lifetime_at(l, from + t);
}
