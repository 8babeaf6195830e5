/* sight.c - an encoder on the frames of now, and on those of stored rows. */
#include "learn/sight.h"

#include <string.h>

#include "base/error.h"

enum { BATCH = 64 }; /* stored rows at a time */

struct sight {
    sight_encoder e;
    const pixels *eyes;
    replay *replay;
    int replicas, worlds, rows, frames;
    nn_graph *g;
    uint8_t *films;      /* (rows, a film): a table of the frames to look at */
    staged all;          /* its rows, by world */
    staged at;           /* films of stored rows */
    nn_var table;        /* of `films` */
    nn_var seen, stored; /* what is seen of both: (1, worlds or BATCH, width) */
    nn_plan *look, *again;
    float *before, *after; /* (rows, width) */
    float *found;          /* (replicas, BATCH, width) */
    fans_moment moment;
    fans_outcome outcome;
    arena *memory, *staging;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int claim(sight *x)
{
    size_t each = (size_t)x->e.width * sizeof(float), rows = (size_t)x->rows;
    int rc = 0;
    TRY(arena_new(&x->staging));
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->films, rows * pixels_film_bytes(x->eyes)));
    TRY(arena_declare(x->memory, &x->before, rows * each));
    TRY(arena_declare(x->memory, &x->after, rows * each));
    TRY(arena_declare(x->memory, &x->found, (size_t)x->replicas * BATCH * each));
    TRY(arena_commit(x->memory));
out:
    return rc;
}

int sight_new(sight **out, const fans_algo_setup *s, const pixels *eyes, sight_encoder e)
{
    sight *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (sight){.e = e,
                 .eyes = eyes,
                 .replicas = s->replicas,
                 .worlds = s->worlds,
                 .rows = s->replicas * s->worlds,
                 .frames = pixels_frames(eyes)};
    int rc = claim(x);
    if (rc < 0)
        sight_free(x);
    else
        *out = x;
    return rc;
}

void sight_free(sight *x)
{
    if (!x) return;
    arena_free(x->memory);
    arena_free(x->staging);
    mem_free(x);
}

static nn_var record_encoder(const sight *x, nn_var table, nn_var at)
{
    return x->e.encode(x->e.self, x->eyes, pixels_film(x->eyes, table, at, NN_NONE));
}

int sight_record(sight *x, nn_graph *g, replay *r)
{
    int rc = 0, rows = x->worlds * x->frames;
    x->g = g;
    x->replay = r;
    x->table = pixels_table(x->eyes, g, "frames seen", rows, x->films);
    TRY(staged_rows(&x->all, x->staging, g, "all seen", 1, x->worlds, x->frames));
    TRY(staged_rows(&x->at, x->staging, g, "frames stored", 1, BATCH, x->frames));
    x->seen = record_encoder(x, x->table, x->all.var);
    x->stored = record_encoder(x, pixels_stored(x->eyes), x->at.var);
out:
    return rc;
}

int sight_plan(sight *x)
{
    int rc = nn_plan_new(&x->look, x->g, &x->seen, 1, 0, NULL, 0);
    return rc < 0 ? rc : nn_plan_new(&x->again, x->g, &x->stored, 1, 0, NULL, 0);
}

int sight_ready(sight *x)
{
    int rc = arena_commit(x->staging), rows = x->worlds * x->frames;
    for (int r = 0; rc == 0 && r < x->replicas; r++)
        for (int i = 0; i < rows; i++) rows_of(&x->all, r)[i] = i;
    if (rc == 0) staged_send(&x->all);
    return rc;
}

/* ---- living ---------------------------------------------------------------------------------- */

static int see(sight *x, const uint8_t *next, float *to)
{
    size_t film = pixels_film_bytes(x->eyes);
    for (int i = 0; i < x->rows; i++) pixels_show(x->eyes, i, next, x->films + (size_t)i * film);
    for (int r = 0; r < x->replicas; r++) nn_table_send(x->table, r, 0, x->worlds * x->frames);
    int rc = nn_plan_run(x->look);
    if (rc == 0) nn_read_all(x->seen, to);
    return rc;
}

int sight_look(sight *x, const fans_moment *now, const fans_moment **out)
{
    x->moment = *now;
    x->moment.obs = x->before;
    *out = &x->moment;
    return see(x, NULL, x->before);
}

int sight_look_after(sight *x, const fans_outcome *o, const fans_outcome **out)
{
    x->outcome = *o;
    x->outcome.next_obs = x->after;
    *out = &x->outcome;
    return see(x, o->next_pixels, x->after);
}

const float *sight_seen(const sight *x)
{
    return x->before;
}

/* ---- stored rows ----------------------------------------------------------------------------- */

/* One world of every replica, from some row on. */
typedef struct stretch {
    sight *x;
    int world, from;
} stretch;

static int lane_of(const stretch *s, int replica)
{
    return replica * s->x->worlds + s->world;
}

static int count_rows(const stretch *s, int replica)
{
    int left = replay_rows(s->x->replay, lane_of(s, replica)) - s->from;
    return left < 0 ? 0 : left < BATCH ? left : BATCH;
}

static void list_rows(void *arg, int r)
{
    const stretch *s = arg;
    const sight *x = s->x;
    int32_t rows[BATCH];
    int n = count_rows(s, r);
    for (int i = 0; i < n; i++) rows[i] = replay_at(x->replay, lane_of(s, r), s->from + i).number;
    memset(rows_of(&x->at, r), -1, x->at.each * sizeof(int32_t));
    replay_film(x->replay, r, n, rows, x->frames, rows_of(&x->at, r));
}

static void keep_rows(void *arg, int r)
{
    const stretch *s = arg;
    const sight *x = s->x;
    size_t width = (size_t)x->e.width;
    int n = count_rows(s, r);
    for (int i = 0; i < n; i++)
        replay_set_obs(x->replay, lane_of(s, r), s->from + i,
                       x->found + ((size_t)r * BATCH + (size_t)i) * width);
}

static bool any_left(const stretch *s)
{
    bool any = false;
    for (int r = 0; r < s->x->replicas; r++) any = any || count_rows(s, r) > 0;
    return any;
}

int sight_again(sight *x, pool *p)
{
    int rc = 0;
    replay_sync(x->replay);
    for (stretch s = {.x = x}; s.world < x->worlds; s.world++)
        for (s.from = 0; any_left(&s); s.from += BATCH) {
            pool_run(p, x->replicas, list_rows, &s);
            staged_send(&x->at);
            TRY(nn_plan_run(x->again));
            nn_read_all(x->stored, x->found);
            pool_run(p, x->replicas, keep_rows, &s);
        }
    replay_obs_changed(x->replay);
    replay_sync(x->replay); /* a model may learn from them at once */
out:
    return rc;
}
