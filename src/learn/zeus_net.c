/* zeus_net.c - coder, models and loss. */
#include "learn/zeus_net.h"

enum { HIDDEN = 2 }; /* layers */

nn_var zeus_record_codes(const zeus_net *z, seen x)
{
    nn_list step = NN_IN(x.s, x.a, x.r, x.s1);
    return nn_mlp(z->context, "coder", step, 1, HIDDEN, z->coder, NN_RELU, z->latents);
}

nn_var zeus_record_context(const zeus_net *z, seen last, nn_var there)
{
    return nn_pool(zeus_record_codes(z, last), there);
}

/* Sums of units hardly find a latent that scales the effect of others, such as the sign of a motor:
 * `gain` gives them products. */
static nn_var predict(const zeus_net *z, const char *name, seen x, nn_var c, int units)
{
    nn_list in = NN_IN(x.s, x.a, c);
    if (z->gain)
        return nn_gain_mlp(z->models, name, in, NN_IN(c), NN_NONE, 1, HIDDEN, z->width, NN_RELU,
                           units);
    return nn_mlp(z->models, name, in, 1, HIDDEN, z->width, NN_RELU, units);
}

zeus_costs zeus_record_costs(const zeus_net *z, seen x, nn_var c)
{
    int n = nn_shape_of(x.ds).D;
    nn_var other = nn_roll(c), distance = nn_norm(nn_sub(c, other)), held = nn_detach(other);
    nn_var step = predict(z, "step", x, c, n), reward = predict(z, "reward", x, c, 1);
    nn_var other_step = predict(z, "step", x, held, n);
    nn_var other_reward = predict(z, "reward", x, held, 1);
    nn_var d = nn_add(nn_norm(nn_sub(reward, other_reward)), nn_norm(nn_sub(step, other_step)));
    d = nn_detach(d);
    return (zeus_costs){.context = nn_affine(nn_mse(distance, d, NN_NONE), z->weight, 0),
                        .step = nn_mse(step, x.ds, NN_NONE),
                        .reward = nn_mse(reward, x.r, NN_NONE),
                        .distance = nn_mean(distance, NN_NONE),
                        .difference = nn_mean(d, NN_NONE)};
}
