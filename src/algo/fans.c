/* fans.c - FANS-RL: factored adaptation for worlds that change (algorithms 1 and A3 of the paper).
 *
 * First the initial steps, lived with random actions: the FN-VAE learns from them what changes,
 * and the graph. Then the graph is fixed, s^min and theta^min follow from it, and at every step
 *
 *     predict theta where a segment begins          p_gamma
 *     act by pi(a | s^min, theta^min)
 *     update the FN-VAE with the graph fixed
 *     update the policy                             SAC
 *     live the step, correct theta by it, store     q_phi
 *
 * Beliefs stored with the steps grow stale as q_phi learns: all are inferred anew now and then.
 * The policy sees them in units of their spread, and what is not in the compact representation as
 * zeros, so that replicas with different graphs still have the same shape. */
#include <math.h>
#include <string.h>

#include "algo/fans_parts.h"
#include "algo/registry.h"
#include "base/error.h"
#include "base/pool.h"

enum { FILTER, PRIOR }; /* o.belief */

/* ---- what the policy sees -------------------------------------------------------------------- */

/* s^min and theta^min: the rest is zero. */
void fans_show(const void *agent, int replica, sac_view obs, sac_view extra)
{
    const fans *a = agent;
    const float *s_min = a->s_min + (size_t)replica * (size_t)a->d;
    size_t theta = (size_t)replica * (size_t)a->n, bytes = (size_t)a->n * sizeof(float);
    for (int i = 0; i < a->d; i++) obs.scale[i] *= s_min[i];
    memcpy(extra.shift, a->shift + theta, bytes);
    memcpy(extra.scale, a->scale + theta, bytes);
    for (int k = a->n; k < a->width; k++) { /* from -7 to 2, at first about -2 */
        extra.shift[k] = 2;
        extra.scale[k] = 0.5f * a->theta_min[theta + (size_t)(k - a->n)];
    }
}

/* Identify the compact representations by the graph. */
static void find_compact(fans *a, int r)
{
    const causal_graph *g = a->graph;
    float *s_min = a->s_min + (size_t)r * (size_t)a->d;
    float *theta_min = a->theta_min + (size_t)r * (size_t)a->n;
    int p = a->model->z.p;
    bool all = !a->o.compact;
    causal_graph_of(a->graph, a->model, r);
    for (int i = 0; i < a->d; i++) s_min[i] = all || g->s_min[i];
    for (int k = 0; k < a->n; k++)
        theta_min[k] = all || (k < p ? g->theta_s_min[k] : g->theta_r_min[k - p]);
}

/* The units of theta: the spread of the stored beliefs as they are now, of all of theta^min
 * together. Latents keep their sizes relative to each other, so that those which carry nothing stay
 * small. */
static void find_units(void *agent, int r)
{
    const fans *a = agent;
    size_t at = (size_t)r * (size_t)a->n;
    float mean[FNVAE_MOST], spread[FNVAE_MOST], *shift = a->shift + at, *scale = a->scale + at;
    const float *theta_min = a->theta_min + at;
    double variance = 0;
    past_measure(a->past, r, mean, spread);
    for (int k = 0; k < a->n; k++)
        variance += (double)theta_min[k] * (double)spread[k] * (double)spread[k];
    double unit = a->o.normalize ? fmax(sqrt(variance), a->o.floor) : 1;
    for (int k = 0; k < a->n; k++) {
        shift[k] = a->o.normalize ? -mean[k] : 0;
        scale[k] = theta_min[k] / (float)unit;
    }
}

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *agent)
{
    fans *a = agent;
    for (int i = 0; i < a->rows; i++) belief_reset(a->belief, i / a->worlds, i % a->worlds);
}

static void keep_beliefs(const fans *a, float *to)
{
    for (int i = 0; i < a->rows; i++)
        memcpy(to + (size_t)i * (size_t)a->width,
               belief_mean(a->belief, i / a->worlds, i % a->worlds), (size_t)a->width * sizeof *to);
}

/* Predict theta, then act. */
static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    fans *a = agent;
    int rc = 0;
    TRY(belief_predict(a->belief, now->change));
    keep_beliefs(a, a->theta);
    TRY(learner_act(a->learner, now->obs, a->theta, explore, action));
out:
    return rc;
}

/* Correct theta by what was seen; the paper's open loop leaves it as it was predicted. */
static int correct(fans *a)
{
    int rc = belief_correct_begin(a->belief);
    if (rc == 0 && a->o.belief == PRIOR)
        for (int i = 0; i < a->rows && a->steps[i / a->worlds] > a->o.initial; i++)
            belief_set(a->belief, i / a->worlds, i % a->worlds,
                       a->theta + (size_t)i * (size_t)a->width, a->width);
    return rc;
}

/* What is believed behind a step is stored where an episode ends. Elsewhere nobody need wait for
 * it: other trainings go on meanwhile. */
static bool any_ended(const fans *a, const fans_outcome *o)
{
    bool any = false;
    for (int i = 0; i < a->rows; i++) any = any || o->terminated[i] || o->truncated[i];
    return any;
}

static int observe(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn)
{
    fans *a = agent;
    int rc = 0;
    for (int i = 0; i < a->rows; i++) {
        size_t k = (size_t)i;
        fnvae_row row = {.s = before->obs + k * (size_t)a->d,
                         .a = action + k * (size_t)a->m,
                         .s1 = outcome->next_obs + k * (size_t)a->d,
                         .r = outcome->reward[i],
                         .change = before->change[i]};
        if (learn) fnvae_observe(a->model, i / a->worlds, &row);
        belief_note(a->belief, i / a->worlds, i % a->worlds, &row);
    }
    TRY(correct(a));
    if (!learn) return 0;
    if (any_ended(a, outcome)) {
        belief_settle(a->belief);
        keep_beliefs(a, a->theta_after);
    }
    learner_store(a->learner, before, a->theta, action, outcome, a->theta_after);
    for (int r = 0; r < a->replicas; r++) a->steps[r] += a->worlds;
out:
    return rc;
}

/* ---- learning -------------------------------------------------------------------------------- */

static int learn_model(fans *a, int64_t updates)
{
    int rc = 0;
    for (int64_t i = 0; i < updates && past_ready(a->past); i++) {
        past_fill(a->past, a->windows);
        TRY(fnvae_update(a->model));
        a->costs_stale = true;
    }
out:
    return rc;
}

/* While the second half of the initial steps is lived: which update should be done by now. */
static int64_t update_due(const fans *a)
{
    int64_t half = a->o.initial / 2, rest = a->o.initial - half, lived = a->steps[0] - half;
    int64_t first = fnvae_first(a->model), last = a->fo.updates;
    if (lived <= 0) return first;
    return lived >= rest ? last : first + (last - first) * lived / rest;
}

static int refresh(fans *a)
{
    int rc = 0;
    if (a->o.belief == FILTER) {
        TRY(past_refresh(a->past));
        learner_extra_changed(a->learner);
    }
    pool_run(a->pool, a->replicas, find_units, a);
    learner_units_changed(a->learner);
out:
    return rc;
}

static int learn_graph(fans *a)
{
    int rc = 0;
    TRY(learn_model(a, update_due(a) - a->model->update));
    if (a->steps[0] < a->o.initial) return 0;
    fnvae_freeze(a->model);
    for (int r = 0; r < a->replicas; r++) find_compact(a, r);
    TRY(refresh(a));
out:
    return rc;
}

/* Every so many steps of a seed; all its worlds step at once. */
static bool due(const fans *a, int64_t every)
{
    return every > 0 && a->steps[0] / every != (a->steps[0] - a->worlds) / every;
}

static int update(void *agent)
{
    fans *a = agent;
    int rc = 0;
    if (a->steps[0] - a->worlds < a->o.initial) {
        TRY(learn_graph(a));
    } else {
        if (due(a, a->o.model_every)) TRY(learn_model(a, a->o.model_updates));
        if (due(a, a->o.refresh)) TRY(refresh(a));
    }
    TRY(learner_update(a->learner));
out:
    return rc;
}

const fans_algo_def algo_fans = {.name = "fans",
                                 .help = "FANS-RL: infers what changes, and adapts to it",
                                 .open = fans_agent_open,
                                 .close = fans_agent_close,
                                 .start = start,
                                 .act = act,
                                 .observe = observe,
                                 .update = update,
                                 .state = fans_agent_state,
                                 .belief = fans_agent_belief,
                                 .leave = fans_agent_leave,
                                 .scalars = fans_agent_scalars};
