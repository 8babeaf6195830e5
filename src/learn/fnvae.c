/* fnvae.c - the FN-VAE as one recording: algorithm A1 in one backward pass.
 *
 * Each group of parameters reaches only the costs it must follow: alpha the reconstruction and
 * prediction of the dynamics, beta those of the reward, gamma the KL, plain the cost of the θ-free
 * networks, the masks reconstruction, KL and sparsity. Only phi follows the weighted total, so
 * costs are summed unweighted, and grad_scale applies the weights on the edges out of q_phi
 * (tests/nn/double_nn_a1.c shows that this equals separate passes). */
#include "learn/fnvae.h"

#include <stdio.h>

#include "base/error.h"

const char *const fnvae_cost_names[FNVAE_COST_COUNT] = {
#define X(name) #name,
    FNVAE_COSTS(X)
#undef X
};

/* ---- networks -------------------------------------------------------------------------------- */

/* q_phi: products, a dense layer, an LSTM, a diagonal Gaussian. A factor often scales something, so
 * products reveal it (of the action and its unexpected effect, say). The posterior starts almost
 * certain: decoders learn to ignore a latent that is mostly noise, and might then never pick up a
 * weak factor. */
static fnvae_posterior infer(fnvae *f, const char *kind, nn_list x, int n, nn_var state,
                             nn_var reset)
{
    char name[32];
    nn_group *phi = f->group[FNVAE_PHI];
    nn_var h = nn_product_layer(phi, kind, x, f->o.encoder);
    snprintf(name, sizeof name, "%s.fc", kind);
    h = nn_dense(phi, name, NN_IN(h), 1, true, f->o.encoder, NN_RELU);
    snprintf(name, sizeof name, "%s.lstm", kind);
    fnvae_posterior q;
    q.state = nn_lstm_layer(phi, name, NN_IN(h), f->o.lstm, f->o.memory, state, reset);
    snprintf(name, sizeof name, "%s.head", kind);
    nn_var out =
        nn_dense(phi, name, NN_IN(nn_slice(q.state, 0, f->o.lstm)), 1, true, 2 * n, NN_LINEAR);
    q.mean = nn_slice(out, 0, n);
    q.log_std = nn_clip(nn_affine(nn_slice(out, n, n), 1, -2), -7, 2);
    q.sample = NN_NONE;
    return q;
}

/* p_gamma: factor j of the next segment reads the factors of this and earlier segments that C_tt[.,
 * j] lets through. */
nn_var fnvae_record_prior(fnvae *f, const char *kind, const nn_var *theta, nn_var C)
{
    char name[32];
    nn_group *gamma = f->group[FNVAE_GAMMA];
    int n = nn_shape_of(theta[0]).D, width = f->o.prior;
    nn_var sum = NN_NONE;
    for (int lag = 0; lag < f->o.order; lag++) {
        snprintf(name, sizeof name, "%s.1.W%d", kind, lag);
        nn_var W = nn_param(gamma, name, 1, n, n * width, NN_INIT_FAN_IN, 1);
        nn_var part = nn_linear(NN_IN(theta[lag]), nn_fold_mask(W, C), NN_NONE, NN_LINEAR);
        sum = lag ? nn_add(sum, part) : part;
    }
    snprintf(name, sizeof name, "%s.1.b", kind);
    nn_var b = nn_param(gamma, name, 1, 1, n * width, NN_INIT_FAN_IN, 1);
    nn_var h = nn_activate(nn_add(sum, b), NN_TANH);
    snprintf(name, sizeof name, "%s.2", kind);
    h = nn_dense(gamma, name, NN_IN(h), n, false, width, NN_TANH);
    snprintf(name, sizeof name, "%s.out", kind);
    return nn_dense(gamma, name, NN_IN(h), n, false, 1, NN_LINEAR);
}

/* The standard deviations are parameters that depend on nothing. */
fnvae_prior fnvae_record_foretold(fnvae *f, const nn_var *theta_s, const nn_var *theta_r)
{
    nn_var s = fnvae_record_prior(f, "s", theta_s, f->mask[MASK_TT_S].C);
    nn_var r = fnvae_record_prior(f, "r", theta_r, f->mask[MASK_TT_R].C);
    nn_var spread_s = nn_broadcast(nn_clip(f->spread_s, -7, 2), s);
    nn_var spread_r = nn_broadcast(nn_clip(f->spread_r, -7, 2), r);
    return (fnvae_prior){nn_concat(NN_IN(s, r)), nn_concat(NN_IN(spread_s, spread_r))};
}

/* p_alpha1: dimension i of the normalised change of state, through its own masks. Theta, and only
 * theta, may scale the effect of other inputs: an input that scales itself has an even effect,
 * whose gradient is zero at a closed gate, so a mask that closed would never open again. */
nn_var fnvae_record_alpha1(fnvae *f, nn_var s, nn_var a, nn_var theta_s)
{
    return nn_gain_mlp(f->group[FNVAE_ALPHA], "rec", NN_IN(s, a, theta_s), NN_IN(theta_s),
                       f->mask[MASK_S].C, f->z.d, 2, f->o.bank, NN_TANH, 1);
}

/* The inputs of the reward decoders. */
nn_list fnvae_reward_list(const fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r)
{
    if (f->o.reward_reads == READS_BOTH) return NN_IN(s, a, s1, theta_r);
    return f->o.reward_reads == READS_BEFORE ? NN_IN(s, a, theta_r) : NN_IN(a, s1, theta_r);
}

int fnvae_reward_inputs(const fnvae *f)
{
    return f->z.m + (f->o.reward_reads == READS_BOTH ? 2 : 1) * f->z.d;
}

nn_var fnvae_record_beta1(fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r)
{
    return nn_gain_mlp(f->group[FNVAE_BETA], "rec", fnvae_reward_list(f, s, a, s1, theta_r),
                       NN_IN(theta_r), f->mask[MASK_R].C, 1, 2, f->o.dense, NN_TANH, 1);
}

/* p_alpha2 and p_beta2: the same without masks. Any input may scale the effect of others. */
nn_var fnvae_record_alpha2(fnvae *f, nn_var s, nn_var a, nn_var theta_s)
{
    nn_list x = NN_IN(s, a, theta_s);
    return nn_gain_mlp(f->group[FNVAE_ALPHA], "pred", x, x, NN_NONE, 1, 2, f->o.dense, NN_TANH,
                       f->z.d);
}

nn_var fnvae_record_beta2(fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r)
{
    nn_list x = fnvae_reward_list(f, s, a, s1, theta_r);
    return nn_gain_mlp(f->group[FNVAE_BETA], "pred", x, x, NN_NONE, 1, 2, f->o.dense, NN_TANH, 1);
}

/* What to expect without theta. */
static nn_var record_plain(fnvae *f, int group, nn_list x, int n)
{
    return nn_mlp(f->group[group], "plain", x, 1, 2, f->o.dense, NN_TANH, n);
}

/* ---- what networks read ---------------------------------------------------------------------- */

static nn_var in_units(const fnvae *f, int scale, nn_var x)
{
    return scales_apply(&f->scales, scale, x);
}

fnvae_seen fnvae_record_seen(const fnvae *f, fnvae_lived x, nn_var change)
{
    return (fnvae_seen){.s = in_units(f, SCALE_S, x.obs),
                        .a = x.action,
                        .s1 = in_units(f, SCALE_S, x.next_obs),
                        .ds = in_units(f, SCALE_DS, nn_sub(x.next_obs, x.obs)),
                        .r = in_units(f, SCALE_R, x.reward),
                        .change = change,
                        .change_r = NN_NONE,
                        .state_s = NN_NONE,
                        .state_r = NN_NONE,
                        .reset_s = NN_NONE,
                        .reset_r = NN_NONE};
}

nn_var fnvae_record_reward(fnvae *f, fnvae_seen x, nn_var theta_r)
{
    nn_var r = fnvae_record_beta2(f, x.s, x.a, x.s1, theta_r);
    if (fnvae_first(f) == 0) return r;
    return nn_add(r, record_plain(f, FNVAE_PLAIN_R, NN_IN(x.s, x.a, x.s1), 1));
}

nn_var fnvae_record_step(fnvae *f, fnvae_seen x, nn_var theta_s)
{
    nn_var ds = fnvae_record_alpha2(f, x.s, x.a, theta_s);
    if (fnvae_first(f) == 0) return ds;
    return nn_add(ds, record_plain(f, FNVAE_PLAIN_S, NN_IN(x.s, x.a), f->z.d));
}

/* Other rows of the same windows. */
static fnvae_seen pick_rows(const fnvae_seen *x, nn_var at)
{
    return (fnvae_seen){.s = nn_pick(x->s, at),
                        .a = nn_pick(x->a, at),
                        .s1 = nn_pick(x->s1, at),
                        .ds = nn_pick(x->ds, at),
                        .r = nn_pick(x->r, at),
                        .change = NN_NONE,
                        .change_r = NN_NONE,
                        .state_s = NN_NONE,
                        .state_r = NN_NONE,
                        .reset_s = NN_NONE,
                        .reset_r = NN_NONE};
}

/* Rows of the replay. */
static fnvae_seen record_rows(const fnvae *f, nn_var at, nn_var next, nn_var change)
{
    nn_var now = replay_gather(f->replay, at), after = replay_gather(f->replay, next);
    fnvae_lived x = {replay_obs(f->replay, now), replay_action(f->replay, now),
                     replay_reward(f->replay, now), replay_obs(f->replay, after)};
    return fnvae_record_seen(f, x, change);
}

/* ---- algorithm A1 ---------------------------------------------------------------------------- */

/* What is new in a transition: `target` minus what the θ-free network expects, in units of its
 * spread. If theta has little effect, almost nothing else reveals it. The first recording, that of
 * the windows, has the cost that trains the network and the spread. */
static nn_var record_news(fnvae *f, int group, nn_list x, nn_var target, fnvae_plain *known)
{
    nn_group *g = f->group[group];
    int n = nn_shape_of(target).D;
    nn_var plain = record_plain(f, group, x, n);
    nn_var log_sd = nn_clip(nn_param(g, "plain_sd", 1, 1, n, NN_INIT_ZERO, 0), -7, 2);
    nn_var all = nn_broadcast(log_sd, plain);
    if (!known->cost.graph) {
        known->cost = nn_gauss_nll(target, plain, all, NN_NONE);
        known->expected = fnvae_first(f) < 0 ? nn_detach(plain) : NN_NONE;
    }
    nn_var unit = nn_activate(nn_affine(log_sd, -1, 0), NN_EXP);
    return nn_detach(nn_clip(nn_mul(nn_sub(target, plain), unit), -10, 10));
}

/* Infer mu and sigma of phi: theta_s from states and actions, theta_r from rewards too. */
void fnvae_record_posteriors(fnvae *f, const fnvae_seen *x, fnvae_posterior *q_s,
                             fnvae_posterior *q_r)
{
    int p = f->z.p, q = f->z.q;
    bool first = fnvae_first(f) < 0; /* pre-trained: a separate group */
    nn_var news_s =
        record_news(f, first ? FNVAE_PLAIN_S : FNVAE_ALPHA, NN_IN(x->s, x->a), x->ds, &f->plain_s);
    nn_var news_r = record_news(f, first ? FNVAE_PLAIN_R : FNVAE_BETA, NN_IN(x->s, x->a, x->s1),
                                x->r, &f->plain_r);
    nn_list of_r =
        NN_IN(x->s, x->a, x->s1, x->r, news_r, x->change_r.graph ? x->change_r : x->change);
    if (!f->o.mixed) {
        *q_s = infer(f, "s", NN_IN(x->s, x->a, news_s, x->change), p, x->state_s, x->reset_s);
        *q_r = infer(f, "r", of_r, q, x->state_r, x->reset_r);
        return;
    }
    nn_list all = NN_IN(x->s, x->a, x->s1, x->r, news_s, news_r, x->change);
    fnvae_posterior both = infer(f, "mixed", all, p + q, x->state_s, x->reset_s);
    *q_s = *q_r = both;
    q_s->mean = nn_slice(both.mean, 0, p);
    q_s->log_std = nn_slice(both.log_std, 0, p);
    q_r->mean = nn_slice(both.mean, p, q);
    q_r->log_std = nn_slice(both.log_std, p, q);
}

/* The posteriors of the windows, and samples of theta. */
static void record_theta(fnvae *f)
{
    if (f->o.observed) {
        nn_var s = replay_gather_column(f->replay, FNVAE_COLUMN_THETA_S, f->at.var);
        nn_var r = replay_gather_column(f->replay, FNVAE_COLUMN_THETA_R, f->at.var);
        f->theta_s.mean = f->theta_s.sample = in_units(f, SCALE_THETA_S, s);
        f->theta_r.mean = f->theta_r.sample = in_units(f, SCALE_THETA_R, r);
        return;
    }
    fnvae_record_posteriors(f, &f->seen, &f->theta_s, &f->theta_r);
    f->cost[FNVAE_plain] = nn_add(f->plain_s.cost, f->plain_r.cost);
    f->theta_s.sample = nn_gauss_sample(f->theta_s.mean, f->theta_s.log_std);
    f->theta_r.sample = nn_gauss_sample(f->theta_r.mean, f->theta_r.log_std);
}

/* The learned weights follow the costs, but not vice versa: find_weights makes them k. */
static nn_var record_auto(fnvae *f)
{
    nn_var *c = f->cost;
    f->auto_c = nn_param(f->group[FNVAE_WEIGHTS], "c", 1, 1, 4, NN_INIT_CONSTANT, 1);
    nn_var rec = nn_detach(nn_add(c[FNVAE_rec_dyn], c[FNVAE_rec_rw]));
    nn_var pred = nn_detach(nn_add(c[FNVAE_pred_dyn], c[FNVAE_pred_rw]));
    nn_var kl = nn_detach(nn_add(c[FNVAE_kl_stay], c[FNVAE_kl_move]));
    return nn_auto_weight(NN_IN(rec, pred, kl, nn_detach(c[FNVAE_smooth])), f->auto_c);
}

/* The costs to learn from; a disabled prediction is not computed at all. */
static int list_losses(fnvae *f, nn_var *losses)
{
    int n = 0;
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        if (i == FNVAE_pred_dyn && !f->o.predict_state) continue;
        if (i == FNVAE_pred_rw && !f->o.predict_reward) continue;
        losses[n++] = f->cost[i];
    }
    if (f->o.auto_weights) losses[n++] = record_auto(f);
    return n;
}

int fnvae_plan(fnvae *f)
{
    int rc = 0;
    nn_var losses[FNVAE_COST_COUNT + 1];
    int count = list_losses(f, losses);
    nn_group **plain = &f->group[FNVAE_PLAIN_S];
    nn_group *fixed[] = {f->group[FNVAE_PHI],
                         f->group[FNVAE_GAMMA],
                         f->group[FNVAE_ALPHA],
                         f->group[FNVAE_BETA],
                         plain[0],
                         plain[1],
                         f->group[FNVAE_WEIGHTS]};
    TRY(nn_plan_new(&f->learn, f->g, losses, count, count, f->group, FNVAE_GROUPS));
    TRY(nn_plan_new(&f->learn_fixed, f->g, losses, count, count, fixed, 7));
    if (fnvae_first(f) < 0)
        TRY(nn_plan_new(&f->learn_plain, f->g, &f->cost[FNVAE_plain], 1, 1, plain, 2));
out:
    return rc;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int record_units(fnvae *f)
{
    const int widths[FNVAE_SCALES] = {f->z.d, f->z.d, 1, f->z.p, f->z.q};
    return scales_record(&f->scales, f->memory, f->g, widths, FNVAE_SCALES);
}

static void record_scalars(fnvae *f)
{
/* set before each update */
#define X(name) f->k[FNVAE_K_##name] = nn_scalar(f->g, "k_" #name, 0);
    FNVAE_KS(X)
#undef X
    f->temperature = nn_scalar(f->g, "gate temperature", f->o.temperature);
    f->frozen = nn_scalar(f->g, "gates frozen", 0);
}

static int record_windows(fnvae *f)
{
    static const char *const names[] = {
#define X(name) "w_" #name,
        FNVAE_WEIGHTS_OF_ROWS(X)
#undef X
    };
    int rc = 0, T = f->o.window, B = f->o.batch;
    TRY(staged_rows(&f->at, f->memory, f->g, "window at", T, B, 1));
    TRY(staged_rows(&f->next, f->memory, f->g, "window next", T, B, 1));
    TRY(staged_rows(&f->decoded, f->memory, f->g, "decoded", T, B, 1));
    TRY(staged_numbers(&f->change, f->memory, f->g, "change", T, B, 1));
    for (int k = 0; k < FNVAE_W_COUNT; k++)
        TRY(staged_numbers(&f->w[k], f->memory, f->g, names[k], T, B, 1));
    if (f->o.moves > 0) TRY(staged_rows(&f->begins, f->memory, f->g, "begins", f->o.moves, B, 1));
    if (f->o.moves > 0) TRY(staged_rows(&f->of, f->memory, f->g, "of", T, B, 1));
    f->seen = record_rows(f, f->at.var, f->next.var, f->change.var);
    f->dec = pick_rows(&f->seen, f->decoded.var);
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static size_t largest_mask(const fnvae *f)
{
    size_t most = 0;
    for (int k = 0; k < FNVAE_MASK_COUNT; k++) {
        nn_shape z = nn_shape_of(f->mask[k].free);
        size_t size = (size_t)z.B * (size_t)z.D;
        if (size > most) most = size;
    }
    return most;
}

static int declare(fnvae *f)
{
    int rc = 0;
    size_t R = (size_t)f->replicas, columns = R * (size_t)f->o.batch;
    if (f->o.moves > 0) TRY(arena_declare(f->memory, &f->left_out, columns * sizeof *f->left_out));
    TRY(arena_declare(f->memory, &f->window, R * (size_t)f->o.window * sizeof *f->window));
    TRY(arena_declare(f->memory, &f->shown, FNVAE_COST_COUNT * R * sizeof(float)));
    TRY(arena_declare(f->memory, &f->k_host, FNVAE_K_COUNT * R * sizeof(float)));
    TRY(arena_declare(f->memory, &f->buffer, largest_mask(f) * sizeof(float)));
    TRY(arena_commit(f->memory));
out:
    return rc;
}

int fnvae_new(fnvae **out, nn_graph *g, const replay *r, const fnvae_options *o, fnvae_dims z)
{
    static const char *const names[] = {"phi",     "gamma",   "alpha", "beta",
                                        "plain_s", "plain_r", "masks", "weights"};
    int rc = 0;
    fnvae *f = mem_alloc(sizeof *f);
    if (!f) return FANS_ENOMEM;
    *f = (fnvae){.o = *o, .z = z, .g = g, .replay = r, .replicas = nn_graph_replicas(g)};
    f->worlds = replay_shape_of(r)->worlds;
    TRY(arena_new(&f->memory));
    for (int i = 0; i < FNVAE_GROUPS; i++) f->group[i] = nn_group_new(f->g, names[i]);
    TRY(record_units(f));
    record_scalars(f);
    TRY(record_windows(f));
    fnvae_record_masks(f);
    record_theta(f);
    fnvae_record_decoders(f);
    fnvae_record_divergence(f);
    *out = f;
out:
    if (rc < 0) fnvae_free(f);
    return rc;
}

int fnvae_ready(fnvae *f)
{
    int rc = declare(f);
    if (rc < 0) return rc;
    f->update = fnvae_first(f);
    fnvae_set_units(f);
    fnvae_set_masks(f);
    return 0;
}

void fnvae_free(fnvae *f)
{
    if (!f) return;
    arena_free(f->memory);
    scales_free(&f->scales);
    mem_free(f);
}

/* ---- state ----------------------------------------------------------------------------------- */

/* Sends the backend what follows from the loaded numbers. */
static int note_load(void *arg)
{
    fnvae *f = arg;
    fnvae_set_masks(f);
    return 0;
}

void fnvae_state(fnvae *f, int replica, state_list *s)
{
    static const char *const names[FNVAE_SCALES] = {"s", "ds", "r", "theta_s", "theta_r"};
    char name[64];
    state_on_save(s, fnvae_read_costs, f);
    state_on_load(s, note_load, f);
    for (int i = 0; i < FNVAE_GROUPS; i++) {
        nn_group *g = f->group[i];
        state_add_group(s, nn_group_name(g), g, replica);
        snprintf(name, sizeof name, "fnvae/%s_steps", nn_group_name(g));
        state_add_number(s, name, FANS_U64, nn_group_steps(g));
    }
    scales_state(&f->scales, replica, names, "fnvae/units", s);
    state_add_number(s, "fnvae/update", FANS_I64, &f->update);
    state_range(s, (double)fnvae_first(f), STATE_COUNT);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) { /* shown until the next update */
        snprintf(name, sizeof name, "fnvae/%s", fnvae_cost_names[i]);
        state_add_number(s, name, FANS_F32, f->shown + i * f->replicas + replica);
    }
}
