/* zeus_net.h - ZeUS's context, its models, and its loss (Sodhani et al. 2022), on states.
 *
 * A context c is the mean of the codes of the last steps. Models T and R predict the change of
 * state and the reward from (s, a, c). What two contexts do differently at the same (s, a) is
 *
 *     d = |R(s, a, c1) - R(s, a, c2)| + |T(s, a, c1) - T(s, a, c2)|
 *
 * and contexts shall lie as far apart as they do differently:
 *
 *     loss = E [ weight (|c1 - c2| - d)² + |T(s, a, c1) - Δs|² + (R(s, a, c1) - r)² ]
 *
 * with d held constant; c2 is the context of another row, which is drawn at random. */
#ifndef LEARN_ZEUS_NET_H
#define LEARN_ZEUS_NET_H

#include "learn/seen.h"

typedef struct zeus_net {
    nn_group *context, *models;
    int latents, coder, width; /* units of a hidden layer: of the coder, of the models */
    double weight;             /* of the loss on distances */
    bool gain;                 /* contexts scale the models' first layers */
} zeus_net;

/* The codes (T, B, latents) of steps. */
nn_var zeus_record_codes(const zeus_net *z, seen x);

/* The context (1, B, latents) of the last steps (k, B, ·), of which `there` (k, B, 1) says which
 * there are. Without any it is zero. */
nn_var zeus_record_context(const zeus_net *z, seen last, nn_var there);

/* The parts of the loss; and means of |c1 - c2| and d, to watch: a context that
 * collapses looks fine in the loss. */
typedef struct zeus_costs {
    nn_var context, step, reward;
    nn_var distance, difference;
} zeus_costs;
zeus_costs zeus_record_costs(const zeus_net *z, seen x, nn_var c);

#endif
