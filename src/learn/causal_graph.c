/* causal_graph.c - masks, the compact representation, and scores against a known graph. */
#include "learn/causal_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "nn/gates.h"

const char *const causal_mask_names[CAUSAL_MASK_COUNT] = {
#define X(name, effects, causes) #name,
    CAUSAL_MASKS(X)
#undef X
};

int causal_graph_new(causal_graph **out, fnvae_dims z)
{
    int rc = 0, d = z.d, m = z.m, p = z.p, q = z.q;
    const int effects[] = {
#define X(name, effects, causes) effects,
        CAUSAL_MASKS(X)
#undef X
    };
    const int causes[] = {
#define X(name, effects, causes) causes,
        CAUSAL_MASKS(X)
#undef X
    };
    causal_graph *g = mem_alloc(sizeof *g);
    if (!g) return FANS_ENOMEM;
    g->z = z;
    g->threshold = 0.5;
    TRY(arena_new(&g->memory));
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        g->effects[k] = effects[k];
        g->causes[k] = causes[k];
        TRY(arena_declare(g->memory, &g->mask[k],
                          (size_t)effects[k] * (size_t)causes[k] * sizeof(double)));
    }
    TRY(arena_declare(g->memory, &g->s_min, (size_t)d * sizeof(bool)));
    TRY(arena_declare(g->memory, &g->theta_s_min, (size_t)p * sizeof(bool)));
    TRY(arena_declare(g->memory, &g->theta_r_min, (size_t)q * sizeof(bool)));
    TRY(arena_commit(g->memory));
    *out = g;
out:
    if (rc < 0) causal_graph_free(g);
    return rc;
}

static void free_names(causal_graph *g)
{
    for (int i = 0; g->names && i < g->z.d + g->z.m; i++) mem_free(g->names[i]);
    mem_free(g->names);
    g->names = NULL;
}

void causal_graph_free(causal_graph *g)
{
    if (!g) return;
    free_names(g);
    arena_free(g->memory);
    mem_free(g);
}

/* ---- names ----------------------------------------------------------------------------------- */

int causal_graph_name(causal_graph *g, const char *const *states, const char *const *actions)
{
    int n = g->z.d + g->z.m;
    free_names(g);
    if (!(g->names = mem_alloc((size_t)n * sizeof *g->names))) return FANS_ENOMEM;
    for (int i = 0; i < n; i++) {
        g->names[i] = mem_text(i < g->z.d ? states[i] : actions[i - g->z.d]);
        if (!g->names[i]) return FANS_ENOMEM;
    }
    return 0;
}

static const char *name_of(const causal_graph *g, int node, char letter, int i, char *buffer)
{
    if (g->names) return g->names[node];
    snprintf(buffer, TEXT_NAME, "%c%d", letter, i);
    return buffer;
}

const char *causal_state(const causal_graph *g, int i, char buffer[TEXT_NAME])
{
    return name_of(g, i, 's', i, buffer);
}

const char *causal_action(const causal_graph *g, int i, char buffer[TEXT_NAME])
{
    return name_of(g, g->z.d + i, 'a', i, buffer);
}

/* ---- from a model ---------------------------------------------------------------------------- */

/* The probability of an edge, from its gate's logit. */
static double probability(const fnvae *f, double logit)
{
    if (f->o.gate == NN_GATE_ERF) return fabs(erf(logit));
    return 1 / (1 + exp(-logit));
}

/* Takes rows [from, from + causes) of a model's mask, which is [cause][effect]; keeps the larger.
 */
static void take(causal_graph *g, int mask, const fnvae *f, const float *logits, int from)
{
    for (int i = 0; i < g->effects[mask]; i++)
        for (int j = 0; j < g->causes[mask]; j++) {
            double *to = &g->mask[mask][i * g->causes[mask] + j];
            double x = (double)logits[(from + j) * g->effects[mask] + i];
            *to = fmax(*to, f->o.structure ? probability(f, x) : 1);
        }
}

void causal_graph_of(causal_graph *g, const fnvae *f, int replica)
{
    int d = g->z.d, m = g->z.m;
    bool before = f->o.reward_reads != READS_AFTER, after = f->o.reward_reads != READS_BEFORE;
    g->threshold = f->o.gate == NN_GATE_ERF ? GATE_ERF_PRESENT : 0.5;
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        memset(g->mask[k], 0, (size_t)g->effects[k] * (size_t)g->causes[k] * sizeof *g->mask[k]);
    nn_read(f->mask[MASK_S].logits, replica, f->buffer);
    take(g, CAUSAL_C_ss, f, f->buffer, 0);
    take(g, CAUSAL_C_as, f, f->buffer, d);
    take(g, CAUSAL_C_ts, f, f->buffer, d + m);
    nn_read(f->mask[MASK_R].logits, replica, f->buffer);
    if (before) take(g, CAUSAL_c_sr, f, f->buffer, 0);
    take(g, CAUSAL_c_ar, f, f->buffer, before ? d : 0);
    if (after) take(g, CAUSAL_c_sr, f, f->buffer, (before ? d : 0) + m);
    nn_read(f->mask[MASK_TT_S].logits, replica, f->buffer);
    take(g, CAUSAL_C_tt_s, f, f->buffer, 0);
    nn_read(f->mask[MASK_TT_R].logits, replica, f->buffer);
    take(g, CAUSAL_C_tt_r, f, f->buffer, 0);
    causal_compact(g);
}

static float logit(double p)
{
    const double most = 1 - 1e-5;
    p = fmin(fmax(p, 1 - most), most);
    return (float)log(p / (1 - p));
}

static void give(const causal_graph *g, int mask, float *logits, int from)
{
    for (int i = 0; i < g->effects[mask]; i++)
        for (int j = 0; j < g->causes[mask]; j++)
            logits[(from + j) * g->effects[mask] + i] =
                logit(g->mask[mask][i * g->causes[mask] + j]);
}

/* A state before the step and after it gets the same gate. */
void causal_graph_to(const causal_graph *g, fnvae *f, int replica)
{
    int d = g->z.d, m = g->z.m;
    bool before = f->o.reward_reads != READS_AFTER, after = f->o.reward_reads != READS_BEFORE;
    give(g, CAUSAL_C_ss, f->buffer, 0);
    give(g, CAUSAL_C_as, f->buffer, d);
    give(g, CAUSAL_C_ts, f->buffer, d + m);
    nn_write(f->mask[MASK_S].logits, replica, f->buffer);
    nn_read(f->mask[MASK_R].logits, replica, f->buffer); /* theta_r keeps its own */
    if (before) give(g, CAUSAL_c_sr, f->buffer, 0);
    give(g, CAUSAL_c_ar, f->buffer, before ? d : 0);
    if (after) give(g, CAUSAL_c_sr, f->buffer, (before ? d : 0) + m);
    nn_write(f->mask[MASK_R].logits, replica, f->buffer);
}

bool causal_edge(const causal_graph *g, int mask, int effect, int cause)
{
    return g->mask[mask][effect * g->causes[mask] + cause] > g->threshold;
}

bool causal_unsure(const causal_graph *g, int mask, int effect, int cause)
{
    double p = g->mask[mask][effect * g->causes[mask] + cause];
    return p > 0.1 && p < 0.9;
}

/* ---- the compact representation -------------------------------------------------------------- */

/* Marks the causes of marked effects; true if any was new. */
static bool spread(const causal_graph *g, int mask, const bool *effects, bool *causes)
{
    bool any = false;
    for (int i = 0; i < g->effects[mask]; i++)
        for (int j = 0; j < g->causes[mask]; j++)
            if ((!effects || effects[i]) && !causes[j] && causal_edge(g, mask, i, j))
                any = causes[j] = true;
    return any;
}

/* The transitive closure, backwards from the reward: s -> r, s -> s, theta_s -> s, theta -> theta.
 */
void causal_compact(causal_graph *g)
{
    memset(g->s_min, 0, (size_t)g->z.d * sizeof *g->s_min);
    memset(g->theta_s_min, 0, (size_t)g->z.p * sizeof *g->theta_s_min);
    for (int j = 0; j < g->z.q; j++) g->theta_r_min[j] = true;
    spread(g, CAUSAL_c_sr, NULL, g->s_min);
    while (spread(g, CAUSAL_C_ss, g->s_min, g->s_min)) continue;
    spread(g, CAUSAL_C_ts, g->s_min, g->theta_s_min);
    while (spread(g, CAUSAL_C_tt_s, g->theta_s_min, g->theta_s_min)) continue;
}

/* ---- scores ---------------------------------------------------------------------------------- */

causal_score causal_count(int hits, int extra, int missing)
{
    causal_score s = {.hits = hits, .extra = extra, .missing = missing, .shd = extra + missing};
    s.precision = hits + extra > 0 ? (double)hits / (hits + extra) : 1;
    s.recall = hits + missing > 0 ? (double)hits / (hits + missing) : 1;
    s.f1 = 2 * hits + extra + missing > 0 ? 2.0 * hits / (2 * hits + extra + missing) : 1;
    return s;
}

causal_score causal_sum(causal_score a, causal_score b)
{
    return causal_count(a.hits + b.hits, a.extra + b.extra, a.missing + b.missing);
}

causal_score causal_compare(const causal_graph *g, int mask, const uint8_t *truth)
{
    int hits = 0, extra = 0, missing = 0;
    for (int i = 0; i < g->effects[mask]; i++)
        for (int j = 0; j < g->causes[mask]; j++) {
            bool found = causal_edge(g, mask, i, j), there = truth[i * g->causes[mask] + j] != 0;
            hits += found && there;
            extra += found && !there;
            missing += !found && there;
        }
    return causal_count(hits, extra, missing);
}

causal_score causal_compare_touched(const causal_graph *g, const uint8_t *C_ts, int p)
{
    int hits = 0, extra = 0, missing = 0;
    for (int i = 0; i < g->z.d; i++) {
        bool found = false, there = false;
        for (int j = 0; j < g->z.p; j++) found = found || causal_edge(g, CAUSAL_C_ts, i, j);
        for (int j = 0; j < p; j++) there = there || C_ts[i * p + j];
        hits += found && there;
        extra += found && !there;
        missing += !found && there;
    }
    return causal_count(hits, extra, missing);
}
