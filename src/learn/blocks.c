/* blocks.c - from a replay to blocks of rows. */
#include "learn/blocks.h"

#include <string.h>

#include "base/error.h"

enum { LONGEST = BLOCKS_LONGEST, SHORT = 5, BLENDED = 25, LEAST = 3 };

void blocks_free(blocks *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x);
}

/* Rows from `from` that share an episode and, if `whole`, a segment. */
static int stretch(const replay *r, int lane, int from, bool whole)
{
    int i = from, n = replay_rows(r, lane);
    int64_t segment = replay_at(r, lane, from).segment;
    while (i + 1 < n && !replay_at(r, lane, i).last &&
           (!whole || replay_at(r, lane, i).segment == segment))
        i++;
    return i - from;
}

/* The rows of the block that begins at row `from`. */
static int length_at(const replay *r, int lane, int from)
{
    int same = stretch(r, lane, from, true), most = LONGEST;
    if (same < SHORT) {
        same = stretch(r, lane, from, false);
        most = BLENDED;
    }
    int parts = (same + most - 1) / most;
    return parts > 1 ? same / parts : same;
}

static void take(blocks *x, const replay *r, int lane, int i)
{
    replay_row here = replay_at(r, lane, i), next = replay_at(r, lane, i + 1);
    size_t at = (size_t)x->rows++, d = (size_t)x->d, m = (size_t)x->m;
    memcpy(x->s + at * d, here.obs, d * sizeof *x->s);
    memcpy(x->a + at * m, here.action, m * sizeof *x->a);
    memcpy(x->s1 + at * d, next.obs, d * sizeof *x->s1);
    x->r[at] = here.reward;
}

static void fill(blocks *x, const replay *r, int lane)
{
    int n = replay_rows(r, lane);
    for (int i = 0; i + 1 < n;) {
        int length = replay_at(r, lane, i).last ? 0 : length_at(r, lane, i);
        if (length >= LEAST) {
            for (int k = 0; k < length; k++) take(x, r, lane, i + k);
            x->begin[++x->count] = x->rows;
        }
        i += length > 0 ? length : 1;
    }
}

int blocks_new(blocks **out, const replay *r, int lane)
{
    int rc = 0;
    const replay_shape *z = replay_shape_of(r);
    size_t n = (size_t)replay_rows(r, lane);
    blocks *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    x->d = z->obs;
    x->m = z->act;
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->s, n * (size_t)x->d * sizeof *x->s));
    TRY(arena_declare(x->memory, &x->a, n * (size_t)x->m * sizeof *x->a));
    TRY(arena_declare(x->memory, &x->s1, n * (size_t)x->d * sizeof *x->s1));
    TRY(arena_declare(x->memory, &x->r, n * sizeof *x->r));
    TRY(arena_declare(x->memory, &x->begin, (n / LEAST + 2) * sizeof *x->begin));
    TRY(arena_commit(x->memory));
    fill(x, r, lane);
    *out = x;
out:
    if (rc < 0) blocks_free(x);
    return rc;
}
