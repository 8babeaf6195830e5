/* nn_steps.h - two whole training steps for tests and benchmarks: one shaped like SAC's, one like
 * the FN-VAE's (algorithm A1 in one backward pass). Inputs are random. */
#ifndef TESTS_NN_STEPS_H
#define TESTS_NN_STEPS_H

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "nn/op.h"

/* In tests: a call that must succeed; else shows the library's message. */
#define assert_ok(call)                               \
    do {                                              \
        if ((call) < 0) fail_msg("%s", fans_error()); \
    } while (0)

/* Writes fn(arg, i) to element i: in pieces, since the memory may be a GPU's. */
static inline void step_write(nn_var v, int replica, double (*fn)(void *, size_t), void *arg)
{
    enum { PIECE = 4096 };
    real piece[PIECE];
    for (size_t at = 0, n = nn_size(nn_shape_of(v)); at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        for (size_t i = 0; i < count; i++) piece[i] = (real)fn(arg, at + i);
        nn_copy_in(v.graph, nn_data(v, replica) + at, piece, count * sizeof *piece);
    }
}

typedef struct step_range {
    rng *r;
    double low, high;
} step_range;

static inline double step_uniform(void *arg, size_t i)
{
    step_range *x = arg;
    (void)i;
    return rng_between(x->r, x->low, x->high);
}

static inline void step_fill(nn_var v, double low, double high, uint64_t seed)
{
    for (int k = 0; k < nn_graph_replicas(v.graph); k++) {
        rng r = rng_stream(seed + (uint64_t)k, nn_name_of(v), 0); /* replica k = seed + k */
        step_write(v, k, step_uniform, &(step_range){&r, low, high});
    }
}

/* ---- SAC ------------------------------------------------------------------------------------- */

typedef struct sac_step {
    nn_graph *g;
    nn_group *actor, *critic, *target, *temp;
    nn_var obs, act, reward, end, next;
    nn_var q_loss, pi_loss, temp_loss;
    nn_plan *critic_plan, *actor_plan;
    nn_routine *update;
} sac_step;

typedef struct sac_sizes {
    int obs, act, width, batch;
    bool norm; /* critics have layer norms */
} sac_sizes;

/* A squashed Gaussian action and its log-probability. */
static inline nn_var sac_policy(nn_group *actor, nn_var obs, sac_sizes z, nn_var *logp)
{
    nn_var out = nn_mlp(actor, "pi", NN_IN(obs), 1, 2, z.width, NN_RELU, 2 * z.act);
    nn_var mean = nn_slice(out, 0, z.act);
    nn_var log_std = nn_clip(nn_slice(out, z.act, z.act), -20, 2);
    nn_var u = nn_gauss_sample(mean, log_std);
    *logp = nn_squash_logp(u, mean, log_std);
    return nn_activate(u, NN_TANH);
}

static inline nn_var sac_q(nn_group *critic, nn_var obs, nn_var act, sac_sizes z)
{
    nn_list x = NN_IN(obs, act);
    if (z.norm) return nn_norm_mlp(critic, "q", x, 2, 2, z.width, NN_RELU, 1);
    return nn_mlp(critic, "q", x, 2, 2, z.width, NN_RELU, 1);
}

static inline int sac_step_new(sac_step *s, nn_backend *b, sac_sizes z, int replicas,
                               const uint64_t *seeds)
{
    int rc = 0;
    memset(s, 0, sizeof *s);
    TRY(nn_graph_new(&s->g, b, replicas, seeds));
    nn_graph *g = s->g;
    s->actor = nn_group_new(g, "actor");
    s->critic = nn_group_new(g, "critic");
    s->target = nn_group_new(g, "target");
    s->temp = nn_group_new(g, "temp");
    s->obs = nn_input(g, "obs", 1, z.batch, z.obs);
    s->act = nn_input(g, "act", 1, z.batch, z.act);
    s->reward = nn_input(g, "reward", 1, z.batch, 1);
    s->end = nn_input(g, "end", 1, z.batch, 1);
    s->next = nn_input(g, "next", 1, z.batch, z.obs);
    nn_var discount = nn_scalar(g, "discount", 0.99);
    nn_var log_temp = nn_param(s->temp, "log", 1, 1, 1, NN_INIT_ZERO, 0);
    nn_var temp = nn_detach(nn_activate(log_temp, NN_EXP));

    nn_var logp2, logp;
    nn_var act2 = sac_policy(s->actor, s->next, z, &logp2);
    nn_var q2 = nn_min(sac_q(s->target, s->next, act2, z));
    nn_var y = nn_td_target(s->reward, s->end, q2, logp2, temp, discount);
    s->q_loss = nn_affine(nn_mse(sac_q(s->critic, s->obs, s->act, z), y, NN_NONE), 0.5, 0);

    nn_var a = sac_policy(s->actor, s->obs, z, &logp);
    nn_var q = nn_min(sac_q(s->critic, s->obs, a, z));
    s->pi_loss = nn_mean(nn_add(nn_mul(logp, temp), nn_affine(q, -1, 0)), NN_NONE);
    nn_var short_of =
        nn_affine(nn_detach(logp), -1, z.act); /* -(logp - |A|), target entropy -|A| */
    s->temp_loss = nn_mean(nn_mul(short_of, log_temp), NN_NONE);

    TRY(nn_plan_new(&s->critic_plan, g, &s->q_loss, 1, 1, &s->critic, 1));
    nn_var losses[] = {s->pi_loss, s->temp_loss};
    nn_group *groups[] = {s->actor, s->temp};
    TRY(nn_plan_new(&s->actor_plan, g, losses, 2, 2, groups, 2));
    TRY(nn_routine_new(&s->update, g));
    nn_routine_plan(s->update, s->critic_plan);
    nn_routine_adam(s->update, s->critic, &NN_ADAM_DEFAULT);
    nn_routine_plan(s->update, s->actor_plan);
    nn_routine_adam(s->update, s->actor, &NN_ADAM_DEFAULT);
    nn_routine_adam(s->update, s->temp, &NN_ADAM_DEFAULT);
    nn_routine_follow(s->update, s->target, s->critic, 0.005);
    TRY(nn_graph_commit(g));
    step_fill(s->obs, -1, 1, seeds[0]);
    step_fill(s->act, -1, 1, seeds[0]);
    step_fill(s->reward, -1, 1, seeds[0]);
    step_fill(s->next, -1, 1, seeds[0]);
    nn_group_follow(s->target, s->critic, 1);
    return 0;
out:
    nn_graph_free(s->g);
    return rc;
}

static inline int sac_step_run(sac_step *s)
{
    return nn_routine_run(s->update);
}

/* ---- FN-VAE ---------------------------------------------------------------------------------- */

typedef struct fnvae_sizes {
    int d, m, p, q; /* states, actions, factors of dynamics and reward */
    int encoder, bank,
        dense; /* widths: encoders and LSTMs, each masked decoder, the other networks */
    int T, B;
} fnvae_sizes;

enum { FNVAE_PHI, FNVAE_GAMMA, FNVAE_ALPHA, FNVAE_BETA, FNVAE_MASKS, FNVAE_GROUPS };
enum {
    COST_REC_DYN,
    COST_REC_RW,
    COST_PRED_DYN,
    COST_PRED_RW,
    COST_KL,
    COST_SPARSE,
    COST_SMOOTH,
    COSTS
};

typedef struct fnvae_step {
    nn_graph *g;
    nn_group *group[FNVAE_GROUPS];
    nn_var s, a, r, s1, ds, reset,
        valid; /* (T,B,·): state, action, reward, next state, its change */
    nn_var k_rec, k_pred, k_kl, k_smooth; /* the weights of the costs, on the edges out of phi */
    nn_var cost[COSTS];
    nn_plan *plan; /* one pass */
} fnvae_step;

typedef struct fnvae_belief {
    nn_var mean, log_std, sample;
} fnvae_belief;

/* q_phi: two dense layers, an LSTM, a diagonal Gaussian. */
static inline fnvae_belief fnvae_infer(fnvae_step *s, const char *name, nn_list x, int n,
                                       fnvae_sizes z)
{
    char layer[32];
    nn_group *phi = s->group[FNVAE_PHI];
    snprintf(layer, sizeof layer, "%s.fc", name);
    nn_var h = nn_mlp(phi, layer, x, 1, 1, z.encoder, NN_RELU, z.encoder);
    snprintf(layer, sizeof layer, "%s.lstm", name);
    nn_var hc =
        nn_lstm_layer(phi, layer, NN_IN(nn_activate(h, NN_RELU)), z.encoder, 0, NN_NONE, s->reset);
    snprintf(layer, sizeof layer, "%s.head", name);
    nn_var out = nn_dense(phi, layer, NN_IN(nn_slice(hc, 0, z.encoder)), 1, true, 2 * n, NN_LINEAR);
    fnvae_belief b = {nn_slice(out, 0, n), nn_clip(nn_slice(out, n, n), -10, 2), NN_NONE};
    b.sample = nn_gauss_sample(b.mean, b.log_std);
    return b;
}

static inline nn_var fnvae_mask(fnvae_step *s, const char *name, int in, int out, nn_var *open)
{
    nn_var logits = nn_param(s->group[FNVAE_MASKS], name, 1, in, out, NN_INIT_NORMAL, 1);
    nn_var temp = nn_scalar(s->g, "gate temperature", 0.67);
    nn_var frozen = nn_scalar(s->g, "gates frozen", 0);
    *open = nn_l1(nn_gate_open(logits, NN_GATE_HARD_CONCRETE, temp), NN_NONE);
    return nn_gate(logits, NN_GATE_HARD_CONCRETE, temp, frozen);
}

/* KL(q_t ‖ p_gamma(· | θ_{t-1})) of one kind of factor. */
static inline nn_var fnvae_kl(fnvae_step *s, const char *name, fnvae_belief b, int n, fnvae_sizes z,
                              nn_var *open)
{
    char mask[32];
    snprintf(mask, sizeof mask, "C_tt_%s", name);
    nn_var before = nn_shift(nn_grad_scale(b.sample, s->k_kl), NN_NONE);
    nn_var W = fnvae_mask(s, mask, n, 1, open);
    nn_var out =
        nn_masked_mlp(s->group[FNVAE_GAMMA], name, NN_IN(before), W, 1, 2, z.dense, NN_RELU, 2 * n);
    nn_var mean = nn_slice(out, 0, n), log_std = nn_clip(nn_slice(out, n, n), -10, 2);
    return nn_gauss_kl(nn_grad_scale(b.mean, s->k_kl), nn_grad_scale(b.log_std, s->k_kl), mean,
                       log_std, s->valid);
}

static inline nn_var fnvae_smooth(fnvae_step *s, nn_var mean)
{
    nn_var x = nn_grad_scale(mean, s->k_smooth);
    return nn_l1(nn_add(x, nn_affine(nn_shift(x, NN_NONE), -1, 0)), s->valid);
}

static inline void fnvae_record(fnvae_step *s, fnvae_sizes z)
{
    nn_graph *g = s->g;
    nn_group *alpha = s->group[FNVAE_ALPHA], *beta = s->group[FNVAE_BETA];
    nn_var open[4];
    fnvae_belief ts = fnvae_infer(s, "theta_s", NN_IN(s->s, s->a, s->s1), z.p, z);
    fnvae_belief tr = fnvae_infer(s, "theta_r", NN_IN(s->s, s->a, s->s1, s->r), z.q, z);

    /* transition decoders: masked per dimension, and dense one-step prediction */
    nn_var C = fnvae_mask(s, "C_s", z.d + z.m + z.p, z.d, &open[0]);
    nn_var rec = nn_masked_mlp(alpha, "rec", NN_IN(s->s, s->a, nn_grad_scale(ts.sample, s->k_rec)),
                               C, z.d, 2, z.bank, NN_RELU, 1);
    nn_var pred = nn_mlp(alpha, "pred",
                         NN_IN(s->s, s->a, nn_shift(nn_grad_scale(ts.sample, s->k_pred), NN_NONE)),
                         1, 2, z.dense, NN_RELU, z.d);
    s->cost[COST_REC_DYN] = nn_gauss_nll(s->ds, rec, NN_NONE, s->valid);
    s->cost[COST_PRED_DYN] = nn_gauss_nll(s->ds, pred, NN_NONE, s->valid);

    /* reward decoders */
    nn_var c = fnvae_mask(s, "c_r", 2 * z.d + z.m + z.q, 1, &open[1]);
    nn_var rec_r =
        nn_masked_mlp(beta, "rec", NN_IN(s->s, s->a, s->s1, nn_grad_scale(tr.sample, s->k_rec)), c,
                      1, 2, z.dense, NN_RELU, 1);
    nn_var pred_r =
        nn_mlp(beta, "pred",
               NN_IN(s->s, s->a, s->s1, nn_shift(nn_grad_scale(tr.sample, s->k_pred), NN_NONE)), 1,
               2, z.dense, NN_RELU, 1);
    s->cost[COST_REC_RW] = nn_gauss_nll(s->r, rec_r, NN_NONE, s->valid);
    s->cost[COST_PRED_RW] = nn_gauss_nll(s->r, pred_r, NN_NONE, s->valid);

    s->cost[COST_KL] =
        nn_add(fnvae_kl(s, "s", ts, z.p, z, &open[2]), fnvae_kl(s, "r", tr, z.q, z, &open[3]));
    s->cost[COST_SMOOTH] = nn_add(fnvae_smooth(s, ts.mean), fnvae_smooth(s, tr.mean));
    s->cost[COST_SPARSE] =
        nn_affine(nn_add(nn_add(open[0], open[1]), nn_add(open[2], open[3])), 0.01, 0);
    (void)g;
}

/* Everything but the plans and the commit. */
static inline int fnvae_step_record(fnvae_step *s, nn_backend *b, fnvae_sizes z, int replicas,
                                    const uint64_t *seeds)
{
    static const char *const names[] = {"phi", "gamma", "alpha", "beta", "masks"};
    memset(s, 0, sizeof *s);
    int rc = nn_graph_new(&s->g, b, replicas, seeds);
    if (rc < 0) return rc;
    nn_graph *g = s->g;
    for (int i = 0; i < FNVAE_GROUPS; i++) s->group[i] = nn_group_new(g, names[i]);
    s->s = nn_input(g, "s", z.T, z.B, z.d);
    s->a = nn_input(g, "a", z.T, z.B, z.m);
    s->r = nn_input(g, "r", z.T, z.B, 1);
    s->s1 = nn_input(g, "s1", z.T, z.B, z.d);
    s->ds = nn_input(g, "ds", z.T, z.B, z.d);
    s->reset = nn_input(g, "reset", z.T, z.B, 1);
    s->valid = nn_input(g, "valid", z.T, z.B, 1);
    s->k_rec = nn_scalar(g, "k_rec", 0.8);
    s->k_pred = nn_scalar(g, "k_pred", 0.8);
    s->k_kl = nn_scalar(g, "k_kl", 0.5);
    s->k_smooth = nn_scalar(g, "k_smooth", 0.02);
    fnvae_record(s, z);
    return 0;
}

static inline double step_valid(void *arg, size_t i)
{
    (void)arg;
    return i % 7 != 3;
}

static inline double step_reset(void *arg, size_t i)
{
    (void)arg;
    return i % 11 == 5;
}

static inline void fnvae_step_inputs(fnvae_step *s, uint64_t seed)
{
    nn_var x[] = {s->s, s->a, s->r, s->s1, s->ds};
    for (int i = 0; i < 5; i++) step_fill(x[i], -1, 1, seed);
    for (int r = 0; r < nn_graph_replicas(s->g); r++) {
        step_write(s->valid, r, step_valid, NULL);
        step_write(s->reset, r, step_reset, NULL);
    }
}

static inline int fnvae_step_new(fnvae_step *s, nn_backend *b, fnvae_sizes z, int replicas,
                                 const uint64_t *seeds)
{
    int rc = fnvae_step_record(s, b, z, replicas, seeds);
    if (rc < 0) return rc;
    TRY(nn_plan_new(&s->plan, s->g, s->cost, COSTS, COSTS, s->group, FNVAE_GROUPS));
    TRY(nn_graph_commit(s->g));
    fnvae_step_inputs(s, seeds[0]);
    return 0;
out:
    nn_graph_free(s->g);
    return rc;
}

static inline int fnvae_step_run(fnvae_step *s)
{
    int rc = 0;
    nn_adam adam = {1e-3, 0.9, 0.999, 1e-8, 1};
    TRY(nn_plan_run(s->plan));
    for (int i = 0; i < FNVAE_GROUPS; i++) TRY(nn_group_adam(s->group[i], &adam));
out:
    return rc;
}

#endif
