/* online.c - one step of every world. */
#include "learn/online.h"

#include <string.h>

#include "base/error.h"

/* The next `n` columns of x. */
static nn_var take(nn_var x, int *at, int n)
{
    *at += n;
    return nn_slice(x, *at - n, n);
}

static int seen_width(const online *x)
{
    return 2 * x->d + x->m + 2 + x->state;
}

int online_record(online *x, arena *memory, nn_graph *g, const replay *r, int each, int state,
                  online_step *to)
{
    const replay_shape *z = replay_shape_of(r);
    int rc = 0, at = 0;
    *x = (online){.g = g,
                  .rows = z->replicas * z->worlds * each,
                  .d = z->obs,
                  .m = z->act,
                  .state = state,
                  .out = NN_NONE};
    TRY(staged_numbers(&x->seen, memory, g, "online", 1, z->worlds * each, seen_width(x)));
    to->obs = take(x->seen.var, &at, x->d);
    to->action = take(x->seen.var, &at, x->m);
    to->reward = take(x->seen.var, &at, 1);
    to->next_obs = take(x->seen.var, &at, x->d);
    to->change = take(x->seen.var, &at, 1);
    to->state = take(x->seen.var, &at, state);
out:
    return rc;
}

int online_give(online *x, arena *memory, nn_var out, int width)
{
    x->out = out;
    x->width = width;
    return arena_declare(memory, &x->carried, (size_t)(x->rows * width) * sizeof(float));
}

int online_plan(online *x)
{
    return nn_plan_new(&x->step, x->g, &x->out, 1, 0, NULL, 0);
}

static float *seen_of(const online *x, int row)
{
    return numbers_of(&x->seen, 0) + (size_t)row * (size_t)seen_width(x);
}

const float *online_seen(const online *x, int row)
{
    return seen_of(x, row);
}

float *online_of(const online *x, int row)
{
    return x->carried + (size_t)row * (size_t)x->width;
}

void online_reset(online *x, int row)
{
    online_finish(x);
    memset(online_of(x, row), 0, (size_t)x->width * sizeof(float));
}

void online_note(online *x, int row, const float *obs, const float *action, float reward,
                 const float *next_obs, bool change)
{
    size_t d = (size_t)x->d, m = (size_t)x->m;
    float *to = seen_of(x, row);
    memcpy(to, obs, d * sizeof *to);
    memcpy(to + d, action, m * sizeof *to);
    to[d + m] = reward;
    memcpy(to + d + m + 1, next_obs, d * sizeof *to);
    to[2 * d + m + 1] = change;
}

void online_note_all(online *x, const fans_moment *before, const float *action,
                     const fans_outcome *o)
{
    for (int i = 0; i < x->rows; i++)
        online_note(x, i, before->obs + i * x->d, action + i * x->m, o->reward[i],
                    o->next_obs + i * x->d, before->change[i] != 0);
}

int online_begin(online *x)
{
    online_finish(x);
    int from = x->width - x->state, to = seen_width(x) - x->state;
    for (int i = 0; i < x->rows; i++)
        memcpy(seen_of(x, i) + to, online_of(x, i) + from, (size_t)x->state * sizeof(float));
    staged_send(&x->seen);
    int rc = nn_plan_run(x->step);
    x->pending = rc == 0;
    return rc;
}

void online_finish(online *x)
{
    if (x->pending) nn_read_all(x->out, x->carried);
    x->pending = false;
}

static int finish(void *x)
{
    online_finish(x);
    return 0;
}

void online_carried(online *x, int replica, const char *name, state_list *s)
{
    int worlds = x->rows / nn_graph_replicas(x->g);
    state_on_save(s, finish, x);
    state_add(s, name, FANS_F32, 2, (int64_t[]){worlds, x->width}, online_of(x, replica * worlds));
}
