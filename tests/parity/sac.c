/* parity_sac.c - one update of src/learn/sac.c, laid open: batch, noise, parameters before and
 * after, gradients and losses, as JSON for the comparison with PyTorch. It includes the file
 * itself, because the noise is nobody else's business. */
#include "learn/sac.c" // NOLINT: on purpose

#include <stdio.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/rng.h"
#include "nn/graph.h"

#include "../learn/sac_rig.h"

static json_t *numbers(const float *x, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real((double)x[i]));
    return list;
}

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

static json_t *group_values(nn_group *group, bool gradients)
{
    json_t *all = json_object();
    for (int i = 0; i < nn_group_params(group); i++) {
        nn_var p = nn_group_param(group, i);
        nn_shape s = nn_shape_of(p);
        json_t *one = json_pack("{s:[i,i,i], s:o}", "shape", s.T, s.B, s.D, "value",
                                numbers(gradients ? nn_grad(p, 0) : nn_data(p, 0), nn_size(s)));
        json_object_set_new(all, nn_name_of(p), one);
    }
    return all;
}

static json_t *parameters(sac *s)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "actor", group_values(s->actor, false), "critic",
                     group_values(s->critic, false), "target", group_values(s->target, false),
                     "temp", group_values(s->temp, false));
}

/* The normals behind a policy's sample: the policy reads `input`. */
static json_t *noise(sac *s, nn_var action)
{
    const nn_node *tanh = &s->g->nodes[action.id], *u = &s->g->nodes[tanh->in[0]];
    return numbers(u->scratch, (size_t)RIG_BATCH * RIG_ACTIONS);
}

/* The squashed samples of the two policies in the update, in the order of recording. */
static nn_var sample_number(sac *s, int which)
{
    for (size_t i = 0; i < s->g->count; i++) {
        const nn_node *n = &s->g->nodes[i];
        if (n->op != NN_OP_activate || n->in_count != 1) continue;
        if (s->g->nodes[n->in[0]].op == NN_OP_gauss_sample && which-- == 0)
            return (nn_var){s->g, (int)i};
    }
    return NN_NONE;
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
        "before", before, "after", parameters(s), "noise_next", noise(s, sample_number(s, 0)),
        "noise", noise(s, sample_number(s, 1)), "sizes", json_pack("[i,i]", RIG_ACTIONS, RIG_BATCH),
        "losses", "critic", l.critic, "actor", l.actor, "temp", l.temp, "entropy", l.entropy,
        "gradients", "actor", group_values(s->actor, true), "critic", group_values(s->critic, true),
        "temp", group_values(s->temp, true));
    char *shown = json_text(all);
    puts(shown);
    mem_free(shown);
    json_decref(all);
    sac_rig_free(&t);
    nn_backend_free(cpu);
    pool_free(threads);
    return 0;
}
