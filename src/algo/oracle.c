/* oracle.c - SAC that sees the true factors: the upper bound.
 *
 * It sees the factors that a schedule moves: scaled to [-1, 1] by their range, or one-hot if they
 * jump among a few values. The successor of a step is evaluated with the factors that hold there:
 * those of the next step or, if the episode ends, the old ones. With a delay it sees the last
 * segment's factors (at first zeros) during the first steps of a segment: the bound for agents that
 * must first find out.
 *
 * With `relabel` it learns from experience under other reward factors (learn/relabel.h), by a
 * reward model that learns with the critics: the bound for agents that do the same. */
#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "learn/agent.h"
#include "learn/pixels.h"
#include "learn/truth.h"

#define ORACLE_OPTIONS(X)                                                        \
    X(INT, delay, 0, 0, 1000000,                                                 \
      "first steps of a segment where it still sees the last segment's factors") \
    X(REAL, relabel, 0, 0, 1, "share of a batch learned under other reward factors")
OPTIONS_STRUCT(oracle_options, ORACLE_OPTIONS)
static OPTIONS_GROUP(oracle_option_group, oracle_options, "oracle",
                     "SAC that sees the true factors", ORACLE_OPTIONS);

enum { LOOK = 25 }; /* steps of a seed between looks at the reward model */

typedef struct truth {
    const fans_movements *moving; /* [replicas] */
    const fans_env_info *info;
    int delay, factor_count, rows, worlds, width;
    int64_t *since; /* (rows): steps since the segment began */
    agent *agent;
    relabel *relabel;
    const replay *replay;
} truth;

/* ---- the context ----------------------------------------------------------------------------- */

static void start(void *self)
{
    truth *t = self;
    for (int i = 0; i < t->rows; i++) t->since[i] = -1; /* the first step starts a segment, too */
}

static int look(void *self, const fans_moment *now, float *numbers)
{
    truth *t = self;
    for (int i = 0; i < t->rows; i++) {
        t->since[i] = now->change[i] ? 0 : t->since[i] + 1;
        if (t->since[i] >= t->delay)
            truth_show(&t->moving[i / t->worlds], now->factors + i * t->factor_count,
                       numbers + i * t->width);
    }
    return 0;
}

/* The factors are an input. */
static int tick_truth(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const truth *x = self;
    (void)b;
    if (x->delay > 0)
        return fans_fail(FANS_ENOSUP, "oracle.delay = %d: only an oracle without delay is exported",
                         x->delay);
    *numbers = t->in[TICK_factors] = nn_input(t->g, tick_inputs[TICK_factors].name, 1, 1, x->width);
    return 0;
}

/* ---- rewards under other factors ------------------------------------------------------------- */

static nn_var expect_reward(void *self, nn_var now, nn_var next, nn_var numbers)
{
    truth *t = self;
    nn_list x = NN_IN(replay_obs(t->replay, now), replay_action(t->replay, now),
                      replay_obs(t->replay, next), numbers);
    return relabel_learned(t->relabel, x);
}

static nn_var observed_reward(void *self, nn_var now)
{
    return replay_reward(((const truth *)self)->replay, now);
}

static void reward_factors(const void *self, int replica, float *which)
{
    const truth *t = self;
    const fans_movements *moving = &t->moving[replica];
    for (int k = 0; k < moving->count; k++) {
        bool reward = t->info->factors[moving->list[k].factor].kind == FANS_REWARD;
        for (int i = truth_width(&moving->list[k]); i > 0; i--) *which++ = reward;
    }
}

static int record(void *self, nn_graph *g, replay *r)
{
    (void)g;
    ((truth *)self)->replay = r;
    return 0;
}

static int plan(void *self, sac_also *also)
{
    return relabel_plan(((truth *)self)->relabel, also);
}

static int ready(void *self)
{
    return relabel_ready(((truth *)self)->relabel);
}

static int update(void *self)
{
    truth *t = self;
    if (agent_rounds(t->agent, LOOK) == 0) return 0;
    return relabel_look(t->relabel, agent_steps(t->agent));
}

static void list_state(void *self, int replica, state_list *s)
{
    relabel_state(((truth *)self)->relabel, replica, s);
}

static void scalars(void *self, int replica, fans_scalar_fn *emit, void *user)
{
    relabel_scalars(((truth *)self)->relabel, replica, emit, user);
}

/* Adds it to the context. */
static void use_relabel(truth *t, context *c)
{
    if (!t->relabel) return;
    c->relabel = t->relabel;
    c->record = record;
    c->plan = plan;
    c->ready = ready;
    c->update = update;
    c->state = list_state;
    c->scalars = scalars;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void list_carried(void *self, int replica, state_list *s)
{
    truth *t = self;
    int first = replica * t->worlds;
    state_add(s, "oracle/since", FANS_I64, 1, (int64_t[]){t->worlds}, t->since + first);
    state_range(s, -1, STATE_COUNT);
}

static void free_truth(void *self)
{
    truth *t = self;
    relabel_free(t->relabel);
    mem_free(t->since);
    mem_free(t);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static void shape(const fans_algo_setup *setup, text *out)
{
    text_add(out, "%d numbers shown", truth_width_of_all(setup->moving));
}

static context context_of(truth *t)
{
    context c = {.self = t,
                 .width = t->width,
                 .stored = t->width > 0,
                 .free = free_truth,
                 .start = start,
                 .look = look,
                 .tick = t->width > 0 ? tick_truth : NULL,
                 .carried = list_carried};
    use_relabel(t, &c);
    return c;
}

static int open_oracle(void **out, const fans_algo_setup *s)
{
    oracle_options *o = fans_options(s, "oracle");
    int rc = 0;
    if (s->pixels && o->relabel > 0)
        return fans_fail(
            FANS_ENOSUP,
            "oracle.relabel = %g: its reward model reads the state, not pixels; set it to 0",
            o->relabel);
    truth *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    *t = (truth){.moving = s->moving,
                 .info = s->info,
                 .delay = o->delay,
                 .factor_count = s->info->factor_count,
                 .rows = s->replicas * s->worlds,
                 .worlds = s->worlds,
                 .width = truth_width_of_all(s->moving)};
    relabel_model m = {t, expect_reward, observed_reward, .which = reward_factors};
    TRY((t->since = mem_alloc((size_t)t->rows * sizeof *t->since)) ? 0 : FANS_ENOMEM);
    if (t->width > 0) TRY(relabel_new(&t->relabel, s, &o->relabel, "oracle.relabel", m));
    context c = context_of(t);
    rc = agent_new(&t->agent, s, &c); /* frees the context when it fails */
    if (rc == 0) *out = t->agent;
    return rc;
out:
    free_truth(t);
    return rc;
}

static fans_option_group_fn *const groups[] = {oracle_option_group, relabel_option_group,
                                               sac_option_group,    pixels_option_group,
                                               replay_option_group, NULL};

const fans_algo_def algo_oracle = {.abi = FANS_ALGO_ABI,
                                   .name = "oracle",
                                   .help = "soft actor-critic that sees the true factors",
                                   .told = FANS_TOLD_TRUTH,
                                   .wants_pixels = true,
                                   .groups = groups,
                                   .open = open_oracle,
                                   .shape = shape,
                                   AGENT_FUNCTIONS};
