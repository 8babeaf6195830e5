/* fansrl.c - FANS-RL: factored adaptation for worlds that change (algorithms 1 and A3 of the
 * paper).
 *
 * First come the initial steps, with random actions: from them the FN-VAE learns what changes, and
 * the graph. Then the graph is fixed, s^min and theta^min follow from it, and at every step
 *
 *     predict theta if a segment starts             p_gamma
 *     act by pi(a | s^min, theta^min)
 *     update the FN-VAE with the graph fixed
 *     update the policy                             SAC
 *     make the step, correct theta by it, store     q_phi
 *
 * So it is an agent (learn/agent.h) whose context is the belief about theta. Stored beliefs grow
 * stale as q_phi learns, so all are refreshed now and then. The policy sees them in units of their
 * spread, and zeros for what is not in the compact representation, so that replicas with different
 * graphs have the same shape. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/json.h"
#include "learn/agent.h"
#include "learn/belief.h"
#include "learn/causal_graph.h"
#include "learn/refresh.h"

#define FANSRL_OPTIONS(X)                                                                        \
    X(INT, initial, 5000, 0, 1000000000,                                                         \
      "steps of a seed with random actions, to learn the graph")                                 \
    X(INT, model_every, 25, 1, 1000000, "after that, steps of a seed between model updates")     \
    X(INT, model_updates, 1, 0, 1000000, "model updates in a round")                             \
    X(INT, refresh, 500, 0, 1000000000, "steps of a seed between refreshes of stored beliefs")   \
    X(CHOICE, belief, 0, "filter|prior", "correct beliefs by every step, or only predict them")  \
    X(FLAG, normalize, true, "show beliefs in units of their overall spread")                    \
    X(REAL, floor, 0.5, 1e-6, 1e6, "lower bound on the belief's scale")                          \
    X(FLAG, log_std, false, "also show the belief's log standard deviations")                    \
    X(INT, hindsight, 1, 0, 1000, "first steps of a segment where critics see the later belief") \
    X(FLAG, compact, true, "hide what has no path to the reward in the graph")
OPTIONS_STRUCT(fansrl_options, FANSRL_OPTIONS)
static OPTIONS_GROUP(fansrl_option_group, fansrl_options, "fans", "FANS-RL, the agent that adapts",
                     FANSRL_OPTIONS)

    enum {
        FILTER,
        PRIOR
    };                        /* o.belief */
enum { DEFAULT_FACTORS = 8 }; /* of each kind, unless the options say */

typedef struct fansrl {
    const fansrl_options *o;
    fnvae_options *fo;
    const fans_env_info *info;
    int replicas, worlds, rows;
    int d, m, n, width; /* n = p + q; width: numbers of a belief: n, or 2 n with log_std */
    agent *agent;
    fnvae *model;
    belief *belief;
    refresh *refresh;
    causal_graph *graph;
    pool *pool;
    float *s_min;         /* (replicas, d): 1 if the policy sees a state, else 0 */
    float *theta_min;     /* (replicas, n): the same for theta */
    float *shift, *scale; /* (replicas, n): the units in which the policy sees theta */
    bool *graph_left;     /* [replicas]: graph.json is written */
    rng *windows;         /* [replicas] */
    arena *memory;
} fansrl;

/* ---- what the policy sees -------------------------------------------------------------------- */

/* s^min and theta^min; everything else is zero. */
static void show(const void *self, int replica, units obs, units theta)
{
    const fansrl *a = self;
    size_t at = (size_t)replica * (size_t)a->n, bytes = (size_t)a->n * sizeof(float);
    for (int i = 0; i < a->d; i++) obs.scale[i] *= a->s_min[replica * a->d + i];
    memcpy(theta.shift, a->shift + at, bytes);
    memcpy(theta.scale, a->scale + at, bytes);
    for (int k = a->n; k < a->width; k++) { /* log_std is from -7 to 2, at first about -2 */
        theta.shift[k] = 2;
        theta.scale[k] = 0.5f * a->theta_min[at + (size_t)(k - a->n)];
    }
}

/* Finds the compact representation in the graph. */
static void find_compact(fansrl *a, int r)
{
    const causal_graph *g = a->graph;
    float *s_min = a->s_min + (size_t)r * (size_t)a->d;
    float *theta_min = a->theta_min + (size_t)r * (size_t)a->n;
    int p = a->model->z.p;
    bool all = !a->o->compact;
    causal_graph_of(a->graph, a->model, r);
    for (int i = 0; i < a->d; i++) s_min[i] = all || g->s_min[i];
    for (int k = 0; k < a->n; k++)
        theta_min[k] = all || (k < p ? g->theta_s_min[k] : g->theta_r_min[k - p]);
}

/* The unit of theta: the overall spread of theta^min in the stored beliefs. One unit for all
 * latents keeps those that carry nothing small. */
static void find_units(void *self, int r)
{
    const fansrl *a = self;
    size_t at = (size_t)r * (size_t)a->n;
    float mean[FNVAE_MOST], spread[FNVAE_MOST], *shift = a->shift + at, *scale = a->scale + at;
    const float *theta_min = a->theta_min + at;
    double variance = 0;
    refresh_measure(a->refresh, r, mean, spread);
    for (int k = 0; k < a->n; k++)
        variance += (double)theta_min[k] * (double)spread[k] * (double)spread[k];
    double unit = a->o->normalize ? fmax(sqrt(variance), a->o->floor) : 1;
    for (int k = 0; k < a->n; k++) {
        shift[k] = a->o->normalize ? -mean[k] : 0;
        scale[k] = theta_min[k] / (float)unit;
    }
}

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *self)
{
    fansrl *a = self;
    for (int i = 0; i < a->rows; i++) belief_reset(a->belief, i);
}

static void copy_beliefs(const fansrl *a, float *to)
{
    size_t width = (size_t)a->width;
    for (int i = 0; i < a->rows; i++)
        memcpy(to + (size_t)i * width, belief_mean(a->belief, i), width * sizeof *to);
}

/* Predicts theta. */
static int look(void *self, const fans_moment *now, float *numbers)
{
    fansrl *a = self;
    int rc = belief_predict(a->belief, now->change);
    copy_beliefs(a, numbers);
    return rc;
}

/* Corrects theta by the step; the paper's open loop keeps the prediction. */
static int correct(fansrl *a, const float *predicted)
{
    int rc = belief_correct_begin(a->belief);
    if (rc < 0 || a->o->belief == FILTER || agent_steps(a->agent) <= a->o->initial) return rc;
    for (int i = 0; i < a->rows; i++)
        belief_set(a->belief, i, predicted + (size_t)i * (size_t)a->width, a->width);
    return 0;
}

/* The belief after a step is stored only if an episode ends. Otherwise do not wait for it: other
 * trainings can use the time. */
static bool any_ended(const fansrl *a, const fans_outcome *o)
{
    bool any = false;
    for (int i = 0; i < a->rows; i++) any = any || o->terminated[i] || o->truncated[i];
    return any;
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    fansrl *a = self;
    for (int i = 0; i < a->rows; i++) {
        const float *obs = before->obs + i * a->d, *next = o->next_obs + i * a->d;
        if (learn) fnvae_observe(a->model, i / a->worlds, obs, o->reward[i], next);
        belief_note(a->belief, i, obs, action + i * a->m, o->reward[i], next,
                    before->change[i] != 0);
    }
    int rc = correct(a, numbers);
    if (rc < 0 || !learn || !any_ended(a, o)) return rc;
    belief_finish(a->belief);
    copy_beliefs(a, ends);
    return 0;
}

/* ---- learning -------------------------------------------------------------------------------- */

static int learn_model(fansrl *a, int64_t updates)
{
    int rc = 0;
    for (int64_t i = 0; i < updates && fnvae_can_fill(a->model); i++) {
        fnvae_fill(a->model, a->windows, a->pool);
        TRY(fnvae_update(a->model));
    }
out:
    return rc;
}

/* The update that should be done by now: they are spread over the second half of the initial steps.
 */
static int64_t update_due(const fansrl *a)
{
    int64_t half = a->o->initial / 2, rest = a->o->initial - half;
    int64_t lived = agent_steps(a->agent) - half;
    int64_t first = fnvae_first(a->model), last = a->fo->updates;
    if (lived <= 0) return first;
    return lived >= rest ? last : first + (last - first) * lived / rest;
}

static int refresh_all(fansrl *a)
{
    int rc = a->o->belief == FILTER ? refresh_run(a->refresh, a->pool) : 0;
    if (rc < 0) return rc;
    pool_run(a->pool, a->replicas, find_units, a);
    agent_units_changed(a->agent);
    return 0;
}

static int learn_graph(fansrl *a)
{
    int rc = 0;
    TRY(learn_model(a, update_due(a) - a->model->update));
    if (agent_steps(a->agent) < a->o->initial) return 0;
    fnvae_freeze(a->model);
    for (int r = 0; r < a->replicas; r++) find_compact(a, r);
    TRY(refresh_all(a));
out:
    return rc;
}

static int update(void *self)
{
    fansrl *a = self;
    int rc = 0;
    if (agent_steps(a->agent) - a->worlds < a->o->initial) return learn_graph(a);
    TRY(learn_model(a, (int64_t)agent_rounds(a->agent, a->o->model_every) * a->o->model_updates));
    if (agent_rounds(a->agent, a->o->refresh)) TRY(refresh_all(a));
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void free_fansrl(void *self)
{
    fansrl *a = self;
    refresh_free(a->refresh);
    belief_free(a->belief);
    fnvae_free(a->model);
    causal_graph_free(a->graph);
    arena_free(a->memory);
    mem_free(a);
}

static int check_options(fansrl *a, const fans_algo_setup *s)
{
    if (a->fo->observed)
        return fans_fail(FANS_EINVAL,
                         "fnvae.observed = true: fans infers the factors; to show them "
                         "to an agent, use --algo oracle");
    if (a->o->initial < (int64_t)8 * a->fo->window * s->worlds)
        return fans_fail(
            FANS_EINVAL,
            "fans.initial = %d: too few steps to learn from; each of %d worlds needs at "
            "least 8 windows of fnvae.window = %d steps",
            a->o->initial, s->worlds, a->fo->window);
    if (a->fo->p == 0) a->fo->p = DEFAULT_FACTORS;
    if (a->fo->q == 0) a->fo->q = DEFAULT_FACTORS;
    return 0;
}

/* Windows are drawn once every lane has rows for a few of them. */
static int check_replay(const fansrl *a, const replay *r)
{
    int rows = replay_capacity(r), least = fnvae_least_rows(a->fo);
    if (rows >= least) return 0;
    return fans_fail(FANS_EINVAL,
                     "replay.steps is too small: each of %d worlds keeps %d rows, but fnvae.window "
                     "= %d needs %d",
                     a->worlds, rows, a->fo->window, least);
}

static int record(void *self, nn_graph *g, replay *r)
{
    fansrl *a = self;
    fnvae_dims z = {a->d, a->m, a->fo->p, a->fo->q};
    int rc = 0;
    TRY(check_replay(a, r));
    TRY(causal_graph_new(&a->graph, z));
    TRY(causal_graph_name(a->graph, a->info->obs_names, a->info->act_names));
    TRY(fnvae_new(&a->model, g, r, a->fo, z));
    TRY(belief_new(&a->belief, a->model));
    TRY(refresh_new(&a->refresh, a->model, r, 0, a->o->log_std));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    fansrl *a = self;
    int rc = 0;
    (void)also; /* SAC's losses do not reach the model */
    TRY(fnvae_plan(a->model));
    TRY(belief_plan(a->belief));
    TRY(refresh_plan(a->refresh));
out:
    return rc;
}

static int ready(void *self)
{
    fansrl *a = self;
    int rc = 0;
    TRY(fnvae_ready(a->model));
    TRY(belief_ready(a->belief));
    TRY(refresh_ready(a->refresh));
out:
    return rc;
}

static int claim(fansrl *a, const uint64_t *seeds)
{
    size_t R = (size_t)a->replicas, n = (size_t)a->n, d = (size_t)a->d;
    int rc = 0;
    TRY(arena_new(&a->memory));
    TRY(arena_declare(a->memory, &a->s_min, R * d * sizeof(float)));
    TRY(arena_declare(a->memory, &a->theta_min, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->shift, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->scale, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->graph_left, R * sizeof *a->graph_left));
    TRY(arena_declare(a->memory, &a->windows, R * sizeof *a->windows));
    TRY(arena_commit(a->memory));
    for (size_t r = 0; r < R; r++) a->windows[r] = rng_stream(seeds[r], "windows", 0);
    for (size_t i = 0; i < R * d; i++) a->s_min[i] = 1;
    for (size_t i = 0; i < R * n; i++) a->scale[i] = 1;
out:
    return rc;
}

/* ---- state, curves, files -------------------------------------------------------------------- */

static void list_state(void *self, int r, state_list *s)
{
    fansrl *a = self;
    size_t n = (size_t)a->n;
    fnvae_state(a->model, r, s);
    state_add_number(s, "fans/windows", FANS_U64, &a->windows[r].drawn);
    state_add(s, "fans/s_min", FANS_F32, 1, (int64_t[]){a->d}, a->s_min + r * a->d);
    state_add(s, "fans/theta_min", FANS_F32, 1, (int64_t[]){a->n}, a->theta_min + (size_t)r * n);
    state_add(s, "fans/shift", FANS_F32, 1, (int64_t[]){a->n}, a->shift + (size_t)r * n);
    state_add(s, "fans/scale", FANS_F32, 1, (int64_t[]){a->n}, a->scale + (size_t)r * n);
}

static void list_carried(void *self, int r, state_list *s)
{
    belief_carried(((fansrl *)self)->belief, r, s);
}

static void scalars(void *self, int r, fans_scalar_fn *emit, void *user)
{
    fnvae_scalars(((fansrl *)self)->model, r, emit, user);
}

static const float *belief_of(void *self, int row, int *n)
{
    const fansrl *a = agent_context(self);
    *n = a->n;
    return agent_numbers(a->agent, row);
}

/* Writes the graph once it is fixed, by the update after the initial steps. */
static int leave(void *self, int r, const char *folder)
{
    fansrl *a = agent_context(self);
    char path[4096];
    if (a->graph_left[r] || agent_steps(a->agent) - a->worlds < a->o->initial) return 0;
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    causal_graph_of(a->graph, a->model, r);
    json_t *found = causal_json(a->graph);
    int rc = found ? json_write_file(path, found) : FANS_ENOMEM;
    json_decref(found);
    a->graph_left[r] = rc == 0;
    return rc;
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static int open_fansrl(void **agent_out, const fans_algo_setup *s)
{
    int rc = 0;
    fansrl *a = mem_alloc(sizeof *a);
    if (!a) return FANS_ENOMEM;
    *a = (fansrl){.o = fans_options(s, "fans"),
                  .fo = fans_options(s, "fnvae"),
                  .info = s->info,
                  .pool = s->pool,
                  .replicas = s->replicas,
                  .worlds = s->worlds,
                  .rows = s->replicas * s->worlds,
                  .d = s->info->obs_dim,
                  .m = s->info->act_dim};
    TRY(check_options(a, s));
    a->n = a->fo->p + a->fo->q;
    a->width = a->o->log_std ? 2 * a->n : a->n;
    TRY(claim(a, s->seeds));
    context c = {.self = a,
                 .width = a->width,
                 .stored = true,
                 .hindsight = a->o->hindsight,
                 .hold = a->o->initial,
                 .held_by = "fans.initial",
                 .free = free_fansrl,
                 .start = start,
                 .look = look,
                 .note = note,
                 .record = record,
                 .plan = plan,
                 .ready = ready,
                 .units = show,
                 .update = update,
                 .state = list_state,
                 .carried = list_carried,
                 .scalars = scalars};
    rc = agent_new(&a->agent, s, &c); /* frees the context when it fails */
    if (rc == 0) *agent_out = a->agent;
    return rc;
out:
    free_fansrl(a);
    return rc;
}

static fans_option_group_fn *const groups[] = {fansrl_option_group, fnvae_option_group,
                                               sac_option_group, replay_option_group, NULL};

/* The model's sizes, and differences because it keeps learning: fewer updates to start with, and a
 * learning rate that keeps up with the policy. */
static const fans_preset presets[] = {
    {"paper", FNVAE_PRESET_PAPER "p = 20\nq = 20\nupdates = 3000\nlr_end = 3e-4\n"},
    {"standard", FNVAE_PRESET_STANDARD "updates = 3000\nlr_end = 3e-4\n"},
    {"small", FNVAE_PRESET_SMALL "p = 4\nq = 4\nupdates = 1500\nlr_end = 3e-4\n"
                                 "[fans]\nmodel_every = 50\nrefresh = 1000\n"},
    {0}};

const fans_algo_def algo_fansrl = {.abi = FANS_ALGO_ABI,
                                   .name = "fans",
                                   .help = "FANS-RL: infers what changes and adapts to it",
                                   .told = FANS_TOLD_BOUNDARIES,
                                   .groups = groups,
                                   .presets = presets,
                                   .open = open_fansrl,
                                   AGENT_FUNCTIONS,
                                   .belief = belief_of,
                                   .leave = leave};
