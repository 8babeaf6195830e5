/* fnvae_options.h - every size, weight and switch of the FN-VAE, and its presets. */
#ifndef LEARN_FNVAE_OPTIONS_H
#define LEARN_FNVAE_OPTIONS_H

#include "base/options.h"

enum { FNVAE_MOST = 128 }; /* factors of both kinds together */

#define FNVAE_OPTIONS(X)                                                                           \
    X(INT, p, 0, 0, 64, "latent factors of the dynamics; 0 = as the task has; of an agent, 8")     \
    X(INT, q, 0, 0, 64, "latent factors of the reward; 0 = as the task has; of an agent, 8")       \
    X(FLAG, observed, false, "read the true factors instead of inferring them")                    \
    X(CHOICE, reward_reads, 0, "both|before|after", "which states the reward decoders read")       \
    X(INT, order, 2, 1, 2, "segments that the CF dynamics look back at: 2 knows velocities")       \
    X(INT, window, 200, 2, 100000, "steps of a window over the lifetime: order + 2 segments")      \
    X(INT, batch, 4, 1, 65536, "windows per update")                                               \
    X(REAL, jumps, 0, 0, 1, "share of windows that go on at another time, between two episodes")   \
    X(INT, moves, 0, 0, 100000, "segments of a window that p_gamma foretells, at most; 0 = any")   \
    X(INT, updates, 6000, 1, 100000000, "updates that learn the graph and the model from scratch") \
    X(REAL, head, 0, 0, 1e3, "times as many before them, that learn what to expect without theta") \
    X(INT, encode, 16, 1, 65536, "windows of the past that an agent encodes at a time")            \
    X(INT, evidence, 25, 0, 100000, "rows of a segment to see before it is reconstructed")         \
    X(INT, near, 5, 0, 100000, "in segments shorter than this, decode rows that come so soon")     \
    X(INT, encoder, 64, 1, 4096, "width of the inference networks' dense layers")                  \
    X(INT, lstm, 64, 1, 4096, "units of their LSTM")                                               \
    X(REAL, memory, 0, 0, 1e6, "steps that its units remember at first, from 1 to this; 0 = few")  \
    X(INT, prior, 32, 1, 4096, "width of each network of the CF dynamics")                         \
    X(INT, bank, 32, 1, 4096, "width of each masked transition decoder")                           \
    X(INT, dense, 64, 1, 4096, "width of the other decoders")                                      \
    X(REAL, sd, 0.1, 1e-3, 1e3, "spread of the decoders' errors at first, normalised")             \
    X(REAL, sd_from, 0.2, 0, 1,                                                                    \
      "share of the updates after which it follows the prediction's error")                        \
    X(FLAG, tails, false, "large errors cost their size, not its square: for weak factors")        \
    X(REAL, sd_least, 0.03, 1e-4, 1e3, "but never falls below this")                               \
    X(REAL, k1, 0.8, 0, 1e6, "weight of the reconstruction")                                       \
    X(REAL, k2, 0.8, 0, 1e6, "weight of the one-step prediction")                                  \
    X(REAL, k3, 0.5, 0, 1e6, "weight of the KL divergence")                                        \
    X(REAL, k3_first, 0.5, 1e-6, 1e6, "the same at the first update; falls or rises to k3")        \
    X(REAL, k3_until, 0.2, 0, 1, "share of the updates until it is there")                         \
    X(REAL, k4, 0.1, 0, 1e6, "weight of the sparsity")                                             \
    X(REAL, k5, 0.02, 0, 1e6, "weight of the smoothness")                                          \
    X(FLAG, auto_weights, false, "learn k1, k2, k3 and k5 instead (Liebel & Koerner)")             \
    X(REAL, w_ss, 0.2, 0, 1e6, "price of an edge of C_ss, times k4")                               \
    X(REAL, w_as, 0.2, 0, 1e6, "price of an edge of C_as, times k4")                               \
    X(REAL, w_ts, 0.5, 0, 1e6, "price of an edge of C_ts, times k4")                               \
    X(REAL, w_sr, 0.1, 0, 1e6, "price of an edge of c_sr, times k4")                               \
    X(REAL, w_ar, 0.1, 0, 1e6, "price of an edge of c_ar, times k4")                               \
    X(REAL, price_first, 4, 1e-3, 1e3,                                                             \
      "how many times dearer edges are when masks begin to learn")                                 \
    X(REAL, w_tt, 0.1, 0, 1e6, "price of an edge of C_tt_s and C_tt_r")                            \
    X(REAL, diagonal, 0.1, 0, 1, "how much of w_ss the diagonal of C_ss pays")                     \
    X(REAL, lr, 3e-3, 1e-8, 1, "learning rate at the first update")                                \
    X(REAL, lr_end, 1e-4, 1e-8, 1, "learning rate at the last update and ever after")              \
    X(REAL, lr_masks, 3e-2, 1e-8, 10, "learning rate of the masks, constant")                      \
    X(REAL, clip, 1, 0, 1e6, "largest norm of each group's gradient; 0 = any")                     \
    X(CHOICE, gate, 1, "hard_concrete|gumbel|erf", "how masks are learned")                        \
    X(REAL, gate_start, 4, -10, 10, "logit with which every gate starts")                          \
    X(REAL, temperature, 0.67, 1e-3, 10, "of the gates")                                           \
    X(REAL, masks_from, 0.3, 0, 1, "share of the updates before which masks are dense")            \
    X(REAL, masks_until, 0.85, 0, 1, "share of the updates after which they are frozen")           \
    X(CHOICE, smooth, 0, "step|ma|ema|off", "which smoothness of the posterior means")             \
    X(FLAG, structure, true, "learn masks; without, all stay dense")                               \
    X(FLAG, predict_state, true, "one-step prediction of states")                                  \
    X(FLAG, predict_reward, true, "one-step prediction of rewards")                                \
    X(FLAG, mixed, false, "one inference network for both kinds of factors")
OPTIONS_STRUCT(fnvae_options, FNVAE_OPTIONS)
const option_group *fnvae_option_group(void);

/* Presets: what differs from the defaults, which are those of `standard`. */
#define FNVAE_PRESET_PAPER                                  \
    "[fnvae]\n"                                             \
    "window = 200\nbatch = 64\nencoder = 256\nlstm = 256\n" \
    "prior = 512\nbank = 512\ndense = 512\nmoves = 20\n"
#define FNVAE_PRESET_STANDARD "[fnvae]\n"
#define FNVAE_PRESET_SMALL \
    "[fnvae]\nbatch = 2\nencoder = 32\nlstm = 32\nprior = 16\nbank = 16\ndense = 32\n"

/* The INI text of the preset `name` (paper, standard, small): a layer below a config file. */
int fnvae_preset(const char *name, const char **ini);

#endif
