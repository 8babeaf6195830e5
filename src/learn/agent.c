/* agent.c - combines a replay, a context and SAC. */
#include "learn/agent.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "data/norm.h"
#include "learn/staged.h"

OPTIONS_GROUP(replay_option_group, replay_options, "replay", "the replay buffer", REPLAY_OPTIONS);

static const double NORM_BOUND = 10; /* of all inputs, if observations are normalised */

struct agent {
    sac_options *so;
    const replay_options *ro;
    int replicas, worlds, rows, obs, act, inputs;
    context c;
    nn_graph *g;
    sac *sac;
    replay *replay;
    pool *pool;
    norm *norms;    /* [replicas] */
    rng *sampling;  /* [replicas] draws transitions */
    rng *exploring; /* [replicas] draws random actions */
    int64_t *steps; /* [replicas] so far, of all worlds of a seed */
    int64_t *updates;
    int64_t hold; /* steps before which it acts at random */
    const char *held_by;
    stage batch;                             /* the inputs of an update, including the context's: */
    staged at, next, critic_at, critic_next; /* rows; hindsight: rows of the critics' context */
    staged context_next; /* rows of the successors' context, if it may persist */
    staged reward, rest; /* n-step: sums, and discounts of the value after them */
    staged shift, scale; /* units of all inputs */
    staged here;         /* (1, worlds, inputs) */
    bool units_stale;    /* the backend has old ones */
    bool looks;          /* it only plays: its replay is empty */
    float *numbers;      /* (rows, width): the context of the coming step, … */
    float *held, *ends;  /* … of the step just made, and of episodes' last rows */
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

void agent_free(void *agent_)
{
    agent *a = agent_;
    if (!a) return;
    if (a->c.free) a->c.free(a->c.self);
    sac_free(a->sac);
    nn_graph_free(a->g);
    replay_free(a->replay);
    arena_free(a->memory);
    mem_free(a->norms);
    mem_free(a);
}

static int claim(agent *a)
{
    size_t R = (size_t)a->replicas;
    size_t numbers = (size_t)a->rows * (size_t)a->c.width * sizeof(float);
    int rc = 0;
    TRY((a->norms = mem_alloc(R * sizeof *a->norms)) ? 0 : FANS_ENOMEM);
    for (size_t r = 0; r < R; r++) TRY(norm_declare(&a->norms[r], a->memory, a->obs));
    TRY(arena_declare(a->memory, &a->sampling, R * sizeof *a->sampling));
    TRY(arena_declare(a->memory, &a->exploring, R * sizeof *a->exploring));
    TRY(arena_declare(a->memory, &a->steps, R * sizeof *a->steps));
    TRY(arena_declare(a->memory, &a->updates, R * sizeof *a->updates));
    TRY(arena_declare(a->memory, &a->numbers, numbers));
    TRY(arena_declare(a->memory, &a->held, numbers));
    TRY(arena_declare(a->memory, &a->ends, numbers));
    TRY(arena_commit(a->memory));
out:
    return rc;
}

static int open_replay(agent *a, const fans_algo_setup *s)
{
    replay_shape z = {.replicas = a->replicas,
                      .worlds = a->worlds,
                      .steps = (a->ro->steps + a->worlds - 1) / a->worlds,
                      .horizon = s->info->horizon,
                      .obs = a->obs,
                      .act = a->act};
    if (a->c.stored) z.columns[z.column_count++] = (replay_column){"context", NN_F32, a->c.width};
    return replay_new(&a->replay, z);
}

/* ---- recording ------------------------------------------------------------------------------- */

/* Converts to the networks' units. */
static nn_var record_units(const agent *a, nn_var raw)
{
    nn_var x = nn_mul(nn_add(raw, a->shift.var), a->scale.var);
    return a->ro->normalize ? nn_clip(x, -NORM_BOUND, NORM_BOUND) : x;
}

/* The observations of some rows, and the context of the rows `at`. */
static nn_var record_input(agent *a, nn_var rows, nn_var at, bool next)
{
    nn_var obs = replay_obs(a->replay, rows);
    if (a->c.width == 0) return record_units(a, obs);
    nn_var numbers = a->c.stored
                         ? replay_gather_column(a->replay, 0, at)
                         : a->c.numbers(a->c.self, &a->batch, a->replay, a->so->batch, next);
    if (a->c.relabel) numbers = relabel_numbers(a->c.relabel, numbers);
    return record_units(a, nn_concat(NN_IN(obs, numbers)));
}

static void record_rewards(agent *a, sac_inputs *in)
{
    int B = a->so->batch;
    if (a->so->n_step == 1) return;
    stage_numbers(&a->batch, &a->reward, "reward", 1, B, 1);
    stage_numbers(&a->batch, &a->rest, "rest", 1, B, 1);
    in->reward = a->reward.var;
    in->discount = a->rest.var;
    in->terminated = nn_affine(a->rest.var, 0, 0); /* rest is 0 after a terminal step */
}

/* In the first steps of a segment, critics read the context of a later row. */
static void record_hindsight(agent *a, nn_var now, nn_var next, sac_inputs *in)
{
    int B = a->so->batch;
    in->critic = in->actor;
    in->next_critic = in->next_actor;
    if (a->c.hindsight == 0) return;
    stage_rows(&a->batch, &a->critic_at, "critic at", 1, B, 1);
    stage_rows(&a->batch, &a->critic_next, "critic next", 1, B, 1);
    in->critic = record_input(a, now, a->critic_at.var, false);
    in->next_critic = record_input(a, next, a->critic_next.var, true);
}

/* Where a factor may jump to anywhere within an episode, the value of what came is mostly noise:
 * targets then take the context of the step itself for its successor. */
static bool persists(const agent *a)
{
    return a->c.stored && a->so->persist;
}

static int record_batch(agent *a, sac_inputs *in)
{
    int rc = 0, B = a->so->batch;
    stage_rows(&a->batch, &a->at, "at", 1, B, 1);
    stage_rows(&a->batch, &a->next, "next", 1, B, 1);
    TRY(staged_numbers(&a->shift, a->memory, a->g, "shift", 1, 1, a->inputs));
    TRY(staged_numbers(&a->scale, a->memory, a->g, "scale", 1, 1, a->inputs));
    nn_var now = replay_gather(a->replay, a->at.var), next = replay_gather(a->replay, a->next.var);
    if (a->c.relabel) TRY(relabel_record(a->c.relabel, &a->batch, a->replay, B, now, &next));
    in->actor = record_input(a, now, a->at.var, false);
    in->action = replay_action(a->replay, now);
    in->reward = replay_reward(a->replay, now);
    if (a->c.relabel) in->reward = relabel_reward(a->c.relabel, in->reward);
    in->terminated = replay_terminated(a->replay, now);
    if (persists(a)) stage_rows(&a->batch, &a->context_next, "context next", 1, B, 1);
    in->next_actor = record_input(a, next, persists(a) ? a->context_next.var : a->next.var, true);
    record_hindsight(a, now, next, in);
    record_rewards(a, in);
    TRY(a->batch.rc);
out:
    return rc;
}

static int record(agent *a)
{
    int rc = 0;
    sac_also also = {0};
    sac_inputs in = {.discount = NN_NONE, .weight = NN_NONE};
    replay_record(a->replay, a->g);
    if (a->c.record) TRY(a->c.record(a->c.self, a->g, a->replay));
    TRY(record_batch(a, &in));
    sac_record(a->sac, &in);
    TRY(staged_numbers(&a->here, a->memory, a->g, "here", 1, a->worlds, a->inputs));
    sac_record_act(a->sac, record_units(a, a->here.var));
    if (a->c.plan) TRY(a->c.plan(a->c.self, &also)); /* plans need everything recorded */
    TRY(sac_plan(a->sac, &also));
    TRY(nn_graph_commit(a->g));
    sac_start(a->sac);
out:
    return rc;
}

/* All worlds of a seed step together, so the last actions are chosen `worlds` steps before the end.
 */
static void check_length(const agent *a, const fans_algo_setup *s)
{
    if (s->steps == 0 || s->steps - s->worlds >= a->hold) return;
    text_add(
        s->warning,
        "%s = %lld: all %lld steps of a run are random, and its policy never starts; lower it or "
        "train for longer (train.episodes, --steps)",
        a->held_by, (long long)a->hold, (long long)s->steps);
}

/* Looking 2/3 of an episode ahead suits most tasks; a longer view costs more than it shows. */
static void find_discount(agent *a, int horizon)
{
    if (a->so->discount > 0) return;
    a->so->discount = fmin(fmax(1 - 1.5 / horizon, 0.9), 0.99);
}

static void find_hold(agent *a)
{
    bool longer = a->c.hold > a->so->random_steps;
    a->hold = longer ? a->c.hold : a->so->random_steps;
    a->held_by = longer ? a->c.held_by : "sac.random_steps";
}

int agent_new(agent **out, const fans_algo_setup *s, const context *c)
{
    int rc = 0;
    agent *a = mem_alloc(sizeof *a);
    if (!a) {
        if (c && c->free) c->free(c->self);
        return FANS_ENOMEM;
    }
    *a = (agent){.so = fans_options(s, "sac"),
                 .ro = fans_options(s, "replay"),
                 .replicas = s->replicas,
                 .worlds = s->worlds,
                 .rows = s->replicas * s->worlds,
                 .obs = s->info->obs_dim,
                 .act = s->info->act_dim,
                 .pool = s->pool,
                 .units_stale = true,
                 .looks = s->steps == 0};
    if (c) a->c = *c;
    a->inputs = a->obs + a->c.width;
    find_hold(a);
    find_discount(a, s->info->horizon);
    TRY(arena_new(&a->memory));
    TRY(open_replay(a, s));
    TRY(nn_graph_new(&a->g, s->backend, s->replicas, s->seeds));
    a->batch = (stage){.graph = a->g, .memory = a->memory};
    TRY(sac_new(&a->sac, a->g, a->so, a->act));
    TRY(record(a));
    TRY(claim(a));
    for (int r = 0; r < a->replicas; r++) {
        a->sampling[r] = rng_stream(s->seeds[r], "replay", 0);
        a->exploring[r] = rng_stream(s->seeds[r], "random actions", 0);
    }
    if (a->c.ready) TRY(a->c.ready(a->c.self));
    check_length(a, s);
    *out = a;
    return 0;
out:
    agent_free(a);
    return rc;
}

void *agent_context(agent *a)
{
    return a->c.self;
}

const float *agent_numbers(const agent *a, int row)
{
    return a->numbers + (size_t)row * (size_t)a->c.width;
}

/* ---- units ----------------------------------------------------------------------------------- */

void agent_units_changed(agent *a)
{
    a->units_stale = true;
}

static void find_units(const agent *a, int r)
{
    units obs = {numbers_of(&a->shift, r), numbers_of(&a->scale, r)};
    units numbers = {obs.shift + a->obs, obs.scale + a->obs};
    for (int i = 0; i < a->inputs; i++) {
        obs.shift[i] = 0;
        obs.scale[i] = 1;
    }
    if (a->ro->normalize) norm_units(&a->norms[r], obs.shift, obs.scale);
    if (a->c.units) a->c.units(a->c.self, r, obs, numbers);
}

static void send_units(agent *a)
{
    if (!a->units_stale) return;
    for (int r = 0; r < a->replicas; r++) find_units(a, r);
    staged_send(&a->shift);
    staged_send(&a->scale);
    a->units_stale = false;
}

/* ---- living ---------------------------------------------------------------------------------- */

void agent_start(void *agent_)
{
    agent *a = agent_;
    memset(a->numbers, 0, (size_t)a->rows * (size_t)a->c.width * sizeof *a->numbers);
    if (a->c.start) a->c.start(a->c.self);
}

static void act_at_random(agent *a, float *action)
{
    size_t each = (size_t)a->worlds * (size_t)a->act;
    for (int r = 0; r < a->replicas; r++)
        for (size_t i = 0; i < each; i++)
            action[(size_t)r * each + i] = (float)rng_between(&a->exploring[r], -1, 1);
}

static void write_here(agent *a, const float *obs)
{
    size_t d = (size_t)a->obs, k = (size_t)a->c.width;
    float *to = numbers_of(&a->here, 0);
    for (size_t i = 0; i < (size_t)a->rows; i++, to += d + k) {
        memcpy(to, obs + i * d, d * sizeof *to);
        memcpy(to + d, a->numbers + i * k, k * sizeof *to);
    }
    staged_send(&a->here);
}

int agent_act(void *agent_, const fans_moment *now, bool explore, float *action)
{
    agent *a = agent_;
    int rc = 0;
    if (a->c.look) TRY(a->c.look(a->c.self, now, a->numbers));
    if (explore && a->steps[0] < a->hold) {
        act_at_random(a, action);
        return 0;
    }
    send_units(a);
    write_here(a, now->obs);
    TRY(sac_act(a->sac, explore, action));
out:
    return rc;
}

static void store(agent *a, const fans_moment *before, const float *action, const fans_outcome *o)
{
    const void *held[] = {a->held}, *ends[] = {a->ends};
    replay_add(a->replay, before, action, o, held, ends);
    replay_sync(a->replay);
    for (int i = 0; i < a->rows; i++)
        norm_add(&a->norms[i / a->worlds], before->obs + (size_t)i * (size_t)a->obs, NULL);
    for (int r = 0; r < a->replicas; r++) a->steps[r] += a->worlds;
    a->units_stale = a->units_stale || a->ro->normalize;
}

int agent_observe(void *agent_, const fans_moment *before, const float *action,
                  const fans_outcome *outcome, bool learn)
{
    agent *a = agent_;
    size_t bytes = (size_t)a->rows * (size_t)a->c.width * sizeof(float);
    int rc = 0;
    memcpy(a->held, a->numbers, bytes);
    memcpy(a->ends, a->numbers, bytes);
    if (a->c.note) TRY(a->c.note(a->c.self, before, action, outcome, learn, a->numbers, a->ends));
    if (learn) store(a, before, action, outcome);
out:
    return rc;
}

/* ---- learning -------------------------------------------------------------------------------- */

int64_t agent_steps(const agent *a)
{
    return a->steps[0];
}

int agent_rounds(const agent *a, int64_t every)
{
    int64_t now = a->steps[0], before = now - a->worlds;
    return every > 0 && now > 0 ? (int)(now / every - before / every) : 0;
}

/* A batch of one replica. */
static void draw_batch(void *arg, int r)
{
    agent *a = arg;
    int n = a->so->batch, steps = a->c.hindsight;
    int32_t *at = rows_of(&a->at, r), *next = rows_of(&a->next, r);
    replay_draw(a->replay, r, &a->sampling[r], n, at, next);
    if (a->so->n_step > 1)
        replay_ahead(a->replay, r, n, at, a->so->n_step, a->so->discount, next,
                     numbers_of(&a->reward, r), numbers_of(&a->rest, r));
    const int32_t *context_next = next;
    if (persists(a)) {
        replay_persist(a->replay, r, n, at, next, rows_of(&a->context_next, r));
        context_next = rows_of(&a->context_next, r);
    }
    if (steps > 0) replay_hindsight(a->replay, r, n, at, steps, rows_of(&a->critic_at, r));
    if (steps > 0)
        replay_hindsight(a->replay, r, n, context_next, steps, rows_of(&a->critic_next, r));
    if (a->c.relabel) relabel_draw(a->c.relabel, r, at);
    if (a->c.fill) a->c.fill(a->c.self, r, at, next);
}

static int update_once(agent *a)
{
    pool_run(a->pool, a->replicas, draw_batch, a);
    stage_send(&a->batch);
    int rc = sac_update(a->sac);
    for (int r = 0; rc == 0 && r < a->replicas; r++) a->updates[r]++;
    return rc;
}

/* From the second step of each world on, every lane has a step with its successor. */
static int updates_due(const agent *a)
{
    if (a->steps[0] < a->hold || a->steps[0] / a->worlds < 2) return 0;
    return agent_rounds(a, a->so->update_every) * a->so->updates;
}

int agent_update(void *agent_)
{
    agent *a = agent_;
    int rc = 0;
    replay_sync(a->replay); /* what a checkpoint loaded … */
    if (a->c.update) TRY(a->c.update(a->c.self));
    int due = updates_due(a);
    if (due == 0) return 0;
    replay_sync(a->replay); /* … or the context changed */
    send_units(a);
    for (int i = 0; i < due; i++) TRY(update_once(a));
out:
    return rc;
}

/* ---- state and curves ------------------------------------------------------------------------ */

static void add_stream(state_list *s, const char *name, rng *r)
{
    state_add_number(s, name, FANS_U64, &r->drawn); /* seed and purpose follow from the run */
}

/* Waits for an asynchronous backend and checks it for failures. */
static int check(void *arg)
{
    return nn_graph_check(((agent *)arg)->g);
}

static int note_load(void *arg)
{
    ((agent *)arg)->units_stale = true;
    return 0;
}

/* A batch can be drawn only from steps that are there. */
static int check_steps(void *arg, int replica)
{
    const agent *a = arg;
    int64_t steps = a->steps[replica];
    if (steps != a->steps[0])
        return fans_fail(FANS_EFORMAT, "'agent/steps' is %lld, but %lld in the first run",
                         (long long)steps, (long long)a->steps[0]);
    for (int w = 0; !a->looks && w < a->worlds; w++)
        if (replay_written(a->replay, replica * a->worlds + w) < steps / a->worlds)
            return fans_fail(FANS_EFORMAT, "'replay.%d/head' is %lld, fewer than %lld steps", w,
                             (long long)replay_written(a->replay, replica * a->worlds + w),
                             (long long)(steps / a->worlds));
    return 0;
}

void agent_state(void *agent_, int replica, state_list *s)
{
    agent *a = agent_;
    state_on_save(s, check, a);
    state_on_load(s, note_load, a);
    sac_state(a->sac, replica, s);
    add_stream(s, "agent/sampling", &a->sampling[replica]);
    add_stream(s, "agent/exploring", &a->exploring[replica]);
    state_add_number(s, "agent/steps", FANS_I64, &a->steps[replica]);
    state_range(s, 0, STATE_COUNT);
    state_add_number(s, "agent/updates", FANS_I64, &a->updates[replica]);
    state_range(s, 0, STATE_COUNT);
    norm_state(&a->norms[replica], "agent/norm", s);
    replay_state(a->replay, replica, s);
    state_check(s, check_steps, a, replica);
    if (a->c.state) a->c.state(a->c.self, replica, s);
}

void agent_carried(void *agent_, int replica, state_list *s)
{
    agent *a = agent_;
    int n;
    uint64_t *counters = nn_graph_counters(a->g, &n);
    state_add(s, "agent/counters", FANS_U64, 1, (int64_t[]){n}, counters);
    if (a->c.width > 0)
        state_add(s, "agent/context", FANS_F32, 2, (int64_t[]){a->worlds, a->c.width},
                  (float *)agent_numbers(a, replica * a->worlds));
    if (a->c.carried) a->c.carried(a->c.self, replica, s);
}

void agent_scalars(void *agent_, int replica, fans_scalar_fn *emit, void *user)
{
    agent *a = agent_;
    sac_losses x = sac_losses_of(a->sac, replica);
    emit(user, "train/critic_loss", x.critic);
    emit(user, "train/actor_loss", x.actor);
    emit(user, "train/ent_coef", x.temp);
    emit(user, "train/entropy", x.entropy);
    emit(user, "train/n_updates", (double)a->updates[replica]);
    if (a->c.scalars) a->c.scalars(a->c.self, replica, emit, user);
}
