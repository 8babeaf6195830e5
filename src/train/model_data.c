/* model_data.c - data for a model: collected with random actions, or read from a file of `fans
 * rollout --csv`. */
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "train/model_run.h"

/* ---- living ---------------------------------------------------------------------------------- */

typedef struct collector {
    world *world;
    arena *memory;
    world_buffers b;
    float *obs, *action, *theta_s, *theta_r; /* of the next step */
} collector;

static int prepare(collector *c, const model_run *m, uint32_t index)
{
    int rc = 0;
    TRY(arena_new(&c->memory));
    TRY(world_buffers_declare(&c->b, c->memory, m->task, 1, false));
    TRY(arena_declare(c->memory, &c->obs, (size_t)m->truth.d * sizeof(float)));
    TRY(arena_declare(c->memory, &c->action, (size_t)m->truth.m * sizeof(float)));
    TRY(arena_declare(c->memory, &c->theta_s, ((size_t)m->truth.p + 1) * sizeof(float)));
    TRY(arena_declare(c->memory, &c->theta_r, ((size_t)m->truth.q + 1) * sizeof(float)));
    TRY(arena_commit(c->memory));
    c->b.action = c->action;
    TRY(world_new(&c->world, m->task, (uint64_t)m->data.seed, index));
    TRY(world_start(c->world, &c->b, 0));
out:
    return rc;
}

/* The factors of the next step, sorted by kind. */
static void note_factors(collector *c, const fans_env_info *info)
{
    int s = 0, r = 0;
    for (int i = 0; i < info->factor_count; i++) {
        bool dynamics = info->factors[i].kind == FANS_DYNAMICS;
        (dynamics ? c->theta_s : c->theta_r)[dynamics ? s++ : r++] = (float)c->b.factors[i];
    }
}

static int live(collector *c, const model_run *m, rng *actions, bool *first, lifetime *l)
{
    const fans_env_info *info = &m->task->info;
    memcpy(c->obs, c->b.obs, (size_t)m->truth.d * sizeof(float));
    for (int i = 0; i < m->truth.m; i++) c->action[i] = (float)rng_between(actions, -1, 1);
    note_factors(c, info);
    fnvae_row row = {.s = c->obs,
                     .a = c->action,
                     .s1 = c->b.final_obs,
                     .change = c->b.change[0] != 0,
                     .first = *first,
                     .theta_s = c->theta_s,
                     .theta_r = c->theta_r};
    int rc = world_step(c->world, &c->b, 0);
    row.r = c->b.reward[0];
    *first = c->b.terminated[0] || c->b.truncated[0];
    lifetime_add(l, &row);
    return rc;
}

int model_run_collect(const model_run *m, lifetime **out, uint32_t index, int count)
{
    int rc = 0;
    bool first = true;
    lifetime *l = NULL;
    collector c = {0};
    rng actions = rng_stream((uint64_t)m->data.seed, "policy", index);
    TRY(prepare(&c, m, index));
    TRY(lifetime_new(&l, m->truth, count));
    for (int i = 0; i < count; i++) TRY(live(&c, m, &actions, &first, l));
    *out = l;
    l = NULL;
out:
    lifetime_free(l);
    world_free(c.world);
    arena_free(c.memory);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Columns by name, or by number as version 0.1 wrote them. */
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
                       "%s: line 1: not the columns that `fans rollout --csv` has for this task",
                       path);
out:
    text_free(&found);
    return rc;
}

static void add_row(const model_run *m, const float *cells, collector *c, lifetime *l)
{
    int d = m->truth.d, factors = m->task->info.factor_count;
    const float *obs = cells + 5 + factors, *action = obs + d, *reward = action + m->truth.m;
    for (int i = 0; i < factors; i++) c->b.factors[i] = (double)cells[5 + i];
    note_factors(c, &m->task->info);
    fnvae_row row = {.s = obs,
                     .a = action,
                     .s1 = reward + 4,
                     .r = *reward,
                     .change = cells[4] != 0,
                     .first = cells[1] == 0,
                     .theta_s = c->theta_s,
                     .theta_r = c->theta_r};
    lifetime_add(l, &row);
}

int model_run_read(const model_run *m, lifetime **out, const char *path)
{
    int rc = 0;
    csv t = {0};
    float *cells = NULL;
    lifetime *l = NULL;
    collector c = {0};
    TRY(csv_read(&t, path));
    TRY(check_header(m, path, &t));
    TRY(prepare(&c, m, 0));
    TRY((cells = mem_alloc((size_t)t.columns * sizeof *cells)) ? 0 : FANS_ENOMEM);
    TRY(lifetime_new(&l, m->truth, (int)t.rows + 1));
    for (size_t row = 0; row < t.rows; row++) {
        for (int i = 0; i < t.columns; i++) cells[i] = (float)csv_at(&t, row, i);
        add_row(m, cells, &c, l);
    }
    if (lifetime_count(l) < m->o.window)
        TRY(fans_fail(FANS_EINVAL, "%s: %d transitions: fewer than fnvae.window = %d", path,
                      lifetime_count(l), m->o.window));
    *out = l;
    l = NULL;
out:
    lifetime_free(l);
    mem_free(cells);
    csv_free(&t);
    world_free(c.world);
    arena_free(c.memory);
    return rc;
}
