/* worlds.c - vectorised stepping. */
#include "env/worlds.h"

#include <stdio.h>

#include "base/error.h"

/* Messages belong to the thread that failed; a copy travels to the caller. */
typedef struct failure {
    int code;
    char message[512];
} failure;

struct worlds {
    int n, each;
    world **list;
    failure *failures;
    pool *pool;
};

/* Few items with many worlds each: cheap worlds do not pay for a ticket apiece. */
enum { MOST_ITEMS = 16 };

typedef int step_fn(world *w, const world_buffers *b, int i);

typedef struct job {
    worlds *ws;
    const world_buffers *buffers;
    step_fn *step;
    int items;
} job;

int worlds_new(worlds **out, const task *const *tasks, pool *p, const uint64_t *seeds,
               int seed_count, int each)
{
    int rc = 0, n = seed_count * each;
    worlds *ws = mem_alloc(sizeof *ws);
    if (!ws) return FANS_ENOMEM;
    ws->pool = p;
    ws->n = n;
    ws->each = each;
    ws->list = mem_alloc((size_t)n * sizeof(world *));
    ws->failures = mem_alloc((size_t)n * sizeof *ws->failures);
    if (!ws->list || !ws->failures) TRY(FANS_ENOMEM);
    for (int i = 0; i < n; i++)
        TRY(world_new(&ws->list[i], tasks[i / each], seeds[i / each], (uint32_t)(i % each)));
    *out = ws;
out:
    if (rc < 0) worlds_free(ws);
    return rc;
}

void worlds_free(worlds *ws)
{
    if (!ws) return;
    for (int i = 0; ws->list && i < ws->n; i++) world_free(ws->list[i]);
    mem_free(ws->list);
    mem_free(ws->failures);
    mem_free(ws);
}

void worlds_set_prelude(worlds *ws, int64_t steps)
{
    for (int i = 0; i < ws->n; i++) world_set_prelude(ws->list[i], steps);
}

static void run_item(void *arg, int item)
{
    job *j = arg;
    int first = (int)((int64_t)j->ws->n * item / j->items);
    int end = (int)((int64_t)j->ws->n * (item + 1) / j->items);
    for (int i = first; i < end; i++) {
        failure *f = &j->ws->failures[i];
        f->code = j->step(j->ws->list[i], j->buffers, i);
        if (f->code < 0) snprintf(f->message, sizeof f->message, "%s", fans_error());
    }
}

static int run_all(worlds *ws, const world_buffers *b, step_fn *step)
{
    job j = {ws, b, step, ws->n < MOST_ITEMS ? ws->n : MOST_ITEMS};
    if (ws->pool)
        pool_run(ws->pool, j.items, run_item, &j);
    else
        for (int k = 0; k < j.items; k++) run_item(&j, k);
    for (int i = 0; i < ws->n; i++) {
        const failure *f = &ws->failures[i];
        if (f->code < 0)
            return fans_fail_replica(f->code, i / ws->each, "world %d: %s", i, f->message);
    }
    return 0;
}

int worlds_start(worlds *ws, const world_buffers *b)
{
    return run_all(ws, b, world_start);
}

int worlds_step(worlds *ws, const world_buffers *b)
{
    return run_all(ws, b, world_step);
}

world *worlds_at(worlds *ws, int i)
{
    return ws->list[i];
}
