/* method_steps.h - whole updates of compared methods for benchmarks, by the code that trains them:
 * recurrent SAC's, and VariBAD's of its encoder and decoders. Half-Cheetah's sizes, preset
 * standard; inputs are random, and no rows are gathered from a replay. */
#ifndef BENCH_METHOD_STEPS_H
#define BENCH_METHOD_STEPS_H

#include "../tests/nn/nn_steps.h"
#include "learn/recurrence.h"
#include "learn/varibad_net.h"
#include "nn/graph.h"

enum { METHOD_OBS = 17, METHOD_ACTIONS = 6 };

/* Of all plans of a graph, matrix products only. */
static inline double method_flops(const nn_graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->plan_count; i++) sum += nn_plan_flops(g->plans[i]);
    return sum;
}

static inline void method_fill(nn_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == LEAF_INPUT) step_fill((nn_var){g, (int)i}, -1, 1, 1);
}

/* ---- recurrent SAC --------------------------------------------------------------------------- */

typedef struct rsac_step {
    nn_graph *g;
    sac *sac;
} rsac_step;

enum { RSAC_WINDOW = 64, RSAC_WINDOWS = 32, RSAC_UNITS = 128, RSAC_MEMORIES = 3 };

/* In row t, time t + shift. */
static inline void rsac_write_time(nn_var at, int shift)
{
    int32_t time[RSAC_WINDOW * RSAC_WINDOWS];
    for (int i = 0; i < RSAC_WINDOW * RSAC_WINDOWS; i++) time[i] = i / RSAC_WINDOWS + shift;
    nn_write_index(at, 0, time);
}

/* Of policy, critics and targets. */
static inline void rsac_memories(nn_graph *g, nn_group **groups, nn_var *read)
{
    static const char *const names[RSAC_MEMORIES] = {"actor_memory", "critic_memory",
                                                     "target_memory"};
    int T = RSAC_WINDOW + 1, B = RSAC_WINDOWS;
    recurrence_rows rows = {nn_input(g, "obs", T, B, METHOD_OBS),
                            nn_input(g, "last action", T, B, METHOD_ACTIONS),
                            nn_input(g, "last reward", T, B, 1), nn_input(g, "first", T, B, 1)};
    for (int i = 0; i < RSAC_MEMORIES; i++) {
        groups[i] = nn_group_new(g, names[i]);
        nn_var state = recurrence_record(groups[i], rows, RSAC_UNITS, NN_NONE, NN_NONE);
        read[i] = nn_concat(NN_IN(rows.obs, nn_slice(state, 0, RSAC_UNITS)));
    }
}

static inline int rsac_step_new(rsac_step *s, nn_backend *b)
{
    static const int units = RSAC_UNITS;
    const uint64_t seed = 1;
    int T = RSAC_WINDOW, B = RSAC_WINDOWS, rc = 0;
    nn_group *memory[RSAC_MEMORIES];
    nn_var read[RSAC_MEMORIES];
    sac_options o;
    options_default(sac_option_group(), &o);
    o.discount = 0.97;
    TRY(nn_graph_new(&s->g, b, 1, &seed));
    nn_graph *g = s->g;
    TRY(sac_new(&s->sac, g, &o, METHOD_ACTIONS));
    rsac_memories(g, memory, read);
    nn_var now = nn_index(g, "now", T, B, 1), next = nn_index(g, "next", T, B, 1);
    sac_inputs in = {.actor = nn_pick(read[0], now),
                     .critic = nn_pick(read[1], now),
                     .next_actor = nn_pick(read[0], next),
                     .next_critic = nn_pick(read[2], next),
                     .action = nn_input(g, "action", T, B, METHOD_ACTIONS),
                     .reward = nn_input(g, "reward", T, B, 1),
                     .terminated = nn_input(g, "terminated", T, B, 1),
                     .discount = NN_NONE,
                     .weight = nn_input(g, "weight", T, B, 1)};
    sac_use_front(s->sac, recurrence_front(&units));
    sac_record(s->sac, &in);
    sac_record_act(s->sac, nn_input(g, "here", 1, 1, METHOD_OBS + units));
    sac_also also = {.with_actor = {memory[0]},
                     .with_actor_count = 1,
                     .with_critic = {memory[1]},
                     .with_critic_count = 1,
                     .targets = {memory[2]},
                     .sources = {memory[1]},
                     .target_count = 1,
                     .rate = 1.0 / 3};
    TRY(sac_plan(s->sac, &also));
    TRY(nn_graph_commit(g));
    sac_start(s->sac);
    method_fill(g);
    step_fill(in.terminated, 0, 0, 1);
    step_fill(in.weight, 1, 1, 1);
    rsac_write_time(now, 0);
    rsac_write_time(next, 1);
out:
    return rc;
}

static inline int rsac_step_run(void *s)
{
    return sac_update(((rsac_step *)s)->sac);
}

static inline void rsac_step_free(rsac_step *s)
{
    sac_free(s->sac);
    nn_graph_free(s->g);
}

/* ---- VariBAD --------------------------------------------------------------------------------- */

typedef struct varibad_step {
    nn_graph *g;
    varibad_net net;
    nn_plan *plan;
} varibad_step;

enum { VARIBAD_ROWS = 51, VARIBAD_SEGMENTS = 8 }; /* the steps of a segment, and one more */

static inline int varibad_step_new(varibad_step *s, nn_backend *b)
{
    const uint64_t seed = 1;
    int T = VARIBAD_ROWS, B = VARIBAD_SEGMENTS, O = METHOD_OBS, rc = 0;
    int32_t at[VARIBAD_ROWS * VARIBAD_SEGMENTS];
    TRY(nn_graph_new(&s->g, b, 1, &seed));
    nn_graph *g = s->g;
    s->net = (varibad_net){nn_group_new(g, "encoder"), nn_group_new(g, "decoder"), 16, 128, false};
    seen x = {nn_input(g, "s", T, B, O), nn_input(g, "a", T, B, METHOD_ACTIONS),
              nn_input(g, "s1", T, B, O), nn_input(g, "ds", T, B, O), nn_input(g, "r", T, B, 1)};
    nn_var decoded = nn_index(g, "decoded", T, B, 1), weight = nn_input(g, "weight", T, B, 1);
    varibad_costs c = varibad_record_costs(&s->net, x, decoded, weight);
    nn_var costs[] = {c.reward, c.step, nn_affine(c.kl, 0.1, 0)};
    nn_group *groups[] = {s->net.encoder, s->net.decoder};
    TRY(nn_plan_new(&s->plan, g, costs, 3, 3, groups, 2));
    TRY(nn_graph_commit(g));
    method_fill(g);
    step_fill(weight, 1, 1, 1);
    for (int i = 0; i < T * B; i++) at[i] = i * 7919 % (T - 1);
    nn_write_index(decoded, 0, at);
out:
    return rc;
}

static inline int varibad_step_run(void *step)
{
    varibad_step *s = step;
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.lr = 1e-3;
    adam.clip = 1;
    TRY(nn_plan_run(s->plan));
    TRY(nn_group_adam(s->net.encoder, &adam));
    TRY(nn_group_adam(s->net.decoder, &adam));
out:
    return rc;
}

static inline void varibad_step_free(varibad_step *s)
{
    nn_graph_free(s->g);
}

#endif
