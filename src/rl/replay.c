/* replay.c - rings of lived rows. */
#include "rl/replay.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { STEP = 0, TERMINATED = 1, LAST = 2 }; /* what a row is: bits */

struct replay {
    replay_shape z;
    int rows;      /* per lane */
    int64_t *head; /* [lanes] rows ever written */
    float *obs;    /* [lanes][rows][obs] */
    float *act;    /* [lanes][rows][act] */
    float *extra;  /* [lanes][rows][extra] */
    float *reward; /* [lanes][rows] */
    uint8_t *kind; /* [lanes][rows] */
    int64_t *segment;
    arena *memory;
};

int replay_new(replay **out, replay_shape z)
{
    assert(z.lanes >= 1 && z.steps >= 1 && z.horizon >= 1);
    replay *r = mem_alloc(sizeof *r);
    if (!r) return FANS_ENOMEM;
    int rc = 0;
    r->z = z;
    r->rows = z.steps + z.steps / z.horizon + 2;
    size_t all = (size_t)z.lanes * (size_t)r->rows;
    TRY(arena_new(&r->memory));
    TRY(arena_declare(r->memory, &r->head, (size_t)z.lanes * sizeof *r->head));
    TRY(arena_declare(r->memory, &r->obs, all * (size_t)z.obs * sizeof(float)));
    TRY(arena_declare(r->memory, &r->act, all * (size_t)z.act * sizeof(float)));
    TRY(arena_declare(r->memory, &r->extra, all * (size_t)z.extra * sizeof(float)));
    TRY(arena_declare(r->memory, &r->reward, all * sizeof(float)));
    TRY(arena_declare(r->memory, &r->kind, all));
    TRY(arena_declare(r->memory, &r->segment, all * sizeof *r->segment));
    TRY(arena_commit(r->memory));
    *out = r;
    return 0;
out:
    replay_free(r);
    return rc;
}

void replay_free(replay *r)
{
    if (!r) return;
    arena_free(r->memory);
    mem_free(r);
}

/* Where row `i` of a lane's life lies. */
static size_t place(const replay *r, int lane, int64_t i)
{
    return (size_t)lane * (size_t)r->rows + (size_t)(i % r->rows);
}

static void put(float *to, const float *from, size_t at, int width)
{
    if (width) memcpy(to + at * (size_t)width, from, (size_t)width * sizeof *to);
}

void replay_add(replay *r, int lane, const replay_step *s)
{
    size_t at = place(r, lane, r->head[lane]++);
    put(r->obs, s->obs, at, r->z.obs);
    put(r->extra, s->extra, at, r->z.extra);
    put(r->act, s->action, at, r->z.act);
    r->reward[at] = s->reward;
    r->kind[at] = s->terminated ? TERMINATED : STEP;
    r->segment[at] = s->segment;
    if (!s->ended) return;
    at = place(r, lane, r->head[lane]++);
    put(r->obs, s->next, at, r->z.obs);
    put(r->extra, s->next_extra, at, r->z.extra);
    r->kind[at] = LAST;
    r->segment[at] = s->segment;
}

int replay_rows(const replay *r, int lane)
{
    return r->head[lane] < r->rows ? (int)r->head[lane] : r->rows;
}

int replay_capacity(const replay *r)
{
    return r->rows;
}

/* All rows but the newest have their successor; the newest is last of an episode, or not ready. */
int replay_count(const replay *r, int lane)
{
    int rows = replay_rows(r, lane);
    return rows > 0 ? rows - 1 : 0;
}

/* A row that is a step with its successor: drawn until one comes up. At most one row in two is not.
 */
static int64_t draw(const replay *r, int lane, rng *stream)
{
    int64_t oldest = r->head[lane] - replay_rows(r, lane);
    for (;;) {
        int64_t i = oldest + rng_below(stream, (uint32_t)replay_count(r, lane));
        if (!(r->kind[place(r, lane, i)] & LAST)) return i;
    }
}

static void copy(float *to, const float *from, size_t row, size_t at, int width)
{
    if (to && width)
        memcpy(to + row * (size_t)width, from + at * (size_t)width, (size_t)width * sizeof *to);
}

void replay_sample(const replay *r, int first, int lanes, rng *stream, int n, const replay_batch *b)
{
    for (int k = 0; k < n; k++) {
        int lane = first + (lanes > 1 ? (int)rng_below(stream, (uint32_t)lanes) : 0);
        assert(replay_count(r, lane) > 0);
        int64_t i = draw(r, lane, stream);
        size_t at = place(r, lane, i), next = place(r, lane, i + 1), row = (size_t)k;
        copy(b->obs, r->obs, row, at, r->z.obs);
        copy(b->extra, r->extra, row, at, r->z.extra);
        copy(b->action, r->act, row, at, r->z.act);
        copy(b->next, r->obs, row, next, r->z.obs);
        copy(b->next_extra, r->extra, row, next, r->z.extra);
        if (b->reward) b->reward[row] = r->reward[at];
        if (b->terminated) b->terminated[row] = r->kind[at] & TERMINATED ? 1.0f : 0.0f;
    }
}

replay_row replay_at(replay *r, int lane, int i)
{
    size_t at = place(r, lane, r->head[lane] - replay_rows(r, lane) + i);
    return (replay_row){.obs = r->obs + at * (size_t)r->z.obs,
                        .action = r->act + at * (size_t)r->z.act,
                        .extra = r->extra + at * (size_t)r->z.extra,
                        .reward = r->reward[at],
                        .last = (r->kind[at] & LAST) != 0,
                        .terminated = (r->kind[at] & TERMINATED) != 0,
                        .segment = r->segment[at]};
}

static void list(state_list *s, const char *prefix, const char *name, state_type type, int rows,
                 int width, void *data)
{
    char full[96];
    if (width == 0) return;
    snprintf(full, sizeof full, "%s/%s", prefix, name);
    state_add(s, full, type, 2, (int64_t[]){rows, width}, data);
    state_compress(s);
}

void replay_state(replay *r, int lane, const char *prefix, state_list *s)
{
    size_t at = (size_t)lane * (size_t)r->rows;
    char full[96];
    snprintf(full, sizeof full, "%s/head", prefix);
    state_add_number(s, full, STATE_I64, &r->head[lane]);
    list(s, prefix, "obs", STATE_F32, r->rows, r->z.obs, r->obs + at * (size_t)r->z.obs);
    list(s, prefix, "action", STATE_F32, r->rows, r->z.act, r->act + at * (size_t)r->z.act);
    list(s, prefix, "extra", STATE_F32, r->rows, r->z.extra, r->extra + at * (size_t)r->z.extra);
    list(s, prefix, "reward", STATE_F32, r->rows, 1, r->reward + at);
    list(s, prefix, "kind", STATE_U8, r->rows, 1, r->kind + at);
    list(s, prefix, "segment", STATE_I64, r->rows, 1, r->segment + at);
}
