/* imagined.c - an FN-VAE's decoders as a model of what steps lead to. */
#include "learn/imagined.h"

/* Steps as the model reads them. */
static fnvae_seen steps_of(const imagined *x, nn_var now, nn_var next)
{
    const fnvae *f = x->model;
    fnvae_lived lived = {replay_obs(f->replay, now), replay_action(f->replay, now),
                         replay_reward(f->replay, now), replay_obs(f->replay, next)};
    return fnvae_record_seen(f, lived, NN_NONE);
}

/* ---- rewards --------------------------------------------------------------------------------- */

static nn_var expect_reward(void *self, nn_var now, nn_var next, nn_var numbers)
{
    imagined *x = self;
    fnvae *f = x->model;
    nn_var theta_r = nn_slice(numbers, f->z.p, f->z.q);
    fnvae_seen seen = steps_of(x, now, next);
    if (!x->own) return fnvae_record_reward(f, seen, theta_r);
    return relabel_learned(x->relabel, fnvae_reward_list(f, seen.s, seen.a, seen.s1, theta_r));
}

static nn_var observed_reward(void *self, nn_var now)
{
    return steps_of(self, now, now).r;
}

static float reward_unit(const void *self, int replica)
{
    return fnvae_unit(((const imagined *)self)->model, replica, SCALE_R, 0);
}

/* theta_r touches the reward alone: it has no edge to a state. Its log_std goes with it. */
static void reward_factors(const void *self, int replica, float *which)
{
    const imagined *x = self;
    fnvae_dims z = x->model->z;
    (void)replica;
    for (int k = 0; k < x->width; k++) which[k] = k % (z.p + z.q) >= z.p;
}

/* ---- states ---------------------------------------------------------------------------------- */

static nn_var expect_step(void *self, nn_var now, nn_var next, nn_var numbers)
{
    imagined *x = self;
    return fnvae_record_step(x->model, steps_of(x, now, next), nn_slice(numbers, 0, x->model->z.p));
}

static nn_var observed_step(void *self, nn_var now, nn_var next)
{
    return steps_of(self, now, next).ds;
}

static void step_units(const void *self, int replica, float *to)
{
    const imagined *x = self;
    for (int i = 0; i < x->d; i++)
        to[i] = x->reach[replica * x->d + i] * fnvae_unit(x->model, replica, SCALE_DS, i);
}

/* ---- the whole ------------------------------------------------------------------------------- */

int imagined_declare(imagined *x, arena *memory, int replicas, int d)
{
    x->d = d;
    return arena_declare(memory, &x->reach, (size_t)replicas * (size_t)d * sizeof *x->reach);
}

relabel_model imagined_model(imagined *x)
{
    return (relabel_model){.self = x,
                           .expect = expect_reward,
                           .observed = observed_reward,
                           .unit = reward_unit,
                           .which = reward_factors,
                           .expect_step = expect_step,
                           .observed_step = observed_step,
                           .reach = step_units};
}

void imagined_reach(imagined *x, int replica, const causal_graph *g)
{
    for (int i = 0; i < x->d; i++) {
        bool any = false;
        for (int k = 0; k < x->model->z.p; k++) any = any || causal_edge(g, CAUSAL_C_ts, i, k);
        x->reach[replica * x->d + i] = any;
    }
}

void imagined_state(imagined *x, int replica, state_list *s)
{
    state_add(s, "fans/reach", FANS_F32, 1, (int64_t[]){x->d}, x->reach + replica * x->d);
}
