/* recurrent_double.c - SAC whose critics read a recurrent encoder, in double precision: parameters,
 * noise, losses and gradients of one update as JSON, for the comparison with PyTorch. Windows of T
 * steps with resets and a mask; the target reads the encoder one step later, without a gradient. It
 * includes the file itself, because the losses are nobody else's business. */
#include "learn/sac.c" // NOLINT: on purpose

#include <stdio.h>

#include "base/pool.h"
#include "base/rng.h"
#include "nn/graph.h"

#include "json_numbers.h"

enum { T = 5, B = 3, OBS = 4, UNITS = 6, ACTIONS = 2 };

/* What a window holds: T + 1 observations, and what happened in T steps. */
typedef struct window {
    nn_var obs, reset, now, next, action, reward, terminated, weight;
} window;

static window record_window(nn_graph *g)
{
    return (window){.obs = nn_input(g, "obs", T + 1, B, OBS),
                    .reset = nn_input(g, "reset", T + 1, B, 1),
                    .now = nn_index(g, "now", T, B, 1),
                    .next = nn_index(g, "next", T, B, 1),
                    .action = nn_input(g, "action", T, B, ACTIONS),
                    .reward = nn_input(g, "reward", T, B, 1),
                    .terminated = nn_input(g, "terminated", T, B, 1),
                    .weight = nn_input(g, "weight", T, B, 1)};
}

/* The critics' loss reaches the encoder; the policy reads what it says, and leaves it alone. */
static int record_update(sac *s, nn_group *encoder, const window *w)
{
    nn_var state = nn_lstm_layer(encoder, "lstm", NN_IN(w->obs), UNITS, 0, NN_NONE, w->reset);
    nn_var seen = nn_concat(NN_IN(w->obs, nn_slice(state, 0, UNITS)));
    nn_var now = nn_pick(seen, w->now), next = nn_detach(nn_pick(seen, w->next));
    sac_inputs in = {.actor = nn_detach(now),
                     .critic = now,
                     .next_actor = next,
                     .next_critic = next,
                     .action = w->action,
                     .reward = w->reward,
                     .terminated = w->terminated,
                     .discount = NN_NONE,
                     .weight = w->weight};
    sac_record(s, &in);
    sac_record_act(s, nn_input(s->g, "here", 1, 1, OBS + UNITS));
    sac_also also = {.with_critic = {encoder}, .with_critic_count = 1};
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
    fill(w->action, r, 0);
    fill(w->reward, r, 0);
    fill(w->reset, r, 1);
    fill(w->terminated, r, 1);
    fill(w->weight, r, 2);
}

static json_t *window_json(const window *w)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "obs", json_tensor(w->obs, false), "reset",
                     json_tensor(w->reset, false), "action", json_tensor(w->action, false),
                     "reward", json_tensor(w->reward, false), "terminated",
                     json_tensor(w->terminated, false), "weight", json_tensor(w->weight, false));
}

static int run(sac *s, nn_group *encoder, const window *w)
{
    json_t *before =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "encoder", json_group(encoder, false), "actor",
                  json_group(s->actor, false), "critic", json_group(s->critic, false), "target",
                  json_group(s->target, false), "temp", json_group(s->temp, false));
    int rc = sac_update(s);
    sac_losses l = sac_losses_of(s, 0);
    json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:{s:f, s:f}, s:{s:o, s:o, s:o}}", "window",
                            window_json(w), "before", before, "noise_next", json_noise(s->g, 0),
                            "noise", json_noise(s->g, 1), "losses", "critic", l.critic, "actor",
                            l.actor, "gradients", "encoder", json_group(encoder, true), "critic",
                            json_group(s->critic, true), "actor", json_group(s->actor, true));
    char *shown = json_text(all);
    puts(shown);
    mem_free(shown);
    json_decref(all);
    return rc;
}

int main(void)
{
    pool *threads;
    nn_backend *cpu;
    nn_graph *g;
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
    nn_group *encoder = nn_group_new(g, "encoder");
    window w = record_window(g);
    TRY(record_update(s, encoder, &w));
    TRY(nn_graph_commit(g));
    sac_start(s);
    rng r = rng_stream(1, "parity", 0);
    fill_window(&w, &r);
    TRY(run(s, encoder, &w));
    sac_free(s);
    nn_graph_free(g);
    nn_backend_free(cpu);
    pool_free(threads);
out:
    if (rc < 0) fprintf(stderr, "%s\n", fans_error());
    return rc < 0;
}
