/* trio.c - TS-TRIO with soft actor-critic: infers the true factors, and tracks them from segment to
 * segment (Poiani, Tirinzoni and Restelli 2021).
 *
 * Training labels every step with the true factors z, scaled as the oracle sees them. SAC learns
 * with the true z, and acts on a fresh sample of the posterior N(mu, v) at each step. The posterior
 * comes from a network (learn/trio_net.h) that reads the segment and a prior; the prior of the next
 * segment from Gaussian processes (learn/gp.h) over the posteriors with which past segments ended.
 * When it acts, it never reads the factors.
 *
 * Difference from the original: no meta-training; the network learns from the segments lived. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/agent.h"
#include "learn/gp.h"
#include "learn/online.h"
#include "learn/segments.h"
#include "learn/trio_net.h"
#include "learn/truth.h"

#define TRIO_OPTIONS(X)                                                                        \
    X(INT, lstm, 64, 1, 4096, "units of the LSTM")                                             \
    X(INT, shown, 16, 1, 4096, "units through which SAC sees the factors")                     \
    X(REAL, lr, 1e-3, 1e-8, 1, "learning rate of the inference")                               \
    X(REAL, clip, 1, 0, 1e6, "largest gradient norm; 0: unlimited")                            \
    X(INT, segments, 16, 2, 4096, "segments per update")                                       \
    X(INT, window, 0, 0, 100000, "most steps of a segment per update; 0: the horizon")         \
    X(INT, initial, 5000, 0, 1000000000, "steps of a seed with random actions, to learn from") \
    X(INT, updates, 3000, 0, 1000000000, "updates in the second half of these")                \
    X(INT, model_every, 25, 1, 1000000,                                                        \
      "after the initial steps: steps of a seed between updates")                              \
    X(INT, refit, 10, 1, 1000000, "segments between fits of the Gaussian processes")           \
    X(INT, hindsight, 0, 0, 1000, "first steps of a segment where critics see later factors")
OPTIONS_STRUCT(trio_options, TRIO_OPTIONS)
static OPTIONS_GROUP(trio_option_group, trio_options, "trio",
                     "inference of labelled factors, tracked by Gaussian processes", TRIO_OPTIONS);

/* Least and largest standard deviation of a prior. */
static const double SD_LOW = 0.1, SD_HIGH = 0.55;

/* One world's past: how each segment ended. */
typedef struct past {
    double ends[GP_MOST]; /* of one factor, the oldest first */
    gp_hyper hyper;
} past;

typedef struct trio {
    trio_options *o;
    pool *pool;
    const uint64_t *seeds;
    const fans_movements *moving; /* [replicas] */
    int replicas, worlds, rows, factor_count, n;
    agent *agent;
    trio_net net;
    nn_group *shown;
    segments segments;
    staged mean, log_std, per_step; /* (T, B, ·): priors of a batch, and 1 / steps seen */
    staged counts;                  /* (T, B, 1): which rows the loss counts */
    nn_var cost;
    nn_plan *learn;
    online online; /* carries [mu | log sd | LSTM state] */
    staged here_prior, here_per_step;
    float *prior;          /* (rows, 2 n): [mu0 | log sd0] of the segment */
    int64_t *lived;        /* [rows]: steps of the segment; -1 before the first */
    int64_t *ended;        /* [rows]: segments ended so far */
    past *pasts;           /* [rows][n] */
    rng *samples;          /* [rows] */
    gp_scratch *scratch;   /* [rows] */
    const uint8_t *change; /* of the moment looked at */
    float *shown_cost;     /* [replicas] */
    bool stale;
    arena *memory;
} trio;

/* ---- the prior of a segment ------------------------------------------------------------------ */

static int known(const trio *t, int row)
{
    return t->ended[row] < GP_MOST ? (int)t->ended[row] : GP_MOST;
}

/* Adds how a segment ended. */
static void remember(const trio *t, int row)
{
    int n = known(t, row), full = n == GP_MOST;
    for (int k = 0; k < t->n; k++) {
        past *p = &t->pasts[row * t->n + k];
        if (full) memmove(p->ends, p->ends + 1, (GP_MOST - 1) * sizeof *p->ends);
        p->ends[n - full] = (double)online_of(&t->online, row)[k];
    }
    t->ended[row]++;
}

/* Before anything is known, the prior is as wide as it may be. */
static void expect(void *arg, int row)
{
    trio *t = arg;
    float *prior = t->prior + row * 2 * t->n;
    if (!t->change[row] && t->lived[row] >= 0) return;
    if (t->lived[row] > 0) remember(t, row);
    int n = known(t, row);
    for (int k = 0; k < t->n; k++) {
        past *p = &t->pasts[row * t->n + k];
        gp_answer a = {0, SD_HIGH};
        if (n > 2 && t->ended[row] % t->o->refit == 0)
            p->hyper = gp_fit(&t->scratch[row], p->ends, n);
        if (n > 0) a = gp_next(&t->scratch[row], p->hyper, p->ends, n);
        prior[k] = (float)fmin(fmax(a.mean, -1), 1);
        prior[t->n + k] = (float)log(fmin(fmax(a.sd, SD_LOW), SD_HIGH));
    }
    memcpy(online_of(&t->online, row), prior, 2 * (size_t)t->n * sizeof *prior);
    t->lived[row] = 0;
}

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *self)
{
    trio *t = self;
    for (int i = 0; i < t->rows; i++) {
        online_reset(&t->online, i);
        t->lived[i] = -1;
        t->ended[i] = 0;
    }
    memset(t->pasts, 0, (size_t)(t->rows * t->n) * sizeof *t->pasts);
    for (int i = 0; i < t->rows * t->n; i++) t->pasts[i].hyper = GP_HYPER_DEFAULT;
}

/* Thompson sampling. */
static int look(void *self, const fans_moment *now, float *numbers)
{
    trio *t = self;
    online_finish(&t->online);
    t->change = now->change;
    pool_run(t->pool, t->rows, expect, t);
    for (int i = 0; i < t->rows; i++) {
        const float *q = online_of(&t->online, i);
        for (int k = 0; k < t->n; k++)
            *numbers++ = q[k] + expf(q[t->n + k]) * (float)rng_normal(&t->samples[i]);
    }
    return 0;
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    trio *t = self;
    (void)numbers, (void)ends;
    if (learn) seen_units_observe(&t->segments.units, before, o);
    online_note_all(&t->online, before, action, o);
    for (int i = 0; i < t->rows; i++)
        numbers_of(&t->here_per_step, 0)[i] = 1 / (float)++t->lived[i];
    memcpy(t->here_prior.host, t->prior, (size_t)(t->rows * 2 * t->n) * sizeof(float));
    staged_send(&t->here_prior);
    staged_send(&t->here_per_step);
    return online_begin(&t->online);
}

/* The only place where factors are read. */
static void label(void *self, const fans_moment *before, float *numbers)
{
    const trio *t = self;
    for (int i = 0; i < t->rows; i++)
        truth_show(&t->moving[i / t->worlds], before->factors + i * t->factor_count,
                   numbers + i * t->n);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* A prior for a segment whose factors are z: one that fits, or, in half of the batch, any. */
static void draw_prior(const trio *t, const float *z, bool fits, rng *draw, float *mean,
                       float *log_std)
{
    for (int k = 0; k < t->n; k++) {
        double sd = rng_between(draw, SD_LOW, SD_HIGH);
        double m = fits ? (double)z[k] + sd * rng_normal(draw) : rng_between(draw, -1, 1);
        mean[k] = (float)fmin(fmax(m, -1), 1);
        log_std[k] = (float)log(sd);
    }
}

static void pick(void *self, int replica, int b, int n, rng *draw)
{
    trio *t = self;
    int B = t->o->segments, T = t->segments.T, row = rows_of(&t->segments.at, replica)[b];
    float *mean = numbers_of(&t->mean, replica), *log_std = numbers_of(&t->log_std, replica);
    const float *z = replay_beside_row(t->segments.replay, replica, row, 0);
    draw_prior(t, z, b % 2, draw, mean + b * t->n, log_std + b * t->n);
    for (int s = 0; s < T; s++) {
        size_t at = (size_t)s * (size_t)B + (size_t)b, bytes = (size_t)t->n * sizeof *mean;
        if (s > 0) memcpy(mean + at * (size_t)t->n, mean + b * t->n, bytes);
        if (s > 0) memcpy(log_std + at * (size_t)t->n, log_std + b * t->n, bytes);
        numbers_of(&t->per_step, replica)[at] = 1 / (float)(s + 1);
        numbers_of(&t->counts, replica)[at] = s < n;
    }
}

static int learn(trio *t, int64_t updates)
{
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.lr = t->o->lr;
    adam.clip = t->o->clip;
    for (int64_t i = 0; i < updates && segments_draw(&t->segments, t->pool); i++) {
        staged_send(&t->mean);
        staged_send(&t->log_std);
        staged_send(&t->per_step);
        staged_send(&t->counts);
        TRY(nn_plan_run(t->learn));
        TRY(nn_group_adam(t->net.group, &adam));
        t->stale = true;
    }
out:
    return rc;
}

static int update(void *self)
{
    trio *t = self;
    int64_t first = t->o->initial;
    if (agent_steps(t->agent) > first) return learn(t, agent_rounds(t->agent, t->o->model_every));
    return learn(t, agent_rounds_within(t->agent, first / 2, first, t->o->updates));
}

/* ---- recording ------------------------------------------------------------------------------- */

/* SAC sees tanh(W z); W learns with the critics. */
static nn_var project(void *self, nn_var numbers)
{
    trio *t = self;
    return nn_dense(t->shown, "z", NN_IN(numbers), 1, true, t->o->shown, NN_TANH);
}

static int record_batch(trio *t, nn_graph *g)
{
    int rc = 0, T = t->segments.T, B = t->o->segments;
    TRY(staged_numbers(&t->mean, t->memory, g, "prior mean", T, B, t->n));
    TRY(staged_numbers(&t->log_std, t->memory, g, "prior log_std", T, B, t->n));
    TRY(staged_numbers(&t->per_step, t->memory, g, "per step", T, B, 1));
    TRY(staged_numbers(&t->counts, t->memory, g, "counts", T, B, 1));
    trio_gauss prior = {t->mean.var, t->log_std.var};
    nn_var states = trio_record_states(&t->net, t->segments.seen, prior, NN_NONE, NN_NONE);
    trio_gauss q = trio_record_posterior(&t->net, states, prior, t->per_step.var);
    nn_var z = replay_gather_column(t->segments.replay, 0, t->segments.at.var);
    t->cost = trio_record_cost(q, prior, z, t->per_step.var, t->counts.var);
out:
    return rc;
}

static int record_online(trio *t, nn_graph *g)
{
    int rc = 0, n = t->n, state = 2 * t->o->lstm;
    online_step x;
    TRY(staged_numbers(&t->here_prior, t->memory, g, "prior", 1, t->worlds, 2 * n));
    TRY(staged_numbers(&t->here_per_step, t->memory, g, "per step now", 1, t->worlds, 1));
    TRY(online_record(&t->online, t->memory, g, t->segments.replay, 1, state, &x));
    trio_gauss prior = {nn_slice(t->here_prior.var, 0, n), nn_slice(t->here_prior.var, n, n)};
    seen step = see_steps(&t->segments.units, x.obs, x.action, x.reward, x.next_obs);
    nn_var states = trio_record_states(&t->net, step, prior, x.state, x.change);
    trio_gauss q = trio_record_posterior(&t->net, states, prior, t->here_per_step.var);
    TRY(online_give(&t->online, t->memory, nn_concat(NN_IN(q.mean, q.log_std, states)),
                    2 * n + state));
out:
    return rc;
}

static int record(void *self, nn_graph *g, replay *r)
{
    trio *t = self;
    int rc = 0;
    t->net = (trio_net){nn_group_new(g, "inference"), t->n, t->o->lstm};
    t->shown = nn_group_new(g, "shown");
    TRY(segments_record(&t->segments, t->memory, g, r, t->o->window, t->o->segments, pick, t));
    TRY(record_batch(t, g));
    TRY(record_online(t, g));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    trio *t = self;
    int rc = 0;
    also->with_critic[also->with_critic_count++] = t->shown;
    TRY(nn_plan_new(&t->learn, t->online.g, &t->cost, 1, 1, &t->net.group, 1));
    TRY(online_plan(&t->online));
out:
    return rc;
}

static int ready(void *self)
{
    trio *t = self;
    size_t rows = (size_t)t->rows;
    int rc = 0;
    TRY(arena_declare(t->memory, &t->prior, rows * 2 * (size_t)t->n * sizeof *t->prior));
    TRY(arena_declare(t->memory, &t->lived, rows * sizeof *t->lived));
    TRY(arena_declare(t->memory, &t->ended, rows * sizeof *t->ended));
    TRY(arena_declare(t->memory, &t->pasts, rows * (size_t)t->n * sizeof *t->pasts));
    TRY(arena_declare(t->memory, &t->samples, rows * sizeof *t->samples));
    TRY(arena_declare(t->memory, &t->scratch, rows * sizeof *t->scratch));
    TRY(arena_declare(t->memory, &t->shown_cost, (size_t)t->replicas * sizeof *t->shown_cost));
    TRY(arena_commit(t->memory));
    segments_start(&t->segments, t->seeds);
    for (int i = 0; i < t->rows; i++)
        t->samples[i] = rng_stream(t->seeds[i / t->worlds], "trio", (uint32_t)(i % t->worlds));
out:
    return rc;
}

static void free_trio(void *self)
{
    trio *t = self;
    segments_free(&t->segments);
    arena_free(t->memory);
    mem_free(t);
}

/* ---- state and curves ------------------------------------------------------------------------ */

static int read_cost(void *self)
{
    trio *t = self;
    if (t->stale) nn_read_all(t->cost, t->shown_cost);
    t->stale = false;
    return 0;
}

static void list_state(void *self, int r, state_list *s)
{
    trio *t = self;
    state_on_save(s, read_cost, t);
    state_add_trained(s, t->net.group, r);
    state_add_trained(s, t->shown, r);
    segments_state(&t->segments, r, s);
    state_add_number(s, "trio/cost", FANS_F32, t->shown_cost + r);
}

static void list_carried(void *self, int r, state_list *s)
{
    trio *t = self;
    int first = r * t->worlds;
    int64_t W = t->worlds, n = t->n;
    char name[32];
    online_carried(&t->online, r, "trio/carried", s);
    state_add(s, "trio/prior", FANS_F32, 2, (int64_t[]){W, 2 * n}, t->prior + first * 2 * n);
    state_add(s, "trio/lived", FANS_I64, 1, &W, t->lived + first);
    state_range(s, -1, STATE_COUNT);
    state_add(s, "trio/ended", FANS_I64, 1, &W, t->ended + first);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "trio/pasts", FANS_F64, 3, (int64_t[]){W, n, sizeof(past) / sizeof(double)},
              t->pasts + first * n);
    for (int w = 0; w < W; w++) {
        snprintf(name, sizeof name, "trio/samples.%d", w);
        state_add_number(s, name, FANS_U64, &t->samples[first + w].drawn);
    }
}

static void scalars(void *self, int r, fans_scalar_fn *emit, void *user)
{
    trio *t = self;
    read_cost(t);
    emit(user, "model/inference", (double)t->shown_cost[r]);
}

/* mu; where nothing moves there is nothing to infer. */
static const float *belief_of(void *self, int row, int *n)
{
    const trio *t = agent_context(self);
    *n = t ? t->n : 0;
    return t ? online_of(&t->online, row) : NULL;
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static void shape(const fans_algo_setup *setup, text *out)
{
    text_add(out, "%d numbers inferred", truth_width_of_all(setup->moving));
}

static context context_of(trio *t)
{
    return (context){.self = t,
                     .width = t->n,
                     .stored = true,
                     .hindsight = t->o->hindsight,
                     .hold = t->o->initial,
                     .held_by = "trio.initial",
                     .free = free_trio,
                     .start = start,
                     .look = look,
                     .note = note,
                     .label = label,
                     .record = record,
                     .plan = plan,
                     .ready = ready,
                     .project = project,
                     .update = update,
                     .state = list_state,
                     .carried = list_carried,
                     .scalars = scalars};
}

static int open_trio(void **out, const fans_algo_setup *s)
{
    if (truth_width_of_all(s->moving) == 0) return agent_new((agent **)out, s, NULL);
    trio *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    *t = (trio){.o = fans_options(s, "trio"),
                .pool = s->pool,
                .seeds = s->seeds,
                .moving = s->moving,
                .replicas = s->replicas,
                .worlds = s->worlds,
                .rows = s->replicas * s->worlds,
                .factor_count = s->info->factor_count,
                .n = truth_width_of_all(s->moving)};
    if (t->o->window == 0) t->o->window = s->info->horizon;
    int rc = arena_new(&t->memory);
    if (rc < 0) {
        free_trio(t);
        return rc;
    }
    context c = context_of(t);
    rc = agent_new(&t->agent, s, &c); /* frees the context when it fails */
    if (rc == 0) *out = t->agent;
    return rc;
}

static fans_option_group_fn *const groups[] = {trio_option_group, sac_option_group,
                                               replay_option_group, NULL};

static const fans_preset presets[] = {{"paper", "[trio]\nshown = 40\n"},
                                      {"standard", ""},
                                      {"classic", ""},
                                      {"small", "[trio]\nupdates = 1500\nmodel_every = 50\n"},
                                      {0}};

const fans_algo_def algo_trio = {.abi = FANS_ALGO_ABI,
                                 .name = "trio",
                                 .help = "TS-TRIO: infers labelled factors and tracks them",
                                 .told = FANS_TOLD_LABELS,
                                 .piecewise = true,
                                 .groups = groups,
                                 .presets = presets,
                                 .open = open_trio,
                                 .shape = shape,
                                 AGENT_FUNCTIONS,
                                 .belief = belief_of};
