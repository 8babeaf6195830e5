/* fnvae_costs.c - the costs of the FN-VAE: decoding, and the movement of theta.
 *
 * The KL has two parts. Within a segment theta does not move, so the prior of row t is the
 * posterior of row t-1 (in the first row of a window, N(0, 1)). Where a segment starts, the prior
 * is p_gamma of the last segments' theta. Both parts are means over their own rows, and their
 * weights include the share of those rows: phi follows the sum over all rows, while gamma and C_tt
 * still learn if changes are rare.
 *
 * phi is drawn to p_gamma in the first row of a segment (kl_move). p_gamma is drawn to what later
 * rows of the segment reveal (kl_next): the first row's posterior is little more than p_gamma
 * itself. If segments have one step, both are the same. */
#include <math.h>

#include "learn/fnvae.h"

/* ---- decoders -------------------------------------------------------------------------------- */

/* A decoder's guess of a target, and which rows count. */
typedef struct told {
    nn_var target, guess, weight;
} told;

/* With `tails` an error u, in units of its spread, costs log cosh u = log(1 + e^2u) - u - log 2,
 * which is |u| for large u. When a foot hits the ground, predictions are far off; squared, these
 * few steps would drown the effect of a weak factor on all others. (But an effect that shows in few
 * episodes may then pass for a tail.) */
static nn_var tailed_cost(told x, nn_var log_std)
{
    nn_var scale = nn_activate(nn_affine(log_std, -1, 0), NN_EXP);
    nn_var u = nn_mul(nn_sub(x.target, x.guess), scale);
    nn_var twice = nn_activate(nn_affine(u, 2, 0), NN_SOFTPLUS);
    return nn_mean(nn_add(twice, nn_affine(u, -1, -log(2))), x.weight);
}

/* The decoders' spread: a parameter that follows only the errors of `by`. So errors count in units
 * of what cannot be predicted, and a nat is a nat in noisy worlds and in exact ones. */
static nn_var record_noise(fnvae *f, nn_group *group, told by, nn_var *log_std)
{
    int n = nn_shape_of(by.target).D;
    nn_var noise = nn_param(group, "log_sd", 1, 1, n, NN_INIT_CONSTANT, log(f->o.sd));
    *log_std = nn_clip(nn_grad_scale(noise, f->k[FNVAE_K_noise]), log(f->o.sd_least), 0);
    told seen = {by.target, nn_detach(by.guess), by.weight};
    if (f->o.tails) return nn_add(tailed_cost(seen, *log_std), nn_mean(*log_std, NN_NONE));
    return nn_gauss_nll(seen.target, seen.guess, nn_broadcast(*log_std, by.guess), seen.weight);
}

/* The cost of errors in units of the decoders' spread: squared, or with tails. Never negative. */
static nn_var error_cost(const fnvae *f, told x, nn_var log_std)
{
    if (f->o.tails) return tailed_cost(x, nn_detach(log_std));
    nn_var scale = nn_activate(nn_affine(nn_detach(log_std), -1, 0), NN_EXP);
    return nn_gauss_nll(nn_mul(x.target, scale), nn_mul(x.guess, scale), NN_NONE, x.weight);
}

/* Predicts the change of state and the reward from the theta of the row before; if the θ-free
 * network is pre-trained, as a difference from it. */
static void record_predictions(fnvae *f, nn_var *pred, nn_var *pred_r)
{
    nn_var s = f->seen.s, a = f->seen.a, s1 = f->seen.s1;
    nn_var theta_s = nn_shift(nn_grad_scale(f->theta_s.sample, f->k[FNVAE_K_pred]), NN_NONE);
    nn_var theta_r = nn_shift(nn_grad_scale(f->theta_r.sample, f->k[FNVAE_K_pred]), NN_NONE);
    *pred = fnvae_record_alpha2(f, s, a, theta_s);
    *pred_r = fnvae_record_beta2(f, s, a, s1, theta_r);
    if (fnvae_first(f) == 0) return;
    *pred = nn_add(*pred, f->plain_s.expected);
    *pred_r = nn_add(*pred_r, f->plain_r.expected);
}

/* Reconstructs a transition of the segment, and predicts the next one. */
void fnvae_record_decoders(fnvae *f)
{
    nn_var w_pred = f->w[FNVAE_W_pred].var, w_rec = f->w[FNVAE_W_rec].var, pred, pred_r;
    nn_var s = f->dec.s, a = f->dec.a, s1 = f->dec.s1;
    f->rec = fnvae_record_alpha1(f, s, a, nn_grad_scale(f->theta_s.sample, f->k[FNVAE_K_rec]));
    f->rec_r = fnvae_record_beta1(f, s, a, s1, nn_grad_scale(f->theta_r.sample, f->k[FNVAE_K_rec]));
    record_predictions(f, &pred, &pred_r);
    told past = {f->dec.ds, f->rec, w_rec}, next = {f->seen.ds, pred, w_pred};
    told past_r = {f->dec.r, f->rec_r, w_rec}, next_r = {f->seen.r, pred_r, w_pred};
    nn_var noise =
        record_noise(f, f->group[FNVAE_ALPHA], f->o.predict_state ? next : past, &f->noise_s);
    nn_var noise_r =
        record_noise(f, f->group[FNVAE_BETA], f->o.predict_reward ? next_r : past_r, &f->noise_r);
    f->cost[FNVAE_noise] = nn_add(noise, noise_r);
    if (f->o.observed) f->cost[FNVAE_plain] = nn_affine(f->cost[FNVAE_noise], 0, 0);
    f->cost[FNVAE_rec_dyn] = error_cost(f, past, f->noise_s);
    f->cost[FNVAE_rec_rw] = error_cost(f, past_r, f->noise_r);
    f->cost[FNVAE_pred_dyn] = error_cost(f, next, f->noise_s);
    f->cost[FNVAE_pred_rw] = error_cost(f, next_r, f->noise_r);
}

/* ---- the movement of theta ------------------------------------------------------------------- */

/* In every row: the posterior means at the ends of the last segments, the latest first. */
static void record_ends(fnvae *f, fnvae_posterior q, nn_var *ends)
{
    nn_var mean = nn_grad_scale(q.mean, f->k[FNVAE_K_move]);
    for (int lag = 0; lag < f->o.order; lag++) {
        mean = nn_hold(nn_shift(mean, NN_NONE), f->change.var);
        ends[lag] = mean;
    }
}

/* What p_gamma predicts for a row's segment from the ends of those before it. It is the same in all
 * rows of a segment: with o.moves, it is computed only once per segment. */
static nn_var record_foretold(fnvae *f, const char *kind, nn_var *ends, nn_var C)
{
    if (f->o.moves == 0) return fnvae_record_prior(f, kind, ends, C);
    for (int lag = 0; lag < f->o.order; lag++) ends[lag] = nn_pick(ends[lag], f->begins.var);
    return nn_pick(fnvae_record_prior(f, kind, ends, C), f->of.var);
}

/* The parts of the KL for one kind of factor; if factors are observed, their likelihood. */
static void record_kl(fnvae *f, const char *kind, fnvae_posterior q, nn_var C, nn_var *cost)
{
    nn_var spread = kind[0] == 's' ? f->spread_s : f->spread_r, ends[2];
    record_ends(f, q, ends);
    nn_var mean = record_foretold(f, kind, ends, C);
    nn_var log_std = nn_broadcast(nn_clip(spread, -7, 2), mean);
    if (f->o.observed) {
        cost[FNVAE_kl_next] = nn_gauss_nll(q.sample, mean, log_std, f->w[FNVAE_W_next].var);
        cost[FNVAE_kl_stay] = cost[FNVAE_kl_move] = nn_affine(cost[FNVAE_kl_next], 0, 0);
        return;
    }
    cost[FNVAE_kl_next] =
        nn_gauss_kl(nn_detach(q.mean), nn_detach(q.log_std), mean, log_std, f->w[FNVAE_W_next].var);
    cost[FNVAE_kl_move] = nn_gauss_kl(nn_grad_scale(q.mean, f->k[FNVAE_K_move]),
                                      nn_grad_scale(q.log_std, f->k[FNVAE_K_move]), nn_detach(mean),
                                      nn_detach(log_std), f->w[FNVAE_W_move].var);
    nn_var m = nn_grad_scale(q.mean, f->k[FNVAE_K_stay]),
           l = nn_grad_scale(q.log_std, f->k[FNVAE_K_stay]);
    cost[FNVAE_kl_stay] =
        nn_gauss_kl(m, l, nn_shift(m, NN_NONE), nn_shift(l, NN_NONE), f->w[FNVAE_W_stay].var);
}

/* What the posterior mean of row t should be close to: the row before, or a moving average of the
 * two before, or an exponential one (for beta = 0.98, terms after the third are below 1e-5). */
static nn_var smooth_reference(const fnvae *f, nn_var mean)
{
    const double beta = 0.98, rest = 1 - beta;
    nn_var one = nn_shift(mean, NN_NONE), two = nn_shift(one, NN_NONE);
    if (f->o.smooth == SMOOTH_MA) return nn_add(nn_affine(one, 0.5, 0), nn_affine(two, 0.5, 0));
    if (f->o.smooth == SMOOTH_EMA) {
        nn_var three = nn_affine(nn_shift(two, NN_NONE), rest * rest * beta, 0);
        return nn_add(nn_affine(one, beta, 0), nn_add(nn_affine(two, rest * beta, 0), three));
    }
    return one;
}

static nn_var record_smooth(fnvae *f, fnvae_posterior q)
{
    nn_var mean = nn_grad_scale(q.mean, f->k[FNVAE_K_smooth]);
    nn_var jump = nn_sub(mean, smooth_reference(f, mean));
    return nn_l1(jump, f->w[FNVAE_W_smooth].var);
}

void fnvae_record_divergence(fnvae *f)
{
    nn_var of_s[FNVAE_COST_COUNT], of_r[FNVAE_COST_COUNT];
    nn_group *gamma = f->group[FNVAE_GAMMA];
    f->spread_s = nn_param(gamma, "s.log_std", 1, 1, f->z.p, NN_INIT_ZERO, 0);
    f->spread_r = nn_param(gamma, "r.log_std", 1, 1, f->z.q, NN_INIT_ZERO, 0);
    record_kl(f, "s", f->theta_s, f->mask[MASK_TT_S].C, of_s);
    record_kl(f, "r", f->theta_r, f->mask[MASK_TT_R].C, of_r);
    for (int k = FNVAE_kl_stay; k <= FNVAE_kl_next; k++) f->cost[k] = nn_add(of_s[k], of_r[k]);
    f->cost[FNVAE_smooth] = nn_add(record_smooth(f, f->theta_s), record_smooth(f, f->theta_r));
}
