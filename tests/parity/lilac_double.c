/* lilac_double.c - the costs of learn/lilac_net.c and their gradients, for PyTorch: with critics'
 * loss, here |W (s, z)|², that reaches the encoder through z. With an argument, latents scale the
 * decoder's first layer. */
#include "learn/lilac_net.c" // NOLINT: on purpose

#include "latent_double.h"

enum { LATENTS = 3, COSTS = 5 };

static bool gain;

static int run(nn_graph *g, rng *r)
{
    int rc = 0;
    nn_group *critic = nn_group_new(g, "critic");
    lilac_net l = {nn_group_new(g, "encoder"), nn_group_new(g, "decoder"), nn_group_new(g, "prior"),
                   LATENTS, gain};
    seen x = latent_inputs(g, T);
    nn_var expected = nn_input(g, "expected", T, B, LATENTS);
    nn_var past = nn_input(g, "past", T, B, LATENTS), coming = nn_input(g, "coming", T, B, LATENTS);
    nn_var count = nn_input(g, "count", T, B, 1), none = nn_input(g, "none", T, B, 1);
    nn_var codes = lilac_record_codes(&l, x), z = lilac_record_latent(codes);
    lilac_costs c = lilac_record_decoding(&l, x, z);
    nn_var q = nn_dense(critic, "q", NN_IN(x.s, z), 1, true, 1, NN_LINEAR);
    nn_var costs[COSTS] = {c.reward, c.step, nn_affine(nn_mse(codes, expected, NN_NONE), 0.1, 0),
                           nn_mse(lilac_record_prior(&l, past), coming, count),
                           nn_mse(q, none, NN_NONE)};
    nn_group *groups[] = {l.encoder, l.decoder, l.prior, critic};
    nn_plan *plan;
    TRY(nn_plan_new(&plan, g, costs, COSTS, COSTS, groups, 4));
    TRY(nn_graph_commit(g));
    latent_fill(x, r);
    fill_between(expected, r, -1, 1);
    fill_between(past, r, -1, 1);
    fill_between(coming, r, -1, 1);
    for (int i = 0; i < T * B; i++) nn_data(count, 0)[i] = i / B < latent_length(i % B);
    TRY(nn_plan_run(plan));
    json_t *values = json_object(), *gradients = json_object(), *found = json_array();
    for (int i = 0; i < 4; i++) {
        json_object_set_new(values, nn_group_name(groups[i]), json_group(groups[i], false));
        json_object_set_new(gradients, nn_group_name(groups[i]), json_group(groups[i], true));
    }
    for (int i = 0; i < COSTS; i++)
        json_array_append_new(found, json_real(nn_scalar_get(costs[i], 0)));
    latent_show(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "steps", latent_steps(x),
                          "expected", json_tensor(expected, false), "past",
                          json_tensor(past, false), "coming", json_tensor(coming, false), "count",
                          json_tensor(count, false), "costs", found, "values", values, "gradients",
                          gradients));
out:
    return rc;
}

int main(int argc, char **argv)
{
    (void)argv;
    gain = argc > 1;
    return latent_main(run);
}
