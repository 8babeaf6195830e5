/* sweep.c - windows over a lane, one world of all replicas at a time. */
#include "learn/sweep.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

struct sweep {
    replay *replay;
    sweep_user user;
    int replicas, worlds, T, B, warm_up;
    int *steps, *count;  /* [replica][capacity] rows of a lane that are steps; their number */
    replay_step *window; /* [replica][T] */
    int world, batch;    /* of the current run */
    arena *memory;
};

int sweep_new(sweep **out, replay *r, int T, int B, int warm_up, sweep_user user)
{
    const replay_shape *z = replay_shape_of(r);
    int rc = 0;
    sweep *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (sweep){r, user, z->replicas, z->worlds, T, B, warm_up};
    size_t R = (size_t)z->replicas, capacity = (size_t)replay_capacity(r);
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->steps, R * capacity * sizeof *x->steps));
    TRY(arena_declare(x->memory, &x->count, R * sizeof *x->count));
    TRY(arena_declare(x->memory, &x->window, R * (size_t)T * sizeof *x->window));
    TRY(arena_commit(x->memory));
    *out = x;
out:
    if (rc < 0) sweep_free(x);
    return rc;
}

void sweep_free(sweep *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x);
}

/* Where window k starts, or -1 if earlier windows cover all steps. Windows overlap by the warm-up;
 * the last one ends with the last step. */
static int window_start(const sweep *x, int replica, int k)
{
    int T = x->T, stride = T - x->warm_up, n = x->count[replica];
    if (n < T || (k > 0 && (k - 1) * stride + T >= n)) return -1;
    return k * stride + T <= n ? k * stride : n - T;
}

static int *steps_of(const sweep *x, int replica)
{
    return x->steps + (size_t)replica * (size_t)replay_capacity(x->replay);
}

static int lane_of(const sweep *x, int replica)
{
    return replica * x->worlds + x->world;
}

static void list_steps(void *arg, int r)
{
    sweep *x = arg;
    x->count[r] = replay_list_steps(x->replay, lane_of(x, r), steps_of(x, r));
}

static void fill_replica(void *arg, int r)
{
    sweep *x = arg;
    replay_step *window = x->window + (size_t)r * (size_t)x->T;
    for (int b = 0; b < x->B; b++) {
        int start = window_start(x, r, x->batch * x->B + b);
        if (start < 0) return;
        replay_window(x->replay, lane_of(x, r), steps_of(x, r)[start], x->T, window);
        x->user.window(x->user.self, r, b, window);
    }
}

static void keep_replica(void *arg, int r)
{
    sweep *x = arg;
    int lane = lane_of(x, r);
    /* does the ring still have the lifetime's start? */
    bool whole = replay_rows(x->replay, lane) < replay_capacity(x->replay);
    for (int b = 0; b < x->B; b++) {
        int start = window_start(x, r, x->batch * x->B + b);
        if (start < 0) return;
        for (int t = start == 0 && whole ? 0 : x->warm_up; t < x->T; t++)
            x->user.keep(x->user.self, r, b, t, lane, steps_of(x, r)[start + t]);
    }
}

static bool more(const sweep *x)
{
    for (int r = 0; r < x->replicas; r++)
        if (window_start(x, r, x->batch * x->B) >= 0) return true;
    return false;
}

int sweep_run(sweep *x, int column, pool *p)
{
    int rc = 0;
    replay_sync(x->replay);
    for (x->world = 0; x->world < x->worlds; x->world++) {
        pool_run(p, x->replicas, list_steps, x);
        for (x->batch = 0; more(x); x->batch++) {
            pool_run(p, x->replicas, fill_replica, x);
            TRY(x->user.infer(x->user.self));
            pool_run(p, x->replicas, keep_replica, x);
        }
    }
    replay_column_changed(x->replay, column);
out:
    return rc;
}

void sweep_keep(const replay *r, int column, int lane, int i, const float *reached,
                const float *foreseen)
{
    size_t bytes = (size_t)replay_shape_of(r)->columns[column].width * sizeof(float);
    if (replay_at(r, lane, ++i).last) {
        memcpy(replay_beside(r, lane, i, column), reached, bytes);
        if (++i >= replay_rows(r, lane)) return;
    }
    bool change = replay_at(r, lane, i - 1).segment != replay_at(r, lane, i).segment;
    memcpy(replay_beside(r, lane, i, column), change ? foreseen : reached, bytes);
}

void sweep_measure(const replay *r, int column, int replica, int n, float *mean, float *spread)
{
    int worlds = replay_shape_of(r)->worlds, count = 0;
    double sum[SWEEP_MOST] = {0}, squares[SWEEP_MOST] = {0};
    assert(n <= SWEEP_MOST);
    for (int lane = replica * worlds; lane < (replica + 1) * worlds; lane++) {
        int rows = replay_rows(r, lane);
        for (int i = 0; i < rows; i++) {
            const float *x = replay_beside(r, lane, i, column);
            for (int k = 0; k < n; k++) {
                sum[k] += (double)x[k];
                squares[k] += (double)x[k] * (double)x[k];
            }
        }
        count += rows;
    }
    for (int k = 0; k < n; k++) {
        double m = count ? sum[k] / count : 0, square = count ? squares[k] / count : 1;
        mean[k] = (float)m;
        spread[k] = (float)sqrt(fmax(square - m * m, 0));
    }
}
