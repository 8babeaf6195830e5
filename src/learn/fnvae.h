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
 * A row of a window is one transition (s, a) -> (r, s'); windows run along the lifetime, across
 * episodes. A **segment** is a stretch with constant theta; nothing else is known about the kind of
 * change. The posterior of row t decodes a random transition of the same segment, so that a belief
 * must explain the segment rather than the last step, and is calibrated after few steps. */
#ifndef LEARN_FNVAE_H
#define LEARN_FNVAE_H

#include "base/pool.h"
#include "data/replay.h"
#include "learn/fnvae_options.h"
#include "learn/scales.h"
#include "learn/staged.h"

/* The sizes of a model. */
typedef struct fnvae_dims {
    int d, m; /* states and actions of the task */
    int p, q; /* factors, at least one of each kind */
} fnvae_dims;

enum {
    FNVAE_PHI,
    FNVAE_GAMMA,
    FNVAE_ALPHA,
    FNVAE_BETA,
    FNVAE_PLAIN_S, /* the θ-free network, if it is pre-trained */
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

/* Statistics that normalise values. */
enum { SCALE_S, SCALE_DS, SCALE_R, SCALE_THETA_S, SCALE_THETA_R, FNVAE_SCALES };

/* The replay columns of the true factors, if known (as in data for `fans model fit`). */
enum { FNVAE_COLUMN_THETA_S, FNVAE_COLUMN_THETA_R };

/* What the θ-free network expects of ds or r, and its cost. */
typedef struct fnvae_plain {
    nn_var expected, cost;
} fnvae_plain;

/* q_phi on one recording. */
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

/* Which rows of a window count for a cost. */
#define FNVAE_WEIGHTS_OF_ROWS(X)                      \
    X(rec)  /* its posterior has seen enough */       \
    X(pred) /* row t is predicted from t-1 */         \
    X(stay) /* its segment began before */            \
    X(move) /* it begins a segment */                 \
    X(next) /* p_gamma learns to predict its theta */ \
    X(smooth)
enum {
#define X(name) FNVAE_W_##name,
    FNVAE_WEIGHTS_OF_ROWS(X)
#undef X
        FNVAE_W_COUNT
};

/* Steps in raw units. */
typedef struct fnvae_lived {
    nn_var obs, action, reward, next_obs;
} fnvae_lived;

/* ... as the networks read them: normalised; whether a segment starts (change_r: one of theta_r, if
 * that may differ; else NN_NONE); the state of q_phi's LSTMs (1, B, 2 lstm), and where they are
 * cleared (T, B, 1), or NN_NONE. */
typedef struct fnvae_seen {
    nn_var s, a, s1, ds, r, change, change_r, state_s, state_r, reset_s, reset_r;
} fnvae_seen;

/* Weights of costs, which may change from update to update. */
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
    int replicas, worlds;
    nn_graph *g; /* the caller's */
    const replay *replay;
    nn_group *group[FNVAE_GROUPS];
    scales scales;

    /* windows: (T, B) rows of the replay, and which row of the window each posterior decodes */
    staged at, next, decoded, change, w[FNVAE_W_COUNT];
    staged begins, of;   /* if moves > 0: (moves, B), where predicted segments start; and (T, B),
                            which of them a row belongs to; -1: none */
    int *left_out;       /* [replica][B]: segments beyond `moves` */
    replay_step *window; /* [replica][T]: scratch */
    float *buffer;       /* scratch, of the largest mask's size */
    fnvae_seen seen, dec;
    fnvae_mask mask[FNVAE_MASK_COUNT];
    fnvae_posterior theta_s, theta_r;
    nn_var spread_s, spread_r; /* (1, 1, p or q): log_std of p_gamma */
    nn_var noise_s, noise_r;   /* (1, 1, d or 1): log_std of the decoders */
    nn_var rec, rec_r;         /* outputs of alpha1 and beta1 */
    nn_var k[FNVAE_K_COUNT];   /* weights of costs; most scale edges out of phi */
    float *k_host;             /* [weight][replica] */
    fnvae_plain plain_s, plain_r;
    nn_var temperature, frozen, auto_c;
    nn_var cost[FNVAE_COST_COUNT];
    nn_plan *learn, *learn_fixed; /* all groups; without masks */
    nn_plan *learn_plain;         /* the θ-free network alone */

    float *shown; /* (costs, replicas): of the last update, for curves */
    bool stale;   /* not read since the last update */

    arena *memory;
    int64_t update; /* updates done; negative during pre-training */
    bool update_graph;
    bool unsure; /* theta may change within segments: rows that follow soon are decoded */
} fnvae;

/* Records a model on a graph that has the replay's tables. Then record what else uses it, plan,
 * commit the graph, and call fnvae_ready. */
int fnvae_new(fnvae **out, nn_graph *g, const replay *r, const fnvae_options *o, fnvae_dims z);
int fnvae_plan(fnvae *f);
int fnvae_ready(fnvae *f);
void fnvae_free(fnvae *f);

/* Add a step to the running statistics. fnvae_set_units makes these the units of normalisation;
 * every update does so, too. */
void fnvae_observe(fnvae *f, int replica, const float *obs, float reward, const float *next_obs);
void fnvae_observe_factors(fnvae *f, int replica, const float *theta_s, const float *theta_r);
void fnvae_set_units(fnvae *f);

/* Takes the statistics anew from the steps of the replay: its observations have changed. */
void fnvae_observe_again(fnvae *f);

/* Fills column b of the next update's windows with steps[o.window]; `pick` draws what to decode. */
void fnvae_window(fnvae *f, int replica, int b, const replay_step *steps, rng *pick);

/* Fills all columns with random windows, some spliced from two times (o.jumps); `draws` has a
 * stream per replica. Every lane must have enough rows: fnvae_can_fill. */
int fnvae_least_rows(const fnvae_options *o);
bool fnvae_can_fill(const fnvae *f);
void fnvae_fill(fnvae *f, rng *draws, pool *p);

/* One step of algorithm A1 on the windows. Masks follow the options' schedule over o.updates, and
 * are frozen from o.masks_until on. */
int fnvae_update(fnvae *f);

/* The weighted total of the costs, and one cost, in the last update. */
double fnvae_total(const fnvae *f, int replica);
double fnvae_cost(const fnvae *f, int cost, int replica);

/* From now on masks are 0 or 1: 1 where the probability exceeds 1/2. */
void fnvae_freeze(fnvae *f);

/* Makes masks dense, learned or frozen, by the number of updates: after loading a model. */
void fnvae_set_masks(fnvae *f);

/* The reward and the change of state in other steps, given theta, in normalised units: by the dense
 * decoders. And such a unit: of the reward, or of dimension i of a state's change. */
nn_var fnvae_record_reward(fnvae *f, fnvae_seen x, nn_var theta_r);
nn_var fnvae_record_step(fnvae *f, fnvae_seen x, nn_var theta_s);
float fnvae_unit(const fnvae *f, int replica, int scale, int i);

/* dimension i of a value in normalised units */
double fnvae_to(const fnvae *f, int replica, int scale, int i, double x);

void fnvae_state(fnvae *f, int replica, state_list *s);

/* The costs of the last update, for curves: one transfer for all replicas, on demand. */
void fnvae_scalars(fnvae *f, int replica, fans_scalar_fn *emit, void *user);
int fnvae_read_costs(void *f);

/* Number of the reward decoders' inputs before theta_r: s, a, s' by o.reward_reads. */
int fnvae_reward_inputs(const fnvae *f);

/* ---- shared among the files of the model ----------------------------------------------------- */

/* normalises steps for the networks */
fnvae_seen fnvae_record_seen(const fnvae *f, fnvae_lived x, nn_var change);
/* q_phi on a recording */
void fnvae_record_posteriors(fnvae *f, const fnvae_seen *x, fnvae_posterior *q_s,
                             fnvae_posterior *q_r);
/* the mean of p_gamma given the last segments' theta: o.order of (T, B, n), the latest first */
nn_var fnvae_record_prior(fnvae *f, const char *kind, const nn_var *theta, nn_var C);
/* p_gamma of both kinds of theta: (1, B, p + q) each */
typedef struct fnvae_prior {
    nn_var mean, log_std;
} fnvae_prior;
fnvae_prior fnvae_record_foretold(fnvae *f, const nn_var *theta_s, const nn_var *theta_r);
nn_var fnvae_record_alpha1(fnvae *f, nn_var s, nn_var a, nn_var theta_s);
nn_var fnvae_record_beta1(fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r);
nn_var fnvae_record_alpha2(fnvae *f, nn_var s, nn_var a, nn_var theta_s);
nn_var fnvae_record_beta2(fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r);
nn_list fnvae_reward_list(const fnvae *f, nn_var s, nn_var a, nn_var s1, nn_var theta_r);
void fnvae_record_masks(fnvae *f);
void fnvae_record_decoders(fnvae *f);
void fnvae_record_divergence(fnvae *f);

/* The number of updates that is this share of o.updates. */
int64_t fnvae_share(const fnvae *f, double share);
int64_t fnvae_first(const fnvae *f); /* the number of the first update */

#endif
