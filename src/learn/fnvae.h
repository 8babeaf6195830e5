/* fnvae.h - the FN-VAE: learns what changes, and the graph of who influences whom (algorithm A1).
 *
 * q_phi(theta_t | experience up to t): CF inference; products, a dense layer, an LSTM, a Gaussian.
 *
 * p_gamma(theta' | theta, C_tt): CF dynamics, the prior of the next segment's theta.
 *
 * p_alpha1(s' | s, a, theta_s, C): reconstruction, one masked network per dimension.
 *
 * p_alpha2(s' | s, a, theta_s): one-step prediction, dense.
 *
 * p_beta1, p_beta2: the same for the reward.
 *
 * A row of a window is one transition (s, a) -> (r, s'); windows run over the lifetime and across
 * episodes. A **segment** is a stretch with constant theta; nothing else is told about the kind of
 * change. From the posterior of row t a transition of the same segment is decoded that was drawn at
 * random, so that a belief must explain the segment and not the last step, and is calibrated
 * when little was seen. */
#ifndef LEARN_FNVAE_H
#define LEARN_FNVAE_H

#include "base/mem.h"
#include "base/rng.h"
#include "learn/fnvae_options.h"
#include "nn/nn.h"

/* What a model is made for. */
typedef struct fnvae_dims {
    int d, m; /* of the task: states and actions */
    int p, q; /* factors, at least one of each kind */
} fnvae_dims;

enum {
    FNVAE_PHI,
    FNVAE_GAMMA,
    FNVAE_ALPHA,
    FNVAE_BETA,
    FNVAE_PLAIN_S, /* what to expect without theta, where it is learned first */
    FNVAE_PLAIN_R,
    FNVAE_MASKS,
    FNVAE_WEIGHTS,
    FNVAE_GROUPS
};

#define FNVAE_COSTS(X) \
    X(rec_dyn)         \
    X(rec_rw)          \
    X(pred_dyn)        \
    X(pred_rw)         \
    X(kl_stay)         \
    X(kl_move)         \
    X(kl_next)         \
    X(noise)           \
    X(plain)           \
    X(sparse)          \
    X(smooth)
enum {
#define X(name) FNVAE_##name,
    FNVAE_COSTS(X)
#undef X
        FNVAE_COST_COUNT
};
extern const char *const fnvae_cost_names[FNVAE_COST_COUNT];

/* One transition as it was lived; pointers are borrowed. */
typedef struct fnvae_row {
    const float *s, *a, *s1; /* [d], [m], [d] */
    float r;
    bool change;                    /* the first of its segment */
    bool first;                     /* the first of its episode */
    bool jump;                      /* the row before it is of another time; a `change`, too */
    const float *theta_s, *theta_r; /* [p], [q]: the truth, for `observed`; or NULL */
} fnvae_row;

/* Running mean and standard deviation of one replica's data. */
typedef struct fnvae_scale {
    int n;
    double *count, *mean, *m2; /* [1], [n], [n] */
    double *unit;              /* [n]: 1 / standard deviation, as of the last fnvae_settle */
} fnvae_scale;

enum { SCALE_S, SCALE_DS, SCALE_R, SCALE_THETA_S, SCALE_THETA_R, FNVAE_SCALES };

/* What a network without theta expects of ds or r, and the cost that teaches it. */
typedef struct fnvae_plain {
    nn_var expected, cost;
} fnvae_plain;

/* q_phi on some recording. */
typedef struct fnvae_posterior {
    nn_var mean, log_std, sample; /* (T, B, p or q) */
    nn_var state;                 /* (T, B, 2 lstm) */
} fnvae_posterior;

/* A learned mask: C = free * gate(logits) + fixed. */
typedef struct fnvae_mask {
    nn_var logits, gate, free, fixed, weight, C; /* (1, causes, effects) */
    nn_var open;                                 /* its part of the sparsity cost */
} fnvae_mask;
enum { MASK_S, MASK_R, MASK_TT_S, MASK_TT_R, FNVAE_MASK_COUNT };

/* Inputs: what a window holds. Those of the decoders are drawn from the row's segment. */
#define FNVAE_INPUTS(X)                                          \
    X(s, d)                                                      \
    X(a, m)                                                      \
    X(s1, d)                                                     \
    X(r, 1)                                                      \
    X(ds, d)                                                     \
    X(change, 1) /* what the encoder is told */                  \
    X(dec_s, d)                                                  \
    X(dec_a, m)                                                  \
    X(dec_s1, d)                                                 \
    X(dec_r, 1)                                                  \
    X(dec_ds, d)                                                 \
    X(theta_s, p) /* the truth, for `observed` */                \
    X(theta_r, q)                                                \
    X(w_rec, 1)  /* its posterior has seen enough */             \
    X(w_pred, 1) /* row t is predicted from t-1 */               \
    X(w_stay, 1) /* its segment began before */                  \
    X(w_move, 1) /* it begins a segment */                       \
    X(w_next, 1) /* its theta is what p_gamma was to foretell */ \
    X(w_smooth, 1)
enum {
#define X(name, width) FNVAE_IN_##name,
    FNVAE_INPUTS(X)
#undef X
        FNVAE_INPUT_COUNT
};

/* What q_phi reads: transitions, and the state of its LSTMs (1, B, 2 lstm) or NN_NONE. */
typedef struct fnvae_seen {
    nn_var s, a, s1, ds, r, change, state_s, state_r;
} fnvae_seen;

/* Lived steps in the caller's memory, for encode.h: per replica `rows` of `width` numbers each,
 * which begin with the state, the action and the reward; and what is wanted of them: the
 * posterior's means [p + q], with `spread` its log standard deviations behind them. */
typedef struct fnvae_memory {
    float *steps;
    int width, rows;
    bool spread;
} fnvae_memory;
typedef struct fnvae_encoding fnvae_encoding;

/* The weights that costs are given, which may change from update to update. */
#define FNVAE_KS(X) X(rec) X(pred) X(stay) X(move) X(smooth) X(sparse) X(noise)
enum {
#define X(name) FNVAE_K_##name,
    FNVAE_KS(X)
#undef X
        FNVAE_K_COUNT
};

typedef struct fnvae {
    fnvae_options o;
    fnvae_dims z;
    int replicas, belief_batch;
    nn_graph *g;
    nn_group *group[FNVAE_GROUPS];
    nn_var in[FNVAE_INPUT_COUNT];
    float *host[FNVAE_INPUT_COUNT]; /* staging: [replica][T][B][width] */
    nn_var begins, of; /* with `moves`: (moves, B, 1), when segments that are foretold begin; and
                          (T, B, 1), which of those a row belongs to; -1 = none */
    int32_t *begins_host, *of_host;
    int *left_out; /* [replica][B]: segments that there was no room for */
    float *buffer; /* of the largest mask's size */
    fnvae_mask mask[FNVAE_MASK_COUNT];
    fnvae_posterior theta_s, theta_r;
    nn_var spread_s, spread_r; /* (1, 1, p or q): log_std of p_gamma */
    nn_var noise_s, noise_r;   /* (1, 1, d or 1): log_std of the decoders */
    nn_var rec, rec_r;         /* what alpha1 and beta1 say */
    nn_var k[FNVAE_K_COUNT];   /* weights of costs; most on the edges out of phi */
    float *k_host;             /* [weight][replica] */
    fnvae_plain plain_s, plain_r;
    nn_var temperature, frozen, auto_c;
    nn_var cost[FNVAE_COST_COUNT];
    nn_plan *learn, *learn_fixed; /* all groups; without masks */
    nn_plan *learn_plain;         /* what to expect without theta, and nothing else */

    /* the belief: the same parameters recorded for one step of `belief_batch` worlds (belief.c) */
    fnvae_seen b_seen;
    nn_var b_in, b_out, b_thetas, b_next, b_rec;
    nn_plan *correct, *predict, *decode;

    fnvae_encoding *encoding; /* likewise for windows of the past (encode.c), or NULL */

    fnvae_scale *scales; /* [replica][FNVAE_SCALES] */
    arena *memory;
    int64_t update; /* updates done; below 0 while only what to expect without theta is learned */
    bool update_graph;
} fnvae;

/* Records and commits a model of `replicas` with `belief_batch` worlds per replica; with a memory
 * that it may be asked to encode, or NULL. */
int fnvae_new(fnvae **out, nn_backend *backend, const fnvae_options *o, fnvae_dims z, int replicas,
              const uint64_t *seeds, int belief_batch, const fnvae_memory *past);
void fnvae_free(fnvae *f);

/* Takes a transition into the running statistics. */
void fnvae_observe(fnvae *f, int replica, const fnvae_row *row);

/* From which of rows[o.window] on the window shall go on at another time, with an episode's first
 * row, as `jumps` has it; o.window when it is left as it was lived. Worlds may change more than
 * they ever did, and q_phi, which carries on what it knew, learns so to believe what it sees. */
int fnvae_cut(const fnvae *f, const fnvae_row *rows, rng *draw);

/* Fills column b of the next update's windows with rows[o.window]; `pick` draws what is decoded. */
void fnvae_window(fnvae *f, int replica, int b, const fnvae_row *rows, rng *pick);

/* One step of algorithm A1 on the windows. The masks follow the schedule of the options over
 * o.updates, and are frozen from o.masks_until on. */
int fnvae_update(fnvae *f);

/* The total of the costs under their weights, and one cost, as of the last update. */
double fnvae_total(const fnvae *f, int replica);
double fnvae_cost(const fnvae *f, int cost, int replica);

/* From now on the masks are 0 or 1: those with a probability above 1/2. */
void fnvae_freeze(fnvae *f);

/* Dense, learned or frozen, as the number of updates says: after a model was read from a file. */
void fnvae_set_masks(fnvae *f);

/* value of dimension i in normalised units */
double fnvae_to(const fnvae *f, int replica, int scale, int i, double x);

/* How many inputs the reward decoders read in front of theta_r: s, a, s' as o.reward_reads says. */
int fnvae_reward_inputs(const fnvae *f);

/* ---- shared among the files of the model ----------------------------------------------------- */

/* q_phi on a recording */
void fnvae_record_posteriors(fnvae *f, const fnvae_seen *x, fnvae_posterior *q_s,
                             fnvae_posterior *q_r);
/* the mean of p_gamma on the last segments' theta, o.order of (T, B, n), the latest first */
nn_var fnvae_record_prior(fnvae *f, const char *kind, const nn_var *theta, nn_var C);
/* p_gamma as a whole: (1, B, p + q) each, of both kinds' theta */
typedef struct fnvae_prior {
    nn_var mean, log_std;
} fnvae_prior;
fnvae_prior fnvae_record_foretold(fnvae *f, const nn_var *theta_s, const nn_var *theta_r);
nn_var fnvae_record_alpha1(fnvae *f, nn_var s, nn_var a, nn_var theta_s);
nn_var fnvae_record_beta1(fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r);
nn_list fnvae_reward_list(const fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r);
void fnvae_record_masks(fnvae *f);
void fnvae_record_decoders(fnvae *f);
void fnvae_record_divergence(fnvae *f);
void fnvae_record_belief(fnvae *f);
int fnvae_plan_belief(fnvae *f);
int fnvae_record_encode(fnvae *f, const fnvae_memory *past);
int fnvae_plan_encode(fnvae *f);
int fnvae_declare_encode(fnvae *f);
void fnvae_free_encode(fnvae *f);

/* takes the statistics of a replica as they are now for what is put from here on */
void fnvae_settle(const fnvae *f, int replica);

/* the units themselves: (v + shift) · scale is normalised; [n] each */
void fnvae_units(const fnvae *f, int replica, int scale, float *shift, float *unit);

/* a vector of the world in normalised units */
void fnvae_put_change(const fnvae *f, int replica, const fnvae_row *row, float *to);
void fnvae_put(const fnvae *f, int replica, int scale, const float *v, float *to);

/* The update at which a share of o.updates is done. */
int64_t fnvae_share(const fnvae *f, double share);
int64_t fnvae_first(const fnvae *f); /* the number of the first update */

#endif
