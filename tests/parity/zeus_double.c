/* zeus_double.c - the loss of learn/zeus_net.c and its gradients, for PyTorch. With an argument,
 * contexts scale the models' first layers. */
#include "learn/zeus_net.c" // NOLINT: on purpose

#include "latent_double.h"

enum { LATENTS = 3, CODER = 5, WIDTH = 7 };

static bool gain;

static int run(nn_graph *g, rng *r)
{
    int rc = 0;
    zeus_net z = {
        nn_group_new(g, "context"), nn_group_new(g, "models"), LATENTS, CODER, WIDTH, 0.3, gain};
    seen last = latent_inputs(g, T), now = latent_inputs(g, 1);
    nn_var there = nn_input(g, "there", T, B, 1), c = zeus_record_context(&z, last, there);
    zeus_costs k = zeus_record_costs(&z, now, c);
    nn_var wanted[] = {k.context, k.step, k.reward, k.distance, k.difference, c};
    nn_group *groups[] = {z.context, z.models};
    nn_plan *plan;
    TRY(nn_plan_new(&plan, g, wanted, 6, 3, groups, 2));
    TRY(nn_graph_commit(g));
    latent_fill(last, r);
    latent_fill(now, r);
    for (int i = 0; i < T * B; i++) nn_data(there, 0)[i] = i / B < latent_length(i % B);
    TRY(nn_plan_run(plan));
    latent_show(json_pack(
        "{s:o, s:o, s:o, s:o, s:[f,f,f], s:[f,f], s:{s:o, s:o}, s:{s:o, s:o}}", "last",
        latent_steps(last), "steps", latent_steps(now), "there", json_tensor(there, false), "c",
        json_tensor(c, false), "costs", nn_scalar_get(k.context, 0), nn_scalar_get(k.step, 0),
        nn_scalar_get(k.reward, 0), "means", nn_scalar_get(k.distance, 0),
        nn_scalar_get(k.difference, 0), "values", "context", json_group(z.context, false), "models",
        json_group(z.models, false), "gradients", "context", json_group(z.context, true), "models",
        json_group(z.models, true)));
out:
    return rc;
}

int main(int argc, char **argv)
{
    (void)argv;
    gain = argc > 1;
    return latent_main(run);
}
