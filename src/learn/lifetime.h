/* lifetime.h - transitions in the order in which they were lived, for fitting a model to recorded
 * data. (An agent that lives on has data/replay.h.) */
#ifndef LEARN_LIFETIME_H
#define LEARN_LIFETIME_H

#include "learn/fnvae.h"

typedef struct lifetime lifetime;
int lifetime_new(lifetime **out, fnvae_dims z, int capacity);
void lifetime_free(lifetime *l);

/* Copies a transition; there must be room. */
void lifetime_add(lifetime *l, const fnvae_row *row);
int lifetime_count(const lifetime *l);
fnvae_row lifetime_at(const lifetime *l, int i);

/* `count` rows from `from` on. */
void lifetime_window(const lifetime *l, int from, int count, fnvae_row *rows);

#endif
