/* stack.c - SAC that sees the last k steps: the simplest memory there is.
 *
 * With the state, policy and critics read the k steps before it, the latest first: observation,
 * action, reward, terminated; then for each whether it is of the same episode. Zeros stand in for
 * missing steps. Batches gather the steps from the replay, so nothing more is stored. From pixels,
 * steps are actions and rewards: the frames are stacked as all methods stack them.
 *
 * Policy and critics each turn the steps into a code of a few numbers first. Seen as they are,
 * hundreds of numbers are different in every row: critics then fit the rows that they have, and the
 * agent ends below one that sees no past. */
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "learn/agent.h"
#include "learn/pixels.h"

enum { MOST = 1000 };
#define STACK_OPTIONS(X)                                                                      \
    X(INT, steps, 10, 1, MOST, "number of last steps that policy and critics see")            \
    X(INT, code, 8, 0, 4096, "numbers that these steps are turned into; 0: seen as they are") \
    X(INT, coder, 64, 1, 4096, "units of the layer before them")
OPTIONS_STRUCT(stack_options, STACK_OPTIONS)
static OPTIONS_GROUP(stack_option_group, stack_options, "stack", "SAC that sees its last steps",
                     STACK_OPTIONS);

typedef struct stack {
    const stack_options *o;
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

/* The same, one tick later: the step is known once its successor is seen. */
static int tick_stack(void *self, const context_batch *b, tick *t, nn_var *numbers)
{
    const stack *s = self;
    int older = s->k - 1;
    nn_var seen = t->in[TICK_seen];
    tick_slot *obs = tick_carry(t, "obs before", s->d);
    tick_slot *steps = tick_carry(t, "steps", s->k * s->step);
    tick_slot *same = tick_carry(t, "same", s->k);
    nn_list all =
        NN_IN(obs->before, t->in[TICK_last_action], t->in[TICK_reward], t->in[TICK_terminated]);
    nn_list flags = NN_IN(nn_affine(seen, 0, 1));
    (void)b;
    if (older > 0) all.var[all.count++] = nn_slice(steps->before, 0, older * s->step);
    if (older > 0) flags.var[flags.count++] = nn_slice(same->before, 0, older);
    obs->after = t->in[TICK_obs];
    steps->after = tick_choose(seen, nn_concat(all), steps->before);
    same->after = nn_mul(nn_concat(flags), seen);
    *numbers = nn_concat(NN_IN(steps->after, same->after));
    return 0;
}

static context_numbers record(void *self, const context_batch *b, bool next)
{
    stack *s = self;
    s->replay = b->replay;
    stage_rows(b->inputs, &s->at[next], "steps before", 1, b->B, s->k);
    stage_numbers(b->inputs, &s->same[next], "same episode", 1, b->B, s->k);
    nn_var steps = replay_gather(s->replay, s->at[next].var);
    nn_var numbers = nn_concat(NN_IN(steps, s->same[next].var));
    return (context_numbers){numbers, numbers};
}

static void fill_rows(const stack *s, int replica, const int32_t *rows, bool next)
{
    bool same[MOST];
    int32_t *at = rows_of(&s->at[next], replica);
    float *flags = numbers_of(&s->same[next], replica);
    for (size_t b = 0; b < s->at[next].each; b += (size_t)s->k) {
        replay_before(s->replay, replica, *rows++, s->k, at + b, NULL, same);
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

/* The code, by layers of each reader's own. */
static nn_var record_code(const stack *s, nn_group *group, nn_var input)
{
    int width = s->k * (s->step + 1), d = nn_shape_of(input).D - width;
    nn_var steps = nn_slice(input, d, width);
    nn_var hidden = nn_dense(group, "coder", NN_IN(steps), 1, true, s->o->coder, NN_RELU);
    return nn_dense(group, "code", NN_IN(hidden), 1, true, s->o->code, NN_LINEAR);
}

static nn_var state_of(const stack *s, nn_var input)
{
    return nn_slice(input, 0, nn_shape_of(input).D - s->k * (s->step + 1));
}

static nn_list read_policy(const void *self, nn_group *group, nn_var input)
{
    return NN_IN(state_of(self, input), record_code(self, group, input));
}

static nn_list read_critic(const void *self, nn_group *group, nn_var input, nn_var action)
{
    return NN_IN(state_of(self, input), record_code(self, group, input), action);
}

static int open_stack(void **out, const fans_algo_setup *setup)
{
    const fans_env_info *z = setup->info;
    int d = setup->pixels ? 0 : z->obs_dim; /* frames are what pixels are stacked as */
    const stack_options *o = fans_options(setup, "stack");
    stack *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    *s = (stack){.o = o,
                 .k = o->steps,
                 .rows = setup->replicas * setup->worlds,
                 .d = d,
                 .m = z->act_dim,
                 .step = d + z->act_dim + 2};
    context c = {.self = s,
                 .width = s->k * (s->step + 1),
                 .free = mem_free,
                 .note = note,
                 .tick = tick_stack,
                 .numbers = record,
                 .fill = fill,
                 .units = show};
    if (o->code > 0) c.front = (sac_front){s, read_policy, read_critic};
    return agent_new((agent **)out, setup, &c);
}

static fans_option_group_fn *const groups[] = {stack_option_group, sac_option_group,
                                               pixels_option_group, replay_option_group, NULL};

const fans_algo_def algo_stack = {.abi = FANS_ALGO_ABI,
                                  .name = "stack",
                                  .help = "soft actor-critic that sees its last steps",
                                  .told = FANS_TOLD_NOTHING,
                                  .wants_pixels = true,
                                  .groups = groups,
                                  .open = open_stack,
                                  AGENT_FUNCTIONS};
