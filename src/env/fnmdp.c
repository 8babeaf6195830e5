/* fnmdp.c - a factored non-stationary MDP drawn at random, whose causal graph is known.
 *
 *     s_i,t+1 = f_i(parents of i among s_t, a_t, theta^s) + noise
 *     r_t     = h(parents among s_t, a_t; all of theta^r) + noise
 *
 * The reward depends on the state in which the action is taken. A step runs
 * under the factors that the schedule set for it: in the indices of the paper, the theta^s_{t+1} of
 * the transition out of s_t and the theta^r_t of its reward carry the number of the same step.
 *
 * The functions are sums of bounded features, one per edge, and a product of two of them here and
 * there. A random network would be as smooth but might ignore one of its inputs; here the weight of
 * every edge has a lower bound, so each true parent matters. The graph is drawn so
 * that actions excite every state through at most one other: a world that stays at rest under
 * random actions could not be learned. States keep a memory of themselves (the diagonal of
 * C_ss is 1); every factor of the dynamics touches a state; a factor of the reward also
 * multiplies one of the states that the reward reads, or it would not change what is best to do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fans/env.h"

enum { D, M, P, Q, DENSITY, NOISE, CUT, OPTIONS };

static const fans_env_option options_list[OPTIONS] = {
    {"d", 6, 1, 64, "state dimensions"},
    {"m", 2, 1, 32, "action dimensions"},
    {"p", 2, 0, 32, "dynamics factors"},
    {"q", 1, 0, 32, "reward factors"},
    {"density", 0.3, 0, 1, "probability of each optional edge"},
    {"noise", 0.05, 0, 10, "standard deviation of the noise on states and rewards"},
    {"cut", 0, 0, 6144,
     "the same world without one edge into a state, that of this number; 0: none"},
};

/* The causes of everything, in one vector x: states, actions, factors of dynamics and reward. */
enum { MOST_CAUSES = 64 + 32 + 32 + 32, MOST_NAME = 16 };

typedef enum { SINE, TANH } shape;

/* weight * feature(x[cause]); every feature is 0 at 0. */
typedef struct edge {
    int cause;
    shape shape;
    double weight, rate, shift;
} edge;

/* weight times the features of two edges */
typedef struct product {
    int first, second;
    double weight;
} product;

typedef struct function {
    int edges, products;
    edge edge[MOST_CAUSES];
    product product[MOST_CAUSES];
} function;

typedef struct fnmdp {
    int d, m, p, q, causes;
    double noise;
    fans_factor factors[64];
    char names[64][MOST_NAME];
    const char *obs_names[64], *act_names[32]; /* point into called[] */
    char called[96][MOST_NAME];
    double x[MOST_CAUSES], next[64];
    uint8_t mask[65][MOST_CAUSES]; /* [effect][cause]; effect d is the reward */
    function f[];                  /* f_0 .. f_{d-1}, h */
} fnmdp;

/* ---- drawing a world ------------------------------------------------------------------------- */

static bool chance(rng *r, double probability)
{
    return rng_uniform(r) < probability;
}

static bool any(const uint8_t *mask, int first, int count)
{
    for (int i = 0; i < count; i++)
        if (mask[first + i]) return true;
    return false;
}

static void shuffle(rng *r, int *list, int n)
{
    for (int i = 0; i < n; i++) list[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(r, (uint32_t)i + 1), swap = list[i];
        list[i] = list[j];
        list[j] = swap;
    }
}

/* In a random order, each state of the first half has an action as parent, the others a state of
 * that half. */
static void ensure_excitation(fnmdp *w, rng *r)
{
    int order[64], front = (w->d + 1) / 2;
    shuffle(r, order, w->d);
    for (int k = 0; k < w->d; k++) {
        uint8_t *mask = w->mask[order[k]];
        bool heard = any(mask, w->d, w->m);
        for (int j = 0; k >= front && j < front; j++) heard |= mask[order[j]] != 0;
        if (heard) continue;
        if (k < front)
            mask[w->d + (int)rng_below(r, (uint32_t)w->m)] = 1;
        else
            mask[order[rng_below(r, (uint32_t)front)]] = 1;
    }
}

static void draw_graph(fnmdp *w, rng *r, double density)
{
    int inputs = w->d + w->m + w->p;
    for (int i = 0; i < w->d; i++)
        for (int j = 0; j < inputs; j++) w->mask[i][j] = i == j || chance(r, density);
    ensure_excitation(w, r);
    for (int j = 0; j < w->p; j++) {
        int cause = w->d + w->m + j, children = 0;
        for (int i = 0; i < w->d; i++) children += w->mask[i][cause];
        if (children == 0) w->mask[rng_below(r, (uint32_t)w->d)][cause] = 1;
    }
    uint8_t *reward = w->mask[w->d];
    for (int j = 0; j < w->d + w->m; j++) reward[j] = chance(r, density);
    if (!any(reward, 0, w->d)) reward[rng_below(r, (uint32_t)w->d)] = 1;
    memset(reward + inputs, 1, (size_t)w->q);
}

static double signed_between(rng *r, double low, double high)
{
    double x = rng_between(r, low, high);
    return chance(r, 0.5) ? -x : x;
}

/* States enter by a sine that does not go flat, or feedback would hold them where nothing moves
 * them; actions weigh a little more. Factors reach to 3 and should be told apart everywhere, so
 * theirs are monotone. */
static edge draw_edge(const fnmdp *w, rng *r, int cause, double scale)
{
    edge e = {.cause = cause, .weight = scale * signed_between(r, 0.6, 1)};
    if (cause < w->d) {
        e.shape = SINE;
        e.rate = rng_between(r, 0.7, 1.3);
        e.shift = rng_between(r, -0.5, 0.5);
    } else if (cause < w->d + w->m) {
        e.shape = chance(r, 0.5) ? TANH : SINE;
        e.weight *= 1.25;
        e.rate = rng_between(r, 1, 1.8);
        e.shift = rng_between(r, -0.5, 0.5);
    } else {
        e.shape = TANH;
        e.rate = rng_between(r, 0.4, 0.8);
    }
    return e;
}

/* Weights shrink with the number of edges, so that states keep to about [-3, 3]. */
static void draw_function(fnmdp *w, rng *r, int effect)
{
    function *f = &w->f[effect];
    int parents = 0, state_edges = 0;
    for (int j = 0; j < w->causes; j++) parents += w->mask[effect][j];
    double scale = 1.44 / sqrt(parents);
    for (int j = 0; j < w->causes; j++) {
        if (!w->mask[effect][j]) continue;
        f->edge[f->edges++] = draw_edge(w, r, j, scale);
        state_edges += j < w->d;
    }
    if (effect == w->d) { /* each factor of the reward times one of its states */
        for (int k = 0; k < w->q; k++)
            f->product[f->products++] =
                (product){(int)rng_below(r, (uint32_t)state_edges), f->edges - w->q + k,
                          scale * signed_between(r, 0.6, 1)};
    } else if (f->edges > 1) {
        int first = (int)rng_below(r, (uint32_t)f->edges);
        int second = (first + 1 + (int)rng_below(r, (uint32_t)f->edges - 1)) % f->edges;
        f->product[f->products++] = (product){first, second, scale * signed_between(r, 0.3, 0.5)};
    }
}

/* Takes an edge out of a function, with the product that it is part of. */
static void cut_edge(function *f, int cause)
{
    for (int k = 0; k < f->edges; k++) {
        if (f->edge[k].cause != cause) continue;
        f->edge[k].weight = 0;
        for (int i = 0; i < f->products; i++)
            if (f->product[i].first == k || f->product[i].second == k) f->product[i].weight = 0;
    }
}

/* Edge `number` of those from actions and other states to states, counted from 1. Everything else
 * is as in the world with all edges. */
static int cut_world(fnmdp *w, int number)
{
    int count = 0;
    for (int i = 0; i < w->d; i++)
        for (int j = 0; j < w->d + w->m; j++) {
            if (i == j || !w->mask[i][j] || ++count != number) continue;
            w->mask[i][j] = 0;
            cut_edge(&w->f[i], j);
            return 0;
        }
    return fans_fail(FANS_EINVAL, "cut = %d: there are only %d such edges", number, count);
}

static void name_factors(fnmdp *w)
{
    for (int i = 0; i < w->p + w->q; i++) {
        bool dynamics = i < w->p;
        snprintf(w->names[i], MOST_NAME, "theta_%c%d", dynamics ? 's' : 'r',
                 dynamics ? i : i - w->p);
        w->factors[i] = (fans_factor){
            w->names[i], dynamics ? FANS_DYNAMICS : FANS_REWARD, -3, 3, 0, "enters through tanh"};
    }
}

/* s0, s1, ... and a0, a1, ..., as in the equations above. */
static void name_nodes(fnmdp *w)
{
    for (int i = 0; i < w->d + w->m; i++) {
        bool state = i < w->d;
        snprintf(w->called[i], MOST_NAME, "%c%d", state ? 's' : 'a', state ? i : i - w->d);
        *(state ? &w->obs_names[i] : &w->act_names[i - w->d]) = w->called[i];
    }
}

static int open_fnmdp(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    for (int i = D; i < OPTIONS; i++)
        if (i != DENSITY && i != NOISE && options[i] != floor(options[i]))
            return fans_fail(FANS_EINVAL, "%s = %g: not a whole number", options_list[i].name,
                             options[i]);
    int d = (int)options[D];
    fnmdp *w = mem_alloc(sizeof *w + (size_t)(d + 1) * sizeof *w->f);
    if (!w) return FANS_ENOMEM;
    w->d = d;
    w->m = (int)options[M];
    w->p = (int)options[P];
    w->q = (int)options[Q];
    w->causes = w->d + w->m + w->p + w->q;
    w->noise = options[NOISE];
    rng r = rng_stream(seed, "fnmdp", 0);
    draw_graph(w, &r, options[DENSITY]);
    for (int i = 0; i <= d; i++) draw_function(w, &r, i);
    if (options[CUT] > 0 && cut_world(w, (int)options[CUT]) < 0) {
        mem_free(w);
        return FANS_EINVAL;
    }
    name_factors(w);
    name_nodes(w);
    *info = (fans_env_info){.obs_dim = w->d,
                            .act_dim = w->m,
                            .horizon = 50,
                            .factors = w->factors,
                            .factor_count = w->p + w->q,
                            .obs_names = w->obs_names,
                            .act_names = w->act_names};
    *env = w;
    return 0;
}

/* ---- living in it ---------------------------------------------------------------------------- */

static double feature(const edge *e, double x)
{
    double y = e->rate * x + e->shift;
    return e->shape == SINE ? sin(y) - sin(e->shift) : tanh(y) - tanh(e->shift);
}

static double evaluate(const function *f, const double *x)
{
    double features[MOST_CAUSES], sum = 0;
    for (int i = 0; i < f->edges; i++) {
        features[i] = feature(&f->edge[i], x[f->edge[i].cause]);
        sum += f->edge[i].weight * features[i];
    }
    for (int i = 0; i < f->products; i++) {
        const product *p = &f->product[i];
        sum += p->weight * features[p->first] * features[p->second];
    }
    return sum;
}

static void observe(const fnmdp *w, float *obs)
{
    for (int i = 0; i < w->d; i++) obs[i] = (float)w->x[i];
}

static int reset(void *env, fans_rng *r, float *obs)
{
    fnmdp *w = env;
    for (int i = 0; i < w->d; i++) w->x[i] = fans_rng_uniform(r, -1, 1);
    observe(w, obs);
    return 0;
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    fnmdp *w = env;
    for (int j = 0; j < w->m; j++) w->x[w->d + j] = fmin(fmax((double)action[j], -1), 1);
    for (int i = 0; i < w->d; i++)
        w->next[i] = evaluate(&w->f[i], w->x) + w->noise * fans_rng_normal(r);
    result->reward = evaluate(&w->f[w->d], w->x) + w->noise * fans_rng_normal(r);
    memcpy(w->x, w->next, (size_t)w->d * sizeof *w->x);
    observe(w, obs);
    return 0;
}

static int set_factor(void *env, int factor, double value)
{
    fnmdp *w = env;
    const fans_factor *f = &w->factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    w->x[w->d + w->m + factor] = value;
    return 0;
}

static size_t state_bytes(const void *env)
{
    return (size_t)((const fnmdp *)env)->causes * sizeof(double);
}

static void save(const void *env, void *bytes)
{
    memcpy(bytes, ((const fnmdp *)env)->x, state_bytes(env));
}

static void restore(void *env, const void *bytes)
{
    double *x = ((fnmdp *)env)->x;
    memcpy(x, bytes, state_bytes(env));
    for (size_t i = 0; i < state_bytes(env) / sizeof *x; i++)
        if (!isfinite(x[i])) fans_fail(FANS_EFORMAT, "state %zu is not a number", i);
}

static int truth(const void *env, uint8_t *C_ss, uint8_t *C_as, uint8_t *C_ts, uint8_t *c_sr,
                 uint8_t *c_ar, uint8_t *C_tt_s, uint8_t *C_tt_r)
{
    const fnmdp *w = env;
    for (int i = 0; i < w->d; i++) {
        memcpy(C_ss + i * w->d, w->mask[i], (size_t)w->d);
        memcpy(C_as + i * w->m, w->mask[i] + w->d, (size_t)w->m);
        memcpy(C_ts + i * w->p, w->mask[i] + w->d + w->m, (size_t)w->p);
    }
    memcpy(c_sr, w->mask[w->d], (size_t)w->d);
    memcpy(c_ar, w->mask[w->d] + w->d, (size_t)w->m);
    /* the factors obey schedules, each on its own */
    for (int i = 0; i < w->p * w->p; i++) C_tt_s[i] = i % (w->p + 1) == 0;
    for (int i = 0; i < w->q * w->q; i++) C_tt_r[i] = i % (w->q + 1) == 0;
    return 0;
}

const fans_env_def env_fnmdp = {
    .abi = FANS_ENV_ABI,
    .name = "fnmdp",
    .help = "a random factored world whose causal graph is known",
    .options = options_list,
    .option_count = OPTIONS,
    .open = open_fnmdp,
    .close = mem_free,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
    .truth = truth,
};
