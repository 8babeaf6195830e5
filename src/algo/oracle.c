/* oracle.c - SAC that sees the true factors: the upper bound.
 *
 * Shown are the factors that a schedule moves: scaled to [-1, 1] by the values between which they
 * move, or, where they jump among a few values, as one number per value that is 1 for the present
 * one. The successor of a step is judged with the factors that hold there: those of the next step,
 * or, where an episode ends, the old ones. With a delay it sees, during the first steps of a
 * segment, still the factors of the last one (at first zeros): the bound for agents that must find
 * out first. */
#include "algo/oracle.h"

#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "learn/learner.h"

OPTIONS_GROUP(oracle_option_group, oracle_options, "oracle", "sac that sees the true factors",
              ORACLE_OPTIONS)

typedef struct oracle {
    oracle_options o;
    learner *learner;
    const fans_movements *moving; /* [replicas] */
    int factor_count, rows, worlds;
    int width;      /* numbers shown */
    float *now;     /* (rows, width) */
    int64_t *since; /* (rows): steps since the segment began */
} oracle;

static int width_of(const fans_moving *m)
{
    return m->choices ? m->choices : 1;
}

static int width_of_all(const fans_movements *moving)
{
    int width = 0;
    for (int k = 0; k < moving->count; k++) width += width_of(&moving->list[k]);
    return width;
}

static void shape(const fans_algo_setup *setup, text *out)
{
    text_add(out, "%d numbers shown", width_of_all(setup->moving));
}

static void close_agent(void *agent)
{
    oracle *o = agent;
    if (!o) return;
    learner_free(o->learner);
    mem_free(o->now);
    mem_free(o->since);
    mem_free(o);
}

static int open_agent(void **agent, const fans_algo_setup *setup)
{
    int rc = 0;
    oracle *o = mem_alloc(sizeof *o);
    if (!o) return FANS_ENOMEM;
    TRY(config_take(setup->config, oracle_option_group(), "oracle", &o->o));
    options_dump(oracle_option_group(), "oracle", &o->o, setup->dump);
    o->moving = setup->moving;
    o->factor_count = setup->info->factor_count;
    o->worlds = setup->worlds;
    o->rows = setup->replicas * setup->worlds;
    o->width = width_of_all(setup->moving);
    size_t rows = (size_t)o->rows;
    TRY((o->now = mem_alloc(rows * (size_t)o->width * sizeof *o->now)) ? 0 : FANS_ENOMEM);
    TRY((o->since = mem_alloc(rows * sizeof *o->since)) ? 0 : FANS_ENOMEM);
    TRY(learner_new(&o->learner, setup, o->width, 0));
    learner_check_length(o->learner, setup);
    *agent = o;
    return 0;
out:
    close_agent(o);
    return rc;
}

static void start(void *agent)
{
    oracle *o = agent;
    memset(o->now, 0, (size_t)o->rows * (size_t)o->width * sizeof *o->now);
    for (int i = 0; i < o->rows; i++)
        o->since[i] = -1; /* the first step is one of a segment, too */
}

static void show(const fans_moving *m, double value, float *to)
{
    for (int i = 0; i < m->choices; i++) to[i] = value == m->values[i] * m->scale;
    if (m->choices) return;
    double middle = (m->low + m->high) / 2, half = (m->high - m->low) / 2;
    *to = half > 0 ? (float)((value - middle) / half) : 0;
}

static void look(const oracle *o, int i, const double *factors, float *to)
{
    const fans_movements *moving = &o->moving[i / o->worlds];
    for (int k = 0; k < moving->count; k++) {
        const fans_moving *m = &moving->list[k];
        show(m, factors[m->factor], to);
        to += width_of(m);
    }
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    oracle *o = agent;
    for (int i = 0; i < o->rows; i++) {
        o->since[i] = now->change[i] ? 0 : o->since[i] + 1;
        if (o->since[i] >= o->o.delay)
            look(o, i, now->factors + i * o->factor_count, o->now + i * o->width);
    }
    return learner_act(o->learner, now->obs, o->now, explore, action);
}

static int observe(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn)
{
    oracle *o = agent;
    if (learn) learner_store(o->learner, before, o->now, action, outcome, o->now);
    return 0;
}

static int update(void *agent)
{
    return learner_update(((oracle *)agent)->learner);
}

static void list_state(void *agent, int replica, state_list *s)
{
    oracle *o = agent;
    learner_state(o->learner, replica, s);
    int first = replica * o->worlds;
    state_add(s, "oracle/since", STATE_I64, 1, (int64_t[]){o->worlds}, o->since + first);
    state_add(s, "oracle/now", STATE_F32, 2, (int64_t[]){o->worlds, o->width},
              o->now + first * o->width);
}

static void scalars(void *agent, int replica, fans_scalar_fn *emit, void *user)
{
    learner_scalars(((oracle *)agent)->learner, replica, emit, user);
}

const fans_algo_def algo_oracle = {.name = "oracle",
                                   .help = "soft actor-critic that sees the true factors",
                                   .open = open_agent,
                                   .close = close_agent,
                                   .shape = shape,
                                   .start = start,
                                   .act = act,
                                   .observe = observe,
                                   .update = update,
                                   .state = list_state,
                                   .scalars = scalars};
