/* seen_units.c - three scales, and steps read in them. */
#include "learn/seen_units.h"

enum { S, DS, R, SCALES };

int seen_units_record(seen_units *x, arena *memory, nn_graph *g, const replay *r)
{
    const replay_shape *z = replay_shape_of(r);
    x->replay = r;
    return scales_record(&x->scales, memory, g, (const int[SCALES]){z->obs, z->obs, 1}, SCALES);
}

void seen_units_free(seen_units *x)
{
    scales_free(&x->scales);
}

void seen_units_observe(seen_units *x, const fans_moment *before, const fans_outcome *o)
{
    const replay_shape *z = replay_shape_of(x->replay);
    for (int i = 0; i < z->replicas * z->worlds; i++) {
        const float *obs = before->obs + i * z->obs, *next = o->next_obs + i * z->obs;
        scales_add(&x->scales, i / z->worlds, S, obs, NULL);
        scales_add(&x->scales, i / z->worlds, DS, next, obs);
        scales_add(&x->scales, i / z->worlds, R, &o->reward[i], NULL);
    }
}

void seen_units_settle(seen_units *x)
{
    scales_settle(&x->scales);
}

seen see_steps(const seen_units *x, nn_var obs, nn_var action, nn_var reward, nn_var next_obs)
{
    return (seen){.s = scales_apply(&x->scales, S, obs),
                  .a = action,
                  .s1 = scales_apply(&x->scales, S, next_obs),
                  .ds = scales_apply(&x->scales, DS, nn_sub(next_obs, obs)),
                  .r = scales_apply(&x->scales, R, reward)};
}

seen see_rows(const seen_units *x, nn_var at, nn_var next)
{
    const replay *r = x->replay;
    nn_var now = replay_gather(r, at), after = replay_gather(r, next);
    return see_steps(x, replay_obs(r, now), replay_action(r, now), replay_reward(r, now),
                     replay_obs(r, after));
}

seen see_from(const seen_units *x, seen steps, nn_var obs)
{
    steps.s = scales_apply(&x->scales, S, obs);
    return steps;
}

nn_var seen_units_reward(const seen_units *x)
{
    return x->scales.scale[R];
}

void seen_units_state(seen_units *x, int replica, const char *name, state_list *s)
{
    static const char *const names[SCALES] = {"s", "ds", "r"};
    scales_state(&x->scales, replica, names, name, s);
}
