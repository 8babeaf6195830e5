/* varibad.c - VariBAD with soft actor-critic: a belief about one latent per segment (Zintgraf et
 * al. 2020; off-policy as BOReL, Dorfman et al. 2021).
 *
 * The belief starts anew with every segment, and every step corrects it. The policy sees the state
 * and the belief (mu, log sigma²), never the latent. Encoder and decoders learn by the ELBO alone
 * (learn/varibad_net.h): no gradient of SAC reaches them. So it is an agent whose context is
 * stored, and refreshed now and then, because stored beliefs grow stale as the encoder learns.
 *
 * Differences from the original: tasks are the segments of one life, with no meta-training; an LSTM
 * replaces the GRU; decoders predict the change of state, too. */
#include <math.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "learn/agent.h"
#include "learn/online.h"
#include "learn/segments.h"
#include "learn/sweep.h"
#include "learn/varibad_net.h"

#define VARIBAD_OPTIONS(X)                                                                       \
    X(INT, latents, 16, 1, 128, "numbers of a segment's latent")                                 \
    X(INT, lstm, 128, 1, 4096, "units of the encoder's LSTM")                                    \
    X(FLAG, gain, false, "latents scale the effect of other inputs in the decoders")             \
    X(REAL, beta, 0.1, 0, 1000, "weight of the KL divergence")                                   \
    X(REAL, lr, 1e-3, 1e-8, 1, "learning rate of encoder and decoders")                          \
    X(REAL, clip, 1, 0, 1e6, "largest gradient norm; 0: unlimited")                              \
    X(INT, segments, 8, 1, 4096, "segments per update")                                          \
    X(INT, window, 0, 0, 100000, "most steps of a segment per update; 0: the horizon")           \
    X(INT, initial, 5000, 0, 1000000000, "steps of a seed with random actions, to learn from")   \
    X(INT, updates, 3000, 0, 1000000000, "updates in the second half of these")                  \
    X(INT, model_every, 25, 1, 1000000,                                                          \
      "after the initial steps: steps of a seed between updates")                                \
    X(INT, refresh, 500, 0, 1000000000, "steps of a seed between refreshes of stored beliefs")   \
    X(INT, hindsight, 0, 0, 1000, "first steps of a segment where critics see the later belief") \
    X(REAL, floor, 0.5, 1e-6, 1e6, "lower bound on the belief's scale")
OPTIONS_STRUCT(varibad_options, VARIBAD_OPTIONS)
static OPTIONS_GROUP(varibad_option_group, varibad_options, "varibad",
                     "a belief about one latent per segment", VARIBAD_OPTIONS);

enum { REWARD, STEP, KL, COSTS };
enum { SWEEP_WINDOWS = 16 };

typedef struct varibad {
    varibad_options *o;
    pool *pool;
    const uint64_t *seeds;         /* [replicas] */
    int replicas, worlds, rows, n; /* n: latents */
    agent *agent;
    varibad_net net;
    segments segments;
    staged decoded; /* (T, B, 1): the row to predict from the belief before row t */
    nn_var cost[COSTS];
    nn_plan *learn;
    online online;  /* carries [mu | log var | LSTM state] */
    uint8_t *began; /* [rows]: 0 until the lifetime's first step */
    nn_var prior;   /* (1, worlds, 2 n): the belief in the empty state */
    nn_plan *priors;
    float *prior_host; /* (rows, 2 n) */
    replay *replay;
    sweep *sweep;
    int T;                   /* steps of a sweep's window */
    staged at, next, change; /* (T, SWEEP_WINDOWS, 1) */
    nn_var reached;          /* (T, SWEEP_WINDOWS, 2 n) */
    nn_plan *infer;
    float *reached_host;
    float *shift, *scale; /* (replicas, 2 n): units of beliefs */
    float *shown;         /* (costs, replicas) of the last update */
    bool stale;
    arena *memory;
} varibad;

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *self)
{
    varibad *v = self;
    for (int i = 0; i < v->rows; i++) online_reset(&v->online, i);
    memset(v->began, 0, (size_t)v->rows);
}

/* The belief in the empty state. */
static int find_prior(varibad *v)
{
    int rc = nn_plan_run(v->priors);
    if (rc == 0) nn_read_all(v->prior, v->prior_host);
    return rc;
}

static int look(void *self, const fans_moment *now, float *numbers)
{
    varibad *v = self;
    size_t bytes = 2 * (size_t)v->n * sizeof *numbers;
    bool any = false;
    int rc = 0;
    online_finish(&v->online);
    for (int i = 0; i < v->rows; i++) any = any || now->change[i] || !v->began[i];
    if (any) TRY(find_prior(v));
    for (int i = 0; i < v->rows; i++) {
        bool first = now->change[i] || !v->began[i];
        if (first) memcpy(online_of(&v->online, i), v->prior_host + i * 2 * v->n, bytes);
        memcpy(numbers + i * 2 * v->n, online_of(&v->online, i), bytes);
        v->began[i] = 1;
    }
out:
    return rc;
}

/* Corrects the belief by the step; an episode's last row has the belief after it. */
static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    varibad *v = self;
    (void)numbers;
    if (learn) seen_units_observe(&v->segments.units, before, o);
    online_note_all(&v->online, before, action, o);
    int rc = online_begin(&v->online);
    if (rc < 0 || !learn) return rc;
    for (int i = 0; i < v->rows; i++) {
        if (!o->terminated[i] && !o->truncated[i]) continue;
        online_finish(&v->online);
        memcpy(ends + i * 2 * v->n, online_of(&v->online, i), 2 * (size_t)v->n * sizeof *ends);
    }
    return 0;
}

static void show(const void *self, int replica, units obs, units belief)
{
    const varibad *v = self;
    size_t at = (size_t)replica * 2 * (size_t)v->n, bytes = 2 * (size_t)v->n * sizeof(float);
    (void)obs;
    memcpy(belief.shift, v->shift + at, bytes);
    memcpy(belief.scale, v->scale + at, bytes);
}

/* ---- stored beliefs -------------------------------------------------------------------------- */

static size_t place(int b, int t)
{
    return (size_t)t * SWEEP_WINDOWS + (size_t)b;
}

static void take_window(void *self, int replica, int b, const replay_step *steps)
{
    varibad *v = self;
    for (int t = 0; t < v->T; t++) {
        rows_of(&v->at, replica)[place(b, t)] = steps[t].at;
        rows_of(&v->next, replica)[place(b, t)] = steps[t].next;
        numbers_of(&v->change, replica)[place(b, t)] = steps[t].change;
    }
}

static int infer(void *self)
{
    varibad *v = self;
    staged_send(&v->at);
    staged_send(&v->next);
    staged_send(&v->change);
    int rc = nn_plan_run(v->infer);
    if (rc == 0) nn_read_all(v->reached, v->reached_host);
    return rc;
}

static void keep(void *self, int replica, int b, int t, int lane, int i)
{
    varibad *v = self;
    size_t row = (size_t)replica * (size_t)v->T * SWEEP_WINDOWS + place(b, t);
    sweep_keep(v->replay, 0, lane, i, v->reached_host + row * 2 * (size_t)v->n,
               v->prior_host + lane * 2 * v->n);
}

/* One unit for all means keeps those that carry nothing small; log variances are near their mean.
 */
static void find_units(void *self, int r)
{
    varibad *v = self;
    int n = v->n;
    float mean[SWEEP_MOST], spread[SWEEP_MOST];
    float *shift = v->shift + r * 2 * n, *scale = v->scale + r * 2 * n;
    double variance = 0;
    sweep_measure(v->replay, 0, r, 2 * n, mean, spread);
    for (int k = 0; k < n; k++) variance += (double)spread[k] * (double)spread[k];
    for (int k = 0; k < 2 * n; k++) {
        shift[k] = -mean[k];
        scale[k] = k < n ? (float)(1 / fmax(sqrt(variance), v->o->floor)) : 0.5f;
    }
}

static int refresh(varibad *v)
{
    int rc = 0;
    TRY(find_prior(v));
    TRY(sweep_run(v->sweep, 0, v->pool));
    pool_run(v->pool, v->replicas, find_units, v);
    agent_units_changed(v->agent);
out:
    return rc;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* From every belief, a random step of the segment. */
static void pick(void *self, int replica, int b, int n, rng *draw)
{
    varibad *v = self;
    int32_t *to = rows_of(&v->decoded, replica) + b;
    for (int t = 0; t < v->segments.T; t++)
        to[t * v->o->segments] = t <= n ? (int32_t)rng_below(draw, (uint32_t)n) : -1;
}

static int learn(varibad *v, int64_t updates)
{
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.lr = v->o->lr;
    adam.clip = v->o->clip;
    for (int64_t i = 0; i < updates && segments_draw(&v->segments, v->pool); i++) {
        staged_send(&v->decoded);
        TRY(nn_plan_run(v->learn));
        TRY(nn_group_adam(v->net.encoder, &adam));
        TRY(nn_group_adam(v->net.decoder, &adam));
        v->stale = true;
    }
out:
    return rc;
}

static int update(void *self)
{
    varibad *v = self;
    int64_t first = v->o->initial, steps = agent_steps(v->agent);
    bool early = steps <= first, done = early && steps > first - v->worlds;
    int64_t due = early ? agent_rounds_within(v->agent, first / 2, first, v->o->updates)
                        : agent_rounds(v->agent, v->o->model_every);
    int rc = learn(v, due);
    if (rc < 0 || (early && !done)) return rc;
    return done || agent_rounds(v->agent, v->o->refresh) ? refresh(v) : 0;
}

/* ---- recording ------------------------------------------------------------------------------- */

static nn_var belief_in(const varibad *v, nn_var states)
{
    varibad_belief q = varibad_record_belief(&v->net, states);
    return nn_concat(NN_IN(q.mean, nn_affine(q.log_std, 2, 0)));
}

static int record_online(varibad *v, nn_graph *g)
{
    int rc = 0, state = 2 * v->o->lstm;
    online_step x;
    TRY(online_record(&v->online, v->memory, g, v->replay, 1, state, &x));
    seen step = see_steps(&v->segments.units, x.obs, x.action, x.reward, x.next_obs);
    nn_var states = varibad_record_states(&v->net, step, x.state, x.change);
    nn_var out = nn_concat(NN_IN(belief_in(v, states), states));
    TRY(online_give(&v->online, v->memory, out, 2 * v->n + state));
    v->prior = belief_in(v, nn_affine(x.state, 0, 0));
out:
    return rc;
}

/* The step is taken in, then the prior replaces the belief where a segment or a life begins. */
static int tick_varibad(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const varibad *v = self;
    int n = v->n;
    nn_var lived = t->in[TICK_seen], change = t->in[TICK_change];
    tick_slot *obs = tick_carry(t, "obs before", nn_shape_of(t->in[TICK_obs]).D);
    tick_slot *began = tick_carry(t, "began", 1), *segment = tick_carry(t, "change", 1);
    tick_slot *belief = tick_carry(t, "belief", 2 * n);
    tick_slot *state = tick_carry(t, "state", 2 * v->o->lstm);
    seen step = see_steps(&v->segments.units, obs->before, t->in[TICK_last_action],
                          t->in[TICK_reward], t->in[TICK_obs]);
    nn_var after = varibad_record_states(&v->net, step, state->before, segment->before);
    nn_var first = tick_not(nn_mul(began->before, tick_not(change)));
    (void)b;
    obs->after = t->in[TICK_obs];
    segment->after = change;
    began->after = nn_affine(lived, 0, 1);
    state->after = tick_choose(lived, after, state->before);
    nn_var corrected = tick_choose(lived, belief_in(v, after), belief->before);
    nn_var prior = belief_in(v, nn_affine(state->before, 0, 0));
    *numbers = belief->after = tick_choose(first, prior, corrected);
    t->out[TICK_belief] =
        nn_concat(NN_IN(nn_slice(*numbers, 0, n), nn_affine(nn_slice(*numbers, n, n), 0.5, 0)));
    return 0;
}

static int record_sweep(varibad *v, nn_graph *g)
{
    int rc = 0, T = v->T, B = SWEEP_WINDOWS;
    TRY(staged_rows(&v->at, v->memory, g, "sweep at", T, B, 1));
    TRY(staged_rows(&v->next, v->memory, g, "sweep next", T, B, 1));
    TRY(staged_numbers(&v->change, v->memory, g, "sweep change", T, B, 1));
    seen steps = see_rows(&v->segments.units, v->at.var, v->next.var);
    v->reached = belief_in(v, varibad_record_states(&v->net, steps, NN_NONE, v->change.var));
out:
    return rc;
}

static int record(void *self, nn_graph *g, replay *r)
{
    varibad *v = self;
    int rc = 0, most = v->o->window, B = v->o->segments;
    v->replay = r;
    v->T = 2 * most;
    v->net = (varibad_net){nn_group_new(g, "encoder"), nn_group_new(g, "decoder"), v->n, v->o->lstm,
                           v->o->gain};
    TRY(segments_record(&v->segments, v->memory, g, r, most, B, pick, v));
    TRY(staged_rows(&v->decoded, v->memory, g, "decoded", most + 1, B, 1));
    varibad_costs c =
        varibad_record_costs(&v->net, v->segments.seen, v->decoded.var, v->segments.weight.var);
    v->cost[REWARD] = c.reward;
    v->cost[STEP] = c.step;
    v->cost[KL] = nn_affine(c.kl, v->o->beta, 0);
    TRY(record_online(v, g));
    TRY(record_sweep(v, g));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    varibad *v = self;
    nn_graph *g = v->online.g;
    nn_group *groups[] = {v->net.encoder, v->net.decoder};
    int rc = 0;
    (void)also; /* SAC does not reach the encoder */
    TRY(nn_plan_new(&v->learn, g, v->cost, COSTS, COSTS, groups, 2));
    TRY(nn_plan_new(&v->priors, g, &v->prior, 1, 0, NULL, 0));
    TRY(nn_plan_new(&v->infer, g, &v->reached, 1, 0, NULL, 0));
    TRY(online_plan(&v->online));
out:
    return rc;
}

static int ready(void *self)
{
    varibad *v = self;
    size_t belief = 2 * (size_t)v->n * sizeof(float), R = (size_t)v->replicas;
    sweep_user user = {v, take_window, infer, keep};
    int rc = 0;
    TRY(arena_declare(v->memory, &v->began, (size_t)v->rows));
    TRY(arena_declare(v->memory, &v->prior_host, (size_t)v->rows * belief));
    TRY(arena_declare(v->memory, &v->reached_host, R * (size_t)v->T * SWEEP_WINDOWS * belief));
    TRY(arena_declare(v->memory, &v->shift, R * belief));
    TRY(arena_declare(v->memory, &v->scale, R * belief));
    TRY(arena_declare(v->memory, &v->shown, COSTS * R * sizeof *v->shown));
    TRY(arena_commit(v->memory));
    TRY(sweep_new(&v->sweep, v->replay, v->T, SWEEP_WINDOWS, v->T / 2, user));
    segments_start(&v->segments, v->seeds);
    for (size_t k = 0; k < R * 2 * (size_t)v->n; k++) v->scale[k] = 1;
out:
    return rc;
}

static void free_varibad(void *self)
{
    varibad *v = self;
    sweep_free(v->sweep);
    segments_free(&v->segments);
    arena_free(v->memory);
    mem_free(v);
}

/* ---- state and curves ------------------------------------------------------------------------ */

static int read_costs(void *self)
{
    varibad *v = self;
    for (int i = 0; v->stale && i < COSTS; i++) nn_read_all(v->cost[i], v->shown + i * v->replicas);
    v->stale = false;
    return 0;
}

static void list_state(void *self, int r, state_list *s)
{
    varibad *v = self;
    int64_t n = 2 * v->n;
    state_on_save(s, read_costs, v);
    state_add_trained(s, v->net.encoder, r);
    state_add_trained(s, v->net.decoder, r);
    segments_state(&v->segments, r, s);
    state_add(s, "varibad/shift", FANS_F32, 1, &n, v->shift + r * n);
    state_add(s, "varibad/scale", FANS_F32, 1, &n, v->scale + r * n);
    state_add_number(s, "varibad/reward", FANS_F32, v->shown + REWARD * v->replicas + r);
    state_add_number(s, "varibad/step", FANS_F32, v->shown + STEP * v->replicas + r);
    state_add_number(s, "varibad/kl", FANS_F32, v->shown + KL * v->replicas + r);
}

static void list_carried(void *self, int r, state_list *s)
{
    varibad *v = self;
    online_carried(&v->online, r, "varibad/carried", s);
    state_add(s, "varibad/began", FANS_U8, 1, (int64_t[]){v->worlds}, v->began + r * v->worlds);
}

static void scalars(void *self, int r, fans_scalar_fn *emit, void *user)
{
    varibad *v = self;
    read_costs(v);
    emit(user, "model/rec_rw", (double)v->shown[REWARD * v->replicas + r]);
    emit(user, "model/rec_dyn", (double)v->shown[STEP * v->replicas + r]);
    emit(user, "model/kl", (double)v->shown[KL * v->replicas + r]);
}

static const float *belief_of(void *self, int row, int *n)
{
    const varibad *v = agent_context(self);
    *n = v->n;
    return agent_numbers(v->agent, row);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static context context_of(varibad *v)
{
    return (context){.self = v,
                     .width = 2 * v->n,
                     .stored = true,
                     .hindsight = v->o->hindsight,
                     .hold = v->o->initial,
                     .held_by = "varibad.initial",
                     .free = free_varibad,
                     .start = start,
                     .look = look,
                     .note = note,
                     .tick = tick_varibad,
                     .record = record,
                     .plan = plan,
                     .ready = ready,
                     .units = show,
                     .update = update,
                     .state = list_state,
                     .carried = list_carried,
                     .scalars = scalars};
}

static int open_varibad(void **out, const fans_algo_setup *s)
{
    varibad *v = mem_alloc(sizeof *v);
    if (!v) return FANS_ENOMEM;
    *v = (varibad){.o = fans_options(s, "varibad"),
                   .pool = s->pool,
                   .seeds = s->seeds,
                   .replicas = s->replicas,
                   .worlds = s->worlds,
                   .rows = s->replicas * s->worlds};
    v->n = v->o->latents;
    if (v->o->window == 0) v->o->window = s->info->horizon;
    int rc = arena_new(&v->memory);
    if (rc < 0) {
        free_varibad(v);
        return rc;
    }
    context c = context_of(v);
    rc = agent_new(&v->agent, s, &c); /* frees the context when it fails */
    if (rc == 0) *out = v->agent;
    return rc;
}

static fans_option_group_fn *const groups[] = {varibad_option_group, sac_option_group,
                                               replay_option_group, NULL};

static const fans_preset presets[] = {
    {"paper", "[varibad]\nlatents = 40\n"},
    {"standard", ""},
    {"classic", ""},
    {"small", "[varibad]\nlatents = 8\nlstm = 64\nupdates = 1500\n"
              "model_every = 50\nrefresh = 1000\n"},
    {0}};

const fans_algo_def algo_varibad = {.abi = FANS_ALGO_ABI,
                                    .name = "varibad",
                                    .help = "VariBAD: a belief about one latent per segment",
                                    .told = FANS_TOLD_BOUNDARIES,
                                    .piecewise = true,
                                    .groups = groups,
                                    .presets = presets,
                                    .open = open_varibad,
                                    AGENT_FUNCTIONS,
                                    .belief = belief_of};
