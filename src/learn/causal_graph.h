/* causal_graph.h - the learned graph: its edges, the part that matters for reward, and scores
 * against a known graph.
 *
 * Masks are [effect][cause], as in docs/notation.md. An edge exists where its probability exceeds
 * the threshold. */
#ifndef LEARN_CAUSAL_GRAPH_H
#define LEARN_CAUSAL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "learn/fnvae.h"

/* name, effects, causes; a vector has one effect. theta_r always reaches the reward: no mask. */
#define CAUSAL_MASKS(X) \
    X(C_ss, d, d)       \
    X(C_as, d, m)       \
    X(C_ts, d, p)       \
    X(c_sr, 1, d)       \
    X(c_ar, 1, m)       \
    X(C_tt_s, p, p)     \
    X(C_tt_r, q, q)
enum {
#define X(name, effects, causes) CAUSAL_##name,
    CAUSAL_MASKS(X)
#undef X
        CAUSAL_MASK_COUNT
};
extern const char *const causal_mask_names[CAUSAL_MASK_COUNT];

typedef struct causal_graph {
    fnvae_dims z;
    double threshold; /* 1/2; for erf gates another */
    int effects[CAUSAL_MASK_COUNT], causes[CAUSAL_MASK_COUNT];
    double *mask[CAUSAL_MASK_COUNT];         /* probabilities, row-major */
    bool *s_min, *theta_s_min, *theta_r_min; /* [d], [p], [q]: the compact representation */
    char **names;                            /* [d + m] states, then actions; NULL: unnamed */
    arena *memory;
} causal_graph;

int causal_graph_new(causal_graph **out, fnvae_dims z);
void causal_graph_free(causal_graph *g);

/* Names the states [d] and the actions [m], as in fans_env_info; copies the names. Unnamed nodes
 * are s0, s1, ... and a0, a1, ... */
int causal_graph_name(causal_graph *g, const char *const *states, const char *const *actions);

/* The name of a node; `buffer` holds the name of an unnamed one. */
const char *causal_state(const causal_graph *g, int i, char buffer[TEXT_NAME]);
const char *causal_action(const causal_graph *g, int i, char buffer[TEXT_NAME]);

/* Reads the masks of one replica of a model, and finds the compact representation. A state that
 * influences the reward before or after the step counts as its cause. */
void causal_graph_of(causal_graph *g, const fnvae *f, int replica);

/* The other way round: sets the gates of a replica to the probabilities of a graph, but for those
 * among factors. Not for erf gates, which have none. */
void causal_graph_to(const causal_graph *g, fnvae *f, int replica);

bool causal_edge(const causal_graph *g, int mask, int effect, int cause);

/* Neither clearly there nor clearly not: a probability between 0.1 and 0.9. */
bool causal_unsure(const causal_graph *g, int mask, int effect, int cause);

/* Marks every state and factor from which a directed path leads to a reward, now or later. */
void causal_compact(causal_graph *g);

/* ---- against the truth ----------------------------------------------------------------------- */

typedef struct causal_score {
    int hits, extra, missing; /* edges found rightly, found wrongly, not found */
    double precision, recall, f1;
    int shd; /* structural Hamming distance */
} causal_score;

causal_score causal_count(int hits, int extra, int missing);

/* One mask against truth[effects][causes]. */
causal_score causal_compare(const causal_graph *g, int mask, const uint8_t *truth);

/* Scores which states theta_s touches at all: latent factors are known only up to order and
 * mixture, so C_ts says no more unless they are observed. `p` is the true number of factors. */
causal_score causal_compare_touched(const causal_graph *g, const uint8_t *C_ts, int p);

causal_score causal_sum(causal_score a, causal_score b);

/* ---- export ---------------------------------------------------------------------------------- */

void causal_text(const causal_graph *g, text *out);
void causal_dot(const causal_graph *g, text *out);
json_t *causal_json(const causal_graph *g);

/* Reads what causal_json wrote; errors say what is wrong, but not in which file. */
int causal_from_json(causal_graph **out, const json_t *j);

/* A drawing for a file or a page, light or dark as the reader prefers. */
void causal_svg(const causal_graph *g, text *out);

#endif
