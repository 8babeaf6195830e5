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
#include "algo/fans.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/causal_graph.h"
#include "rl/fnvae_state.h"
#include "rl/learner.h"
#include "rl/past.h"

OPTIONS_GROUP(fans_option_group, fans_options, "fans", "the agent that adapts", FANS_OPTIONS)

enum { FILTER, PRIOR }; /* o.belief */
enum { UNTOLD = 8 };    /* factors of a kind, where the options do not say */

typedef struct fans {
    fans_options o;
    fnvae_options fo;
    int replicas, worlds, rows, d, m;
    int n, width; /* p + q, and the numbers of a belief that are stored and shown: n or 2 n */
    fnvae *model;
    belief *belief;
    past *past;
    learner *learner;
    causal_graph *graph;
    pool *pool;
    float *s_min;               /* (replicas, d): 1 where the policy sees a state, or 0 */
    float *theta_min;           /* (replicas, n): likewise of theta */
    float *shift, *scale;       /* (replicas, n): the units in which the policy sees theta */
    float *theta, *theta_after; /* (rows, width): during the step, and behind it */
    float *costs;               /* (costs, replicas), for curves */
    bool costs_stale;
    bool *graph_left; /* [replicas]: its file is written */
    rng *windows;     /* [replicas] */
    int64_t *steps;   /* [replicas] */
    arena *memory;
} fans;

/* ---- making and freeing ---------------------------------------------------------------------- */

static void close_agent(void *agent)
{
    fans *a = agent;
    if (!a) return;
    past_free(a->past);
    learner_free(a->learner);
    belief_free(a->belief);
    fnvae_free(a->model);
    causal_graph_free(a->graph);
    arena_free(a->memory);
    mem_free(a);
}

static int take_options(fans *a, const fans_algo_setup *s)
{
    int rc = 0;
    TRY(config_take(s->config, fans_option_group(), "fans", &a->o));
    TRY(config_take(s->config, fnvae_option_group(), "fnvae", &a->fo));
    if (a->fo.observed)
        TRY(fans_fail(FANS_EINVAL, "fnvae.observed = true: fans infers the factors; the agent that "
                                   "is shown them is the oracle"));
    if (a->o.initial < (int64_t)8 * a->fo.window * s->worlds)
        TRY(fans_fail(FANS_EINVAL,
                      "fans.initial = %d: too few steps to learn from; at least 8 windows of "
                      "fnvae.window = %d in each of %d worlds",
                      a->o.initial, a->fo.window, s->worlds));
    if (a->fo.p == 0) a->fo.p = UNTOLD;
    if (a->fo.q == 0) a->fo.q = UNTOLD;
    options_dump(fans_option_group(), "fans", &a->o, s->dump);
    options_dump(fnvae_option_group(), "fnvae", &a->fo, s->dump);
out:
    return rc;
}

/* Windows are drawn once there are a few of them in every world's memory. */
static int check_memory(const fans *a)
{
    int rows = replay_capacity(learner_replay(a->learner)), least = past_least(&a->fo);
    if (rows >= least) return 0;
    return fans_fail(
        FANS_EINVAL,
        "replay.steps is too small: of each of %d worlds %d rows are kept, and windows of "
        "fnvae.window = %d need %d",
        a->worlds, rows, a->fo.window, least);
}

/* All worlds of a seed step at once, so the last of its steps begins a round before the end. */
static void check_length(const fans *a, const fans_algo_setup *s)
{
    if (s->steps == 0 || s->steps - s->worlds >= a->o.initial) return;
    log_warning("fans.initial = %d: all %lld steps of a run are random, and its policy never "
                "starts; train for longer (train.episodes, --steps) or lower fans.initial",
                a->o.initial, (long long)s->steps);
}

static int claim(fans *a, const fans_algo_setup *s)
{
    size_t R = (size_t)a->replicas, n = (size_t)a->n, d = (size_t)a->d;
    size_t thetas = (size_t)a->rows * (size_t)a->width * sizeof(float);
    int rc = 0;
    TRY(arena_new(&a->memory));
    TRY(arena_declare(a->memory, &a->s_min, R * d * sizeof(float)));
    TRY(arena_declare(a->memory, &a->theta_min, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->shift, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->scale, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->theta, thetas));
    TRY(arena_declare(a->memory, &a->theta_after, thetas));
    TRY(arena_declare(a->memory, &a->costs, FNVAE_COST_COUNT * R * sizeof(float)));
    TRY(arena_declare(a->memory, &a->graph_left, R * sizeof *a->graph_left));
    TRY(arena_declare(a->memory, &a->windows, R * sizeof *a->windows));
    TRY(arena_declare(a->memory, &a->steps, R * sizeof *a->steps));
    TRY(arena_commit(a->memory));
    for (size_t r = 0; r < R; r++) a->windows[r] = rng_stream(s->seeds[r], "windows", 0);
    for (size_t i = 0; i < R * d; i++) a->s_min[i] = 1;
    for (size_t i = 0; i < R * n; i++) a->scale[i] = 1;
out:
    return rc;
}

/* ---- what the policy sees -------------------------------------------------------------------- */

/* s^min and theta^min: the rest is zero. */
static void show(const void *user, int replica, sac_view obs, sac_view extra)
{
    const fans *a = user;
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

/* ---- opening --------------------------------------------------------------------------------- */

static int open_agent(void **agent, const fans_algo_setup *s)
{
    int rc = 0;
    fans *a = mem_alloc(sizeof *a);
    if (!a) return FANS_ENOMEM;
    a->pool = s->pool;
    TRY(take_options(a, s));
    fnvae_dims z = {s->info->obs_dim, s->info->act_dim, a->fo.p, a->fo.q};
    a->replicas = s->replicas;
    a->worlds = s->worlds;
    a->rows = s->replicas * s->worlds;
    a->d = z.d;
    a->m = z.m;
    a->n = z.p + z.q;
    a->width = a->o.log_std ? 2 * a->n : a->n;
    TRY(claim(a, s));
    TRY(learner_new(&a->learner, s, a->width));
    TRY(check_memory(a));
    fnvae_memory memory = past_memory(learner_replay(a->learner), a->worlds, a->o.log_std);
    TRY(fnvae_new(&a->model, s->backend, &a->fo, z, a->replicas, s->seeds, a->worlds, &memory));
    TRY(belief_new(&a->belief, a->model));
    TRY(causal_graph_new(&a->graph, z));
    TRY(past_new(&a->past, a->model, learner_replay(a->learner), a->worlds, s->pool));
    learner_units(a->learner, show, a);
    learner_hold(a->learner, a->o.initial);
    check_length(a, s);
    *agent = a;
    return 0;
out:
    close_agent(a);
    return rc;
}

static void start(void *agent)
{
    fans *a = agent;
    for (int i = 0; i < a->rows; i++) belief_reset(a->belief, i / a->worlds, i % a->worlds);
}

/* ---- living ---------------------------------------------------------------------------------- */

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

/* ---- state and curves ------------------------------------------------------------------------ */

/* One transfer for all replicas, and only when somebody asks. */
static int read_costs(void *agent)
{
    fans *a = agent;
    for (int i = 0; a->costs_stale && i < FNVAE_COST_COUNT; i++)
        nn_read_all(a->model->cost[i], a->costs + (size_t)i * (size_t)a->replicas);
    a->costs_stale = false;
    return 0;
}

static void list_state(void *agent, int r, state_list *s)
{
    fans *a = agent;
    char name[64];
    size_t n = (size_t)a->n, row = (size_t)r * (size_t)a->worlds;
    learner_state(a->learner, r, s);
    fnvae_state(a->model, r, s);
    belief_state(a->belief, r, s);
    state_on_save(s, read_costs, a);
    state_add_number(s, "fans/steps", STATE_I64, &a->steps[r]);
    state_add_number(s, "fans/windows", STATE_U64, &a->windows[r].drawn);
    state_add(s, "fans/s_min", STATE_F32, 1, (int64_t[]){a->d}, a->s_min + r * a->d);
    state_add(s, "fans/theta_min", STATE_F32, 1, (int64_t[]){a->n}, a->theta_min + (size_t)r * n);
    state_add(s, "fans/shift", STATE_F32, 1, (int64_t[]){a->n}, a->shift + (size_t)r * n);
    state_add(s, "fans/scale", STATE_F32, 1, (int64_t[]){a->n}, a->scale + (size_t)r * n);
    state_add(s, "fans/theta", STATE_F32, 2, (int64_t[]){a->worlds, a->width},
              a->theta + row * (size_t)a->width);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        snprintf(name, sizeof name, "fans/%s", fnvae_cost_names[i]);
        state_add_number(s, name, STATE_F32, a->costs + i * a->replicas + r);
    }
}

static const float *believed(void *agent, int row, int *n)
{
    const fans *a = agent;
    *n = a->n;
    return a->theta + (size_t)row * (size_t)a->width;
}

/* The graph, once it is fixed: by the update behind the initial steps. */
static int leave(void *agent, int r, const char *folder)
{
    fans *a = agent;
    char path[4096];
    if (a->graph_left[r] || a->steps[0] - a->worlds < a->o.initial) return 0;
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    causal_graph_of(a->graph, a->model, r);
    json_t *found = causal_json(a->graph);
    int rc = found ? json_write_file(path, found) : FANS_ENOMEM;
    json_decref(found);
    a->graph_left[r] = rc == 0;
    return rc;
}

static void scalars(void *agent, int r, fans_scalar_fn *emit, void *user)
{
    fans *a = agent;
    char name[64];
    learner_scalars(a->learner, r, emit, user);
    read_costs(a);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        snprintf(name, sizeof name, "model/%s", fnvae_cost_names[i]);
        emit(user, name, (double)a->costs[i * a->replicas + r]);
    }
}

const fans_algo_def algo_fans = {.name = "fans",
                                 .help = "FANS-RL: infers what changes, and adapts to it",
                                 .open = open_agent,
                                 .close = close_agent,
                                 .start = start,
                                 .act = act,
                                 .observe = observe,
                                 .update = update,
                                 .state = list_state,
                                 .belief = believed,
                                 .leave = leave,
                                 .scalars = scalars};
