/* sac.c - soft actor-critic that knows nothing of change: the lower bound. */
#include "algo/registry.h"
#include "learn/learner.h"

static int open_agent(void **agent, const fans_algo_setup *setup)
{
    learner *l;
    int rc = learner_new(&l, setup, 0, 0);
    if (rc < 0) return rc;
    learner_check_length(l, setup);
    *agent = l;
    return 0;
}

static void close_agent(void *agent)
{
    learner_free(agent);
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    return learner_act(agent, now->obs, NULL, explore, action);
}

static int observe(void *agent, const fans_moment *before, const float *action,
                   const fans_outcome *outcome, bool learn)
{
    if (learn) learner_store(agent, before, NULL, action, outcome, NULL);
    return 0;
}

static int update(void *agent)
{
    return learner_update(agent);
}

static void list_state(void *agent, int replica, state_list *s)
{
    learner_state(agent, replica, s);
}

static void scalars(void *agent, int replica, fans_scalar_fn *emit, void *user)
{
    learner_scalars(agent, replica, emit, user);
}

const fans_algo_def algo_sac = {.name = "sac",
                                .help = "soft actor-critic without knowledge of change",
                                .open = open_agent,
                                .close = close_agent,
                                .act = act,
                                .observe = observe,
                                .update = update,
                                .state = list_state,
                                .scalars = scalars};
