/* parity_sac.c - one update of src/learn/sac.c, laid open: batch, noise, parameters before and
 * after, gradients and losses, as JSON for the comparison with PyTorch. It includes the file
 * itself, because the noise is nobody else's business. */
#include "learn/sac.c" // NOLINT: on purpose

#include <stdio.h>

#include "base/json.h"
#include "base/rng.h"
#include "nn/graph.h"

enum { OBS = 5, EXTRA = 3, ACTIONS = 2, BATCH = 12, WIDTH = OBS + ACTIONS + 2 };

static float steps[2 * BATCH * WIDTH], extra[2 * BATCH * EXTRA]; /* the memory */

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

/* Columns of the rows where transitions begin. */
static json_t *column(const int32_t *at, int from, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < BATCH; i++) append(list, steps + at[i] * WIDTH + from, n);
    return list;
}

/* The observations of some rows, and the extra numbers of others. */
static json_t *inputs(const int32_t *at, const int32_t *beside)
{
    json_t *list = json_array();
    for (int i = 0; i < BATCH; i++) {
        append(list, steps + at[i] * WIDTH, OBS);
        append(list, extra + beside[i] * EXTRA, EXTRA);
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
    return numbers(u->scratch, (size_t)BATCH * ACTIONS);
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
    sac *s;
    sac_options o;
    const uint64_t seed = 5;
    options_default(sac_option_group(), &o);
    o.width = 7;
    o.batch = BATCH;
    o.temp = 0.4;
    sac_shape z = {.obs = OBS,
                   .extra = EXTRA,
                   .actions = ACTIONS,
                   .rows = 1,
                   .replicas = 1,
                   .memory = 2 * BATCH,
                   .hindsight = argc > 1 && *argv[1] == '1'};
    if (pool_new(&threads, 1) < 0 || nn_cpu_new(&cpu, threads) < 0 ||
        sac_new(&s, cpu, &o, z, steps, extra, &seed) < 0) {
        fprintf(stderr, "%s\n", fans_error());
        return 1;
    }
    rng r = rng_stream(1, "oracle", 0);
    sac_batch b = sac_batch_of(s, 0);
    for (int k = 0; k < 2 * BATCH * EXTRA; k++) extra[k] = (float)rng_normal(&r);
    for (int i = 0; i < BATCH; i++) { /* transition i begins in row 2 i and ends in the next one */
        float *here = steps + (size_t)(2 * i * WIDTH), *next = here + WIDTH;
        for (int k = 0; k < OBS; k++) {
            here[k] = (float)rng_normal(&r);
            next[k] = (float)rng_normal(&r);
        }
        for (int k = 0; k < ACTIONS; k++) here[OBS + k] = (float)rng_between(&r, -1, 1);
        here[OBS + ACTIONS] = (float)rng_normal(&r);
        here[OBS + ACTIONS + 1] = i % 4 == 0;
        b.at[i] = 2 * i;
        b.next[i] = 2 * i + 1;
        b.judged_at[i] = z.hindsight ? (2 * i + 7) % (2 * BATCH) : b.at[i]; /* any others */
        b.judged_next[i] = z.hindsight ? (2 * i + 10) % (2 * BATCH) : b.next[i];
    }
    json_t *before = parameters(s);
    if (sac_update(s) < 0) {
        fprintf(stderr, "%s\n", fans_error());
        return 1;
    }
    sac_losses l = sac_losses_of(s, 0);
    json_t *batch =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "input", inputs(b.at, b.at), "next",
                  inputs(b.next, b.next), "judged", inputs(b.at, b.judged_at), "judged_next",
                  inputs(b.next, b.judged_next), "action", column(b.at, OBS, ACTIONS), "reward",
                  column(b.at, OBS + ACTIONS, 1), "terminated", column(b.at, OBS + ACTIONS + 1, 1));
    json_t *all = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:f, s:f, s:f, s:f}, s:{s:o, s:o, s:o}}", "batch", batch,
        "before", before, "after", parameters(s), "noise_next", noise(s, sample_number(s, 0)),
        "noise", noise(s, sample_number(s, 1)), "sizes", json_pack("[i,i]", ACTIONS, BATCH),
        "losses", "critic", l.critic, "actor", l.actor, "temp", l.temp, "entropy", l.entropy,
        "gradients", "actor", group_values(s->actor, true), "critic", group_values(s->critic, true),
        "temp", group_values(s->temp, true));
    char *shown = json_text(all);
    puts(shown);
    mem_free(shown);
    json_decref(all);
    sac_free(s);
    nn_backend_free(cpu);
    pool_free(threads);
    return 0;
}
