/* zeus.c - ZeUS: the context of the last steps, shaped by what it changes (Sodhani et al.
 * 2022).
 *
 * Policy and critics see the state and a context, the mean of the codes of the last k steps, across
 * episodes. Two losses train it: the critics', and one that places contexts as far apart as their
 * models of the world differ (learn/zeus_net.h). The policy's does not. Contexts are computed from
 * the steps before a row, online and in batches alike, so nothing is stored.
 *
 * From pixels, the state is what the critics see of the frames. The models' loss trains the
 * convolutions through the step that is predicted; the steps before it are read as the replay keeps
 * them (learn/sight.h).
 *
 * Differences from the original: models predict the normalised change of state; distances are taken
 * row by row, not over the batch. */
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "learn/agent.h"
#include "learn/pixels.h"
#include "learn/seen_units.h"
#include "learn/zeus_net.h"

enum { MOST = 1000 };
#define ZEUS_OPTIONS(X)                                                                \
    X(INT, steps, 10, 1, MOST, "number of last steps that make a context")             \
    X(INT, latents, 16, 1, 128, "numbers of a context")                                \
    X(INT, coder, 128, 1, 4096, "units of the coder's two hidden layers")              \
    X(INT, width, 256, 1, 8192, "units of the models' two hidden layers")              \
    X(FLAG, gain, false, "contexts scale the effect of other inputs in the models")    \
    X(REAL, weight, 0.01, 0, 1000, "weight of the loss on distances between contexts") \
    X(REAL, rate, 1, 1e-6, 100, "learning rate of coder and models, relative to sac.lr")
OPTIONS_STRUCT(zeus_options, ZEUS_OPTIONS)
static OPTIONS_GROUP(zeus_option_group, zeus_options, "zeus",
                     "a context of the last steps, shaped by what it changes", ZEUS_OPTIONS);

/* The steps before some rows, the latest first: (k, batch, 1) each. */
typedef struct past {
    staged at, next, there;
} past;

typedef struct zeus {
    const zeus_options *o;
    agent *agent;
    const pixels_options *eyes; /* NULL: it sees the state */
    int replicas, worlds, rows, k, d, m;
    int step; /* numbers of a step: [obs | action | reward | next_obs | there] */
    nn_graph *g;
    const replay *replay;
    zeus_net net;
    seen_units units;
    past past[2]; /* before a batch's rows, and before their successors */
    staged then;  /* the rows after a batch's */
    zeus_costs costs;
    float *last; /* (rows, k, step): the last steps of every world, the latest first */
    staged here; /* (k, worlds, step) */
    nn_var now;  /* (1, worlds, latents) */
    nn_plan *look;
    arena *memory;
} zeus;

/* ---- living ---------------------------------------------------------------------------------- */

static size_t last_bytes(const zeus *z)
{
    return (size_t)z->rows * (size_t)z->k * (size_t)z->step * sizeof *z->last;
}

static float *last_of(const zeus *z, int row)
{
    return z->last + (size_t)row * (size_t)(z->k * z->step);
}

static void start(void *self)
{
    zeus *z = self;
    memset(z->last, 0, last_bytes(z));
}

/* Steps by time, then by world. */
static void write_here(const zeus *z)
{
    size_t n = (size_t)z->step;
    for (int i = 0; i < z->rows; i++)
        for (int k = 0; k < z->k; k++)
            memcpy(
                numbers_of(&z->here, i / z->worlds) + (size_t)(k * z->worlds + i % z->worlds) * n,
                last_of(z, i) + (size_t)k * n, n * sizeof(float));
}

static int look(void *self, const fans_moment *now, float *numbers)
{
    zeus *z = self;
    (void)now;
    write_here(z);
    staged_send(&z->here);
    int rc = nn_plan_run(z->look);
    if (rc == 0) nn_read_all(z->now, numbers);
    return rc;
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    zeus *z = self;
    size_t d = (size_t)z->d, m = (size_t)z->m, n = (size_t)z->step;
    (void)numbers, (void)ends;
    if (learn) seen_units_observe(&z->units, before, o);
    for (int i = 0; i < z->rows; i++) {
        float *to = last_of(z, i);
        memmove(to + n, to, (size_t)(z->k - 1) * n * sizeof *to);
        memcpy(to, before->obs + (size_t)i * d, d * sizeof *to);
        memcpy(to + d, action + (size_t)i * m, m * sizeof *to);
        to[d + m] = o->reward[i];
        memcpy(to + d + m + 1, o->next_obs + (size_t)i * d, d * sizeof *to);
        to[n - 1] = 1;
    }
    return 0;
}

/* The same, but each step is coded once: while the agent acts, the coder does not change. */
static int tick_zeus(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const zeus *z = self;
    int n = z->o->latents, older = z->k - 1;
    nn_var lived = t->in[TICK_seen];
    tick_slot *obs = tick_carry(t, "obs before", z->d);
    tick_slot *codes = tick_carry(t, "codes", z->k * n), *count = tick_carry(t, "count", 1);
    seen step = see_steps(&z->units, obs->before, t->in[TICK_last_action], t->in[TICK_reward],
                          t->in[TICK_obs]);
    nn_list all = NN_IN(zeus_record_codes(&z->net, step));
    (void)b;
    if (older > 0) all.var[all.count++] = nn_slice(codes->before, 0, older * n);
    obs->after = t->in[TICK_obs];
    codes->after = tick_choose(lived, nn_concat(all), codes->before);
    count->after = nn_clip(nn_add(count->before, lived), 0, z->k);
    nn_var sum = nn_slice(codes->after, 0, n);
    for (int k = 1; k < z->k; k++) sum = nn_add(sum, nn_slice(codes->after, k * n, n));
    *numbers = nn_mul(sum, tick_inverse(t, nn_clip(count->after, 1, MOST)));
    return 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void fill_past(const zeus *z, int replica, const int32_t *rows, const past *p)
{
    int32_t at[MOST], next[MOST];
    int B = (int)p->at.each / z->k;
    for (int b = 0; b < B; b++) {
        replay_before(z->replay, replica, rows[b], z->k, at, next, NULL);
        for (int k = 0; k < z->k; k++) {
            rows_of(&p->at, replica)[k * B + b] = at[k];
            rows_of(&p->next, replica)[k * B + b] = next[k];
            numbers_of(&p->there, replica)[k * B + b] = at[k] >= 0;
        }
    }
}

static void fill(void *self, int replica, const int32_t *at, const int32_t *next)
{
    const zeus *z = self;
    fill_past(z, replica, at, &z->past[0]);
    fill_past(z, replica, next, &z->past[1]);
    for (size_t b = 0; b < z->then.each; b++) {
        float reward, rest;
        replay_ahead(z->replay, replica, 1, at + b, 1, 1, rows_of(&z->then, replica) + b, &reward,
                     &rest);
    }
}

/* The models' costs on the batch's steps, whatever n-step SAC learns from. */
static void record_costs(zeus *z, const context_batch *b, nn_var c)
{
    stage_rows(b->inputs, &z->then, "rows after", 1, b->B, 1);
    seen x = see_rows(&z->units, b->at, z->then.var);
    if (b->seen.graph) x = see_from(&z->units, x, b->seen);
    z->costs = zeus_record_costs(&z->net, x, c);
}

static context_numbers numbers(void *self, const context_batch *b, bool next)
{
    zeus *z = self;
    past *p = &z->past[next];
    stage_rows(b->inputs, &p->at, "steps before", z->k, b->B, 1);
    stage_rows(b->inputs, &p->next, "their successors", z->k, b->B, 1);
    stage_numbers(b->inputs, &p->there, "there", z->k, b->B, 1);
    seen last = see_rows(&z->units, p->at.var, p->next.var);
    nn_var c = zeus_record_context(&z->net, last, p->there.var);
    if (!next) record_costs(z, b, c);
    return (context_numbers){nn_detach(c), c};
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static int record(void *self, nn_graph *g, replay *r)
{
    zeus *z = self;
    int rc = 0, d = z->d, m = z->m;
    z->g = g;
    z->replay = r;
    z->net = (zeus_net){.context = nn_group_new(g, "context"),
                        .models = nn_group_new(g, "models"),
                        .latents = z->o->latents,
                        .coder = z->o->coder,
                        .width = z->o->width,
                        .weight = z->o->weight,
                        .gain = z->o->gain};
    TRY(seen_units_record(&z->units, z->memory, g, r));
    TRY(staged_numbers(&z->here, z->memory, g, "last steps", z->k, z->worlds, z->step));
    nn_var x = z->here.var;
    seen last = see_steps(&z->units, nn_slice(x, 0, d), nn_slice(x, d, m), nn_slice(x, d + m, 1),
                          nn_slice(x, d + m + 1, d));
    z->now = zeus_record_context(&z->net, last, nn_slice(x, z->step - 1, 1));
out:
    return rc;
}

static int plan(void *self, sac_also *also)
{
    zeus *z = self;
    const zeus_costs *c = &z->costs;
    also->with_critic[also->with_critic_count++] = z->net.context;
    also->with_critic[also->with_critic_count++] = z->net.models;
    also->costs[also->cost_count++] = c->context;
    also->costs[also->cost_count++] = c->step;
    also->costs[also->cost_count++] = c->reward;
    also->shown[also->shown_count++] = (sac_number){"model/rec_dyn", c->step};
    also->shown[also->shown_count++] = (sac_number){"model/rec_rw", c->reward};
    also->shown[also->shown_count++] = (sac_number){"model/distance", c->distance};
    also->shown[also->shown_count++] = (sac_number){"model/difference", c->difference};
    also->rate = z->o->rate;
    return nn_plan_new(&z->look, z->g, &z->now, 1, 0, NULL, 0);
}

static int ready(void *self)
{
    zeus *z = self;
    int rc = 0;
    TRY(arena_declare(z->memory, &z->last, last_bytes(z)));
    TRY(arena_commit(z->memory));
    seen_units_settle(&z->units);
out:
    return rc;
}

static void free_zeus(void *self)
{
    zeus *z = self;
    seen_units_free(&z->units);
    arena_free(z->memory);
    mem_free(z);
}

/* ---- learning and state ---------------------------------------------------------------------- */

/* SAC's update does the rest. */
static int update(void *self)
{
    zeus *z = self;
    seen_units_settle(&z->units);
    return z->eyes && agent_rounds(z->agent, z->eyes->refresh) ? agent_look_again(z->agent) : 0;
}

static void list_group(nn_group *g, int r, const char *steps, state_list *s)
{
    state_add_group(s, nn_group_name(g), g, r);
    state_add_number(s, steps, FANS_U64, nn_group_steps(g));
}

static void list_state(void *self, int r, state_list *s)
{
    zeus *z = self;
    list_group(z->net.context, r, "zeus/context_steps", s);
    list_group(z->net.models, r, "zeus/models_steps", s);
    seen_units_state(&z->units, r, "zeus/units", s);
}

static void list_carried(void *self, int r, state_list *s)
{
    zeus *z = self;
    state_add(s, "zeus/last", FANS_F32, 3, (int64_t[]){z->worlds, z->k, z->step},
              last_of(z, r * z->worlds));
}

static const float *context_at(void *self, int row, int *n)
{
    *n = ((zeus *)agent_context(self))->o->latents;
    return agent_numbers(self, row);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

/* What critics see of the frames. */
static nn_var encode(void *self, const pixels *eyes, nn_var film)
{
    (void)self;
    return pixels_encode(eyes, film);
}

static int open_zeus(void **out, const fans_algo_setup *setup)
{
    const fans_env_info *i = setup->info;
    const pixels_options *eyes = setup->pixels ? fans_options(setup, "pixels") : NULL;
    int rc = 0, d = eyes ? eyes->features : i->obs_dim;
    zeus *z = mem_alloc(sizeof *z);
    if (!z) return FANS_ENOMEM;
    *z = (zeus){.o = fans_options(setup, "zeus"),
                .replicas = setup->replicas,
                .worlds = setup->worlds,
                .rows = setup->replicas * setup->worlds,
                .eyes = eyes,
                .d = d,
                .m = i->act_dim,
                .step = 2 * d + i->act_dim + 2};
    z->k = z->o->steps;
    context c = {.self = z,
                 .width = z->o->latents,
                 .sight = {z, eyes ? d : 0, encode},
                 .free = free_zeus,
                 .start = start,
                 .look = look,
                 .note = note,
                 .tick = tick_zeus,
                 .record = record,
                 .plan = plan,
                 .ready = ready,
                 .numbers = numbers,
                 .fill = fill,
                 .update = update,
                 .state = list_state,
                 .carried = list_carried};
    rc = arena_new(&z->memory);
    if (rc == 0) {
        rc = agent_new(&z->agent, setup, &c); /* frees the context when it fails */
        if (rc == 0) *out = z->agent;
        return rc;
    }
    free_zeus(z);
    return rc;
}

static fans_option_group_fn *const groups[] = {zeus_option_group, sac_option_group,
                                               pixels_option_group, replay_option_group, NULL};

static const fans_preset presets[] = {{"paper", "[zeus]\nlatents = 40\n"},
                                      {"small", "[zeus]\nlatents = 8\ncoder = 64\nwidth = 64\n"},
                                      {0}};

const fans_algo_def algo_zeus = {.abi = FANS_ALGO_ABI,
                                 .name = "zeus",
                                 .help = "ZeUS: a context shaped by what it changes",
                                 .told = FANS_TOLD_NOTHING,
                                 .wants_pixels = true,
                                 .groups = groups,
                                 .presets = presets,
                                 .open = open_zeus,
                                 AGENT_FUNCTIONS,
                                 .belief = context_at};
