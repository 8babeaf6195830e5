/* replay.c - a ring of rows per lane. */
#include "data/replay.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { STEP = 0, TERMINATED = 1, LAST = 2 }; /* kinds of rows, as bits */
enum { MOST_ROWS = INT32_MAX };              /* of a replica: they are numbered by int32_t */

/* One table of values, [lanes][capacity][width]. */
typedef struct column {
    size_t width, size; /* numbers per row; bytes per number */
    void *data;
    nn_var table;
    bool changed; /* the backend must get all of it */
} column;

struct replay {
    replay_shape z;
    int lanes, capacity;
    column steps; /* obs | action | reward | terminated: one gather reads a whole row */
    column beside[REPLAY_COLUMNS];
    int64_t *head; /* [lanes] rows ever written */
    uint8_t *kind; /* [lanes][capacity] */
    int64_t *segment;
    nn_place *fresh; /* [2 lanes] rows written since the last sync, if few */
    int fresh_count;
    bool recorded;
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int declare(replay *r, column *c, nn_type type, int width)
{
    c->width = (size_t)width;
    c->size = type == NN_U8 ? 1 : sizeof(float);
    size_t rows = (size_t)r->lanes * (size_t)r->capacity;
    return arena_declare(r->memory, &c->data, rows * c->width * c->size);
}

static int claim(replay *r)
{
    size_t lanes = (size_t)r->lanes, rows = lanes * (size_t)r->capacity;
    int rc = 0;
    TRY(arena_new(&r->memory));
    TRY(arena_declare(r->memory, &r->head, lanes * sizeof *r->head));
    TRY(declare(r, &r->steps, NN_F32, r->z.obs + r->z.act + 2));
    for (int c = 0; c < r->z.column_count; c++)
        TRY(declare(r, &r->beside[c], r->z.columns[c].type, r->z.columns[c].width));
    TRY(arena_declare(r->memory, &r->kind, rows));
    TRY(arena_declare(r->memory, &r->segment, rows * sizeof *r->segment));
    TRY(arena_declare(r->memory, &r->fresh, 2 * lanes * sizeof *r->fresh));
    TRY(arena_commit(r->memory));
out:
    return rc;
}

int replay_new(replay **out, replay_shape z)
{
    assert(z.replicas >= 1 && z.worlds >= 1 && z.steps >= 1 && z.horizon >= 1);
    assert(z.column_count <= REPLAY_COLUMNS);
    int64_t capacity = (int64_t)z.steps + z.steps / z.horizon + 2;
    if (capacity * z.worlds > MOST_ROWS)
        return fans_fail(FANS_EINVAL,
                         "replay.steps = %lld: with the ends of episodes these are %lld rows, more "
                         "than %d",
                         (long long)z.steps * z.worlds, (long long)capacity * z.worlds, MOST_ROWS);
    replay *r = mem_alloc(sizeof *r);
    if (!r) return FANS_ENOMEM;
    r->z = z;
    r->lanes = z.replicas * z.worlds;
    r->capacity = (int)capacity;
    int rc = claim(r);
    if (rc < 0)
        replay_free(r);
    else
        *out = r;
    return rc;
}

void replay_free(replay *r)
{
    if (!r) return;
    arena_free(r->memory);
    mem_free(r);
}

const replay_shape *replay_shape_of(const replay *r)
{
    return &r->z;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Index of row i of a lane's lifetime among all rows. */
static size_t place(const replay *r, int lane, int64_t i)
{
    return (size_t)lane * (size_t)r->capacity + (size_t)(i % r->capacity);
}

/* Index of a replica's first row. */
static size_t base_of(const replay *r, int replica)
{
    return place(r, replica * r->z.worlds, 0);
}

static void put(column *c, size_t at, const void *values, int lane)
{
    size_t bytes = c->width * c->size;
    if (values)
        memcpy((char *)c->data + at * bytes, (const char *)values + (size_t)lane * bytes, bytes);
}

static void note_fresh(replay *r, int lane, size_t at)
{
    if (r->fresh_count == 2 * r->lanes) {
        r->steps.changed = true; /* too many to list: send everything */
        for (int c = 0; c < r->z.column_count; c++) r->beside[c].changed = true;
        r->fresh_count = 0;
    }
    int replica = lane / r->z.worlds;
    r->fresh[r->fresh_count++] = (nn_place){replica, (int)(at - base_of(r, replica))};
}

/* Starts the lane's next row with what every row has; returns where action and reward go. */
static float *begin(replay *r, int lane, const float *obs, int kind, int64_t segment,
                    const void *const *columns)
{
    size_t at = place(r, lane, r->head[lane]++), d = (size_t)r->z.obs;
    float *step = (float *)r->steps.data + at * r->steps.width;
    memset(step, 0, r->steps.width * sizeof *step);
    memcpy(step, obs + (size_t)lane * d, d * sizeof *step);
    for (int c = 0; columns && c < r->z.column_count; c++) put(&r->beside[c], at, columns[c], lane);
    r->kind[at] = (uint8_t)kind;
    r->segment[at] = segment;
    note_fresh(r, lane, at);
    return step + d;
}

static void add(replay *r, int lane, const fans_moment *before, const float *action,
                const fans_outcome *o, const void *const *columns, const void *const *ends)
{
    size_t m = (size_t)r->z.act;
    bool terminated = o->terminated[lane] != 0;
    float *step =
        begin(r, lane, before->obs, terminated ? TERMINATED : STEP, before->segment[lane], columns);
    memcpy(step, action + (size_t)lane * m, m * sizeof *step);
    step[m] = o->reward[lane];
    step[m + 1] = terminated;
    if (terminated || o->truncated[lane])
        begin(r, lane, o->next_obs, LAST, before->segment[lane], ends);
}

void replay_add(replay *r, const fans_moment *before, const float *action,
                const fans_outcome *outcome, const void *const *columns, const void *const *ends)
{
    for (int lane = 0; lane < r->lanes; lane++)
        add(r, lane, before, action, outcome, columns, ends);
}

/* ---- reading --------------------------------------------------------------------------------- */

int replay_capacity(const replay *r)
{
    return r->capacity;
}

int64_t replay_written(const replay *r, int lane)
{
    return r->head[lane];
}

int replay_rows(const replay *r, int lane)
{
    return r->head[lane] < r->capacity ? (int)r->head[lane] : r->capacity;
}

static int64_t oldest(const replay *r, int lane)
{
    return r->head[lane] - replay_rows(r, lane);
}

static bool is_last(const replay *r, size_t at)
{
    return (r->kind[at] & LAST) != 0;
}

replay_row replay_at(const replay *r, int lane, int i)
{
    size_t at = place(r, lane, oldest(r, lane) + i), d = (size_t)r->z.obs, m = (size_t)r->z.act;
    const float *step = (const float *)r->steps.data + at * r->steps.width;
    return (replay_row){.obs = step,
                        .action = step + d,
                        .reward = step[d + m],
                        .last = is_last(r, at),
                        .terminated = (r->kind[at] & TERMINATED) != 0,
                        .segment = r->segment[at],
                        .number = (int32_t)(at - base_of(r, lane / r->z.worlds))};
}

void replay_set_segment(replay *r, int lane, int i, int64_t segment)
{
    r->segment[place(r, lane, oldest(r, lane) + i)] = segment;
}

void replay_set_obs(replay *r, int lane, int i, const float *obs)
{
    size_t at = place(r, lane, oldest(r, lane) + i);
    memcpy((float *)r->steps.data + at * r->steps.width, obs, (size_t)r->z.obs * sizeof *obs);
}

void *replay_beside(const replay *r, int lane, int i, int c)
{
    const column *x = &r->beside[c];
    return (char *)x->data + place(r, lane, oldest(r, lane) + i) * x->width * x->size;
}

const void *replay_beside_row(const replay *r, int replica, int32_t number, int c)
{
    const column *x = &r->beside[c];
    return (char *)x->data + (base_of(r, replica) + (size_t)number) * x->width * x->size;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Draws until the row is a step with a successor. All rows but the newest have a successor, and at
 * most every other row is the last of an episode. */
static int64_t draw(const replay *r, int lane, rng *stream)
{
    int rows = replay_rows(r, lane);
    assert(rows > 1);
    for (;;) {
        int64_t i = oldest(r, lane) + rng_below(stream, (uint32_t)(rows - 1));
        if (!is_last(r, place(r, lane, i))) return i;
    }
}

void replay_draw(const replay *r, int replica, rng *stream, int n, int32_t *at, int32_t *next)
{
    int worlds = r->z.worlds, first = replica * worlds;
    size_t base = base_of(r, replica);
    for (int k = 0; k < n; k++) {
        int lane = first + (worlds > 1 ? (int)rng_below(stream, (uint32_t)worlds) : 0);
        int64_t i = draw(r, lane, stream);
        at[k] = (int32_t)(place(r, lane, i) - base);
        next[k] = (int32_t)(place(r, lane, i + 1) - base);
    }
}

/* A row in its lane's ring, which lies in [first, end). Batches walk many rows: a step of a cursor
 * divides nothing. */
typedef struct cursor {
    const replay *r;
    size_t first, end, oldest, newest, at;
} cursor;

static cursor cursor_at(const replay *r, int replica, int32_t number)
{
    size_t at = base_of(r, replica) + (size_t)number, n = (size_t)r->capacity, lane = at / n;
    return (cursor){.r = r,
                    .first = lane * n,
                    .end = lane * n + n,
                    .oldest = place(r, (int)lane, oldest(r, (int)lane)),
                    .newest = place(r, (int)lane, r->head[lane] - 1),
                    .at = at};
}

/* Move one row forward or back; false at the newest or oldest row. */
static bool forward(cursor *c)
{
    if (c->at == c->newest) return false;
    c->at = c->at + 1 == c->end ? c->first : c->at + 1;
    return true;
}

static bool back(cursor *c)
{
    if (c->at == c->oldest) return false;
    c->at = c->at == c->first ? c->end - 1 : c->at - 1;
    return true;
}

static int32_t number_of(const cursor *c, int replica)
{
    return (int32_t)(c->at - base_of(c->r, replica));
}

/* The row so many rows later. */
static int32_t number_after(cursor c, int replica, uint32_t rows)
{
    c.at += rows;
    if (c.at >= c.end) c.at -= c.end - c.first;
    return number_of(&c, replica);
}

/* Moves to the first step of the episode; returns the number of its steps that have successors. */
static uint32_t enter_episode(cursor *c)
{
    uint32_t steps = 0;
    for (cursor x = *c; back(&x) && !is_last(x.r, x.at);) *c = x;
    for (cursor x = *c; !is_last(x.r, x.at) && forward(&x);) steps++;
    return steps;
}

void replay_draw_episodes(const replay *r, int replica, rng *stream, int n, int count, int32_t *at,
                          int32_t *next)
{
    replay_draw(r, replica, stream, n, at, next);
    for (int i = 0; i < n; i++) {
        cursor first = cursor_at(r, replica, at[i]);
        uint32_t steps = enter_episode(&first);
        for (int k = 1; k < count; k++) {
            uint32_t step = rng_below(stream, steps);
            at[k * n + i] = number_after(first, replica, step);
            next[k * n + i] = number_after(first, replica, step + 1);
        }
    }
}

void replay_ahead(const replay *r, int replica, int n, const int32_t *at, int steps,
                  double discount, int32_t *next, float *reward, float *rest)
{
    for (int k = 0; k < n; k++) {
        cursor c = cursor_at(r, replica, at[k]);
        double sum = 0, weight = 1;
        for (int i = 0; i < steps && !is_last(r, c.at); i++) {
            size_t reward_at = c.at * r->steps.width + (size_t)(r->z.obs + r->z.act);
            double gain = weight * (double)((const float *)r->steps.data)[reward_at];
            bool ends = (r->kind[c.at] & TERMINATED) != 0;
            if (!forward(&c)) break; /* the newest step has no successor yet */
            sum += gain;
            weight = ends ? 0 : weight * discount;
        }
        next[k] = number_of(&c, replica);
        reward[k] = (float)sum;
        rest[k] = (float)weight;
    }
}

/* Steps of its segment before a row, as far as the ring remembers; at most `most`. */
static int lived_before(cursor c, int most)
{
    int64_t segment = c.r->segment[c.at];
    int lived = 0;
    while (lived < most && back(&c) && c.r->segment[c.at] == segment)
        lived += !is_last(c.r, c.at); /* a last row is not a step */
    return lived;
}

/* The row `steps` later, or the newest of the segment. */
static cursor later(cursor c, int steps)
{
    int64_t segment = c.r->segment[c.at];
    for (int lived = 0; lived < steps;) {
        cursor next = c;
        if (!forward(&next) || next.r->segment[next.at] != segment) break;
        lived += !is_last(c.r, c.at);
        c = next;
    }
    return c;
}

void replay_hindsight(const replay *r, int replica, int n, const int32_t *at, int steps,
                      int32_t *to)
{
    for (int k = 0; k < n; k++) {
        cursor c = cursor_at(r, replica, at[k]);
        c = later(c, steps - lived_before(c, steps));
        to[k] = number_of(&c, replica);
    }
}

void replay_persist(const replay *r, int replica, int n, const int32_t *at, const int32_t *next,
                    int32_t *to)
{
    for (int k = 0; k < n; k++) {
        cursor from = cursor_at(r, replica, at[k]), end = cursor_at(r, replica, next[k]);
        bool same = r->segment[from.at] == r->segment[end.at];
        to[k] = same || lived_before(from, 1) == 0 ? next[k] : at[k];
    }
}

void replay_before(const replay *r, int replica, int32_t at, int count, int32_t *rows,
                   int32_t *next, bool *same)
{
    cursor c = cursor_at(r, replica, at);
    bool here = true, more = true;
    for (int k = 0; k < count;) {
        int32_t successor = number_of(&c, replica);
        more = more && back(&c);
        if (more && is_last(r, c.at)) {
            here = false;
            continue;
        }
        rows[k] = more ? number_of(&c, replica) : -1;
        if (next) next[k] = more ? successor : -1;
        if (same) same[k] = more && here;
        k++;
    }
}

void replay_film(const replay *r, int replica, int n, const int32_t *at, int count, int32_t *rows)
{
    for (int i = 0; i < n; i++) {
        cursor c = cursor_at(r, replica, at[i]);
        for (int k = count - 1; k >= 0; k--) {
            rows[i * count + k] = number_of(&c, replica);
            cursor before = c;
            if (back(&before) && !is_last(r, before.at)) c = before;
        }
    }
}

int64_t replay_when(const replay *r, int replica, int32_t at)
{
    size_t row = base_of(r, replica) + (size_t)at;
    int64_t newest = r->head[row / (size_t)r->capacity] - 1;
    return newest - (newest - (int64_t)(row % (size_t)r->capacity)) % r->capacity;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The step that starts in row i of a lane, which must not be the newest row. */
static replay_step step_at(const replay *r, int lane, int i)
{
    replay_row here = replay_at(r, lane, i);
    replay_step s = {.at = here.number, .next = replay_at(r, lane, i + 1).number};
    if (i == 0) return s; /* the lifetime starts here, or its earlier rows are overwritten */
    replay_row before = replay_at(r, lane, i - 1);
    s.change = before.segment != here.segment;
    s.first = before.last;
    return s;
}

bool replay_window(const replay *r, int lane, int i, int count, replay_step *steps)
{
    int n = replay_rows(r, lane), got = 0;
    for (; got < count && i + 1 < n; i++)
        if (!replay_at(r, lane, i).last) steps[got++] = step_at(r, lane, i);
    return got == count;
}

int replay_segment(const replay *r, int lane, int i, int most, replay_step *steps)
{
    int64_t segment = replay_at(r, lane, i).segment;
    int n = replay_rows(r, lane), got = 0;
    for (int lived = 1; i > 0 && lived < most; i--) {
        replay_row before = replay_at(r, lane, i - 1);
        if (before.segment != segment) break;
        lived += !before.last;
    }
    for (; got < most && i + 1 < n && replay_at(r, lane, i).segment == segment; i++)
        if (!replay_at(r, lane, i).last) steps[got++] = step_at(r, lane, i);
    return got;
}

int replay_list_steps(const replay *r, int lane, int *rows)
{
    int n = replay_rows(r, lane), count = 0;
    for (int i = 0; i + 1 < n; i++)
        if (!replay_at(r, lane, i).last) rows[count++] = i;
    return count;
}

static replay_link link_at(const replay *r, int lane, int i)
{
    int n = replay_rows(r, lane);
    if (i >= n) return (replay_link){.at = -1, .before = -1};
    replay_row here = replay_at(r, lane, i);
    replay_link x = {.at = here.number, .before = -1, .step = !here.last && i + 1 < n};
    x.born = i == 0 && r->head[lane] == n;
    x.first = x.born;
    if (i == 0) return x;
    replay_row before = replay_at(r, lane, i - 1);
    x.before = before.number;
    x.first = before.last;
    return x;
}

void replay_draw_stretches(const replay *r, int replica, rng *stream, int n, int count,
                           replay_link *out)
{
    int worlds = r->z.worlds;
    for (int i = 0; i < n; i++) {
        int lane = replica * worlds + (worlds > 1 ? (int)rng_below(stream, (uint32_t)worlds) : 0);
        int more = replay_rows(r, lane) - count;
        int from = more > 0 ? (int)rng_below(stream, (uint32_t)more + 1) : 0;
        for (int k = 0; k < count; k++) out[k * n + i] = link_at(r, lane, from + k);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void record(replay *r, nn_graph *g, column *c, const char *name, nn_type type)
{
    c->table = nn_table(g, name, r->z.worlds * r->capacity, (int)c->width, type, c->data);
}

void replay_record(replay *r, nn_graph *g)
{
    record(r, g, &r->steps, "steps", NN_F32);
    for (int c = 0; c < r->z.column_count; c++)
        record(r, g, &r->beside[c], r->z.columns[c].name, r->z.columns[c].type);
    r->recorded = true;
}

nn_var replay_gather(const replay *r, nn_var at)
{
    return nn_gather(r->steps.table, at);
}

nn_var replay_obs(const replay *r, nn_var rows)
{
    return nn_slice(rows, 0, r->z.obs);
}

nn_var replay_action(const replay *r, nn_var rows)
{
    return nn_slice(rows, r->z.obs, r->z.act);
}

nn_var replay_reward(const replay *r, nn_var rows)
{
    return nn_slice(rows, r->z.obs + r->z.act, 1);
}

nn_var replay_terminated(const replay *r, nn_var rows)
{
    return nn_slice(rows, r->z.obs + r->z.act + 1, 1);
}

nn_var replay_gather_column(const replay *r, int c, nn_var at)
{
    return nn_gather(r->beside[c].table, at);
}

nn_var replay_table(const replay *r, int c)
{
    return r->beside[c].table;
}

/* ---- the backend's copy ---------------------------------------------------------------------- */

static void send_all(const replay *r, const column *c)
{
    for (int lane = 0; lane < r->lanes; lane++)
        nn_table_send(c->table, lane / r->z.worlds, lane % r->z.worlds * r->capacity,
                      replay_rows(r, lane));
}

static void send(replay *r, column *c)
{
    if (c->changed)
        send_all(r, c);
    else if (r->fresh_count > 0)
        nn_table_send_rows(c->table, r->fresh, r->fresh_count);
    c->changed = false;
}

void replay_sync(replay *r)
{
    assert(r->recorded);
    send(r, &r->steps);
    for (int c = 0; c < r->z.column_count; c++) send(r, &r->beside[c]);
    r->fresh_count = 0;
}

void replay_column_changed(replay *r, int c)
{
    r->beside[c].changed = true;
}

void replay_obs_changed(replay *r)
{
    r->steps.changed = true;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* The backend must get what was loaded. */
static int note_load(void *arg)
{
    replay *r = arg;
    r->steps.changed = true;
    for (int c = 0; c < r->z.column_count; c++) r->beside[c].changed = true;
    return 0;
}

/* The rows of a lane: episodes one after the other, each with its steps and then its last row. A
 * draw relies on it: no two last rows in sequence, and none where the lifetime starts. */
static int check_lane(const replay *r, int lane)
{
    int n = replay_rows(r, lane), world = lane % r->z.worlds;
    bool last = r->head[lane] <= r->capacity, terminated = false; /* of the row before */
    for (int i = 0; i < n; i++) {
        uint8_t kind = r->kind[place(r, lane, oldest(r, lane) + i)];
        if (kind > LAST)
            return fans_fail(FANS_EFORMAT, "'replay.%d/kind': row %d is of no known kind: %d",
                             world, i, kind);
        if (kind == LAST ? last : terminated)
            return fans_fail(FANS_EFORMAT, "'replay.%d/kind': row %d cannot follow the one before",
                             world, i);
        last = kind == LAST;
        terminated = kind == TERMINATED;
    }
    return 0;
}

static int check_replica(void *arg, int replica)
{
    const replay *r = arg;
    int rc = 0;
    for (int w = 0; rc == 0 && w < r->z.worlds; w++) rc = check_lane(r, replica * r->z.worlds + w);
    return rc;
}

static void list(state_list *s, int world, const char *name, fans_type type, int64_t rows,
                 int64_t width, void *data)
{
    char full[96];
    if (width == 0) return;
    snprintf(full, sizeof full, "replay.%d/%s", world, name);
    state_add(s, full, type, 2, (int64_t[]){rows, width}, data);
    state_compress(s);
}

static void list_column(const replay *r, state_list *s, int lane, const char *name, const column *c)
{
    size_t at = place(r, lane, 0);
    list(s, lane % r->z.worlds, name, c->size == 1 ? FANS_U8 : FANS_F32, r->capacity,
         (int64_t)c->width, (char *)c->data + at * c->width * c->size);
}

void replay_state(replay *r, int replica, state_list *s)
{
    char full[96];
    state_on_load(s, note_load, r);
    state_check(s, check_replica, r, replica);
    for (int w = 0; w < r->z.worlds; w++) {
        int lane = replica * r->z.worlds + w;
        size_t at = place(r, lane, 0);
        snprintf(full, sizeof full, "replay.%d/head", w);
        state_add_number(s, full, FANS_I64, &r->head[lane]);
        state_range(s, 0, STATE_COUNT);
        list_column(r, s, lane, "steps", &r->steps);
        for (int c = 0; c < r->z.column_count; c++)
            list_column(r, s, lane, r->z.columns[c].name, &r->beside[c]);
        list(s, w, "kind", FANS_U8, r->capacity, 1, r->kind + at);
        list(s, w, "segment", FANS_I64, r->capacity, 1, r->segment + at);
    }
}
