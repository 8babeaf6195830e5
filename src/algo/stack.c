/* stack.c - SAC that sees the last k steps: the simplest memory there is.
 *
 * With the state, policy and critics read the k steps before it, the latest first: observation,
 * action, reward, terminated; then for each whether it is of the same episode. Zeros stand in for
 * missing steps. Batches gather the steps from the replay, so nothing more is stored. */
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "learn/agent.h"

enum { MOST = 1000 };
#define STACK_OPTIONS(X) \
    X(INT, steps, 10, 1, MOST, "number of last steps that policy and critics see")
OPTIONS_STRUCT(stack_options, STACK_OPTIONS)
static OPTIONS_GROUP(stack_option_group, stack_options, "stack", "SAC that sees its last steps",
                     STACK_OPTIONS);

typedef struct stack {
    int k, rows, d, m, step; /* step: numbers of one step, as in the replay */
    const replay *replay;
    staged at[2], same[2]; /* of a batch's rows, and their successors: (1, batch, k) */
} stack;

/* Puts a step first. At an episode's end, no step belongs to the episode to come. */
static void push(const stack *s, float *steps, const float *obs, const float *action, float reward,
                 bool terminated, bool ended)
{
    size_t older = (size_t)(s->k - 1) * sizeof *steps;
    float *same = steps + s->k * s->step;
    memmove(steps + s->step, steps, older * (size_t)s->step);
    memmove(same + 1, same, older);
    memcpy(steps, obs, (size_t)s->d * sizeof *steps);
    memcpy(steps + s->d, action, (size_t)s->m * sizeof *steps);
    steps[s->d + s->m] = reward;
    steps[s->d + s->m + 1] = terminated;
    *same = 1;
    if (ended) memset(same, 0, (size_t)s->k * sizeof *same);
}

static int note(void *self, const fans_moment *before, const float *action, const fans_outcome *o,
                bool learn, float *numbers, float *ends)
{
    const stack *s = self;
    (void)learn, (void)ends;
    for (int i = 0; i < s->rows; i++)
        push(s, numbers + (size_t)i * (size_t)(s->k * (s->step + 1)), before->obs + i * s->d,
             action + i * s->m, o->reward[i], o->terminated[i],
             o->terminated[i] || o->truncated[i]);
    return 0;
}

static nn_var record(void *self, stage *t, const replay *r, int batch, bool next)
{
    stack *s = self;
    s->replay = r;
    stage_rows(t, &s->at[next], "steps before", 1, batch, s->k);
    stage_numbers(t, &s->same[next], "same episode", 1, batch, s->k);
    return nn_concat(NN_IN(replay_gather(r, s->at[next].var), s->same[next].var));
}

static void fill_rows(const stack *s, int replica, const int32_t *rows, bool next)
{
    bool same[MOST];
    int32_t *at = rows_of(&s->at[next], replica);
    float *flags = numbers_of(&s->same[next], replica);
    for (size_t b = 0; b < s->at[next].each; b += (size_t)s->k) {
        replay_before(s->replay, replica, *rows++, s->k, at + b, same);
        for (int k = 0; k < s->k; k++) flags[b + (size_t)k] = same[k];
    }
}

static void fill(void *self, int replica, const int32_t *at, const int32_t *next)
{
    fill_rows(self, replica, at, false);
    fill_rows(self, replica, next, true);
}

/* Earlier observations have the units of the current one. */
static void show(const void *self, int replica, units obs, units steps)
{
    const stack *s = self;
    (void)replica;
    for (int k = 0; k < s->k; k++) {
        memcpy(steps.shift + k * s->step, obs.shift, (size_t)s->d * sizeof(float));
        memcpy(steps.scale + k * s->step, obs.scale, (size_t)s->d * sizeof(float));
    }
}

static int open_stack(void **out, const fans_algo_setup *setup)
{
    const fans_env_info *z = setup->info;
    stack *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    *s = (stack){.k = ((stack_options *)fans_options(setup, "stack"))->steps,
                 .rows = setup->replicas * setup->worlds,
                 .d = z->obs_dim,
                 .m = z->act_dim,
                 .step = z->obs_dim + z->act_dim + 2};
    context c = {.self = s,
                 .width = s->k * (s->step + 1),
                 .free = mem_free,
                 .note = note,
                 .numbers = record,
                 .fill = fill,
                 .units = show};
    return agent_new((agent **)out, setup, &c);
}

static fans_option_group_fn *const groups[] = {stack_option_group, sac_option_group,
                                               replay_option_group, NULL};

const fans_algo_def algo_stack = {.abi = FANS_ALGO_ABI,
                                  .name = "stack",
                                  .help = "soft actor-critic that sees its last steps",
                                  .told = FANS_TOLD_NOTHING,
                                  .groups = groups,
                                  .open = open_stack,
                                  AGENT_FUNCTIONS};
