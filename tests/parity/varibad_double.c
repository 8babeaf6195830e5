/* varibad_double.c - the ELBO of learn/varibad_net.c and its gradients, for PyTorch. With an
 * argument, latents scale the decoders' first layers. */
#include "learn/varibad_net.c" // NOLINT: on purpose

#include "latent_double.h"

enum { LATENTS = 3, LSTM = 5 };

static bool gain;

static int run(nn_graph *g, rng *r)
{
    int rc = 0;
    int32_t decoded[T * B];
    varibad_net v = {nn_group_new(g, "encoder"), nn_group_new(g, "decoder"), LATENTS, LSTM, gain};
    seen x = latent_inputs(g, T);
    nn_var at = nn_index(g, "decoded", T, B, 1), weight = nn_input(g, "weight", T, B, 1);
    varibad_costs c = varibad_record_costs(&v, x, at, weight);
    nn_var costs[] = {c.reward, c.step, nn_affine(c.kl, 0.1, 0)};
    nn_group *groups[] = {v.encoder, v.decoder};
    nn_plan *plan;
    TRY(nn_plan_new(&plan, g, costs, 3, 3, groups, 2));
    TRY(nn_graph_commit(g));
    latent_fill(x, r);
    json_t *rows = json_array();
    for (int i = 0; i < T * B; i++) {
        int n = latent_length(i % B);
        bool there = i / B <= n;
        decoded[i] = there ? (int32_t)rng_below(r, (uint32_t)n) : -1;
        nn_data(weight, 0)[i] = there;
        json_array_append_new(rows, json_integer(decoded[i]));
    }
    nn_write_index(at, 0, decoded);
    TRY(nn_plan_run(plan));
    latent_show(json_pack("{s:o, s:o, s:o, s:o, s:[f,f,f], s:{s:o, s:o}, s:{s:o, s:o}}", "steps",
                          latent_steps(x), "decoded", rows, "weight", json_tensor(weight, false),
                          "noise", json_noise(g, 0), "costs", nn_scalar_get(costs[0], 0),
                          nn_scalar_get(costs[1], 0), nn_scalar_get(costs[2], 0), "values",
                          "encoder", json_group(v.encoder, false), "decoder",
                          json_group(v.decoder, false), "gradients", "encoder",
                          json_group(v.encoder, true), "decoder", json_group(v.decoder, true)));
out:
    return rc;
}

int main(int argc, char **argv)
{
    (void)argv;
    gain = argc > 1;
    return latent_main(run);
}
