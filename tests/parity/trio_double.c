/* trio_double.c - the loss of learn/trio_net.c and its gradients, for PyTorch. */
#include "learn/trio_net.c" // NOLINT: on purpose

#include "latent_double.h"

enum { FACTORS = 3, LSTM = 5 };

static int run(nn_graph *g, rng *r)
{
    int rc = 0;
    trio_net t = {nn_group_new(g, "inference"), FACTORS, LSTM};
    seen x = latent_inputs(g, T);
    trio_gauss prior = {nn_input(g, "mean", T, B, FACTORS), nn_input(g, "log_std", T, B, FACTORS)};
    nn_var z = nn_input(g, "z", T, B, FACTORS), per_step = nn_input(g, "per_step", T, B, 1);
    nn_var weight = nn_input(g, "weight", T, B, 1);
    nn_var states = trio_record_states(&t, x, prior, NN_NONE, NN_NONE);
    trio_gauss q = trio_record_posterior(&t, states, prior, per_step);
    nn_var cost = trio_record_cost(q, prior, z, per_step, weight);
    nn_plan *plan;
    TRY(nn_plan_new(&plan, g, &cost, 1, 1, &t.group, 1));
    TRY(nn_graph_commit(g));
    latent_fill(x, r);
    fill_between(prior.mean, r, -1, 1);
    fill_between(prior.log_std, r, -2, -0.5);
    fill_between(z, r, -1, 1);
    for (int i = 0; i < T * B; i++) {
        nn_data(per_step, 0)[i] = 1 / (real)(i / B + 1);
        nn_data(weight, 0)[i] = i / B < latent_length(i % B);
    }
    TRY(nn_plan_run(plan));
    latent_show(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "steps", latent_steps(x),
                          "mean", json_tensor(prior.mean, false), "log_std",
                          json_tensor(prior.log_std, false), "z", json_tensor(z, false), "per_step",
                          json_tensor(per_step, false), "weight", json_tensor(weight, false),
                          "cost", nn_scalar_get(cost, 0), "values", json_group(t.group, false),
                          "gradients", json_group(t.group, true)));
out:
    return rc;
}

int main(void)
{
    return latent_main(run);
}
