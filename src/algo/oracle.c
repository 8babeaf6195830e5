/* oracle.c - SAC that sees the true factors: the upper bound.
 *
 * It sees the factors that a schedule moves: scaled to [-1, 1] by their range, or one-hot if they
 * jump among a few values. The successor of a step is evaluated with the factors that hold there:
 * those of the next step or, if the episode ends, the old ones. With a delay it sees the last
 * segment's factors (at first zeros) during the first steps of a segment: the bound for agents that
 * must first find out. */
#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "learn/agent.h"

#define ORACLE_OPTIONS(X)        \
    X(INT, delay, 0, 0, 1000000, \
      "first steps of a segment where it still sees the last segment's factors")
OPTIONS_STRUCT(oracle_options, ORACLE_OPTIONS)
static OPTIONS_GROUP(oracle_option_group, oracle_options, "oracle",
                     "SAC that sees the true factors", ORACLE_OPTIONS);

typedef struct truth {
    const fans_movements *moving; /* [replicas] */
    int delay, factor_count, rows, worlds, width;
    int64_t *since; /* (rows): steps since the segment began */
} truth;

/* ---- how factors are shown ------------------------------------------------------------------- */

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

static void show(const fans_moving *m, double value, float *to)
{
    for (int i = 0; i < m->choices; i++) to[i] = value == m->values[i] * m->scale;
    if (m->choices) return;
    double middle = (m->low + m->high) / 2, half = (m->high - m->low) / 2;
    *to = half > 0 ? (float)((value - middle) / half) : 0;
}

static void show_all(const truth *t, int i, const double *factors, float *to)
{
    const fans_movements *moving = &t->moving[i / t->worlds];
    for (int k = 0; k < moving->count; k++) {
        const fans_moving *m = &moving->list[k];
        show(m, factors[m->factor], to);
        to += width_of(m);
    }
}

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
            show_all(t, i, now->factors + i * t->factor_count, numbers + i * t->width);
    }
    return 0;
}

static void list_carried(void *self, int replica, state_list *s)
{
    truth *t = self;
    int first = replica * t->worlds;
    state_add(s, "oracle/since", FANS_I64, 1, (int64_t[]){t->worlds}, t->since + first);
}

static void free_truth(void *self)
{
    truth *t = self;
    mem_free(t->since);
    mem_free(t);
}

/* ---- the algorithm --------------------------------------------------------------------------- */

static void shape(const fans_algo_setup *setup, text *out)
{
    text_add(out, "%d numbers shown", width_of_all(setup->moving));
}

static int open_oracle(void **out, const fans_algo_setup *s)
{
    const oracle_options *o = fans_options(s, "oracle");
    truth *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    *t = (truth){.moving = s->moving,
                 .delay = o->delay,
                 .factor_count = s->info->factor_count,
                 .rows = s->replicas * s->worlds,
                 .worlds = s->worlds,
                 .width = width_of_all(s->moving)};
    t->since = mem_alloc((size_t)t->rows * sizeof *t->since);
    context c = {.self = t,
                 .width = t->width,
                 .stored = t->width > 0,
                 .free = free_truth,
                 .start = start,
                 .look = look,
                 .carried = list_carried};
    if (t->since) return agent_new((agent **)out, s, &c);
    free_truth(t);
    return FANS_ENOMEM;
}

static fans_option_group_fn *const groups[] = {oracle_option_group, sac_option_group,
                                               replay_option_group, NULL};

const fans_algo_def algo_oracle = {.abi = FANS_ALGO_ABI,
                                   .name = "oracle",
                                   .help = "soft actor-critic that sees the true factors",
                                   .told = FANS_TOLD_TRUTH,
                                   .groups = groups,
                                   .open = open_oracle,
                                   .shape = shape,
                                   AGENT_FUNCTIONS};
