/* pixels.h - what policy and critics see of cameras, in place of the observation (DrQ-v2: Yarats et
 * al. 2022).
 *
 *     last frames ─ shifted ─▶ 4 convolutions ─┬─ detached ─▶ linear, layer norm, tanh ─▶ policy
 *      of all views                            └────────────▶ linear, layer norm, tanh ─▶ critics
 *
 * The critics' loss alone trains the convolutions. Each of policy, critics and targets has a layer
 * of its own after them; the targets' follows the critics'. In learning, all frames of a row are
 * shifted alike by a few pixels, drawn anew for a row and for its successor.
 *
 * The replay keeps each frame once; networks stack them as they read (nn_frames). */
#ifndef LEARN_PIXELS_H
#define LEARN_PIXELS_H

#include "learn/context.h"

#define PIXELS_OPTIONS(X)                                                         \
    X(INT, frames, 3, 1, 16, "last frames of every camera that networks see")     \
    X(INT, channels, 32, 1, 1024, "channels of each of the four convolutions")    \
    X(INT, features, 50, 1, 8192, "numbers that policy and critics read of them") \
    X(INT, shift, 3, 0, 64,                                                       \
      "pixels by which frames are shifted in learning, at most; 4 at 84 × 84")    \
    X(INT, refresh, 2000, 0, 1000000000,                                          \
      "fans, zeus: steps of a seed between new looks at stored frames; 0: never")
OPTIONS_STRUCT(pixels_options, PIXELS_OPTIONS)
const option_group *pixels_option_group(void);

typedef struct pixels pixels;

/* Takes [pixels] from the setup. */
int pixels_new(pixels **out, const fans_algo_setup *setup);
void pixels_free(pixels *p);
int pixels_features(const pixels *p);

/* The frames, as a column of the replay. */
replay_column pixels_column(const pixels *p);

/* ---- recording ------------------------------------------------------------------------------- */

/* Before the batch, with the replay's column; what is seen of a batch's rows, and then of their
 * successors: (1, B, features); after everything is recorded; after the commit. */
int pixels_record(pixels *p, nn_graph *g, const replay *r, int column);
context_numbers pixels_see(pixels *p, const context_batch *b, bool next);
int pixels_plan(pixels *p, sac_also *also);
int pixels_ready(pixels *p);

/* ---- for other networks on the same frames (learn/sight.h) ------------------------------------
 */

int pixels_frames(const pixels *p);
size_t pixels_film_bytes(const pixels *p); /* of the last frames of a world */
const fans_env_info *pixels_info(const pixels *p);

/* The replay's frames; a table of other ones; frames of a table as convolutions read them, moved by
 * `shift` or not (NN_NONE); and what critics read of those. */
nn_var pixels_stored(const pixels *p);
nn_var pixels_table(const pixels *p, nn_graph *g, const char *name, int rows, uint8_t *frames);
nn_var pixels_film(const pixels *p, nn_var table, nn_var at, nn_var shift);
nn_var pixels_encode(const pixels *p, nn_var film);

/* Copies the last frames of a row's world; if `next` has those of all rows after a step, with it as
 * the last. */
void pixels_show(const pixels *p, int row, const uint8_t *next, uint8_t *film);

/* ---- living ---------------------------------------------------------------------------------- */

void pixels_start(pixels *p);

/* Before each step: takes the frames in; what the policy sees of them, (rows, features). */
void pixels_take(pixels *p, const fans_moment *now);
int pixels_look(pixels *p, float *seen);

/* After each step. */
void pixels_note(pixels *p, const fans_outcome *outcome);

/* Before each update, for one replica and on any thread: the frames of a batch. */
void pixels_fill(pixels *p, int replica, const int32_t *at, const int32_t *next);

/* What is learned; and what is carried along a lifetime. */
void pixels_state(pixels *p, int replica, state_list *s);
void pixels_carried(pixels *p, int replica, state_list *s);

#endif
