/* learner.c - SAC and its data. */
#include "learn/learner.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "data/norm.h"

OPTIONS_GROUP(replay_option_group, replay_options, "replay", "what is remembered of the past",
              REPLAY_OPTIONS)

static const double NORM_BOUND = 10; /* where observations are normalised: of all inputs */

struct learner {
    sac_options so;
    replay_options ro;
    int replicas, worlds, obs, act, extra, inputs;
    int hindsight; /* in how many first steps of a segment critics see what stands behind them */
    sac *sac;
    replay *replay;
    norm *norms;    /* [replicas] */
    rng *sampling;  /* [replicas] which transitions */
    rng *exploring; /* [replicas] random actions */
    int64_t *steps; /* [replicas] steps seen (of all worlds together) */
    int64_t *updates;
    int64_t hold; /* steps before which it acts at random */
    const char *held_by;
    learner_units_fn *units;
    const void *units_to;
    bool units_stale, memory_stale; /* the backend does not have them as they are */
    float *input;                   /* (rows, inputs) */
    nn_place *fresh;                /* (2 rows): what a step wrote */
    pool *pool;
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

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
    size_t R = (size_t)l->replicas, rows = R * (size_t)l->worlds;
    int rc = 0;
    TRY(arena_new(&l->memory));
    TRY(arena_declare(l->memory, &l->norms, R * sizeof *l->norms));
    TRY(arena_declare(l->memory, &l->sampling, R * sizeof *l->sampling));
    TRY(arena_declare(l->memory, &l->exploring, R * sizeof *l->exploring));
    TRY(arena_declare(l->memory, &l->steps, R * sizeof *l->steps));
    TRY(arena_declare(l->memory, &l->updates, R * sizeof *l->updates));
    TRY(arena_declare(l->memory, &l->input, rows * (size_t)l->inputs * sizeof(float)));
    TRY(arena_declare(l->memory, &l->fresh, 2 * rows * sizeof *l->fresh));
    TRY(arena_declare(l->memory, stats, 2 * R * (size_t)l->obs * sizeof(double)));
    TRY(arena_commit(l->memory));
out:
    return rc;
}

static void open_streams(learner *l, const uint64_t *seeds, double *stats)
{
    for (int r = 0; r < l->replicas; r++) {
        double *mean = stats + (size_t)(2 * r) * (size_t)l->obs;
        l->norms[r] = (norm){.n = l->obs, .mean = mean, .m2 = mean + l->obs};
        l->sampling[r] = rng_stream(seeds[r], "replay", 0);
        l->exploring[r] = rng_stream(seeds[r], "random actions", 0);
    }
}

/* The replay, and SAC on its memory. */
static int open_sac(learner *l, const fans_algo_setup *s)
{
    int rc = 0;
    replay_shape z = {.lanes = l->replicas * l->worlds,
                      .steps = (l->ro.steps + l->worlds - 1) / l->worlds,
                      .horizon = s->info->horizon,
                      .obs = l->obs,
                      .act = l->act,
                      .extra = l->extra};
    TRY(replay_new(&l->replay, z));
    replay_memory m = replay_memory_of(l->replay);
    sac_shape shape = {.obs = l->obs,
                       .extra = l->extra,
                       .actions = l->act,
                       .rows = l->worlds,
                       .replicas = l->replicas,
                       .memory = l->worlds * m.capacity,
                       .bound = l->ro.normalize ? NORM_BOUND : 0,
                       .hindsight = l->hindsight > 0};
    TRY(sac_new(&l->sac, s->backend, &l->so, shape, m.steps, m.extra, s->seeds));
out:
    return rc;
}

int learner_new(learner **out, const fans_algo_setup *s, int extra, int hindsight)
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
                   .hindsight = hindsight,
                   .inputs = s->info->obs_dim + extra,
                   .units_stale = true,
                   .pool = s->pool};
    TRY(take_options(l, s));
    learner_hold(l, l->so.random_steps, "sac.random_steps");
    TRY(claim(l, &stats));
    open_streams(l, s->seeds, stats);
    TRY(open_sac(l, s));
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

void learner_hold(learner *l, int64_t steps, const char *by)
{
    if (l->hold >= steps) return;
    l->hold = steps;
    l->held_by = by;
}

/* All worlds of a seed step at once, so the last of its steps begins a round before the end. */
void learner_check_length(const learner *l, const fans_algo_setup *s)
{
    if (s->steps == 0 || s->steps - s->worlds >= l->hold) return;
    text_add(
        s->warning,
        "%s = %lld: all %lld steps of a run are random, and its policy never starts; train for "
        "longer (train.episodes, --steps) or lower it",
        l->held_by, (long long)l->hold, (long long)s->steps);
}

replay *learner_replay(learner *l)
{
    return l->replay;
}

/* ---- units ----------------------------------------------------------------------------------- */

void learner_units(learner *l, learner_units_fn *units, const void *user)
{
    l->units = units;
    l->units_to = user;
}

void learner_units_changed(learner *l)
{
    l->units_stale = true;
}

static void find_units(learner *l, int r)
{
    sac_view obs = sac_view_of(l->sac, r), extra = {obs.shift + l->obs, obs.scale + l->obs};
    for (int i = 0; i < l->inputs; i++) {
        obs.shift[i] = 0;
        obs.scale[i] = 1;
    }
    if (l->ro.normalize) norm_units(&l->norms[r], obs.shift, obs.scale);
    if (l->units) l->units(l->units_to, r, obs, extra);
}

static void settle_units(learner *l)
{
    if (!l->units_stale) return;
    for (int r = 0; r < l->replicas; r++) find_units(l, r);
    sac_units(l->sac);
    l->units_stale = false;
}

/* ---- acting and learning --------------------------------------------------------------------- */

static void join(learner *l, const float *obs, const float *extra)
{
    size_t n = (size_t)l->obs, k = (size_t)l->extra;
    size_t rows = (size_t)l->replicas * (size_t)l->worlds;
    for (size_t i = 0; i < rows; i++) {
        float *row = l->input + i * (n + k);
        memcpy(row, obs + i * n, n * sizeof *row);
        if (extra && k) memcpy(row + n, extra + i * k, k * sizeof *row);
    }
}

int learner_act(learner *l, const float *obs, const float *extra, bool explore, float *action)
{
    size_t n = (size_t)l->worlds * (size_t)l->act;
    if (!explore || l->steps[0] >= l->hold) {
        settle_units(l);
        join(l, obs, extra);
        return sac_act(l->sac, l->input, explore, action);
    }
    for (int r = 0; r < l->replicas; r++)
        for (size_t i = 0; i < n; i++)
            action[(size_t)r * n + i] = (float)rng_between(&l->exploring[r], -1, 1);
    return 0;
}

void learner_store(learner *l, const fans_moment *before, const float *extra, const float *action,
                   const fans_outcome *o, const float *next_extra)
{
    int written = 0;
    for (int i = 0; i < l->replicas * l->worlds; i++) {
        size_t k = (size_t)i;
        int r = i / l->worlds, first = i % l->worlds * replay_capacity(l->replay), places[2];
        replay_step s = {.obs = before->obs + k * (size_t)l->obs,
                         .extra = extra ? extra + k * (size_t)l->extra : NULL,
                         .action = action + k * (size_t)l->act,
                         .next = o->next_obs + k * (size_t)l->obs,
                         .next_extra = next_extra ? next_extra + k * (size_t)l->extra : NULL,
                         .reward = o->reward[i],
                         .terminated = o->terminated[i],
                         .ended = o->terminated[i] || o->truncated[i],
                         .segment = before->segment[i]};
        int n = replay_add(l->replay, i, &s, places);
        for (int j = 0; j < n; j++) l->fresh[written++] = (nn_place){r, first + places[j]};
        norm_add(&l->norms[r], s.obs);
        l->steps[r]++;
    }
    sac_changed(l->sac, l->fresh, written);
    l->units_stale = l->units_stale || l->ro.normalize;
}

void learner_extra_changed(learner *l)
{
    int capacity = replay_capacity(l->replay);
    for (int i = 0; i < l->replicas * l->worlds; i++)
        sac_changed_extra(l->sac, i / l->worlds, i % l->worlds * capacity,
                          replay_rows(l->replay, i));
}

/* A batch of one replica, from its own lanes. */
static void draw_batch(void *arg, int r)
{
    learner *l = arg;
    sac_batch b = sac_batch_of(l->sac, r);
    int first = r * l->worlds, n = l->so.batch;
    replay_draw(l->replay, first, l->worlds, &l->sampling[r], n, b.at, b.next);
    if (l->hindsight == 0) return;
    replay_settled(l->replay, first, n, b.at, l->hindsight, b.judged_at);
    replay_settled(l->replay, first, n, b.next, l->hindsight, b.judged_next);
}

/* Every world has lived two steps by then, so every lane has one with its successor. */
static bool due(const learner *l)
{
    int64_t n = l->steps[0] / l->worlds;
    return l->so.updates > 0 && l->steps[0] >= l->hold && n >= 2 && n % l->so.update_every == 0;
}

int learner_update(learner *l)
{
    if (!due(l)) return 0;
    if (l->memory_stale) sac_changed_all(l->sac);
    l->memory_stale = false;
    settle_units(l);
    for (int i = 0; i < l->so.updates; i++) {
        pool_run(l->pool, l->replicas, draw_batch, l);
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

/* What was loaded is news to the backend; it is told when it learns or acts. */
static int note_load(void *arg)
{
    learner *l = arg;
    l->memory_stale = l->units_stale = true;
    return 0;
}

void learner_state(learner *l, int replica, state_list *s)
{
    char name[32];
    sac_state(l->sac, replica, s);
    state_on_load(s, note_load, l);
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
