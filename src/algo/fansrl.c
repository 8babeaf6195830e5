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
 * stale as q_phi learns, so all are refreshed now and then. The policy sees the compact
 * representation (learn/compact.h).
 *
 * From pixels, s is what the retina makes of them (learn/retina.h): it learns in the first half of
 * the initial steps, the FN-VAE in the second. As s keeps drifting, masks stay dense; and policy
 * and critics see frames through networks of their own (learn/pixels.h), and theta. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/json.h"
#include "learn/agent.h"
#include "learn/compact.h"
#include "learn/hypotheses.h"
#include "learn/imagined.h"
#include "learn/inference.h"
#include "learn/pixels.h"
#include "learn/retina.h"

enum { FILTER, PRIOR };       /* the option `belief` */
enum { DECODER, OWN_MODEL };  /* the option `reward_model` */
enum { DEFAULT_FACTORS = 8 }; /* of each kind, unless the options say */

#define FANSRL_OPTIONS(X)                                                                        \
    X(INT, initial, 0, 0, 1000000000,                                                            \
      "steps of a seed with random actions, to learn the graph; 0: 8 windows, at least 5000")    \
    X(INT, model_every, 25, 1, 1000000,                                                          \
      "after the initial steps: steps of a seed between model updates")                          \
    X(INT, model_updates, 1, 0, 1000000, "model updates in a round")                             \
    X(INT, refresh, 500, 0, 1000000000, "steps of a seed between refreshes of stored beliefs")   \
    X(CHOICE, belief, 0, "filter|prior", "correct beliefs by every step, or only predict them")  \
    X(REAL, doubt, 0, 0, 0.5,                                                                    \
      "probability that a segment starts afresh, weighed against carrying on; 0: never")         \
    X(REAL, hazard, 0.005, 0, 0.5,                                                               \
      "train.told = nothing: expected probability of a change in a step; 0: none is looked for") \
    X(CHOICE, points, 0, "bocpd|cusum", "train.told = nothing: how changes are found")           \
    X(FLAG, normalize, true, "show beliefs in units of their overall spread")                    \
    X(REAL, floor, 0.5, 1e-6, 1e6, "lower bound on the belief's scale")                          \
    X(FLAG, log_std, false, "also show the belief's log standard deviations")                    \
    X(INT, hindsight, 1, 0, 1000, "first steps of a segment where critics see the later belief") \
    X(FLAG, compact, true, "hide what has no path to the reward in the graph")                   \
    X(REAL, relabel, 0, 0, 1, "share of a batch learned under other reward factors")             \
    X(CHOICE, reward_model, 1, "decoder|own",                                                    \
      "what gives rewards under other factors: p_beta, or a network that learns with the critics")
OPTIONS_STRUCT(fansrl_options, FANSRL_OPTIONS)
static OPTIONS_GROUP(fansrl_option_group, fansrl_options, "fans", "FANS-RL, the agent that adapts",
                     FANSRL_OPTIONS);

typedef struct fansrl {
    fansrl_options *o;
    fnvae_options *fo;
    const fans_env_info *info;
    const pixels_options *eyes;        /* NULL: s is the observation; else … */
    retina *retina;                    /* … s comes from it */
    int d;                             /* numbers of s */
    int replicas, worlds, rows, width; /* width: numbers of a belief */
    bool untold;                       /* it finds out by itself where segments begin */
    bool episodes;                     /* it is told of episodes, and theta may change within */
    agent *agent;
    inference theta;
    causal_graph *graph;
    compact seen;
    imagined other;   /* what experience under other factors is learned from, … */
    relabel *relabel; /* … if any is */
    bool *graph_left; /* [replicas]: graph.json is written */
    rng *windows;     /* [replicas] */
    pool *pool;
    arena *memory;
} fansrl;

static bool is_graph_fixed(const fansrl *a)
{
    return agent_steps(a->agent) - a->worlds >= a->o->initial;
}

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *self)
{
    fansrl *a = self;
    for (int i = 0; i < a->rows; i++) belief_reset(a->theta.belief, i);
}

static const fans_moment *moment_of(void *self, const fans_moment *told)
{
    return points_moment(((fansrl *)self)->theta.points, told);
}

/* Predicts theta. */
static int look(void *self, const fans_moment *now, float *numbers)
{
    fansrl *a = self;
    int rc = belief_predict(a->theta.belief, now->change);
    inference_beliefs(&a->theta, a->width, numbers);
    return rc;
}

/* The paper's open loop keeps theta as predicted. */
static void undo_correction(fansrl *a, const float *predicted)
{
    if (a->o->belief == FILTER || agent_steps(a->agent) <= a->o->initial) return;
    for (int i = 0; i < a->rows; i++)
        belief_set(a->theta.belief, i, predicted + i * a->width, a->width);
}

static bool any_ended(const fansrl *a, const fans_outcome *o)
{
    bool any = false;
    for (int i = 0; i < a->rows; i++) any = any || o->terminated[i] || o->truncated[i];
    return any;
}

/* Corrects theta by the step. The belief after it is stored only if an episode ends; otherwise do
 * not wait for it: other trainings can use the time. */
static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    fansrl *a = self;
    int rc = inference_note(&a->theta, before, action, o, learn);
    if (rc < 0) return rc;
    if (a->untold) points_ended(a->theta.points, o);
    undo_correction(a, numbers);
    if (!learn || !any_ended(a, o)) return 0;
    belief_finish(a->theta.belief);
    inference_beliefs(&a->theta, a->width, ends);
    return 0;
}

static void keep_weights(const void *self, float *to)
{
    const fansrl *a = self;
    for (int i = 0; i < a->rows; i++) belief_weights(a->theta.belief, i, to + i * HYPOTHESES_KINDS);
}

static void keep_points(const void *self, float *to)
{
    points_keep(((const fansrl *)self)->theta.points, to);
}

static int tick_fansrl(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const fansrl *a = self;
    (void)b;
    if (a->o->doubt > 0)
        return fans_fail(FANS_EINVAL,
                         "fans.doubt = %g: two beliefs are not one program yet; train "
                         "with fans.doubt = 0 to export it",
                         a->o->doubt);
    if (a->untold)
        return fans_fail(FANS_EINVAL,
                         "train.told = nothing: its beliefs are not one program yet; train with "
                         "boundaries or episodes to export it");
    if (!is_graph_fixed(a))
        return fans_fail(FANS_EINVAL,
                         "its causal graph is not found yet: train it for more than fans.initial = "
                         "%d steps",
                         a->o->initial);
    belief_tick(a->theta.belief, a->o->belief == FILTER, t);
    *numbers = nn_slice(t->out[TICK_belief], 0, a->width);
    return 0;
}

static void show(const void *self, int replica, units obs, units theta)
{
    const fansrl *a = self;
    compact_show(&a->seen, replica, a->eyes ? NULL : obs.scale, theta);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Looks at stored frames again, and tells the model. */
static int look_again(fansrl *a)
{
    int rc = agent_look_again(a->agent);
    if (rc == 0) fnvae_observe_again(a->theta.model);
    return rc;
}

enum { SHARE = 8 }; /* of the initial steps before the retina learns */

/* In the first half of the initial steps s is learned; then it stays until their end. */
static int learn_to_see(fansrl *a)
{
    int64_t initial = a->o->initial, half = initial / 2, now = agent_steps(a->agent);
    int rc = 0;
    if (!a->retina || now - a->worlds >= half) return 0;
    fnvae_set_units(a->theta.model);
    TRY(retina_learn(
        a->retina,
        agent_rounds_within(a->agent, initial / SHARE, half, retina_options_of(a->retina)->updates),
        a->pool));
    if (now < half) return 0;
    retina_settle(a->retina);
    TRY(look_again(a));
out:
    return rc;
}

static int keep_learning_to_see(fansrl *a)
{
    int rc = 0;
    if (!a->retina) return 0;
    TRY(retina_learn(a->retina, agent_rounds(a->agent, retina_options_of(a->retina)->every),
                     a->pool));
    if (agent_rounds(a->agent, a->eyes->refresh)) TRY(look_again(a));
out:
    return rc;
}

/* The update that should be done by now: they are spread over the second half of the initial steps.
 */
static int64_t update_due(const fansrl *a)
{
    int64_t half = a->o->initial / 2, rest = a->o->initial - half;
    int64_t lived = agent_steps(a->agent) - half;
    int64_t first = fnvae_first(a->theta.model), last = a->fo->updates;
    if (lived <= 0) return first;
    return lived >= rest ? last : first + (last - first) * lived / rest;
}

/* The units of theta, from the stored beliefs. */
static void find_units(void *self, int r)
{
    fansrl *a = self;
    float mean[FNVAE_MOST], spread[FNVAE_MOST];
    bool scaled = a->o->normalize;
    if (scaled) refresh_measure(a->theta.refresh, r, mean, spread);
    compact_scale(&a->seen, r, scaled ? mean : NULL, scaled ? spread : NULL, a->o->floor);
}

static int refresh_all(fansrl *a)
{
    int rc = a->o->belief == FILTER ? refresh_run(a->theta.refresh, a->pool) : 0;
    if (rc < 0) return rc;
    pool_run(a->pool, a->replicas, find_units, a);
    agent_units_changed(a->agent);
    return 0;
}

/* Stored beliefs, and points by them, and then beliefs that know the points. */
static int find_points(fansrl *a)
{
    int rc = refresh_all(a);
    if (rc < 0 || !a->untold) return rc;
    rc = points_find(a->theta.points, a->pool);
    return rc < 0 ? rc : refresh_all(a);
}

/* Learns model and graph; at the end, fixes the graph and finds the compact representations. */
static int learn_graph(fansrl *a)
{
    int rc = learn_to_see(a);
    int64_t due = update_due(a) - a->theta.model->update;
    if (rc == 0) rc = inference_learn(&a->theta, due, a->windows, a->pool);
    if (rc < 0 || agent_steps(a->agent) < a->o->initial) return rc;
    fnvae_freeze(a->theta.model);
    for (int r = 0; r < a->replicas; r++) {
        causal_graph_of(a->graph, a->theta.model, r);
        imagined_reach(&a->other, r, a->graph);
        compact_find(&a->seen, r, a->o->compact ? a->graph : NULL);
    }
    return find_points(a);
}

/* Whether the steps since the start have doubled. */
static bool is_doubled(const fansrl *a)
{
    int64_t now = agent_steps(a->agent), mark = a->o->initial;
    while (mark > 0 && 2 * mark <= now) mark *= 2;
    return mark > a->o->initial && now - a->worlds < mark;
}

static int update(void *self)
{
    fansrl *a = self;
    a->theta.model->unsure = a->episodes || (a->untold && !points_found(a->theta.points));
    if (!is_graph_fixed(a)) return learn_graph(a);
    if (a->untold) points_split(a->theta.points);
    int seen = keep_learning_to_see(a);
    if (seen < 0) return seen;
    int64_t updates = (int64_t)agent_rounds(a->agent, a->o->model_every) * a->o->model_updates;
    int rc = a->relabel && updates > 0 ? relabel_look(a->relabel, agent_steps(a->agent)) : 0;
    if (rc == 0) rc = inference_learn(&a->theta, updates, a->windows, a->pool);
    if (rc == 0 && a->untold && is_doubled(a)) return find_points(a);
    return rc == 0 && agent_rounds(a->agent, a->o->refresh) ? refresh_all(a) : rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void free_fansrl(void *self)
{
    fansrl *a = self;
    relabel_free(a->relabel);
    inference_free(&a->theta);
    retina_free(a->retina);
    causal_graph_free(a->graph);
    arena_free(a->memory);
    mem_free(a);
}

enum { LEAST_INITIAL = 5000, INITIAL_WINDOWS = 8 }; /* of each world */

/* The window and the initial steps, where the options leave them open: the initial steps hold eight
 * windows. The tasks of all replicas have the same window (shape), so the first speaks for all. */
static int find_sizes(const fans_algo_setup *s, fansrl_options *o, fnvae_options *fo,
                      int *too_short)
{
    int all = INITIAL_WINDOWS * s->worlds;
    int rc = fnvae_find_window(fo, s->moving->list, s->moving->count,
                               o->initial ? o->initial / all : INT_MAX, too_short);
    int64_t initial = (int64_t)all * fo->window;
    if (rc == 0 && o->initial == 0)
        o->initial = (int)(initial > LEAST_INITIAL ? initial : LEAST_INITIAL);
    return rc;
}

static void shape(const fans_algo_setup *s, text *out)
{
    fnvae_options o = {.order = 2};
    int too_short;
    fnvae_find_window(&o, s->moving->list, s->moving->count, INT_MAX, &too_short);
    text_add(out, "window %d\n", o.window);
}

static int check_options(const fansrl *a)
{
    if (a->o->doubt > 0 && (a->fo->mixed || a->o->belief == PRIOR))
        return fans_fail(FANS_EINVAL,
                         "fans.doubt = %g: needs belief = filter and two encoders "
                         "(fnvae.mixed = false)",
                         a->o->doubt);
    if (a->untold && (a->fo->mixed || a->o->belief == PRIOR || a->o->doubt > 0))
        return fans_fail(FANS_EINVAL,
                         "train.told = nothing: fans needs belief = filter, doubt = 0 and two "
                         "encoders (fnvae.mixed = false) to find out what changes");
    if (a->fo->observed)
        return fans_fail(FANS_EINVAL,
                         "fnvae.observed = true: fans infers the factors; to show them "
                         "to an agent, use --algo oracle");
    if (a->o->initial < (int64_t)INITIAL_WINDOWS * a->fo->window * a->worlds)
        return fans_fail(
            FANS_EINVAL,
            "fans.initial = %d: too few steps to learn from; each of %d worlds needs at "
            "least %d windows of fnvae.window = %d steps",
            a->o->initial, a->worlds, INITIAL_WINDOWS, a->fo->window);
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
    fnvae_dims z = {a->d, a->info->act_dim, a->fo->p, a->fo->q};
    points_options look = {(points_rule)a->o->points, a->o->hazard};
    int rc = 0;
    TRY(check_replay(a, r));
    TRY(causal_graph_new(&a->graph, z));
    if (!a->eyes) TRY(causal_graph_name(a->graph, a->info->obs_names, a->info->act_names));
    TRY(inference_record(&a->theta, g, r, 0, a->fo, z, a->o->log_std, a->o->doubt,
                         a->untold ? &look : NULL));
    a->other.model = a->theta.model;
    if (a->retina) TRY(retina_record(a->retina, g, a->theta.model));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    fansrl *a = self;
    int rc = 0;
    if (a->relabel) TRY(relabel_plan(a->relabel, also)); /* SAC does not reach the FN-VAE */
    if (a->retina) TRY(retina_plan(a->retina));
    TRY(inference_plan(&a->theta));
out:
    return rc;
}

static int ready(void *self)
{
    fansrl *a = self;
    int rc = 0;
    if (a->relabel) TRY(relabel_ready(a->relabel));
    if (a->retina) TRY(retina_ready(a->retina));
    TRY(inference_ready(&a->theta));
out:
    return rc;
}

static int claim(fansrl *a, const uint64_t *seeds)
{
    size_t R = (size_t)a->replicas;
    int rc = 0, n = a->fo->p + a->fo->q;
    TRY(arena_new(&a->memory));
    TRY(compact_declare(&a->seen, a->memory, a->replicas, a->d, n, a->width));
    TRY(imagined_declare(&a->other, a->memory, a->replicas, a->d));
    TRY(arena_declare(a->memory, &a->graph_left, R * sizeof *a->graph_left));
    TRY(arena_declare(a->memory, &a->windows, R * sizeof *a->windows));
    TRY(arena_commit(a->memory));
    compact_start(&a->seen, a->replicas);
    for (size_t r = 0; r < R; r++) a->windows[r] = rng_stream(seeds[r], "windows", 0);
out:
    return rc;
}

/* ---- state, curves, files -------------------------------------------------------------------- */

static void list_state(void *self, int r, state_list *s)
{
    fansrl *a = self;
    if (a->untold) points_state(a->theta.points, r, s);
    fnvae_state(a->theta.model, r, s);
    compact_state(&a->seen, r, s);
    state_add_number(s, "fans/windows", FANS_U64, &a->windows[r].drawn);
    imagined_state(&a->other, r, s);
    if (a->relabel) relabel_state(a->relabel, r, s);
    if (a->retina) retina_state(a->retina, r, s);
}

static void list_carried(void *self, int r, state_list *s)
{
    belief_carried(((fansrl *)self)->theta.belief, r, s);
}

static void scalars(void *self, int r, fans_scalar_fn *emit, void *user)
{
    fansrl *a = self;
    fnvae_scalars(a->theta.model, r, emit, user);
    if (a->relabel) relabel_scalars(a->relabel, r, emit, user);
    if (a->retina) retina_scalars(a->retina, r, emit, user);
}

static double changed(void *self, int row, int64_t steps)
{
    const fansrl *a = agent_context(self);
    return a->untold ? points_changed(a->theta.points, row, steps) : NAN;
}

static const float *belief_of(void *self, int row, int *n)
{
    const fansrl *a = agent_context(self);
    *n = a->seen.n;
    return agent_numbers(a->agent, row);
}

/* Before the retina has learned, there is nothing to see. */
static const uint8_t *imagine(void *self, int row)
{
    fansrl *a = agent_context(self);
    return a->retina ? retina_draw(a->retina, agent_saw(a->agent), row) : NULL;
}

/* Writes the graph once it is fixed. */
static int leave(void *self, int r, const char *folder)
{
    fansrl *a = agent_context(self);
    char path[4096];
    if (a->graph_left[r] || !is_graph_fixed(a)) return 0;
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    causal_graph_of(a->graph, a->theta.model, r);
    json_t *found = causal_json(a->graph);
    int rc = found ? json_write_file(path, found) : FANS_ENOMEM;
    json_decref(found);
    a->graph_left[r] = rc == 0;
    return rc;
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static context context_of(fansrl *a)
{
    bool keeps = a->untold || a->o->doubt > 0;
    return (context){.self = a,
                     .width = a->width,
                     .stored = true,
                     .kept = keeps ? HYPOTHESES_KINDS : 0,
                     .keep = a->untold ? keep_points
                             : keeps   ? keep_weights
                                       : NULL,
                     .hindsight = a->o->hindsight,
                     .hold = a->o->initial,
                     .held_by = "fans.initial",
                     .sight = a->retina ? retina_sight(a->retina) : (sight_encoder){0},
                     .relabel = a->relabel,
                     .free = free_fansrl,
                     .start = start,
                     .moment = a->untold ? moment_of : NULL,
                     .look = look,
                     .note = note,
                     .tick = tick_fansrl,
                     .record = record,
                     .plan = plan,
                     .ready = ready,
                     .units = show,
                     .update = update,
                     .state = list_state,
                     .carried = list_carried,
                     .scalars = scalars};
}

static void warn(const fans_algo_setup *s, int right)
{
    const fnvae_options *o = fans_options(s, "fnvae");
    text_add(s->warning,
             "%sfnvae.window = %d spans fewer than %d segments of the slowest clock, and how they "
             "follow "
             "each other is hardly learned; %d steps would do, with fans.initial = %lld or more",
             s->warning->length ? "; " : "", o->window, o->order + 2, right,
             (long long)INITIAL_WINDOWS * right * s->worlds);
}

static int open_eyes(fansrl *a, const fans_algo_setup *s)
{
    if (a->o->relabel > 0)
        return fans_fail(FANS_ENOSUP,
                         "fans.relabel = %g: its models read the state, not pixels; set it to 0",
                         a->o->relabel);
    a->eyes = fans_options(s, "pixels");
    a->fo->structure = false;
    int rc = retina_new(&a->retina, s);
    if (rc == 0) a->d = retina_options_of(a->retina)->state;
    return rc;
}

static int open_fansrl(void **agent_out, const fans_algo_setup *s)
{
    int rc = 0, too_short = 0;
    fansrl *a = mem_alloc(sizeof *a);
    if (!a) return FANS_ENOMEM;
    *a = (fansrl){.o = fans_options(s, "fans"),
                  .fo = fans_options(s, "fnvae"),
                  .info = s->info,
                  .pool = s->pool,
                  .replicas = s->replicas,
                  .worlds = s->worlds,
                  .untold = s->tells == FANS_TELLS_NOTHING,
                  .episodes = s->tells == FANS_TELLS_EPISODES,
                  .rows = s->replicas * s->worlds};
    a->d = s->info->obs_dim;
    if (s->pixels) TRY(open_eyes(a, s));
    if (a->fo->p == 0) a->fo->p = DEFAULT_FACTORS;
    if (a->fo->q == 0) a->fo->q = DEFAULT_FACTORS;
    a->width = (a->fo->p + a->fo->q) * (a->o->log_std ? 2 : 1);
    TRY(find_sizes(s, a->o, a->fo, &too_short));
    TRY(check_options(a));
    TRY(claim(a, s->seeds));
    a->other.width = a->width;
    a->other.own = a->o->reward_model == OWN_MODEL;
    TRY(relabel_new(&a->relabel, s, &a->o->relabel, "fans.relabel", imagined_model(&a->other)));
    a->other.relabel = a->relabel;
    context c = context_of(a);
    rc = agent_new(&a->agent, s, &c); /* frees the context when it fails */
    if (rc == 0 && too_short) warn(s, too_short);
    if (rc == 0) *agent_out = a->agent;
    return rc;
out:
    free_fansrl(a);
    return rc;
}

static fans_option_group_fn *const groups[] = {
    fansrl_option_group, relabel_option_group, fnvae_option_group,  retina_option_group,
    sac_option_group,    pixels_option_group,  replay_option_group, NULL};

/* The model's sizes, and differences because it keeps learning: fewer updates to start with, and a
 * learning rate that keeps up with the policy. */
static const fans_preset presets[] = {
    {"paper", FNVAE_PRESET_PAPER "p = 20\nq = 20\nupdates = 3000\nlr_end = 3e-4\n"},
    {"standard", FNVAE_PRESET_STANDARD "updates = 3000\nlr_end = 3e-4\n"},
    {"classic", FNVAE_PRESET_STANDARD "updates = 3000\nlr_end = 3e-4\n"},
    {"small", FNVAE_PRESET_SMALL "p = 4\nq = 4\nupdates = 1500\nlr_end = 3e-4\n"
                                 "[fans]\nmodel_every = 50\nrefresh = 1000\n"},
    {0}};

const fans_algo_def algo_fansrl = {.abi = FANS_ALGO_ABI,
                                   .name = "fans",
                                   .help = "FANS-RL: infers what changes and adapts to it",
                                   .told = FANS_TOLD_BOUNDARIES,
                                   .wants_pixels = true,
                                   .groups = groups,
                                   .presets = presets,
                                   .open = open_fansrl,
                                   .shape = shape,
                                   AGENT_FUNCTIONS,
                                   .belief = belief_of,
                                   .changed = changed,
                                   .imagine = imagine,
                                   .leave = leave};
