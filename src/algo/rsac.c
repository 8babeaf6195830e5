/* rsac.c - recurrent SAC (Ni, Eysenbach and Salakhutdinov 2022): a changing world is a partially
 * observed one, and memory solves it without a model.
 *
 * Policy and critics each have an LSTM (learn/recurrence.h) that reads every row of a lifetime: the
 * observation, the action and reward before it, and whether an episode begins. The last observation
 * of an episode is a row, too, so the row after a step is always its successor. A batch is windows
 * of such rows, from a zero state. The first rows of a window do not count, unless the state before
 * them really is zero. Nothing but the rows is stored.
 *
 * The state is carried over the whole lifetime; without `carry` each episode starts anew, as in the
 * paper. */
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "learn/agent.h"
#include "learn/recurrence.h"

#define RSAC_OPTIONS(X)                                                                     \
    X(INT, units, 128, 1, 4096, "units of each LSTM")                                       \
    X(INT, window, 64, 2, 100000, "rows of a window; at most those the replay has")         \
    X(INT, windows, 32, 1, 65536, "windows per update")                                     \
    X(INT, burn_in, 16, 0, 100000, "first rows of a window that do not count")              \
    X(FLAG, carry, true, "keep the state over a lifetime; false: clear it at each episode") \
    X(REAL, rate, 0.333333, 1e-6, 100, "learning rate of the LSTMs, relative to sac.lr")    \
    X(INT, update_every, 5, 1, 1000000, "steps of a seed between updates, for sac.update_every")
OPTIONS_STRUCT(rsac_options, RSAC_OPTIONS)
static OPTIONS_GROUP(rsac_option_group, rsac_options, "rsac", "recurrent SAC", RSAC_OPTIONS);

enum { POLICY, CRITIC, TARGET, MEMORIES };

typedef struct rsac {
    const rsac_options *o;
    int replicas, worlds, rows, d, m;
    nn_graph *g;
    nn_group *memory[MEMORIES];
    nn_var state[MEMORIES]; /* (window + 1, windows, 2 · units) */
    arena *room;
    replay_link *links; /* [replicas][window + 1][windows] */
    const replay *replay;
    staged at, before, first; /* (window + 1, windows, 1): rows, the ones before, which begin */
    staged time[2];           /* (window, windows, 1): the times of rows and of successors */
    staged here;              /* online: (1, worlds, [obs | action | reward | first | state]) */
    nn_var after;             /* … and the state after it */
    nn_plan *step;
    float *carried; /* (rows, [action | reward | first | state]) */
    float *stepped; /* (rows, state) */
} rsac;

/* ---- windows --------------------------------------------------------------------------------- */

static nn_var record_windows(rsac *s, const context_batch *b, int which)
{
    const replay *r = b->replay;
    nn_var now = replay_gather(r, s->at.var), before = replay_gather(r, s->before.var);
    recurrence_rows x = {.obs = context_obs(b, replay_obs(r, now)),
                         .action = replay_action(r, before),
                         .reward = replay_reward(r, before),
                         .first = s->first.var};
    nn_var reset = s->o->carry ? NN_NONE : s->first.var;
    return recurrence_record(s->memory[which], x, s->o->units, NN_NONE, reset);
}

static void record_step(rsac *s, const context_batch *b)
{
    int d = s->d, m = s->m;
    nn_var all = s->here.var;
    recurrence_rows x = {.obs = context_obs(b, nn_slice(all, 0, d)),
                         .action = nn_slice(all, d, m),
                         .reward = nn_slice(all, d + m, 1),
                         .first = nn_slice(all, d + m + 1, 1)};
    nn_var state = nn_slice(all, d + m + 2, 2 * s->o->units);
    s->after = recurrence_record(s->memory[POLICY], x, s->o->units, state, NN_NONE);
}

static void record_all(rsac *s, const context_batch *b)
{
    int T = b->T, B = b->B;
    s->replay = b->replay;
    stage_rows(b->inputs, &s->at, "rows", T + 1, B, 1);
    stage_rows(b->inputs, &s->before, "rows before", T + 1, B, 1);
    stage_numbers(b->inputs, &s->first, "first rows", T + 1, B, 1);
    stage_rows(b->inputs, &s->time[0], "time", T, B, 1);
    stage_rows(b->inputs, &s->time[1], "time of successors", T, B, 1);
    for (int i = 0; i < MEMORIES; i++) s->state[i] = record_windows(s, b, i);
    record_step(s, b);
}

/* The memories after some rows: the policy's, and the critics' or, of successors, the targets'. */
static context_numbers numbers(void *self, const context_batch *b, bool next)
{
    rsac *s = self;
    if (!next) record_all(s, b);
    nn_var h[MEMORIES];
    for (int i = 0; i < MEMORIES; i++)
        h[i] = nn_pick(nn_slice(s->state[i], 0, s->o->units), s->time[next].var);
    return (context_numbers){h[POLICY], h[next ? TARGET : CRITIC]};
}

static void draw(void *self, int replica, rng *stream, int32_t *at, int32_t *next, float *weight)
{
    rsac *s = self;
    int T = s->o->window, B = s->o->windows, n = T * B;
    replay_link *x = s->links + (size_t)replica * (size_t)(n + B);
    replay_draw_stretches(s->replay, replica, stream, B, T + 1, x);
    for (int i = 0; i < n + B; i++) {
        rows_of(&s->at, replica)[i] = x[i].at;
        rows_of(&s->before, replica)[i] = x[i].before;
        numbers_of(&s->first, replica)[i] = x[i].first;
    }
    for (int i = 0; i < n; i++) {
        /* the state is as it was lived from here on */
        bool known = x[i].born || (!s->o->carry && x[i].first) || (i >= B && x[i - B].born);
        x[i].born = known;
        at[i] = x[i].at;
        next[i] = x[i + B].at;
        weight[i] = x[i].step && (known || i / B >= s->o->burn_in);
        rows_of(&s->time[0], replica)[i] = i / B;
        rows_of(&s->time[1], replica)[i] = i / B + 1;
    }
}

/* ---- online ---------------------------------------------------------------------------------- */

static size_t carried_width(const rsac *s)
{
    return (size_t)s->m + 2 + 2 * (size_t)s->o->units;
}

static float *carried_of(const rsac *s, int row)
{
    return s->carried + (size_t)row * carried_width(s);
}

static void start(void *self)
{
    rsac *s = self;
    memset(s->carried, 0, (size_t)s->rows * carried_width(s) * sizeof(float));
    for (int i = 0; i < s->rows; i++) carried_of(s, i)[s->m + 1] = 1;
}

/* Reads a row of each world. */
static int step(rsac *s, const float *obs)
{
    size_t d = (size_t)s->d, n = carried_width(s);
    float *to = numbers_of(&s->here, 0);
    for (int i = 0; i < s->rows; i++, to += d + n) {
        memcpy(to, obs + (size_t)i * d, d * sizeof *to);
        memcpy(to + d, carried_of(s, i), n * sizeof *to);
    }
    staged_send(&s->here);
    int rc = nn_plan_run(s->step);
    if (rc == 0) nn_read_all(s->after, s->stepped);
    return rc;
}

static void take_state(const rsac *s, int row)
{
    size_t n = 2 * (size_t)s->o->units;
    memcpy(carried_of(s, row) + s->m + 2, s->stepped + (size_t)row * n, n * sizeof(float));
}

static int look(void *self, const fans_moment *now, float *h)
{
    rsac *s = self;
    size_t n = (size_t)s->o->units;
    int rc = step(s, now->obs);
    for (int i = 0; rc == 0 && i < s->rows; i++) {
        take_state(s, i);
        memcpy(h + (size_t)i * n, s->stepped + (size_t)i * 2 * n, n * sizeof *h);
    }
    return rc;
}

/* An episode ended: its last observation has been read, and nothing was done or gained after it. */
static void end_episode(const rsac *s, int row)
{
    float *x = carried_of(s, row);
    take_state(s, row);
    memset(x, 0, (size_t)(s->m + 1) * sizeof *x);
    x[s->m + 1] = 1;
    if (!s->o->carry) memset(x + s->m + 2, 0, 2 * (size_t)s->o->units * sizeof *x);
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *h, float *ends)
{
    rsac *s = self;
    size_t m = (size_t)s->m;
    bool any = false;
    (void)before, (void)learn, (void)h, (void)ends;
    for (int i = 0; i < s->rows; i++) {
        float *x = carried_of(s, i);
        memcpy(x, action + (size_t)i * m, m * sizeof *x);
        x[m] = o->reward[i];
        x[m + 1] = 0;
        any = any || o->terminated[i] || o->truncated[i];
    }
    int rc = any ? step(s, o->next_obs) : 0;
    for (int i = 0; rc == 0 && i < s->rows; i++)
        if (o->terminated[i] || o->truncated[i]) end_episode(s, i);
    return rc;
}

/* Where no step was seen, an episode begins. */
static int tick_rsac(void *self, const context_batch *b, tick *t, nn_var *h)
{
    rsac *s = self;
    nn_var seen = t->in[TICK_seen], first = tick_not(seen);
    tick_slot *state = tick_carry(t, "state", 2 * s->o->units);
    recurrence_rows x = {.obs = context_obs(b, t->in[TICK_obs]),
                         .action = nn_mul(t->in[TICK_last_action], seen),
                         .reward = nn_mul(t->in[TICK_reward], seen),
                         .first = first};
    state->after = recurrence_record(s->memory[POLICY], x, s->o->units, state->before,
                                     s->o->carry ? NN_NONE : first);
    *h = nn_slice(state->after, 0, s->o->units);
    return 0;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static int record(void *self, nn_graph *g, replay *r)
{
    static const char *const names[MEMORIES] = {"actor_memory", "critic_memory", "target_memory"};
    rsac *s = self;
    int width = s->d + (int)carried_width(s);
    (void)r;
    s->g = g;
    for (int i = 0; i < MEMORIES; i++) s->memory[i] = nn_group_new(g, names[i]);
    return staged_numbers(&s->here, s->room, g, "row", 1, s->worlds, width);
}

static int plan(void *self, sac_also *also)
{
    rsac *s = self;
    also->with_actor[also->with_actor_count++] = s->memory[POLICY];
    also->with_critic[also->with_critic_count++] = s->memory[CRITIC];
    also->targets[also->target_count] = s->memory[TARGET];
    also->sources[also->target_count++] = s->memory[CRITIC];
    also->rate = s->o->rate;
    return nn_plan_new(&s->step, s->g, &s->after, 1, 0, NULL, 0);
}

static int ready(void *self)
{
    rsac *s = self;
    size_t rows = (size_t)s->rows, links = (size_t)(s->o->window + 1) * (size_t)s->o->windows;
    int rc = 0;
    TRY(arena_declare(s->room, &s->links, (size_t)s->replicas * links * sizeof *s->links));
    TRY(arena_declare(s->room, &s->carried, rows * carried_width(s) * sizeof(float)));
    TRY(arena_declare(s->room, &s->stepped, rows * 2 * (size_t)s->o->units * sizeof(float)));
    TRY(arena_commit(s->room));
    nn_group_follow(s->memory[TARGET], s->memory[CRITIC], 1);
    start(s);
out:
    return rc;
}

static void list_state(void *self, int replica, state_list *list)
{
    rsac *s = self;
    for (int i = 0; i < MEMORIES; i++)
        state_add_group(list, nn_group_name(s->memory[i]), s->memory[i], replica);
    state_add_number(list, "rsac/actor_steps", FANS_U64, nn_group_steps(s->memory[POLICY]));
    state_add_number(list, "rsac/critic_steps", FANS_U64, nn_group_steps(s->memory[CRITIC]));
}

static void list_carried(void *self, int replica, state_list *list)
{
    rsac *s = self;
    state_add(list, "rsac/carried", FANS_F32, 2, (int64_t[]){s->worlds, (int64_t)carried_width(s)},
              carried_of(s, replica * s->worlds));
}

static void free_rsac(void *self)
{
    rsac *s = self;
    arena_free(s->room);
    mem_free(s);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

/* A window fits into what the replay keeps of a lifetime. */
static int check(rsac_options *o, const fans_algo_setup *setup)
{
    sac_options *so = fans_options(setup, "sac");
    int kept = ((replay_options *)fans_options(setup, "replay"))->steps / setup->worlds;
    int rc = agent_learns_single_steps(setup);
    if (rc < 0) return rc;
    if (o->window > kept) o->window = kept < 2 ? 2 : kept;
    if (o->burn_in >= o->window)
        return fans_fail(FANS_EINVAL,
                         "rsac.burn_in = %d: windows have %d rows, and none would count",
                         o->burn_in, o->window);
    so->update_every = o->update_every;
    return 0;
}

static int open_rsac(void **out, const fans_algo_setup *setup)
{
    rsac_options *o = fans_options(setup, "rsac");
    int rc = check(o, setup);
    rsac *s = rc == 0 ? mem_alloc(sizeof *s) : NULL;
    if (!s) return rc < 0 ? rc : FANS_ENOMEM;
    *s = (rsac){.o = o,
                .replicas = setup->replicas,
                .worlds = setup->worlds,
                .rows = setup->replicas * setup->worlds,
                .d = setup->info->obs_dim,
                .m = setup->info->act_dim};
    context c = {.self = s,
                 .width = o->units,
                 .free = free_rsac,
                 .start = start,
                 .look = look,
                 .note = note,
                 .tick = tick_rsac,
                 .record = record,
                 .plan = plan,
                 .ready = ready,
                 .numbers = numbers,
                 .window = o->window,
                 .windows = o->windows,
                 .draw = draw,
                 .front = recurrence_front(&o->units),
                 .state = list_state,
                 .carried = list_carried};
    rc = arena_new(&s->room);
    if (rc == 0) return agent_new((agent **)out, setup, &c);
    free_rsac(s);
    return rc;
}

static fans_option_group_fn *const groups[] = {rsac_option_group, sac_option_group,
                                               replay_option_group, NULL};

static const fans_preset presets[] = {
    {"paper", "[rsac]\nupdate_every = 1\n"},
    {"small", "[rsac]\nunits = 64\nwindow = 32\nwindows = 16\nburn_in = 8\n"},
    {0}};

const fans_algo_def algo_rsac = {.abi = FANS_ALGO_ABI,
                                 .name = "rsac",
                                 .help = "soft actor-critic with recurrent networks",
                                 .told = FANS_TOLD_NOTHING,
                                 .groups = groups,
                                 .presets = presets,
                                 .open = open_rsac,
                                 AGENT_FUNCTIONS};
