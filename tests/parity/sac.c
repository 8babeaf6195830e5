/* parity_sac.c - one update of src/learn/sac.c, laid open: batch, noise, parameters before and
 * after, gradients and losses, as JSON for the comparison with PyTorch. It includes the file
 * itself, because the noise is nobody else's business. */
#include "learn/sac.c" // NOLINT: on purpose

#include <stdio.h>

#include "base/pool.h"
#include "base/rng.h"
#include "nn/graph.h"

#include "../learn/sac_rig.h"
#include "json_numbers.h"

static void append(json_t *list, const float *x, int n)
{
    for (int k = 0; k < n; k++) json_array_append_new(list, json_real((double)x[k]));
}

/* Rows lie in the order of their numbers: the ring has not gone round. */
static replay_row row(const sac_rig *t, int32_t number)
{
    return replay_at(t->replay, 0, number);
}

enum { ACTION, REWARD, TERMINATED };

/* What the rows where transitions begin have. */
static json_t *column(const sac_rig *t, int what)
{
    json_t *list = json_array();
    for (int i = 0; i < RIG_BATCH; i++) {
        replay_row x = row(t, rows_of(&t->at, 0)[i]);
        float terminated = x.terminated;
        if (what == ACTION) append(list, x.action, RIG_ACTIONS);
        if (what == REWARD) append(list, &x.reward, 1);
        if (what == TERMINATED) append(list, &terminated, 1);
    }
    return list;
}

/* The observations of some rows, and the numbers beside others. */
static json_t *inputs(const sac_rig *t, const staged *at, const staged *beside)
{
    json_t *list = json_array();
    for (int i = 0; i < RIG_BATCH; i++) {
        append(list, row(t, rows_of(at, 0)[i]).obs, RIG_OBS);
        append(list, replay_beside(t->replay, 0, rows_of(beside, 0)[i], 0), RIG_NUMBERS);
    }
    return list;
}

static json_t *parameters(sac *s)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "actor", json_group(s->actor, false), "critic",
                     json_group(s->critic, false), "target", json_group(s->target, false), "temp",
                     json_group(s->temp, false));
}

/* parity_sac 0|1: without hindsight, or with. */
int main(int argc, char **argv)
{
    pool *threads;
    nn_backend *cpu;
    sac_rig t;
    sac_options o;
    const uint64_t seed = 5;
    options_default(sac_option_group(), &o);
    o.width = 7;
    o.discount = 0.99;
    o.tau = 0.005;
    o.lr = 3e-4;
    o.batch = RIG_BATCH;
    o.temp = 0.4;
    rng r = rng_stream(1, "parity", 0);
    if (pool_new(&threads, 1) < 0 || nn_cpu_new(&cpu, threads) < 0 ||
        sac_rig_new(&t, cpu, &o, 1, &seed) < 0) {
        fprintf(stderr, "%s\n", fans_error());
        return 1;
    }
    sac *s = t.sac;
    sac_rig_live(&t, 1, &r);
    sac_rig_draw(&t, 1, argc > 1 && *argv[1] == '1', &r);
    json_t *before = parameters(s);
    if (sac_update(s) < 0) {
        fprintf(stderr, "%s\n", fans_error());
        return 1;
    }
    sac_losses l = sac_losses_of(s, 0);
    json_t *batch =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "input", inputs(&t, &t.at, &t.at), "next",
                  inputs(&t, &t.next, &t.next), "critic", inputs(&t, &t.at, &t.critic_at),
                  "critic_next", inputs(&t, &t.next, &t.critic_next), "action", column(&t, ACTION),
                  "reward", column(&t, REWARD), "terminated", column(&t, TERMINATED));
    json_t *all = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:f, s:f, s:f, s:f}, s:{s:o, s:o, s:o}}", "batch", batch,
        "before", before, "after", parameters(s), "noise_next", json_noise(s->g, 0), "noise",
        json_noise(s->g, 1), "sizes", json_pack("[i,i]", RIG_ACTIONS, RIG_BATCH), "losses",
        "critic", l.critic, "actor", l.actor, "temp", l.temp, "entropy", l.entropy, "gradients",
        "actor", json_group(s->actor, true), "critic", json_group(s->critic, true), "temp",
        json_group(s->temp, true));
    char *shown = json_text(all);
    puts(shown);
    mem_free(shown);
    json_decref(all);
    sac_rig_free(&t);
    nn_backend_free(cpu);
    pool_free(threads);
    return 0;
}
