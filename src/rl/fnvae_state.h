/* fnvae_state.h - what of an FN-VAE must survive a restart. */
#ifndef RL_FNVAE_STATE_H
#define RL_FNVAE_STATE_H

#include "model/belief.h"
#include "rl/state.h"

void fnvae_state(fnvae *f, int replica, state_list *s);
void belief_state(belief *b, int replica, state_list *s);

#endif
