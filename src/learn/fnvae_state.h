/* fnvae_state.h - what of an FN-VAE must survive a restart. */
#ifndef LEARN_FNVAE_STATE_H
#define LEARN_FNVAE_STATE_H

#include "data/state.h"
#include "learn/belief.h"

void fnvae_state(fnvae *f, int replica, state_list *s);
void belief_state(belief *b, int replica, state_list *s);

#endif
