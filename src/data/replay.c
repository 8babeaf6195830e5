/* replay.c - rings of lived rows. */
#include "data/replay.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { STEP = 0, TERMINATED = 1, LAST = 2 }; /* what a row is: bits */

struct replay {
    replay_shape z;
    int rows;      /* per lane */
    int width;     /* of a step: obs, action, reward, terminated */
    int64_t *head; /* [lanes] rows ever written */
    float *steps;  /* [lanes][rows][width] */
    float *extra;  /* [lanes][rows][extra] */
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
    r->width = z.obs + z.act + 2;
    size_t all = (size_t)z.lanes * (size_t)r->rows;
    TRY(arena_new(&r->memory));
    TRY(arena_declare(r->memory, &r->head, (size_t)z.lanes * sizeof *r->head));
    TRY(arena_declare(r->memory, &r->steps, all * (size_t)r->width * sizeof(float)));
    TRY(arena_declare(r->memory, &r->extra, all * (size_t)z.extra * sizeof(float)));
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

replay_memory replay_memory_of(replay *r)
{
    return (replay_memory){r->steps, r->extra, r->rows, r->width};
}

/* Where row `i` of a lane's life lies. */
static size_t place(const replay *r, int lane, int64_t i)
{
    return (size_t)lane * (size_t)r->rows + (size_t)(i % r->rows);
}

/* Begins the lane's next row with what every row has. */
static float *begin(replay *r, int lane, const float *obs, const float *extra, int kind,
                    int64_t segment)
{
    size_t at = place(r, lane, r->head[lane]++), n = (size_t)r->z.extra;
    float *step = r->steps + at * (size_t)r->width;
    memset(step, 0, (size_t)r->width * sizeof *step);
    memcpy(step, obs, (size_t)r->z.obs * sizeof *step);
    if (n && extra) memcpy(r->extra + at * n, extra, n * sizeof *r->extra);
    r->kind[at] = (uint8_t)kind;
    r->segment[at] = segment;
    return step;
}

int replay_add(replay *r, int lane, const replay_step *s, int places[2])
{
    int count = 0, obs = r->z.obs, act = r->z.act;
    places[count++] = (int)(r->head[lane] % r->rows);
    float *step = begin(r, lane, s->obs, s->extra, s->terminated ? TERMINATED : STEP, s->segment);
    memcpy(step + obs, s->action, (size_t)act * sizeof *step);
    step[obs + act] = s->reward;
    step[obs + act + 1] = s->terminated;
    if (!s->ended) return count;
    places[count++] = (int)(r->head[lane] % r->rows);
    begin(r, lane, s->next, s->next_extra, LAST, s->segment);
    return count;
}

int replay_rows(const replay *r, int lane)
{
    return r->head[lane] < r->rows ? (int)r->head[lane] : r->rows;
}

int replay_capacity(const replay *r)
{
    return r->rows;
}

/* The rows to draw from. All but the newest have their successor; the newest is last of an episode,
 * or not ready. */
static int drawable(const replay *r, int lane)
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
        int64_t i = oldest + rng_below(stream, (uint32_t)drawable(r, lane));
        if (!(r->kind[place(r, lane, i)] & LAST)) return i;
    }
}

void replay_draw(const replay *r, int first, int lanes, rng *stream, int n, int32_t *at,
                 int32_t *next)
{
    size_t base = place(r, first, 0);
    for (int k = 0; k < n; k++) {
        int lane = first + (lanes > 1 ? (int)rng_below(stream, (uint32_t)lanes) : 0);
        assert(drawable(r, lane) > 0);
        int64_t i = draw(r, lane, stream);
        at[k] = (int32_t)(place(r, lane, i) - base);
        next[k] = (int32_t)(place(r, lane, i + 1) - base);
    }
}

/* How many steps of its segment were lived before a row: as far as is remembered, at most `most`.
 */
static int lived_before(const replay *r, size_t at, int most)
{
    size_t rows = (size_t)r->rows, lane = at / rows, here = at;
    size_t oldest = place(r, (int)lane, r->head[lane] - replay_rows(r, (int)lane));
    int lived = 0;
    while (lived < most && here != oldest) {
        here = lane * rows + (here + rows - 1) % rows;
        if (r->segment[here] != r->segment[at]) break;
        lived += !(r->kind[here] & LAST); /* from one episode to the next nothing is lived */
    }
    return lived;
}

/* The row so many steps behind one, or the last so far of its segment. */
static size_t later(const replay *r, size_t at, int steps)
{
    size_t rows = (size_t)r->rows, lane = at / rows, here = at;
    size_t newest = place(r, (int)lane, r->head[lane] - 1);
    for (int lived = 0; lived < steps && here != newest;) {
        size_t next = lane * rows + (here + 1) % rows;
        if (r->segment[next] != r->segment[at]) break;
        lived += !(r->kind[here] & LAST);
        here = next;
    }
    return here;
}

void replay_settled(const replay *r, int first, int n, const int32_t *at, int steps, int32_t *to)
{
    size_t base = place(r, first, 0);
    for (int k = 0; k < n; k++) {
        size_t here = base + (size_t)at[k];
        to[k] = (int32_t)(later(r, here, steps - lived_before(r, here, steps)) - base);
    }
}

replay_row replay_at(replay *r, int lane, int i)
{
    size_t at = place(r, lane, r->head[lane] - replay_rows(r, lane) + i);
    const float *step = r->steps + at * (size_t)r->width;
    return (replay_row){.obs = step,
                        .action = step + r->z.obs,
                        .extra = r->extra + at * (size_t)r->z.extra,
                        .reward = step[r->z.obs + r->z.act],
                        .last = (r->kind[at] & LAST) != 0,
                        .terminated = (r->kind[at] & TERMINATED) != 0,
                        .segment = r->segment[at],
                        .place = (int)(at - place(r, lane, 0))};
}

int replay_news(const replay *r, int lane, int64_t *seen, replay_stretch out[2])
{
    int64_t head = r->head[lane], oldest = head - replay_rows(r, lane);
    int64_t from = *seen > oldest ? *seen : oldest;
    int n = 0, left = (int)(head - from), first = (int)(from % r->rows);
    *seen = head;
    while (left > 0) {
        int count = first + left <= r->rows ? left : r->rows - first;
        out[n++] = (replay_stretch){first, count};
        left -= count;
        first = 0;
    }
    return n;
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
    list(s, prefix, "steps", STATE_F32, r->rows, r->width, r->steps + at * (size_t)r->width);
    list(s, prefix, "extra", STATE_F32, r->rows, r->z.extra, r->extra + at * (size_t)r->z.extra);
    list(s, prefix, "kind", STATE_U8, r->rows, 1, r->kind + at);
    list(s, prefix, "segment", STATE_I64, r->rows, 1, r->segment + at);
}
