/* recurrent_double.c - recurrent SAC in double precision: parameters, noise, losses and gradients
 * of one update as JSON, for the comparison with PyTorch. Windows of T steps with resets and a
 * mask; policy, critics and targets have a memory each, and successors are the next row of the same
 * windows. It includes the files themselves, because the losses are nobody else's business. */
#include "learn/recurrence.c" // NOLINT: on purpose
#include "learn/sac.c"        // NOLINT: on purpose

#include <stdio.h>

#include "base/pool.h"
#include "base/rng.h"
#include "nn/graph.h"

#include "json_numbers.h"

enum { T = 5, B = 3, OBS = 4, UNITS = 6, ACTIONS = 2 };
enum { POLICY, CRITIC, TARGET, MEMORIES };

/* What a window holds: T + 1 rows, what was done and gained before them, and what came of T. */
typedef struct window {
    nn_var obs, last_action, last_reward, first, now, next, action, reward, terminated, weight;
} window;

static window record_window(nn_graph *g)
{
    return (window){.obs = nn_input(g, "obs", T + 1, B, OBS),
                    .last_action = nn_input(g, "last_action", T + 1, B, ACTIONS),
                    .last_reward = nn_input(g, "last_reward", T + 1, B, 1),
                    .first = nn_input(g, "first", T + 1, B, 1),
                    .now = nn_index(g, "now", T, B, 1),
                    .next = nn_index(g, "next", T, B, 1),
                    .action = nn_input(g, "action", T, B, ACTIONS),
                    .reward = nn_input(g, "reward", T, B, 1),
                    .terminated = nn_input(g, "terminated", T, B, 1),
                    .weight = nn_input(g, "weight", T, B, 1)};
}

static int record_update(sac *s, nn_group *const *memory, const window *w)
{
    static const int units = UNITS;
    nn_var now[MEMORIES], next[MEMORIES];
    recurrence_rows rows = {w->obs, w->last_action, w->last_reward, w->first};
    for (int i = 0; i < MEMORIES; i++) {
        nn_var state = recurrence_record(memory[i], rows, UNITS, NN_NONE, w->first);
        nn_var seen = nn_concat(NN_IN(w->obs, nn_slice(state, 0, UNITS)));
        now[i] = nn_pick(seen, w->now);
        next[i] = nn_pick(seen, w->next);
    }
    sac_inputs in = {.actor = now[POLICY],
                     .critic = now[CRITIC],
                     .next_actor = next[POLICY],
                     .next_critic = next[TARGET],
                     .action = w->action,
                     .reward = w->reward,
                     .terminated = w->terminated,
                     .discount = NN_NONE,
                     .weight = w->weight};
    sac_use_front(s, recurrence_front(&units));
    sac_record(s, &in);
    sac_record_act(s, nn_input(s->g, "here", 1, 1, OBS + UNITS));
    sac_also also = {.with_actor = {memory[POLICY]},
                     .with_actor_count = 1,
                     .with_critic = {memory[CRITIC]},
                     .with_critic_count = 1};
    return sac_plan(s, &also);
}

static void fill(nn_var v, rng *r, int kind)
{
    size_t n = nn_size(nn_shape_of(v));
    for (size_t i = 0; i < n; i++) {
        double u = rng_uniform(r);
        nn_data(v, 0)[i] = kind == 0 ? 2 * u - 1 : u < (kind == 1 ? 0.25 : 0.8);
    }
}

static void fill_window(const window *w, rng *r)
{
    int32_t now[T * B], next[T * B];
    for (int i = 0; i < T * B; i++) {
        now[i] = i / B;
        next[i] = i / B + 1;
    }
    nn_write_index(w->now, 0, now);
    nn_write_index(w->next, 0, next);
    fill(w->obs, r, 0);
    fill(w->last_action, r, 0);
    fill(w->last_reward, r, 0);
    fill(w->action, r, 0);
    fill(w->reward, r, 0);
    fill(w->first, r, 1);
    fill(w->terminated, r, 1);
    fill(w->weight, r, 2);
}

static json_t *window_json(const window *w)
{
    const struct {
        const char *name;
        nn_var var;
    } all[] = {{"obs", w->obs},
               {"last_action", w->last_action},
               {"last_reward", w->last_reward},
               {"first", w->first},
               {"action", w->action},
               {"reward", w->reward},
               {"terminated", w->terminated},
               {"weight", w->weight}};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(out, all[i].name, json_tensor(all[i].var, false));
    return out;
}

/* Values or gradients of some groups, by their names. */
static json_t *groups_json(nn_group *const *groups, int count, bool gradients)
{
    json_t *out = json_object();
    for (int i = 0; i < count; i++)
        json_object_set_new(out, nn_group_name(groups[i]), json_group(groups[i], gradients));
    return out;
}

static int run(sac *s, nn_group *const *memory, const window *w)
{
    nn_group *all[] = {s->actor,  s->critic, memory[POLICY], memory[CRITIC],
                       s->target, s->temp,   memory[TARGET]};
    json_t *before = groups_json(all, 7, false);
    int rc = sac_update(s);
    sac_losses l = sac_losses_of(s, 0);
    json_t *shown =
        json_pack("{s:o, s:o, s:o, s:o, s:{s:f, s:f}, s:o}", "window", window_json(w), "before",
                  before, "noise_next", json_noise(s->g, 0), "noise", json_noise(s->g, 1), "losses",
                  "critic", l.critic, "actor", l.actor, "gradients", groups_json(all, 4, true));
    char *lines = json_text(shown);
    puts(lines);
    mem_free(lines);
    json_decref(shown);
    return rc;
}

int main(void)
{
    static const char *const names[MEMORIES] = {"actor_memory", "critic_memory", "target_memory"};
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
    nn_group *memory[MEMORIES];
    sac *s;
    sac_options o;
    const uint64_t seed = 3;
    int rc = 0;
    options_default(sac_option_group(), &o);
    o.width = 8;
    o.discount = 0.99;
    o.temp = 0.3;
    o.lr = 1e-8; /* the critics hardly move between their gradient and the policy's */
    TRY(pool_new(&threads, 1));
    TRY(nn_cpu_new(&cpu, threads));
    TRY(nn_graph_new(&g, cpu, 1, &seed));
    TRY(sac_new(&s, g, &o, ACTIONS));
    for (int i = 0; i < MEMORIES; i++) memory[i] = nn_group_new(g, names[i]);
    window w = record_window(g);
    TRY(record_update(s, memory, &w));
    TRY(nn_graph_commit(g));
    sac_start(s);
    rng r = rng_stream(1, "parity", 0);
    fill_window(&w, &r);
    TRY(run(s, memory, &w));
    sac_free(s);
    nn_graph_free(g);
    nn_backend_free(cpu);
    pool_free(threads);
out:
    if (rc < 0) fprintf(stderr, "%s\n", fans_error());
    return rc < 0;
}
