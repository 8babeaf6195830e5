/* episodes.h - one latent per episode: those of the last episodes of each lifetime, in order. */
#ifndef LEARN_EPISODES_H
#define LEARN_EPISODES_H

#include "base/mem.h"
#include "data/state.h"

typedef struct episodes {
    int rows, most, n; /* lifetimes; episodes kept of each; numbers of a latent */
    float *z;          /* [row][most][n], the oldest first */
    int64_t *lived;    /* [row]: episodes so far */
} episodes;

int episodes_declare(episodes *e, arena *memory, int rows, int most, int n);

void episodes_clear(episodes *e, int row);
void episodes_add(episodes *e, int row, const float *z);

int episodes_known(const episodes *e, int row); /* how many are kept */
float *episodes_at(const episodes *e, int row, int i);

/* Copies the latents of episodes i to i + count - 1 to every `stride`-th number from `to`; zeros
 * for those that are not known. */
void episodes_copy(const episodes *e, int row, int i, int count, float *to, int stride);

/* Lists what the lifetimes of a replica carry. */
void episodes_carried(episodes *e, int replica, int worlds, state_list *s);

#endif
