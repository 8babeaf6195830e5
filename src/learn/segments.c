/* segments.c - draws a step, then takes the segment around it. */
#include "learn/segments.h"

#include "base/error.h"

int segments_record(segments *x, arena *memory, nn_graph *g, const replay *r, int most, int B,
                    segments_fn *also, void *self)
{
    const replay_shape *z = replay_shape_of(r);
    size_t R = (size_t)z->replicas;
    int rc = 0, T = most + 1;
    *x = (segments){.replay = r, .most = most, .T = T, .B = B, .also = also, .self = self};
    TRY(seen_units_record(&x->units, memory, g, r));
    TRY(staged_rows(&x->at, memory, g, "segment at", T, B, 1));
    TRY(staged_rows(&x->next, memory, g, "segment next", T, B, 1));
    TRY(staged_numbers(&x->weight, memory, g, "segment weight", T, B, 1));
    TRY(arena_declare(memory, &x->draws, R * sizeof *x->draws));
    TRY(arena_declare(memory, &x->window, R * (size_t)most * sizeof *x->window));
    x->seen = see_rows(&x->units, x->at.var, x->next.var);
out:
    return rc;
}

void segments_start(segments *x, const uint64_t *seeds)
{
    for (int r = 0; r < replay_shape_of(x->replay)->replicas; r++)
        x->draws[r] = rng_stream(seeds[r], "segments", 0);
    seen_units_settle(&x->units);
}

void segments_free(segments *x)
{
    seen_units_free(&x->units);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The segment around a random step. */
static int draw_segment(const segments *x, int replica, rng *draw, replay_step *to)
{
    int worlds = replay_shape_of(x->replay)->worlds, i;
    int lane = replica * worlds + (int)rng_below(draw, (uint32_t)worlds);
    uint32_t rows = (uint32_t)replay_rows(x->replay, lane);
    do i = (int)rng_below(draw, rows - 1);
    while (replay_at(x->replay, lane, i).last);
    return replay_segment(x->replay, lane, i, x->most, to);
}

static void put_segment(const segments *x, int replica, int b, const replay_step *steps, int n)
{
    for (int t = 0; t < x->T; t++) {
        int at = t * x->B + b;
        rows_of(&x->at, replica)[at] = t < n ? steps[t].at : -1;
        rows_of(&x->next, replica)[at] = t < n ? steps[t].next : -1;
        numbers_of(&x->weight, replica)[at] = t <= n;
    }
}

static void draw_replica(void *arg, int r)
{
    segments *x = arg;
    replay_step *window = x->window + (size_t)r * (size_t)x->most;
    for (int b = 0; b < x->B; b++) {
        int n = draw_segment(x, r, &x->draws[r], window);
        put_segment(x, r, b, window, n);
        x->also(x->self, r, b, n, &x->draws[r]);
    }
}

bool segments_draw(segments *x, pool *p)
{
    if (replay_rows(x->replay, 0) < 2) return false; /* all lanes have their steps together */
    pool_run(p, replay_shape_of(x->replay)->replicas, draw_replica, x);
    staged_send(&x->at);
    staged_send(&x->next);
    staged_send(&x->weight);
    seen_units_settle(&x->units);
    return true;
}

void segments_state(segments *x, int replica, state_list *s)
{
    seen_units_state(&x->units, replica, "segments/units", s);
    state_add_number(s, "segments/draws", FANS_U64, &x->draws[replica].drawn);
}
