/* fans_agent.c - what stands around the algorithm of fans.c: the agent is made, its state listed
 * for checkpoints, its beliefs, graph and losses told to whoever wants to see them. */
#include <stdio.h>

#include "algo/fans_parts.h"
#include "base/error.h"
#include "base/mem.h"

OPTIONS_GROUP(fans_option_group, fans_options, "fans", "the agent that adapts", FANS_OPTIONS)

enum { UNTOLD = 8 }; /* factors of a kind, where the options do not say */

/* ---- making and freeing ---------------------------------------------------------------------- */

void fans_agent_close(void *agent)
{
    fans *a = agent;
    if (!a) return;
    past_free(a->past);
    learner_free(a->learner);
    belief_free(a->belief);
    fnvae_free(a->model);
    causal_graph_free(a->graph);
    arena_free(a->memory);
    mem_free(a);
}

static int take_options(fans *a, const fans_algo_setup *s)
{
    int rc = 0;
    TRY(config_take(s->config, fans_option_group(), "fans", &a->o));
    TRY(config_take(s->config, fnvae_option_group(), "fnvae", &a->fo));
    if (a->fo.observed)
        TRY(fans_fail(FANS_EINVAL, "fnvae.observed = true: fans infers the factors; the agent that "
                                   "is shown them is the oracle"));
    if (a->o.initial < (int64_t)8 * a->fo.window * s->worlds)
        TRY(fans_fail(FANS_EINVAL,
                      "fans.initial = %d: too few steps to learn from; at least 8 windows of "
                      "fnvae.window = %d in each of %d worlds",
                      a->o.initial, a->fo.window, s->worlds));
    if (a->fo.p == 0) a->fo.p = UNTOLD;
    if (a->fo.q == 0) a->fo.q = UNTOLD;
    options_dump(fans_option_group(), "fans", &a->o, s->dump);
    options_dump(fnvae_option_group(), "fnvae", &a->fo, s->dump);
out:
    return rc;
}

/* Windows are drawn once there are a few of them in every world's memory. */
static int check_memory(const fans *a)
{
    int rows = replay_capacity(learner_replay(a->learner)), least = past_least(&a->fo);
    if (rows >= least) return 0;
    return fans_fail(
        FANS_EINVAL,
        "replay.steps is too small: of each of %d worlds %d rows are kept, and windows of "
        "fnvae.window = %d need %d",
        a->worlds, rows, a->fo.window, least);
}

static int claim(fans *a, const fans_algo_setup *s)
{
    size_t R = (size_t)a->replicas, n = (size_t)a->n, d = (size_t)a->d;
    size_t thetas = (size_t)a->rows * (size_t)a->width * sizeof(float);
    int rc = 0;
    TRY(arena_new(&a->memory));
    TRY(arena_declare(a->memory, &a->s_min, R * d * sizeof(float)));
    TRY(arena_declare(a->memory, &a->theta_min, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->shift, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->scale, R * n * sizeof(float)));
    TRY(arena_declare(a->memory, &a->theta, thetas));
    TRY(arena_declare(a->memory, &a->theta_after, thetas));
    TRY(arena_declare(a->memory, &a->costs, FNVAE_COST_COUNT * R * sizeof(float)));
    TRY(arena_declare(a->memory, &a->graph_left, R * sizeof *a->graph_left));
    TRY(arena_declare(a->memory, &a->windows, R * sizeof *a->windows));
    TRY(arena_declare(a->memory, &a->steps, R * sizeof *a->steps));
    TRY(arena_commit(a->memory));
    for (size_t r = 0; r < R; r++) a->windows[r] = rng_stream(s->seeds[r], "windows", 0);
    for (size_t i = 0; i < R * d; i++) a->s_min[i] = 1;
    for (size_t i = 0; i < R * n; i++) a->scale[i] = 1;
out:
    return rc;
}

int fans_agent_open(void **agent, const fans_algo_setup *s)
{
    int rc = 0;
    fans *a = mem_alloc(sizeof *a);
    if (!a) return FANS_ENOMEM;
    a->pool = s->pool;
    TRY(take_options(a, s));
    fnvae_dims z = {s->info->obs_dim, s->info->act_dim, a->fo.p, a->fo.q};
    a->replicas = s->replicas;
    a->worlds = s->worlds;
    a->rows = s->replicas * s->worlds;
    a->d = z.d;
    a->m = z.m;
    a->n = z.p + z.q;
    a->width = a->o.log_std ? 2 * a->n : a->n;
    TRY(claim(a, s));
    TRY(learner_new(&a->learner, s, a->width, a->o.hindsight));
    TRY(check_memory(a));
    fnvae_memory memory = past_memory(learner_replay(a->learner), a->worlds, a->o.log_std);
    TRY(fnvae_new(&a->model, s->backend, &a->fo, z, a->replicas, s->seeds, a->worlds, &memory));
    TRY(belief_new(&a->belief, a->model));
    TRY(causal_graph_new(&a->graph, z));
    TRY(causal_graph_name(a->graph, s->info->obs_names, s->info->act_names));
    TRY(past_new(&a->past, a->model, learner_replay(a->learner), a->worlds, s->pool));
    learner_units(a->learner, fans_show, a);
    learner_hold(a->learner, a->o.initial, "fans.initial");
    learner_check_length(a->learner, s);
    *agent = a;
    return 0;
out:
    fans_agent_close(a);
    return rc;
}

/* ---- state and curves ------------------------------------------------------------------------ */

/* One transfer for all replicas, and only when somebody asks. */
static int read_costs(void *agent)
{
    fans *a = agent;
    for (int i = 0; a->costs_stale && i < FNVAE_COST_COUNT; i++)
        nn_read_all(a->model->cost[i], a->costs + (size_t)i * (size_t)a->replicas);
    a->costs_stale = false;
    return 0;
}

void fans_agent_state(void *agent, int r, state_list *s)
{
    fans *a = agent;
    char name[64];
    size_t n = (size_t)a->n, row = (size_t)r * (size_t)a->worlds;
    learner_state(a->learner, r, s);
    fnvae_state(a->model, r, s);
    belief_state(a->belief, r, s);
    state_on_save(s, read_costs, a);
    state_add_number(s, "fans/steps", STATE_I64, &a->steps[r]);
    state_add_number(s, "fans/windows", STATE_U64, &a->windows[r].drawn);
    state_add(s, "fans/s_min", STATE_F32, 1, (int64_t[]){a->d}, a->s_min + r * a->d);
    state_add(s, "fans/theta_min", STATE_F32, 1, (int64_t[]){a->n}, a->theta_min + (size_t)r * n);
    state_add(s, "fans/shift", STATE_F32, 1, (int64_t[]){a->n}, a->shift + (size_t)r * n);
    state_add(s, "fans/scale", STATE_F32, 1, (int64_t[]){a->n}, a->scale + (size_t)r * n);
    state_add(s, "fans/theta", STATE_F32, 2, (int64_t[]){a->worlds, a->width},
              a->theta + row * (size_t)a->width);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        snprintf(name, sizeof name, "fans/%s", fnvae_cost_names[i]);
        state_add_number(s, name, STATE_F32, a->costs + i * a->replicas + r);
    }
}

const float *fans_agent_belief(void *agent, int row, int *n)
{
    const fans *a = agent;
    *n = a->n;
    return a->theta + (size_t)row * (size_t)a->width;
}

/* The graph, once it is fixed: by the update behind the initial steps. */
int fans_agent_leave(void *agent, int r, const char *folder)
{
    fans *a = agent;
    char path[4096];
    if (a->graph_left[r] || a->steps[0] - a->worlds < a->o.initial) return 0;
    if (snprintf(path, sizeof path, "%s/graph.json", folder) >= (int)sizeof path)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    causal_graph_of(a->graph, a->model, r);
    json_t *found = causal_json(a->graph);
    int rc = found ? json_write_file(path, found) : FANS_ENOMEM;
    json_decref(found);
    a->graph_left[r] = rc == 0;
    return rc;
}

void fans_agent_scalars(void *agent, int r, fans_scalar_fn *emit, void *user)
{
    fans *a = agent;
    char name[64];
    learner_scalars(a->learner, r, emit, user);
    read_costs(a);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        snprintf(name, sizeof name, "learn/%s", fnvae_cost_names[i]);
        emit(user, name, (double)a->costs[i * a->replicas + r]);
    }
}
