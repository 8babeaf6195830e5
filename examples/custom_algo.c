/* custom_algo.c - an algorithm of your own: random search over linear policies.
 *
 * It keeps a policy a = tanh(W [obs, 1]) per replica. Each episode tries W plus noise; if the
 * return beats the running one, the noise is kept. It is the simplest thing that learns, and a
 * complete algorithm: options, presets, replicas, checkpoints, curves. Build and run it:
 *
 *     cc -shared -fPIC -I include examples/custom_algo.c -o search.so -lm
 *     build/fans train configs/pendulum.ini --algo ./search.so --steps 40000
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fans/algo.h>

/* One line per option: [search] in a config file, `fans list options`, --set search.noise=0.3 */
#define SEARCH_OPTIONS(X)                                             \
    X(REAL, noise, 0.5, 0, 10, "standard deviation of what is tried") \
    X(REAL, forget, 0.02, 0, 1, "how fast the return to beat falls off")
FANS_OPTIONS_STRUCT(search_options, SEARCH_OPTIONS)
static FANS_OPTIONS_GROUP(search_group, search_options, "search", "random search", SEARCH_OPTIONS);

/* One replica: everything it learns, in one block that a checkpoint can hold. */
typedef struct searcher {
    double gain, best; /* return of this episode so far; what it has to beat */
    int64_t episodes, better;
    double *W, *tried; /* [act][obs + 1] */
    fans_rng *noise;
} searcher;

typedef struct search {
    search_options o;
    int replicas, worlds, obs, act;
    searcher *list;
} search;

static int64_t size_of(const search *s)
{
    return (int64_t)s->act * (s->obs + 1);
}

static void try_another(const search *s, searcher *x)
{
    for (int64_t i = 0; i < size_of(s); i++)
        x->tried[i] = x->W[i] + s->o.noise * fans_rng_normal(x->noise);
    x->gain = 0;
}

static void close_search(void *agent)
{
    search *s = agent;
    for (int r = 0; s->list && r < s->replicas; r++) {
        free(s->list[r].W);
        free(s->list[r].tried);
        fans_rng_free(s->list[r].noise);
    }
    free(s->list);
    free(s);
}

static int open_replica(const search *s, searcher *x, uint64_t seed)
{
    x->W = calloc((size_t)size_of(s), sizeof *x->W);
    x->tried = calloc((size_t)size_of(s), sizeof *x->tried);
    x->best = -1e30;
    if (!x->W || !x->tried) return fans_fail(FANS_ENOMEM, "search: out of memory");
    return fans_rng_new(&x->noise, seed, "search");
}

static int open_search(void **agent, const fans_algo_setup *setup)
{
    search *s = calloc(1, sizeof *s);
    if (!s) return fans_fail(FANS_ENOMEM, "search: out of memory");
    s->o = *(search_options *)fans_options(setup, "search");
    s->replicas = setup->replicas;
    s->worlds = setup->worlds;
    s->obs = setup->info->obs_dim;
    s->act = setup->info->act_dim;
    s->list = calloc((size_t)s->replicas, sizeof *s->list);
    int rc = s->list ? 0 : fans_fail(FANS_ENOMEM, "search: out of memory");
    for (int r = 0; s->list && rc == 0 && r < s->replicas; r++)
        rc = open_replica(s, &s->list[r], setup->seeds[r]);
    if (rc == 0)
        *agent = s;
    else
        close_search(s);
    return rc;
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    const search *s = agent;
    for (int row = 0; row < s->replicas * s->worlds; row++) {
        const searcher *x = &s->list[row / s->worlds];
        const double *w = explore ? x->tried : x->W; /* without exploring, the best known */
        const float *obs = now->obs + row * s->obs;
        for (int i = 0; i < s->act; i++) {
            double sum = *w++;
            for (int k = 0; k < s->obs; k++) sum += *w++ * (double)obs[k];
            action[row * s->act + i] = (float)tanh(sum);
        }
    }
    return 0;
}

/* The first world of a replica decides; `learn` is false in evaluation: nothing is kept then. */
static int observe(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn)
{
    search *s = agent;
    (void)before, (void)action;
    for (int r = 0; learn && r < s->replicas; r++) {
        searcher *x = &s->list[r];
        int row = r * s->worlds;
        x->gain += (double)outcome->reward[row];
        if (!outcome->terminated[row] && !outcome->truncated[row]) continue;
        x->best -= s->o.forget * fabs(x->best); /* a lucky start does not stay unbeaten */
        if (x->gain > x->best) {
            memcpy(x->W, x->tried, (size_t)size_of(s) * sizeof *x->W);
            x->best = x->gain;
            x->better++;
        }
        x->episodes++;
        try_another(s, x);
    }
    return 0;
}

/* All that must survive a restart, by name. */
static void list_state(void *agent, int replica, struct state_list *list)
{
    search *s = agent;
    searcher *x = &s->list[replica];
    int64_t size[] = {size_of(s)};
    fans_state_add(list, "search/W", FANS_F64, 1, size, x->W);
    fans_state_add(list, "search/tried", FANS_F64, 1, size, x->tried);
    fans_state_add(list, "search/gain", FANS_F64, 0, NULL, &x->gain);
    fans_state_add(list, "search/best", FANS_F64, 0, NULL, &x->best);
    fans_state_add(list, "search/episodes", FANS_I64, 0, NULL, &x->episodes);
    fans_state_add(list, "search/better", FANS_I64, 0, NULL, &x->better);
    fans_rng_state(x->noise, list, "search/noise");
}

static void scalars(void *agent, int replica, fans_scalar_fn *emit, void *user)
{
    const searcher *x = &((search *)agent)->list[replica];
    emit(user, "search/best", x->best);
    emit(user, "search/better", (double)x->better);
}

static fans_option_group_fn *const groups[] = {search_group, NULL};
static const fans_preset presets[] = {{"small", "[search]\nnoise = 1\n"}, {0}};

FANS_API const fans_algo_def fans_algo = {.abi = FANS_ALGO_ABI,
                                          .name = "search",
                                          .help = "random search over linear policies (an example)",
                                          .told = FANS_TOLD_NOTHING,
                                          .groups = groups,
                                          .presets = presets,
                                          .open = open_search,
                                          .close = close_search,
                                          .act = act,
                                          .observe = observe,
                                          .state = list_state,
                                          .scalars = scalars};
