/* agent.c - combines a replay, a context and SAC. */
#include "learn/agent.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "data/norm.h"
#include "learn/pixels.h"
#include "learn/sight.h"
#include "learn/staged.h"

OPTIONS_GROUP(replay_option_group, replay_options, "replay", "the replay buffer", REPLAY_OPTIONS);

static const double NORM_BOUND = 10; /* of all inputs, if observations are normalised */

struct agent {
    sac_options *so;
    const replay_options *ro;
    int replicas, worlds, rows, act, inputs;
    int obs;  /* numbers that networks see of the state: the observation, or of pixels */
    int T, B; /* of a batch: windows of rows, or single ones */
    context c;
    pixels *eyes; /* NULL: networks see the observation */
    sight *sight; /* with eyes, if the context has an encoder; else NULL */
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
    staged weight;       /* windows: which rows count */
    staged shift, scale; /* units of all inputs */
    staged here;         /* (1, worlds, inputs) */
    bool units_stale;    /* the backend has old ones */
    bool looks;          /* it only plays: its replay is empty */
    float *numbers;      /* (rows, width): the context of the coming step, … */
    float *held, *ends;  /* … of the step just made, and of episodes' last rows */
    float *kept;         /* (rows, kept) what else is stored with the step */
    float *seen;         /* (rows, obs) of pixels */
    tick tick;           /* of which the graph is NULL until it is recorded */
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
    sight_free(a->sight);
    pixels_free(a->eyes);
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
    TRY(arena_declare(a->memory, &a->kept, (size_t)(a->rows * a->c.kept) * sizeof *a->kept));
    if (a->eyes)
        TRY(arena_declare(a->memory, &a->seen, (size_t)(a->rows * a->obs) * sizeof *a->seen));
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
                      .obs = a->eyes ? a->c.sight.width : a->obs,
                      .act = a->act};
    if (a->c.stored) z.columns[z.column_count++] = (replay_column){"context", NN_F32, a->c.width};
    if (a->c.kept > 0) z.columns[z.column_count++] = (replay_column){"kept", NN_F32, a->c.kept};
    if (a->eyes) z.columns[z.column_count++] = pixels_column(a->eyes);
    return replay_new(&a->replay, z);
}

/* ---- recording ------------------------------------------------------------------------------- */

static context_batch batch_of(agent *a)
{
    return (context_batch){.inputs = &a->batch,
                           .replay = a->replay,
                           .T = a->T,
                           .B = a->B,
                           .worlds = a->worlds,
                           .at = a->at.var,
                           .next = a->next.var,
                           .seen = NN_NONE,
                           .shift = a->shift.var,
                           .scale = a->scale.var,
                           .bound = a->ro->normalize ? NORM_BOUND : 0};
}

static nn_var record_units(nn_var raw, nn_var shift, nn_var scale, double bound)
{
    nn_var x = nn_mul(nn_add(raw, shift), scale);
    return bound > 0 ? nn_clip(x, -bound, bound) : x;
}

nn_var context_obs(const context_batch *b, nn_var raw)
{
    int d = nn_shape_of(raw).D;
    return record_units(raw, nn_slice(b->shift, 0, d), nn_slice(b->scale, 0, d), b->bound);
}

/* What the networks read of observations and a context's numbers that stand in one tensor. */
static nn_var record_read(agent *a, nn_var raw)
{
    context_batch b = batch_of(a);
    nn_var x = record_units(raw, b.shift, b.scale, b.bound);
    if (!a->c.project) return x;
    nn_var numbers = nn_slice(x, a->obs, a->c.width);
    return nn_concat(NN_IN(nn_slice(x, 0, a->obs), a->c.project(a->c.self, numbers)));
}

static nn_var record_join(agent *a, nn_var obs, nn_var numbers)
{
    return record_read(a, numbers.graph ? nn_concat(NN_IN(obs, numbers)) : obs);
}

/* The context stored with the rows `at`. */
static nn_var record_numbers(agent *a, nn_var at)
{
    nn_var numbers = a->c.width > 0 ? replay_gather_column(a->replay, 0, at) : NN_NONE;
    return a->c.relabel ? relabel_numbers(a->c.relabel, numbers) : numbers;
}

/* The context of some rows: the batch's, or its successors'; and what is seen of their state. */
static context_numbers record_context(agent *a, nn_var at, bool next, nn_var seen)
{
    context_batch b = batch_of(a);
    if (a->eyes) b.seen = seen;
    if (a->c.numbers) return a->c.numbers(a->c.self, &b, next);
    nn_var numbers = record_numbers(a, at);
    return (context_numbers){numbers, numbers};
}

static context_numbers record_seen(agent *a, nn_var rows, bool next)
{
    context_batch b = batch_of(a);
    if (a->eyes) return pixels_see(a->eyes, &b, next);
    nn_var obs = replay_obs(a->replay, rows);
    return (context_numbers){obs, obs};
}

/* What policy and critics read in them, where this is seen. */
static void record_input(agent *a, context_numbers seen, nn_var at, bool next, nn_var *policy,
                         nn_var *critic)
{
    context_numbers x = record_context(a, at, next, seen.critic);
    bool same = x.critic.id == x.policy.id && seen.critic.id == seen.policy.id;
    *policy = record_join(a, seen.policy, x.policy);
    *critic = same ? *policy : record_join(a, seen.critic, x.critic);
}

static void record_rewards(agent *a, sac_inputs *in)
{
    if (a->so->n_step == 1) return;
    stage_numbers(&a->batch, &a->reward, "reward", a->T, a->B, 1);
    stage_numbers(&a->batch, &a->rest, "rest", a->T, a->B, 1);
    in->reward = a->reward.var;
    in->discount = a->rest.var;
    in->terminated = nn_affine(a->rest.var, 0, 0); /* rest is 0 after a terminal step */
}

/* In the first steps of a segment, critics read the context of a later row. */
static void record_hindsight(agent *a, nn_var seen, nn_var next_seen, sac_inputs *in)
{
    int B = a->B;
    if (a->c.hindsight == 0) return;
    stage_rows(&a->batch, &a->critic_at, "critic at", 1, B, 1);
    stage_rows(&a->batch, &a->critic_next, "critic next", 1, B, 1);
    in->critic = record_join(a, seen, record_numbers(a, a->critic_at.var));
    in->next_critic = record_join(a, next_seen, record_numbers(a, a->critic_next.var));
}

/* Where a factor may jump to anywhere within an episode, the value of what came is mostly noise:
 * targets then take the context of the step itself for its successor. */
static bool persists(const agent *a)
{
    return a->c.stored && !a->c.numbers && a->so->persist;
}

static int record_batch(agent *a, sac_inputs *in)
{
    int rc = 0, T = a->T, B = a->B;
    stage_rows(&a->batch, &a->at, "at", T, B, 1);
    stage_rows(&a->batch, &a->next, "next", T, B, 1);
    TRY(staged_numbers(&a->shift, a->memory, a->g, "shift", 1, 1, a->inputs));
    TRY(staged_numbers(&a->scale, a->memory, a->g, "scale", 1, 1, a->inputs));
    nn_var now = replay_gather(a->replay, a->at.var), next = replay_gather(a->replay, a->next.var);
    if (a->c.relabel) TRY(relabel_record(a->c.relabel, &a->batch, a->replay, B, now, &next));
    context_numbers seen = record_seen(a, now, false), next_seen = record_seen(a, next, true);
    record_input(a, seen, a->at.var, false, &in->actor, &in->critic);
    in->action = replay_action(a->replay, now);
    in->reward = replay_reward(a->replay, now);
    if (a->c.relabel) in->reward = relabel_reward(a->c.relabel, in->reward);
    in->terminated = replay_terminated(a->replay, now);
    if (persists(a)) stage_rows(&a->batch, &a->context_next, "context next", 1, B, 1);
    record_input(a, next_seen, persists(a) ? a->context_next.var : a->next.var, true,
                 &in->next_actor, &in->next_critic);
    record_hindsight(a, seen.critic, next_seen.critic, in);
    record_rewards(a, in);
    if (a->c.window > 0) stage_numbers(&a->batch, &a->weight, "weight", T, B, 1);
    if (a->c.window > 0) in->weight = a->weight.var;
    TRY(a->batch.rc);
out:
    return rc;
}

/* The replay's last column. */
static int pixels_at(const agent *a)
{
    return replay_shape_of(a->replay)->column_count - 1;
}

static int record(agent *a)
{
    int rc = 0;
    sac_also also = {0};
    sac_inputs in = {.discount = NN_NONE, .weight = NN_NONE};
    replay_record(a->replay, a->g);
    sac_use_front(a->sac, a->c.front);
    if (a->c.record) TRY(a->c.record(a->c.self, a->g, a->replay));
    if (a->eyes) TRY(pixels_record(a->eyes, a->g, a->replay, pixels_at(a)));
    if (a->sight) TRY(sight_record(a->sight, a->g, a->replay));
    TRY(record_batch(a, &in));
    sac_record(a->sac, &in);
    TRY(staged_numbers(&a->here, a->memory, a->g, "here", 1, a->worlds, a->inputs));
    sac_record_act(a->sac, record_read(a, a->here.var));
    if (a->c.plan) TRY(a->c.plan(a->c.self, &also)); /* plans need everything recorded */
    if (a->eyes) TRY(pixels_plan(a->eyes, &also));
    if (a->sight) TRY(sight_plan(a->sight));
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
    if (s->pixels) TRY(pixels_new(&a->eyes, s));
    if (a->eyes) a->obs = pixels_features(a->eyes);
    if (a->eyes && a->c.sight.width > 0) TRY(sight_new(&a->sight, s, a->eyes, a->c.sight));
    a->inputs = a->obs + a->c.width;
    a->T = a->c.window > 0 ? a->c.window : 1;
    a->B = a->c.window > 0 ? a->c.windows : a->so->batch;
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
    if (a->eyes) TRY(pixels_ready(a->eyes));
    if (a->sight) TRY(sight_ready(a->sight));
    check_length(a, s);
    *out = a;
    return 0;
out:
    agent_free(a);
    return rc;
}

int agent_learns_single_steps(const fans_algo_setup *s)
{
    int n = ((const sac_options *)fans_options(s, "sac"))->n_step;
    if (n == 1) return 0;
    return fans_fail(FANS_EINVAL,
                     "sac.n_step = %d: this algorithm learns from single steps; set it to 1", n);
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

const float *agent_saw(const agent *a)
{
    return sight_seen(a->sight);
}

int agent_look_again(agent *a)
{
    return sight_again(a->sight, a->pool);
}

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
    if (a->ro->normalize && !a->eyes) norm_units(&a->norms[r], obs.shift, obs.scale);
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
    if (a->eyes) pixels_start(a->eyes);
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
    if (a->eyes) pixels_take(a->eyes, now);
    if (a->sight) TRY(sight_look(a->sight, now, &now));
    if (a->c.moment) now = a->c.moment(a->c.self, now);
    send_units(a); /* for networks that a context acts with … */
    if (a->c.look) TRY(a->c.look(a->c.self, now, a->numbers));
    if (explore && a->steps[0] < a->hold) {
        act_at_random(a, action);
        return 0;
    }
    send_units(a); /* … and in case it changed them */
    if (a->eyes) TRY(pixels_look(a->eyes, a->seen));
    write_here(a, a->eyes ? a->seen : now->obs);
    TRY(sac_act(a->sac, explore, action));
out:
    return rc;
}

/* The columns of open_replay. */
static void store_columns(agent *a, const fans_moment *before, const float *action,
                          const fans_outcome *o)
{
    const void *held[REPLAY_COLUMNS], *ends[REPLAY_COLUMNS];
    int n = 0;
    if (a->c.stored) held[n] = a->held, ends[n++] = a->ends;
    if (a->c.kept > 0) held[n] = ends[n] = a->kept, n++;
    if (a->eyes) held[n] = before->pixels, ends[n++] = o->next_pixels;
    replay_add(a->replay, before, action, o, held, ends);
}

static void store(agent *a, const fans_moment *before, const float *action, const fans_outcome *o)
{
    store_columns(a, before, action, o);
    replay_sync(a->replay);
    for (int i = 0; !a->eyes && i < a->rows; i++)
        norm_add(&a->norms[i / a->worlds], before->obs + (size_t)i * (size_t)a->obs, NULL);
    for (int r = 0; r < a->replicas; r++) a->steps[r] += a->worlds;
    a->units_stale = a->units_stale || (a->ro->normalize && !a->eyes);
}

int agent_observe(void *agent_, const fans_moment *before, const float *action,
                  const fans_outcome *outcome, bool learn)
{
    agent *a = agent_;
    size_t bytes = (size_t)a->rows * (size_t)a->c.width * sizeof(float);
    int rc = 0;
    fans_moment seen = *before;
    if (a->sight) {
        seen.obs = sight_seen(a->sight);
        TRY(sight_look_after(a->sight, outcome, &outcome));
    }
    before = a->c.moment ? a->c.moment(a->c.self, &seen) : &seen;
    if (a->eyes) pixels_note(a->eyes, outcome);
    memcpy(a->held, a->numbers, bytes);
    if (learn && a->c.keep) a->c.keep(a->c.self, a->kept);
    if (learn && a->c.label) a->c.label(a->c.self, before, a->held);
    memcpy(a->ends, a->held, bytes);
    if (a->c.note) TRY(a->c.note(a->c.self, before, action, outcome, learn, a->numbers, a->ends));
    if (learn) store(a, before, action, outcome);
out:
    return rc;
}

/* ---- export ---------------------------------------------------------------------------------- */

static int record_tick(agent *a, tick *t)
{
    context_batch b = batch_of(a);
    nn_var numbers = NN_NONE;
    int rc = a->c.tick ? a->c.tick(a->c.self, &b, t, &numbers) : 0;
    if (rc < 0) return rc;
    sac_gauss p = sac_record_gauss(a->sac, record_join(a, t->in[TICK_obs], numbers));
    t->out[TICK_actions] = nn_activate(p.mean, NN_TANH);
    t->out[TICK_mean] = p.mean;
    t->out[TICK_log_std] = p.log_std;
    return 0;
}

int agent_tick(agent *a, const tick **out)
{
    tick t;
    send_units(a);
    *out = &a->tick;
    if (a->tick.g) return 0;
    if (a->eyes)
        return fans_fail(FANS_ENOSUP,
                         "it acts on pixels; only policies that act on the state can be "
                         "written down as a program");
    if (a->c.width > 0 && !a->c.tick)
        return fans_fail(FANS_ENOSUP, "what it acts by cannot be written down as a program");
    tick_begin(&t, a->g, a->obs, a->act);
    int rc = record_tick(a, &t), ended = nn_sketch_end(a->g);
    if (rc == 0 && ended == 0) a->tick = t;
    return rc < 0 ? rc : ended;
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

static int64_t rounds_before(int64_t now, int64_t from, int64_t until, int64_t rounds)
{
    if (now >= until) return rounds;
    return now <= from ? 0 : rounds * (now - from) / (until - from);
}

int64_t agent_rounds_within(const agent *a, int64_t from, int64_t until, int64_t rounds)
{
    int64_t now = a->steps[0];
    return rounds_before(now, from, until, rounds) -
           rounds_before(now - a->worlds, from, until, rounds);
}

static void draw_rows(agent *a, int r, int32_t *at, int32_t *next)
{
    if (a->c.draw)
        a->c.draw(a->c.self, r, &a->sampling[r], at, next, numbers_of(&a->weight, r));
    else
        replay_draw(a->replay, r, &a->sampling[r], a->B, at, next);
}

/* A batch of one replica. */
static void draw_batch(void *arg, int r)
{
    agent *a = arg;
    int n = a->T * a->B, steps = a->c.hindsight;
    int32_t *at = rows_of(&a->at, r), *next = rows_of(&a->next, r);
    draw_rows(a, r, at, next);
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
    if (a->eyes) pixels_fill(a->eyes, r, at, next);
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
    if (!a->eyes) norm_state(&a->norms[replica], "agent/norm", s);
    replay_state(a->replay, replica, s);
    state_check(s, check_steps, a, replica);
    if (a->eyes) pixels_state(a->eyes, replica, s);
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
    if (a->eyes) pixels_carried(a->eyes, replica, s);
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
    sac_scalars(a->sac, replica, emit, user);
    if (a->c.scalars) a->c.scalars(a->c.self, replica, emit, user);
}
