/* fnvae_options.h - every size, weight and switch of the FN-VAE, and its presets. */
#ifndef LEARN_FNVAE_OPTIONS_H
#define LEARN_FNVAE_OPTIONS_H

#include "base/options.h"
#include "fans/env.h"

enum { FNVAE_MOST = 128 };                               /* factors of both kinds together */
enum { READS_BOTH, READS_BEFORE, READS_AFTER };          /* reward_reads */
enum { SMOOTH_STEP, SMOOTH_MA, SMOOTH_EMA, SMOOTH_OFF }; /* smooth */

#define FNVAE_OPTIONS(X)                                                                           \
    X(INT, p, 0, 0, 64, "latent dynamics factors; 0: as many as the task has (agents: 8)")         \
    X(INT, q, 0, 0, 64, "latent reward factors; 0: as many as the task has (agents: 8)")           \
    X(FLAG, observed, false, "use the true factors instead of inferring them")                     \
    X(CHOICE, reward_reads, 0, "both|before|after", "which states the reward decoders read")       \
    X(INT, order, 2, 1, 2, "past segments that the CF dynamics see; 2: velocities too")            \
    X(INT, window, 0, 0, 100000,                                                                   \
      "steps of a training window; 0: four segments of the slowest clock, 200 to 2000")            \
    X(INT, batch, 4, 1, 65536, "windows per update")                                               \
    X(REAL, jumps, 0, 0, 1, "fraction of windows spliced from two times")                          \
    X(INT, moves, 0, 0, 100000, "most segments per window that p_gamma predicts; 0: all")          \
    X(INT, updates, 6000, 1, 100000000,                                                            \
      "updates to fit graph and model from scratch (agents: 3000)")                                \
    X(REAL, head, 0, 0, 1e3, "pre-training of the θ-free network, in multiples of `updates`")      \
    X(INT, encode, 16, 1, 65536, "windows that an agent encodes at once to refresh beliefs")       \
    X(INT, evidence, 25, 0, 100000, "steps of a segment to see before its reconstruction counts")  \
    X(INT, near, 5, 0, 100000,                                                                     \
      "segments shorter than this decode one of this many next steps instead")                     \
    X(INT, encoder, 64, 1, 4096, "width of the inference networks' dense layers")                  \
    X(INT, lstm, 64, 1, 4096, "units of the inference networks' LSTM")                             \
    X(REAL, memory, 0, 0, 1e6, "LSTM units start with memories of 1 to this many steps; 0: short") \
    X(INT, prior, 32, 1, 4096, "width of each CF-dynamics network")                                \
    X(INT, bank, 32, 1, 4096, "width of each masked transition decoder")                           \
    X(INT, dense, 64, 1, 4096, "width of the other decoders")                                      \
    X(REAL, sd, 0.1, 1e-3, 1e3, "initial standard deviation of the decoders, normalised")          \
    X(REAL, sd_from, 0.2, 0, 1,                                                                    \
      "fraction of the updates after which sd follows the prediction error")                       \
    X(FLAG, tails, false,                                                                          \
      "large errors cost linearly, not quadratically; helps with weak factors")                    \
    X(REAL, sd_least, 0.03, 1e-4, 1e3, "lower bound on sd")                                        \
    X(REAL, k1, 0.8, 0, 1e6, "weight of the reconstruction")                                       \
    X(REAL, k2, 0.8, 0, 1e6, "weight of the one-step prediction")                                  \
    X(REAL, k3, 0.5, 0, 1e6, "weight of the KL divergence")                                        \
    X(REAL, k3_first, 0.5, 1e-6, 1e6, "weight of the KL divergence at the first update")           \
    X(REAL, k3_until, 0.2, 0, 1, "fraction of the updates after which the weight is k3")           \
    X(REAL, k4, 0.1, 0, 1e6, "weight of the sparsity penalty")                                     \
    X(REAL, k5, 0.02, 0, 1e6, "weight of the smoothness penalty")                                  \
    X(FLAG, auto_weights, false, "learn k1, k2, k3 and k5 instead (Liebel & Koerner)")             \
    X(REAL, w_ss, 0.2, 0, 1e6, "price of an edge of C_ss, times k4")                               \
    X(REAL, w_as, 0.2, 0, 1e6, "price of an edge of C_as, times k4")                               \
    X(REAL, w_ts, 0.5, 0, 1e6, "price of an edge of C_ts, times k4")                               \
    X(REAL, w_sr, 0.1, 0, 1e6, "price of an edge of c_sr, times k4")                               \
    X(REAL, w_ar, 0.1, 0, 1e6, "price of an edge of c_ar, times k4")                               \
    X(REAL, price_first, 4, 1e-3, 1e3, "factor on prices when masks start to learn; falls to 1")   \
    X(REAL, w_tt, 0.1, 0, 1e6, "price of an edge of C_tt_s and C_tt_r")                            \
    X(REAL, diagonal, 0.1, 0, 1, "fraction of w_ss that the diagonal of C_ss pays")                \
    X(REAL, lr, 3e-3, 1e-8, 1, "learning rate at the first update")                                \
    X(REAL, lr_end, 1e-4, 1e-8, 1, "learning rate from the last update on")                        \
    X(REAL, lr_masks, 3e-2, 1e-8, 10, "learning rate of the masks, constant")                      \
    X(REAL, clip, 1, 0, 1e6, "largest gradient norm per group; 0: unlimited")                      \
    X(CHOICE, gate, 1, "hard_concrete|gumbel|erf", "how masks are learned")                        \
    X(REAL, gate_start, 4, -10, 10, "initial logit of every gate")                                 \
    X(REAL, temperature, 0.67, 1e-3, 10, "temperature of the gates")                               \
    X(REAL, masks_from, 0.3, 0, 1, "fraction of the updates before which masks stay dense")        \
    X(REAL, masks_until, 0.85, 0, 1, "fraction of the updates after which masks are frozen")       \
    X(CHOICE, smooth, 0, "step|ma|ema|off", "kind of smoothness penalty on posterior means")       \
    X(FLAG, structure, true, "learn masks; false: all stay dense")                                 \
    X(FLAG, predict_state, true, "train one-step prediction of states")                            \
    X(FLAG, predict_reward, true, "train one-step prediction of rewards")                          \
    X(FLAG, mixed, false, "share one inference network between both kinds of factors")
OPTIONS_STRUCT(fnvae_options, FNVAE_OPTIONS)
const option_group *fnvae_option_group(void);

/* Presets: differences from the defaults, which are `standard`. */
#define FNVAE_PRESET_PAPER                                  \
    "[fnvae]\n"                                             \
    "window = 200\nbatch = 64\nencoder = 256\nlstm = 256\n" \
    "prior = 512\nbank = 512\ndense = 512\nmoves = 20\n"
#define FNVAE_PRESET_STANDARD "[fnvae]\n"
#define FNVAE_PRESET_SMALL \
    "[fnvae]\nbatch = 2\nencoder = 32\nlstm = 32\nprior = 16\nbank = 16\ndense = 32\n"

/* The INI text of the preset `name` (paper, standard, small): a layer below a config file. */
int fnvae_preset(const char *name, const char **ini);

/* Finds the window of a task whose factors move so, where the options leave it open: four segments
 * of the slowest clock, but no more than `most` steps. `too_short` becomes the steps that it should
 * have, or 0 if it spans the order + 2 segments that p_gamma needs. */
int fnvae_find_window(fnvae_options *o, const fans_moving *moving, int count, int most,
                      int *too_short);

#endif
