/* retina.h - a state from pixels: a few numbers from which a model can draw the frames again, tell
 * the reward, and foresee the numbers after the next step (Lee et al. 2020; the paper's sizes).
 *
 *     last frames ─▶ 4 convolutions, dense ─▶ s ─▶ dense, 4 transposed convolutions ─▶ them again
 *                                 s, a, s', theta ─▶ the reward
 *                                            s, a ─▶ s', held
 *
 * These three costs alone train it. What others read is a slow copy of the encoder, as the sight of
 * an agent (learn/sight.h): beliefs about theta need a state that keeps its meaning. Theta is the
 * belief that the replay keeps, and only informs the reward: no cost reaches it. */
#ifndef LEARN_RETINA_H
#define LEARN_RETINA_H

#include "base/pool.h"
#include "learn/fnvae.h"
#include "learn/sight.h"

#define RETINA_OPTIONS(X)                                                                         \
    X(INT, state, 24, 1, 256, "numbers that stand for the state")                                 \
    X(INT, channels, 32, 1, 256, "channels of the first convolution; the next have 2, 4 and 8 ×") \
    X(INT, batch, 64, 1, 4096, "steps per update")                                                \
    X(INT, updates, 4000, 1, 100000000, "updates in the first half of fans.initial")              \
    X(INT, every, 10, 1, 1000000, "after fans.initial: steps of a seed between updates")          \
    X(REAL, lr, 1e-3, 1e-8, 1, "learning rate of the first update")                               \
    X(REAL, lr_end, 1e-4, 1e-8, 1, "learning rate after fans.initial")                            \
    X(REAL, tau, 0.005, 1e-6, 1, "fraction by which the slow copy follows, per update")           \
    X(REAL, reward, 20, 0, 1e6, "weight of the reward's squared error, in units of its spread")   \
    X(REAL, foresee, 1, 0, 1e6, "weight of the next state's squared error")
OPTIONS_STRUCT(retina_options, RETINA_OPTIONS)
const option_group *retina_option_group(void);

typedef struct retina retina;

/* Takes [retina] and [pixels] from the setup. */
int retina_new(retina **out, const fans_algo_setup *setup);
void retina_free(retina *x); /* NULL is fine */
const retina_options *retina_options_of(const retina *x);
sight_encoder retina_sight(retina *x); /* the slow copy */

/* After the model, whose units it reads rewards in; the replay's last column has the frames, and
 * its first the beliefs. Then plan, ready. */
int retina_record(retina *x, nn_graph *g, const fnvae *f);
int retina_plan(retina *x);
int retina_ready(retina *x);

/* Makes `updates` updates, which the slow copy follows; or makes it the encoder at once. */
int retina_learn(retina *x, int64_t updates, pool *p);
void retina_settle(retina *x);

/* The newest frame of a row's world as the decoder draws it from these states, (rows, state):
 * (views, height, width, 3). NULL where that fails. */
const uint8_t *retina_draw(retina *x, const float *states, int row);

void retina_state(retina *x, int replica, state_list *s);
void retina_scalars(retina *x, int replica, fans_scalar_fn *emit, void *user);

#endif
