/* model_data.c - data for a model: collected with random actions, or read from a file that `fans
 * rollout --csv` wrote. */
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "train/model_run.h"

/* ---- collecting ------------------------------------------------------------------------------ */

/* One world, and its current step. */
typedef struct collector {
    const fans_env_info *info;
    world *world;
    arena *memory;
    world_buffers b;
    float *obs, *action, *theta_s, *theta_r;
    int64_t segment;
    uint8_t change;
} collector;

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

int model_run_replay(const model_run *m, replay **out, int transitions)
{
    const fans_env_info *info = &m->task->info;
    replay_shape z = {.replicas = 1,
                      .worlds = 1,
                      .steps = 2 * transitions, /* every step may end an episode */
                      .horizon = info->horizon,
                      .obs = info->obs_dim,
                      .act = info->act_dim,
                      .column_count = 2};
    z.columns[FNVAE_COLUMN_THETA_S] = (replay_column){"theta_s", NN_F32, at_least_one(m->truth.p)};
    z.columns[FNVAE_COLUMN_THETA_R] = (replay_column){"theta_r", NN_F32, at_least_one(m->truth.q)};
    return replay_new(out, z);
}

static int claim(collector *c, const model_run *m)
{
    int rc = 0;
    c->info = &m->task->info;
    TRY(arena_new(&c->memory));
    TRY(world_buffers_declare(&c->b, c->memory, m->task, 1, false));
    TRY(arena_declare(c->memory, &c->obs, (size_t)m->truth.d * sizeof(float)));
    TRY(arena_declare(c->memory, &c->action, (size_t)m->truth.m * sizeof(float)));
    TRY(arena_declare(c->memory, &c->theta_s, (size_t)at_least_one(m->truth.p) * sizeof(float)));
    TRY(arena_declare(c->memory, &c->theta_r, (size_t)at_least_one(m->truth.q) * sizeof(float)));
    TRY(arena_commit(c->memory));
    c->b.action = c->action;
out:
    return rc;
}

static void release(collector *c)
{
    world_free(c->world);
    arena_free(c->memory);
}

/* Splits the factors of a step by kind. */
static void note_factors(const collector *c, const double *factors)
{
    int s = 0, r = 0;
    for (int i = 0; i < c->info->factor_count; i++) {
        bool dynamics = c->info->factors[i].kind == FANS_DYNAMICS;
        (dynamics ? c->theta_s : c->theta_r)[dynamics ? s++ : r++] = (float)factors[i];
    }
}

/* The last step of the data ends its episode, so that it has a successor, too. */
static void store(const collector *c, replay *to, const fans_moment *now, const float *action,
                  fans_outcome o, bool last)
{
    const void *thetas[] = {c->theta_s, c->theta_r};
    static const uint8_t cut[] = {1};
    if (last) o.truncated = cut;
    replay_add(to, now, action, &o, thetas, thetas);
}

/* One step with a random action. */
static int live(collector *c, rng *actions, replay *to, bool last)
{
    size_t d = (size_t)c->info->obs_dim;
    memcpy(c->obs, c->b.obs, d * sizeof(float));
    c->segment = c->b.segment[0];
    c->change = c->b.change[0];
    note_factors(c, c->b.factors);
    for (int k = 0; k < c->info->act_dim; k++) c->action[k] = (float)rng_between(actions, -1, 1);
    int rc = world_step(c->world, &c->b, 0);
    fans_moment now = {c->obs, NULL, &c->segment, &c->change};
    fans_outcome o = {c->b.reward, c->b.terminated, c->b.truncated, c->b.final_obs};
    if (rc == 0) store(c, to, &now, c->action, o, last);
    return rc;
}

int model_run_collect(const model_run *m, replay *to, uint32_t index, int count)
{
    int rc = 0;
    collector c = {0};
    uint64_t seed = (uint64_t)m->data.seed;
    rng actions = rng_stream(seed, "policy", index);
    TRY(claim(&c, m));
    TRY(world_new(&c.world, m->task, seed, index));
    TRY(world_start(c.world, &c.b, 0));
    for (int i = 0; i < count; i++) TRY(live(&c, &actions, to, i == count - 1));
out:
    release(&c);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Columns by name; or by number, as version 0.1 wrote them. */
static void print_columns(text *t, bool named, const char *group, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (named)
            text_add(t, ",%s.%s", group, names[i]);
        else
            text_add(t, ",%s%d", group, i);
}

/* The columns of one row, in the order of `fans rollout --csv`. */
static void print_header(const model_run *m, bool named, text *t)
{
    const fans_env_info *info = &m->task->info;
    text_add(t, "episode,step,t,segment,change");
    for (int i = 0; i < info->factor_count; i++) text_add(t, ",%s", info->factors[i].name);
    print_columns(t, named, "obs", info->obs_names, info->obs_dim);
    print_columns(t, named, "action", info->act_names, info->act_dim);
    text_add(t, ",reward,terminated,truncated,success");
    print_columns(t, named, "next_obs", info->obs_names, info->obs_dim);
}

static int compare_header(const model_run *m, bool named, const text *found, bool *same)
{
    text expected = {0};
    print_header(m, named, &expected);
    int rc = text_done(&expected);
    *same = rc == 0 && found->s && !strcmp(expected.s, found->s);
    text_free(&expected);
    return rc;
}

static int check_header(const model_run *m, const char *path, const csv *t)
{
    int rc = 0;
    bool same = false;
    text found = {0};
    for (int i = 0; i < t->columns; i++) text_add(&found, "%s%s", i ? "," : "", t->names[i]);
    TRY(text_done(&found));
    for (int named = 1; named >= 0 && !same; named--)
        TRY(compare_header(m, named != 0, &found, &same));
    if (!same)
        rc = fans_fail(FANS_EFORMAT,
                       "%s: line 1: not the columns that `fans rollout --csv` writes for this task",
                       path);
out:
    text_free(&found);
    return rc;
}

static void add_row(const model_run *m, const float *cells, collector *c, replay *to, bool last)
{
    int factors = m->task->info.factor_count;
    const float *obs = cells + 5 + factors, *action = obs + m->truth.d;
    const float *reward = action + m->truth.m;
    int64_t segment = (int64_t)cells[3];
    uint8_t change = cells[4] != 0, terminated = reward[1] != 0, truncated = reward[2] != 0;
    fans_moment now = {obs, NULL, &segment, &change};
    fans_outcome o = {reward, &terminated, &truncated, reward + 4};
    for (int i = 0; i < factors; i++) c->b.factors[i] = (double)cells[5 + i];
    note_factors(c, c->b.factors);
    store(c, to, &now, action, o, last);
}

int model_run_read(const model_run *m, replay **out, const char *path, int *count)
{
    int rc = 0;
    csv t = {0};
    float *cells = NULL;
    replay *to = NULL;
    collector c = {0};
    TRY(csv_read(&t, path));
    TRY(check_header(m, path, &t));
    TRY(claim(&c, m));
    TRY((cells = mem_alloc((size_t)t.columns * sizeof *cells)) ? 0 : FANS_ENOMEM);
    TRY(model_run_replay(m, &to, (int)t.rows + 1));
    for (size_t row = 0; row < t.rows; row++) {
        for (int i = 0; i < t.columns; i++) cells[i] = (float)csv_at(&t, row, i);
        add_row(m, cells, &c, to, row + 1 == t.rows);
    }
    if ((int)t.rows < m->o.window)
        TRY(fans_fail(FANS_EINVAL, "%s: %d transitions are fewer than fnvae.window = %d", path,
                      (int)t.rows, m->o.window));
    *count = (int)t.rows;
    *out = to;
    to = NULL;
out:
    replay_free(to);
    mem_free(cells);
    csv_free(&t);
    release(&c);
    return rc;
}
