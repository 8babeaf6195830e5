/* sac_rig.h - SAC on rows of a small replay, as agents use it: observations and a context, for
 * critics that of other rows. */
#ifndef TESTS_SAC_RIG_H
#define TESTS_SAC_RIG_H

#include "data/replay.h"
#include "learn/sac.h"
#include "learn/staged.h"

enum { RIG_OBS = 5, RIG_NUMBERS = 3, RIG_ACTIONS = 2, RIG_BATCH = 12, RIG_STEPS = 20 };

typedef struct sac_rig {
    nn_graph *g;
    replay *replay;
    sac *sac;
    arena *memory;
    staged at, next, critic_at, critic_next;
} sac_rig;

static inline nn_var sac_rig_input(const sac_rig *t, nn_var rows, nn_var beside)
{
    return nn_concat(
        NN_IN(replay_obs(t->replay, rows), replay_gather_column(t->replay, 0, beside)));
}

static inline int sac_rig_record(sac_rig *t)
{
    int rc = 0, B = RIG_BATCH;
    replay_record(t->replay, t->g);
    TRY(staged_rows(&t->at, t->memory, t->g, "at", 1, B, 1));
    TRY(staged_rows(&t->next, t->memory, t->g, "next", 1, B, 1));
    TRY(staged_rows(&t->critic_at, t->memory, t->g, "critic at", 1, B, 1));
    TRY(staged_rows(&t->critic_next, t->memory, t->g, "critic next", 1, B, 1));
    nn_var now = replay_gather(t->replay, t->at.var), next = replay_gather(t->replay, t->next.var);
    sac_inputs in = {.actor = sac_rig_input(t, now, t->at.var),
                     .critic = sac_rig_input(t, now, t->critic_at.var),
                     .next_actor = sac_rig_input(t, next, t->next.var),
                     .next_critic = sac_rig_input(t, next, t->critic_next.var),
                     .action = replay_action(t->replay, now),
                     .reward = replay_reward(t->replay, now),
                     .terminated = replay_terminated(t->replay, now),
                     .discount = NN_NONE,
                     .weight = NN_NONE};
    sac_record(t->sac, &in);
    sac_record_act(t->sac, nn_input(t->g, "here", 1, 1, RIG_OBS + RIG_NUMBERS));
    TRY(sac_plan(t->sac, NULL));
    TRY(nn_graph_commit(t->g));
    sac_start(t->sac);
    TRY(arena_commit(t->memory));
out:
    return rc;
}

static inline int sac_rig_new(sac_rig *t, nn_backend *b, const sac_options *o, int replicas,
                              const uint64_t *seeds)
{
    replay_shape z = {.replicas = replicas,
                      .worlds = 1,
                      .steps = 2 * RIG_STEPS,
                      .horizon = 5,
                      .obs = RIG_OBS,
                      .act = RIG_ACTIONS,
                      .columns = {{"numbers", NN_F32, RIG_NUMBERS}},
                      .column_count = 1};
    int rc = 0;
    *t = (sac_rig){0};
    TRY(arena_new(&t->memory));
    TRY(replay_new(&t->replay, z));
    TRY(nn_graph_new(&t->g, b, replicas, seeds));
    TRY(sac_new(&t->sac, t->g, o, RIG_ACTIONS));
    TRY(sac_rig_record(t));
out:
    return rc;
}

static inline void sac_rig_free(sac_rig *t)
{
    sac_free(t->sac);
    nn_graph_free(t->g);
    replay_free(t->replay);
    arena_free(t->memory);
}

/* Lives of noise; every fifth step ends an episode, every tenth in a terminal state. */
static inline void sac_rig_live(sac_rig *t, int replicas, rng *r)
{
    enum { MOST = 4 };
    float obs[MOST * RIG_OBS], next[MOST * RIG_OBS], action[MOST * RIG_ACTIONS], reward[MOST],
        numbers[MOST * RIG_NUMBERS], ends[MOST * RIG_NUMBERS];
    int64_t segment[MOST] = {0};
    uint8_t change[MOST] = {0}, terminated[MOST], truncated[MOST];
    for (int i = 0; i < RIG_STEPS; i++) {
        for (int k = 0; k < replicas * RIG_OBS; k++) obs[k] = (float)rng_normal(r);
        for (int k = 0; k < replicas * RIG_OBS; k++) next[k] = (float)rng_normal(r);
        for (int k = 0; k < replicas * RIG_ACTIONS; k++) action[k] = (float)rng_between(r, -1, 1);
        for (int k = 0; k < replicas * RIG_NUMBERS; k++) numbers[k] = (float)rng_normal(r);
        for (int k = 0; k < replicas * RIG_NUMBERS; k++) ends[k] = (float)rng_normal(r);
        for (int k = 0; k < replicas; k++) {
            reward[k] = (float)rng_normal(r);
            terminated[k] = i % 10 == 4;
            truncated[k] = i % 10 == 9;
        }
        fans_moment now = {obs, NULL, segment, change};
        fans_outcome o = {reward, terminated, truncated, next};
        const void *columns[] = {numbers}, *at_ends[] = {ends};
        replay_add(t->replay, &now, action, &o, columns, at_ends);
    }
    replay_sync(t->replay);
}

/* A batch for each replica; with hindsight, critics read the context of other rows. */
static inline void sac_rig_draw(sac_rig *t, int replicas, bool hindsight, rng *r)
{
    const staged *const all[] = {&t->at, &t->next, &t->critic_at, &t->critic_next};
    for (int k = 0; k < replicas; k++) {
        size_t bytes = RIG_BATCH * sizeof(int32_t);
        int32_t *at = rows_of(&t->at, k), *next = rows_of(&t->next, k);
        replay_draw(t->replay, k, r, RIG_BATCH, at, next);
        memcpy(rows_of(&t->critic_at, k), at, bytes);
        memcpy(rows_of(&t->critic_next, k), next, bytes);
        for (int i = 0; hindsight && i < RIG_BATCH; i++) {
            uint32_t n = (uint32_t)replay_rows(t->replay, k);
            rows_of(&t->critic_at, k)[i] = (int32_t)rng_below(r, n);
            rows_of(&t->critic_next, k)[i] = (int32_t)rng_below(r, n);
        }
    }
    for (int i = 0; i < 4; i++) staged_send(all[i]);
}

#endif
