/* learner.c - SAC and its data. */
#include "rl/learner.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "rl/norm.h"

OPTIONS_GROUP(replay_option_group, replay_options, "replay", "what is remembered of the past",
              REPLAY_OPTIONS)

struct learner {
    sac_options so;
    replay_options ro;
    int replicas, worlds, obs, act, extra, inputs;
    sac *sac;
    replay *replay;
    norm *norms;    /* [replicas] */
    rng *sampling;  /* [replicas] which transitions */
    rng *exploring; /* [replicas] random actions */
    int64_t *steps; /* [replicas] steps seen (of all worlds together) */
    int64_t *updates;
    int64_t hold; /* steps before which it acts at random */
    learner_present_fn *present;
    const void *present_to;
    bool ready;                     /* the next batch is drawn */
    float *input;                   /* (rows, inputs) */
    float *obs_batch, *extra_batch; /* (replicas, batch, …) */
    pool *pool;
    arena *memory;
};

/* ---- making and freeing ------------------------------------------------------------------------
 */

static int take_options(learner *l, const fans_algo_setup *s)
{
    int rc = 0;
    TRY(config_take(s->config, sac_option_group(), "sac", &l->so));
    TRY(config_take(s->config, replay_option_group(), "replay", &l->ro));
    options_dump(sac_option_group(), "sac", &l->so, s->dump);
    options_dump(replay_option_group(), "replay", &l->ro, s->dump);
out:
    return rc;
}

static int claim(learner *l, double **stats)
{
    size_t R = (size_t)l->replicas, rows = R * (size_t)l->worlds, batch = (size_t)l->so.batch;
    int rc = 0;
    TRY(arena_new(&l->memory));
    TRY(arena_declare(l->memory, &l->norms, R * sizeof *l->norms));
    TRY(arena_declare(l->memory, &l->sampling, R * sizeof *l->sampling));
    TRY(arena_declare(l->memory, &l->exploring, R * sizeof *l->exploring));
    TRY(arena_declare(l->memory, &l->steps, R * sizeof *l->steps));
    TRY(arena_declare(l->memory, &l->updates, R * sizeof *l->updates));
    TRY(arena_declare(l->memory, &l->input, rows * (size_t)l->inputs * sizeof(float)));
    TRY(arena_declare(l->memory, &l->obs_batch, R * batch * (size_t)l->obs * sizeof(float)));
    TRY(arena_declare(l->memory, &l->extra_batch, R * batch * (size_t)l->extra * sizeof(float)));
    TRY(arena_declare(l->memory, stats, 2 * R * (size_t)l->obs * sizeof(double)));
    TRY(arena_commit(l->memory));
out:
    return rc;
}

int learner_new(learner **out, const fans_algo_setup *s, int extra)
{
    int rc = 0;
    double *stats;
    learner *l = mem_alloc(sizeof *l);
    if (!l) return FANS_ENOMEM;
    *l = (learner){.replicas = s->replicas,
                   .worlds = s->worlds,
                   .obs = s->info->obs_dim,
                   .act = s->info->act_dim,
                   .extra = extra,
                   .inputs = s->info->obs_dim + extra,
                   .pool = s->pool};
    TRY(take_options(l, s));
    l->hold = l->so.random_steps;
    TRY(claim(l, &stats));
    for (int r = 0; r < l->replicas; r++) {
        double *mean = stats + (size_t)(2 * r) * (size_t)l->obs;
        l->norms[r] = (norm){.n = l->obs, .mean = mean, .m2 = mean + l->obs};
        l->sampling[r] = rng_stream(s->seeds[r], "replay", 0);
        l->exploring[r] = rng_stream(s->seeds[r], "random actions", 0);
    }
    replay_shape z = {.lanes = l->replicas * l->worlds,
                      .steps = (l->ro.steps + l->worlds - 1) / l->worlds,
                      .horizon = s->info->horizon,
                      .obs = l->obs,
                      .act = l->act,
                      .extra = extra};
    TRY(replay_new(&l->replay, z));
    TRY(sac_new(&l->sac, s->backend, &l->so, l->inputs, l->act, l->worlds, l->replicas, s->seeds));
    *out = l;
    return 0;
out:
    learner_free(l);
    return rc;
}

void learner_free(learner *l)
{
    if (!l) return;
    sac_free(l->sac);
    replay_free(l->replay);
    arena_free(l->memory);
    mem_free(l);
}

void learner_present(learner *l, learner_present_fn *present, const void *user)
{
    l->present = present;
    l->present_to = user;
}

void learner_hold(learner *l, int64_t steps)
{
    if (l->hold < steps) l->hold = steps;
}

replay *learner_replay(learner *l)
{
    return l->replay;
}

/* ---- batches ---------------------------------------------------------------------------------
 */

/* Writes [normalised obs | extra] rows; both may be changed in place by the normaliser's copy. */
static void join(const learner *l, int replica, const float *obs, const float *extra, int rows,
                 float *to)
{
    for (int i = 0; i < rows; i++) {
        float *row = to + (size_t)i * (size_t)l->inputs;
        memcpy(row, obs + (size_t)i * (size_t)l->obs, (size_t)l->obs * sizeof *row);
        if (l->ro.normalize) norm_apply(&l->norms[replica], row, 1);
        if (extra && l->extra)
            memcpy(row + l->obs, extra + (size_t)i * (size_t)l->extra,
                   (size_t)l->extra * sizeof *row);
        if (l->present) l->present(l->present_to, replica, row, row + l->obs);
    }
}

/* A batch of one replica, from its own lanes, into SAC's memory. */
static void draw_batch(void *arg, int r)
{
    learner *l = arg;
    sac_batch b = sac_batch_of(l->sac, r);
    size_t first_row = (size_t)r * (size_t)l->so.batch;
    float *obs = l->obs_batch + first_row * (size_t)l->obs;
    float *extra = l->extra_batch + first_row * (size_t)l->extra;
    rng again = l->sampling[r]; /* the successors are drawn by the same numbers */
    replay_batch now = {.obs = obs,
                        .extra = extra,
                        .action = b.action,
                        .reward = b.reward,
                        .terminated = b.terminated};
    replay_batch next = {.next = obs, .next_extra = extra};
    int first = r * l->worlds;
    replay_sample(l->replay, first, l->worlds, &l->sampling[r], l->so.batch, &now);
    join(l, r, obs, extra, l->so.batch, b.input);
    replay_sample(l->replay, first, l->worlds, &again, l->so.batch, &next);
    join(l, r, obs, extra, l->so.batch, b.next);
}

/* Every world has lived two steps by then, so every lane has one with its successor. */
static bool due(const learner *l)
{
    int64_t n = l->steps[0] / l->worlds;
    return l->so.updates > 0 && l->steps[0] >= l->hold && n >= 2 && n % l->so.update_every == 0;
}

static void make_ready(learner *l)
{
    if (l->ready) return;
    pool_run(l->pool, l->replicas, draw_batch, l);
    sac_load(l->sac);
    l->ready = true;
}

void learner_prepare(learner *l)
{
    if (due(l)) make_ready(l);
}

/* ---- acting and learning ----------------------------------------------------------------------
 */

int learner_act(learner *l, const float *obs, const float *extra, bool explore, float *action)
{
    size_t W = (size_t)l->worlds;
    for (int r = 0; r < l->replicas; r++) {
        size_t first = (size_t)r * W;
        join(l, r, obs + first * (size_t)l->obs, extra ? extra + first * (size_t)l->extra : NULL,
             l->worlds, l->input + first * (size_t)l->inputs);
    }
    if (!explore || l->steps[0] >= l->hold) return sac_act(l->sac, l->input, explore, action);
    for (int r = 0; r < l->replicas; r++)
        for (size_t i = 0; i < W * (size_t)l->act; i++)
            action[(size_t)r * W * (size_t)l->act + i] =
                (float)rng_between(&l->exploring[r], -1, 1);
    return 0;
}

void learner_store(learner *l, const fans_moment *before, const float *extra, const float *action,
                   const fans_outcome *o, const float *next_extra)
{
    for (int i = 0; i < l->replicas * l->worlds; i++) {
        size_t k = (size_t)i;
        replay_step s = {.obs = before->obs + k * (size_t)l->obs,
                         .extra = extra ? extra + k * (size_t)l->extra : NULL,
                         .action = action + k * (size_t)l->act,
                         .next = o->next_obs + k * (size_t)l->obs,
                         .next_extra = next_extra ? next_extra + k * (size_t)l->extra : NULL,
                         .reward = o->reward[i],
                         .terminated = o->terminated[i],
                         .ended = o->terminated[i] || o->truncated[i],
                         .segment = before->segment[i]};
        replay_add(l->replay, i, &s);
        norm_add(&l->norms[i / l->worlds], s.obs);
        l->steps[i / l->worlds]++;
    }
}

int learner_update(learner *l)
{
    if (!due(l)) return 0;
    for (int i = 0; i < l->so.updates; i++) {
        make_ready(l);
        l->ready = false;
        int rc = sac_update(l->sac);
        if (rc < 0) return rc;
        for (int r = 0; r < l->replicas; r++) l->updates[r]++;
    }
    return 0;
}

/* ---- state and curves ------------------------------------------------------------------------ */

static void add_stream(state_list *s, const char *name, rng *r)
{
    state_add_number(s, name, STATE_U64, &r->drawn); /* seed and purpose follow from the run */
}

void learner_state(learner *l, int replica, state_list *s)
{
    char name[32];
    sac_state(l->sac, replica, s);
    add_stream(s, "learner/sampling", &l->sampling[replica]);
    add_stream(s, "learner/exploring", &l->exploring[replica]);
    state_add_number(s, "learner/steps", STATE_I64, &l->steps[replica]);
    state_add_number(s, "learner/updates", STATE_I64, &l->updates[replica]);
    norm_state(&l->norms[replica], "learner/norm", s);
    for (int w = 0; w < l->worlds; w++) {
        snprintf(name, sizeof name, "replay.%d", w);
        replay_state(l->replay, replica * l->worlds + w, name, s);
    }
}

void learner_scalars(learner *l, int replica, fans_scalar_fn *emit, void *user)
{
    sac_losses x = sac_losses_of(l->sac, replica);
    emit(user, "train/critic_loss", x.critic);
    emit(user, "train/actor_loss", x.actor);
    emit(user, "train/ent_coef", x.temp);
    emit(user, "train/entropy", x.entropy);
    emit(user, "train/n_updates", (double)l->updates[replica]);
}
