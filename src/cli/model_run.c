/* model_run.c - making, saving and opening models of tasks, and data for them. */
#include "cli/model_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "rl/checkpoint.h"

OPTIONS_GROUP(model_option_group, model_options, "model", "what `fans model fit` learns from",
              MODEL_OPTIONS)

/* ---- from a config --------------------------------------------------------------------------- */

static void count_factors(model_run *m)
{
    const fans_env_info *info = &m->task->info;
    m->truth = (fnvae_dims){.d = info->obs_dim, .m = info->act_dim};
    for (int i = 0; i < info->factor_count; i++)
        *(info->factors[i].kind == FANS_DYNAMICS ? &m->truth.p : &m->truth.q) += 1;
}

static int understand(model_run *m, config *c)
{
    int rc = 0;
    TRY(task_load(&m->task, c));
    TRY(config_take(c, fnvae_option_group(), "fnvae", &m->o));
    TRY(config_take(c, model_option_group(), "model", &m->data));
    TRY(config_check_taken(c));
    count_factors(m);
    if (m->data.transitions < m->o.window)
        TRY(fans_fail(FANS_EINVAL, "model.transitions = %d: fewer than fnvae.window = %d",
                      m->data.transitions, m->o.window));
out:
    return rc;
}

int model_run_load(model_run *m, const char *path, const char *preset, const arg_list *settings)
{
    int rc = 0;
    const char *ini;
    config *c = NULL;
    TRY(fnvae_preset(preset, &ini));
    TRY(config_new(&c));
    TRY(config_add_text(c, preset, ini));
    TRY(config_add_file(c, path));
    for (int i = 0; settings && i < settings->count; i++)
        TRY(config_add_setting(c, settings->items[i]));
    TRY(understand(m, c));
out:
    config_free(c);
    return rc;
}

int model_run_make(model_run *m, int threads)
{
    int rc = 0;
    uint64_t seed = (uint64_t)m->data.seed;
    fnvae_dims z = m->truth;
    if (m->o.p > 0 && !m->o.observed) z.p = m->o.p;
    if (m->o.q > 0 && !m->o.observed) z.q = m->o.q;
    if (z.p < 1) z.p = 1; /* a factor that never moves, where the task has none */
    if (z.q < 1) z.q = 1;
    TRY(pool_new(&m->pool, threads));
    TRY(nn_cpu_new(&m->backend, m->pool));
    TRY(fnvae_new(&m->f, m->backend, &m->o, z, 1, &seed, 1));
out:
    return rc;
}

void model_run_free(model_run *m)
{
    fnvae_free(m->f);
    nn_backend_free(m->backend);
    pool_free(m->pool);
    task_free(m->task);
    *m = (model_run){0};
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct collector {
    world *world;
    arena *memory;
    world_buffers b;
    float *obs, *action, *theta_s, *theta_r; /* of the step to come */
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

/* The factors of the coming step, each with its kind. */
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

/* ---- the folder ------------------------------------------------------------------------------ */

static void path_in(char *out, size_t size, const char *folder, const char *name)
{
    snprintf(out, size, "%s/%s", folder, name);
}

static void list_state(const model_run *m, state_list *s)
{
    static const char *const names[FNVAE_SCALES] = {"s", "ds", "r", "theta_s", "theta_r"};
    fnvae *f = m->f;
    char name[64];
    for (int i = 0; i < FNVAE_GROUPS; i++)
        state_add_group(s, nn_group_name(f->group[i]), f->group[i], 0);
    for (int i = 0; i < FNVAE_SCALES; i++) {
        fnvae_scale *x = &f->scales[i];
        snprintf(name, sizeof name, "scale.%s/count", names[i]);
        state_add_number(s, name, STATE_F64, x->count);
        snprintf(name, sizeof name, "scale.%s/mean", names[i]);
        state_add(s, name, STATE_F64, 1, (int64_t[]){x->n}, x->mean);
        snprintf(name, sizeof name, "scale.%s/m2", names[i]);
        state_add(s, name, STATE_F64, 1, (int64_t[]){x->n}, x->m2);
    }
    state_add_number(s, "update", STATE_I64, &f->update);
}

static int write_config(const model_run *m, const char *path)
{
    text t = {0};
    task_dump(m->task, &t);
    text_add(&t, "\n");
    options_dump(fnvae_option_group(), "fnvae", &m->o, &t);
    text_add(&t, "\n");
    options_dump(model_option_group(), "model", &m->data, &t);
    int rc = text_done(&t);
    if (rc == 0) rc = os_write_file(path, t.s, t.length);
    text_free(&t);
    return rc;
}

int model_run_save(const model_run *m, const char *folder)
{
    int rc = 0;
    char path[4096];
    state_list s = {0};
    checkpoint *c = NULL;
    TRY(os_make_folders(folder));
    path_in(path, sizeof path, folder, "config.ini");
    TRY(write_config(m, path));
    list_state(m, &s);
    TRY(state_done(&s));
    TRY(checkpoint_new(&c, &s));
    path_in(path, sizeof path, folder, "model.safetensors");
    TRY(checkpoint_write(c, &s, "fnvae", path));
out:
    checkpoint_free(c);
    state_free(&s);
    return rc;
}

int model_run_open(model_run *m, const char *folder, int threads)
{
    int rc = 0;
    char path[4096];
    state_list s = {0};
    path_in(path, sizeof path, folder, "config.ini");
    TRY(model_run_load(m, path, "standard", NULL));
    TRY(model_run_make(m, threads));
    list_state(m, &s);
    TRY(state_done(&s));
    path_in(path, sizeof path, folder, "model.safetensors");
    TRY(checkpoint_read(&s, "fnvae", path));
    fnvae_set_masks(m->f);
out:
    state_free(&s);
    return rc;
}
