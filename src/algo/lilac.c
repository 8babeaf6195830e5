/* lilac.c - LILAC: each episode has a latent, and the next one can be predicted (Xie, Harrison and
 * Finn 2020).
 *
 * The latent z of an episode is the mean of its steps' codes (learn/lilac_net.h). SAC learns with
 * it: a batch is some steps each of some episodes, and the critics' loss reaches the encoder, the
 * policy's does not. An LSTM over the latents of past episodes, the prior, predicts the next one.
 * The agent acts on this prediction for a whole episode, so it infers nothing within an episode.
 * What it acted on is stored with the rows; there the KL divergence finds it.
 *
 * The encoder changes, so latents and predictions grow stale: now and then all steps of the replay
 * are encoded again (learn/foresight.h).
 *
 * Differences from the original: an encoder that ends in tanh; a linear layer after the prior's
 * LSTM; one optimiser for the sum of the encoder's losses instead of three; the decoder also
 * predicts the change of state. */
#include <math.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "learn/agent.h"
#include "learn/foresight.h"
#include "learn/online.h"

#define LILAC_OPTIONS(X)                                                                        \
    X(INT, latents, 16, 1, SWEEP_MOST, "numbers of an episode's latent")                        \
    X(FLAG, gain, false, "latents scale the effect of other inputs in the decoder")             \
    X(INT, episodes, 32, 1, 4096, "episodes per update")                                        \
    X(INT, steps, 8, 1, 1000, "steps of each of them")                                          \
    X(REAL, lr, 1e-3, 1e-8, 1, "learning rate of encoder, decoder and prior")                   \
    X(REAL, critic, 0.01, 0, 1000,                                                              \
      "weight of the critics' loss for the encoder, rewards normalised")                        \
    X(REAL, beta, 1, 0, 1000, "largest weight of the KL divergence")                            \
    X(REAL, beta_rise, 1e-6, 0, 1, "growth of this weight per step of a seed, from 0")          \
    X(INT, initial, 10000, 0, 1000000000, "steps of a seed with random actions, to learn from") \
    X(INT, updates, 5000, 0, 1000000000, "updates in the second half of these, without SAC")    \
    X(INT, recall, 200, 1, 100000,                                                              \
      "last episodes from which the prior predicts, at most `history`")                         \
    X(INT, history, 1000, 1, 100000, "last episodes from which the prior learns")               \
    X(INT, refresh, 500, 0, 1000000000, "steps of a seed between refreshes of latents")         \
    X(REAL, floor, 0.1, 1e-6, 1e6, "lower bound on the latents' scale")
OPTIONS_STRUCT(lilac_options, LILAC_OPTIONS)
static OPTIONS_GROUP(lilac_option_group, lilac_options, "lilac",
                     "a latent per episode, predicted from those before", LILAC_OPTIONS);

enum { REWARD, STEP, PRIOR, KL, COSTS };
enum { WINDOWS = 4, WINDOW = 72 }; /* of latents, from which the prior learns */

typedef struct lilac {
    lilac_options *o;
    pool *pool;
    const uint64_t *seeds;
    int replicas, worlds, rows, n; /* n: latents */
    double sac_lr;
    agent *agent;
    replay *replay;
    lilac_net net;
    seen_units units;

    staged at, next;            /* (steps, episodes, 1): a batch */
    staged past, coming, count; /* (WINDOW, WINDOWS, ·): latents, the next ones, which count */
    staged beta;
    nn_var z; /* (steps, episodes, n) */
    nn_var cost[COSTS];
    nn_plan *learn;
    rng *draws; /* [replicas] */

    online online;  /* carries the sum of the episode's codes */
    int64_t *lived; /* [rows]: its steps */
    foresight foresight;
    arena *memory;
} lilac;

static size_t bytes_of(const lilac *l)
{
    return (size_t)l->n * sizeof(float);
}

/* ---- living ---------------------------------------------------------------------------------- */

static void start(void *self)
{
    lilac *l = self;
    for (int i = 0; i < l->rows; i++) {
        online_reset(&l->online, i);
        episodes_clear(&l->foresight.episodes, i);
        l->lived[i] = 0;
    }
}

/* Its latent is the mean of its codes. */
static void end_episode(lilac *l, int row)
{
    float *sum = online_of(&l->online, row);
    for (int k = 0; k < l->n; k++) sum[k] /= (float)l->lived[row];
    episodes_add(&l->foresight.episodes, row, sum);
    online_reset(&l->online, row);
    l->lived[row] = 0;
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    lilac *l = self;
    bool any = false;
    int rc = 0;
    (void)ends;
    if (learn) seen_units_observe(&l->units, before, o);
    online_note_all(&l->online, before, action, o);
    TRY(online_begin(&l->online));
    for (int i = 0; i < l->rows; i++) {
        l->lived[i]++;
        if (!o->terminated[i] && !o->truncated[i]) continue;
        online_finish(&l->online);
        end_episode(l, i);
        any = true;
    }
    if (any) TRY(foresight_next(&l->foresight));
    for (int i = 0; any && i < l->rows; i++)
        if (l->lived[i] == 0)
            memcpy(numbers + i * l->n, foresight_of(&l->foresight, i), bytes_of(l));
out:
    return rc;
}

/* An episode has ended where none is seen to continue. The prior's state is carried on, so it also
 * knows episodes from before the last `recall`. */
static int tick_lilac(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const lilac *l = self;
    nn_var lived = t->in[TICK_seen];
    tick_slot *obs = tick_carry(t, "obs before", nn_shape_of(t->in[TICK_obs]).D);
    tick_slot *sum = tick_carry(t, "sum of codes", l->n), *steps = tick_carry(t, "steps", 1);
    tick_slot *prior = tick_carry(t, "prior", 2 * l->n), *latent = tick_carry(t, "latent", l->n);
    seen step = see_steps(&l->units, obs->before, t->in[TICK_last_action], t->in[TICK_reward],
                          t->in[TICK_obs]);
    nn_var ended = nn_mul(tick_not(lived), nn_clip(steps->before, 0, 1));
    nn_var mean = nn_mul(sum->before, tick_inverse(t, nn_clip(steps->before, 1, 1e9)));
    nn_var states = lilac_record_states(&l->net, mean, prior->before);
    nn_var code = nn_mul(lilac_record_codes(&l->net, step), lived);
    (void)b;
    obs->after = t->in[TICK_obs];
    sum->after = nn_add(nn_mul(sum->before, tick_not(ended)), code);
    steps->after = nn_add(nn_mul(steps->before, tick_not(ended)), lived);
    prior->after = tick_choose(ended, states, prior->before);
    latent->after = tick_choose(ended, lilac_record_expected(&l->net, states), latent->before);
    *numbers = latent->after;
    return 0;
}

static void show(const void *self, int replica, units obs, units latent)
{
    const lilac *l = self;
    (void)obs;
    memcpy(latent.shift, l->foresight.shift + replica * l->n, bytes_of(l));
    memcpy(latent.scale, l->foresight.scale + replica * l->n, bytes_of(l));
}

/* ---- batches --------------------------------------------------------------------------------- */

/* A stretch of a lifetime's latents for the prior. It starts with an empty state, so the first rows
 * do not count, unless the state really was empty. */
static void draw_window(lilac *l, int replica, int b, rng *stream)
{
    const episodes *e = &l->foresight.episodes;
    int row = replica * l->worlds + (int)rng_below(stream, (uint32_t)l->worlds);
    int known = episodes_known(e, row), more = known - WINDOW, stride = WINDOWS * l->n;
    int from = more > 0 ? (int)rng_below(stream, (uint32_t)more) : 0;
    bool born = from == 0 && e->lived[row] <= e->most;
    episodes_copy(e, row, from, WINDOW, numbers_of(&l->past, replica) + b * l->n, stride);
    episodes_copy(e, row, from + 1, WINDOW, numbers_of(&l->coming, replica) + b * l->n, stride);
    for (int t = 0; t < WINDOW; t++)
        numbers_of(&l->count, replica)[t * WINDOWS + b] =
            from + t + 1 < known && (born || t >= FORESIGHT_WARM_UP);
}

static void draw_batch(lilac *l, int replica, rng *stream)
{
    replay_draw_episodes(l->replay, replica, stream, l->o->episodes, l->o->steps,
                         rows_of(&l->at, replica), rows_of(&l->next, replica));
    for (int b = 0; b < WINDOWS; b++) draw_window(l, replica, b, stream);
}

static void draw(void *self, int replica, rng *stream, int32_t *at, int32_t *next, float *weight)
{
    lilac *l = self;
    draw_batch(l, replica, stream);
    memcpy(at, rows_of(&l->at, replica), l->at.each * sizeof *at);
    memcpy(next, rows_of(&l->next, replica), l->next.each * sizeof *next);
    for (size_t i = 0; i < l->at.each; i++) weight[i] = 1;
}

/* ---- learning -------------------------------------------------------------------------------- */

static void draw_own(void *self, int replica)
{
    lilac *l = self;
    draw_batch(l, replica, &l->draws[replica]);
}

/* Before SAC learns, encoder, decoder and prior learn alone, without the KL divergence. */
static int learn(lilac *l, int64_t updates)
{
    const staged *const inputs[] = {&l->at, &l->next, &l->past, &l->coming, &l->count};
    nn_group *const groups[] = {l->net.encoder, l->net.decoder, l->net.prior};
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.lr = l->o->lr;
    if (replay_rows(l->replay, 0) < 2) return 0; /* all lanes have their steps together */
    for (int64_t i = 0; i < updates; i++) {
        pool_run(l->pool, l->replicas, draw_own, l);
        for (int k = 0; k < 5; k++) staged_send(inputs[k]);
        TRY(nn_plan_run(l->learn));
        for (int k = 0; k < 3; k++) TRY(nn_group_adam(groups[k], &adam));
    }
out:
    return rc;
}

static double beta_at(const lilac_options *o, int64_t steps)
{
    return steps < o->initial ? 0 : fmin(o->beta_rise * (double)(steps - o->initial), o->beta);
}

static void set_beta(lilac *l)
{
    double beta = beta_at(l->o, agent_steps(l->agent));
    for (int r = 0; r < l->replicas; r++) *numbers_of(&l->beta, r) = (float)beta;
    staged_send(&l->beta);
}

static int refresh(lilac *l)
{
    int rc = foresight_refresh(&l->foresight, l->pool, agent_numbers(l->agent, 0));
    agent_units_changed(l->agent);
    return rc;
}

static int update(void *self)
{
    lilac *l = self;
    int64_t first = l->o->initial, steps = agent_steps(l->agent);
    bool early = steps <= first, done = early && steps > first - l->worlds;
    int64_t due = early ? agent_rounds_within(l->agent, first / 2, first, l->o->updates) : 0;
    bool renew = steps >= first / 2 && (done || agent_rounds(l->agent, l->o->refresh) > 0);
    if (due > 0 || renew) seen_units_settle(&l->units);
    set_beta(l);
    int rc = learn(l, due);
    return rc == 0 && renew ? refresh(l) : rc;
}

/* ---- recording ------------------------------------------------------------------------------- */

static void record_prior_cost(lilac *l, stage *inputs)
{
    stage_numbers(inputs, &l->past, "past latents", WINDOW, WINDOWS, l->n);
    stage_numbers(inputs, &l->coming, "coming latents", WINDOW, WINDOWS, l->n);
    stage_numbers(inputs, &l->count, "latents that count", WINDOW, WINDOWS, 1);
    nn_var expected = lilac_record_prior(&l->net, l->past.var);
    l->cost[PRIOR] = nn_mse(expected, l->coming.var, l->count.var);
}

static void record_batch(lilac *l, const context_batch *b)
{
    stage_rows(b->inputs, &l->at, "step", b->T, b->B, 1);
    stage_rows(b->inputs, &l->next, "next step", b->T, b->B, 1);
    seen x = see_rows(&l->units, l->at.var, l->next.var);
    nn_var codes = lilac_record_codes(&l->net, x);
    nn_var expected = replay_gather_column(l->replay, 0, l->at.var);
    l->z = lilac_record_latent(codes);
    lilac_costs c = lilac_record_decoding(&l->net, x, l->z);
    l->cost[REWARD] = c.reward;
    l->cost[STEP] = c.step;
    l->cost[KL] = nn_mul(nn_mse(codes, expected, NN_NONE), l->beta.var);
    record_prior_cost(l, b->inputs);
}

/* A step and its successor have one latent. What the critics' loss weighs does not depend on the
 * size of rewards. */
static context_numbers numbers(void *self, const context_batch *b, bool next)
{
    lilac *l = self;
    if (!next) record_batch(l, b);
    nn_var unit = seen_units_reward(&l->units);
    nn_var weight = nn_affine(nn_mul(unit, unit), l->o->critic, 0);
    return (context_numbers){nn_detach(l->z), nn_grad_scale(l->z, weight)};
}

static int record_online(lilac *l, nn_graph *g)
{
    int rc = 0;
    online_step x;
    TRY(online_record(&l->online, l->memory, g, l->replay, 1, l->n, &x));
    seen step = see_steps(&l->units, x.obs, x.action, x.reward, x.next_obs);
    TRY(online_give(&l->online, l->memory, nn_add(x.state, lilac_record_codes(&l->net, step)),
                    l->n));
out:
    return rc;
}

static int record(void *self, nn_graph *g, replay *r)
{
    lilac *l = self;
    int rc = 0;
    l->replay = r;
    l->net = (lilac_net){nn_group_new(g, "encoder"), nn_group_new(g, "decoder"),
                         nn_group_new(g, "prior"), l->n, l->o->gain};
    TRY(seen_units_record(&l->units, l->memory, g, r));
    TRY(staged_numbers(&l->beta, l->memory, g, "beta", 1, 1, 1));
    TRY(record_online(l, g));
    TRY(foresight_record(&l->foresight, l->memory, g, &l->net, &l->units, r, l->o->history,
                         l->o->recall));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    static const char *const names[COSTS] = {"model/rec_rw", "model/rec_dyn", "model/prior",
                                             "model/kl"};
    lilac *l = self;
    nn_graph *g = l->online.g;
    nn_group *groups[] = {l->net.encoder, l->net.decoder, l->net.prior};
    int rc = 0;
    for (int k = 0; k < 3; k++) also->with_critic[also->with_critic_count++] = groups[k];
    for (int k = 0; k < COSTS; k++) {
        also->costs[also->cost_count++] = l->cost[k];
        also->shown[also->shown_count++] = (sac_number){names[k], l->cost[k]};
    }
    also->rate = l->o->lr / l->sac_lr;
    TRY(nn_plan_new(&l->learn, g, l->cost, PRIOR + 1, PRIOR + 1, groups, 3));
    TRY(foresight_plan(&l->foresight, g));
    TRY(online_plan(&l->online));
out:
    return rc;
}

static int ready(void *self)
{
    lilac *l = self;
    size_t R = (size_t)l->replicas;
    int rc = 0;
    TRY(arena_declare(l->memory, &l->draws, R * sizeof *l->draws));
    TRY(arena_declare(l->memory, &l->lived, (size_t)l->rows * sizeof *l->lived));
    TRY(arena_commit(l->memory));
    for (size_t r = 0; r < R; r++) l->draws[r] = rng_stream(l->seeds[r], "lilac", 0);
    seen_units_settle(&l->units);
    TRY(foresight_start(&l->foresight, l->o->floor));
out:
    return rc;
}

static void free_lilac(void *self)
{
    lilac *l = self;
    foresight_free(&l->foresight);
    seen_units_free(&l->units);
    arena_free(l->memory);
    mem_free(l);
}

/* ---- state and curves ------------------------------------------------------------------------ */

static void list_state(void *self, int r, state_list *s)
{
    lilac *l = self;
    state_add_trained(s, l->net.encoder, r);
    state_add_trained(s, l->net.decoder, r);
    state_add_trained(s, l->net.prior, r);
    seen_units_state(&l->units, r, "lilac/units", s);
    state_add_number(s, "lilac/draws", FANS_U64, &l->draws[r].drawn);
    foresight_state(&l->foresight, r, s);
}

static void list_carried(void *self, int r, state_list *s)
{
    lilac *l = self;
    online_carried(&l->online, r, "lilac/codes", s);
    state_add(s, "lilac/lived", FANS_I64, 1, (int64_t[]){l->worlds}, l->lived + r * l->worlds);
    state_range(s, 0, STATE_COUNT);
    episodes_carried(&l->foresight.episodes, r, l->worlds, s);
}

static void scalars(void *self, int r, fans_scalar_fn *emit, void *user)
{
    lilac *l = self;
    emit(user, "model/prior_gap", (double)l->foresight.gap[r]);
}

/* What it acts on. */
static const float *belief_of(void *self, int row, int *n)
{
    const lilac *l = agent_context(self);
    *n = l->n;
    return agent_numbers(l->agent, row);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static context context_of(lilac *l)
{
    return (context){.self = l,
                     .width = l->n,
                     .stored = true,
                     .hold = l->o->initial,
                     .held_by = "lilac.initial",
                     .free = free_lilac,
                     .start = start,
                     .note = note,
                     .tick = tick_lilac,
                     .record = record,
                     .plan = plan,
                     .ready = ready,
                     .numbers = numbers,
                     .window = l->o->steps,
                     .windows = l->o->episodes,
                     .draw = draw,
                     .units = show,
                     .update = update,
                     .state = list_state,
                     .carried = list_carried,
                     .scalars = scalars};
}

static int open_lilac(void **out, const fans_algo_setup *s)
{
    lilac *l = mem_alloc(sizeof *l);
    if (!l) return FANS_ENOMEM;
    *l = (lilac){.o = fans_options(s, "lilac"),
                 .pool = s->pool,
                 .seeds = s->seeds,
                 .replicas = s->replicas,
                 .worlds = s->worlds,
                 .rows = s->replicas * s->worlds,
                 .sac_lr = ((sac_options *)fans_options(s, "sac"))->lr};
    l->n = l->o->latents;
    if (l->o->recall > l->o->history) l->o->recall = l->o->history;
    int rc = arena_new(&l->memory);
    if (rc < 0) {
        free_lilac(l);
        return rc;
    }
    context c = context_of(l);
    rc = agent_new(&l->agent, s, &c); /* frees the context when it fails */
    if (rc == 0) *out = l->agent;
    return rc;
}

static fans_option_group_fn *const groups[] = {lilac_option_group, sac_option_group,
                                               replay_option_group, NULL};

static const fans_preset presets[] = {
    {"paper", "[lilac]\nlatents = 40\n"},
    {"standard", ""},
    {"classic", ""},
    {"small", "[lilac]\nlatents = 8\ninitial = 5000\nupdates = 2500\nrefresh = 1000\n"},
    {0}};

const fans_algo_def algo_lilac = {.abi = FANS_ALGO_ABI,
                                  .name = "lilac",
                                  .help = "LILAC: a latent per episode, predicted from the past",
                                  .told = FANS_TOLD_BOUNDARIES,
                                  .groups = groups,
                                  .presets = presets,
                                  .open = open_lilac,
                                  AGENT_FUNCTIONS,
                                  .belief = belief_of};
