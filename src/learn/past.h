/* past.h - the replay as a model's past: windows over lifetimes to learn from, and stored beliefs
 * brought up to date.
 *
 * The extra numbers of a replay row are the belief in which its action was taken: the means [p +
 * q], and with `spread` the log standard deviations. Those of an episode's last row are the belief
 * that was reached there. */
#ifndef LEARN_PAST_H
#define LEARN_PAST_H

#include "base/pool.h"
#include "data/replay.h"
#include "learn/encode.h"

typedef struct past past;

/* A replay as the model's memory, to be encoded from. */
fnvae_memory past_memory(replay *r, int worlds, bool spread);

/* `worlds` lanes of the replay belong to each replica of the model. Borrows all three. */
int past_new(past **out, fnvae *f, replay *r, int worlds, pool *p);
void past_free(past *p);

/* Are there windows to learn from? They are drawn freely once there are so many rows in each lane.
 */
int past_least(const fnvae_options *o);
bool past_ready(const past *p);

/* Fills the model's next update with random windows; `draws` has one stream per replica. */
void past_fill(past *p, rng *draws);

/* Infers all stored beliefs anew, by the model as it is now. */
int past_refresh(past *p);

/* Mean and spread of the stored means of a replica, [p + q] each. */
void past_measure(const past *p, int replica, float *mean, float *spread);

#endif
