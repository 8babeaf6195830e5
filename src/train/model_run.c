/* model_run.c - makes, saves and opens models of tasks. */
#include "train/model_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/os.h"
#include "data/checkpoint.h"
#include "learn/mechanism.h"
#include "train/sections.h"
#include "train/train.h"

OPTIONS_GROUP(model_option_group, model_options, "model", "data for `fans model fit`",
              MODEL_OPTIONS);

/* ---- from a config --------------------------------------------------------------------------- */

static void count_factors(model_run *m)
{
    const fans_env_info *info = &m->task->info;
    m->truth = (fnvae_dims){.d = info->obs_dim, .m = info->act_dim};
    for (int i = 0; i < info->factor_count; i++)
        *(info->factors[i].kind == FANS_DYNAMICS ? &m->truth.p : &m->truth.q) += 1;
}

static int find_window(model_run *m)
{
    int n = train_movements(m->task, NULL);
    fans_moving *list = mem_alloc((size_t)n * sizeof *list);
    if (!list) return FANS_ENOMEM;
    train_movements(m->task, list);
    int rc = fnvae_find_window(&m->o, list, n, m->data.transitions, &m->window_lacking);
    mem_free(list);
    return rc;
}

static int understand(model_run *m, config *c)
{
    int rc = 0;
    TRY(task_load(&m->task, c));
    TRY(config_take(c, fnvae_option_group(), "fnvae", &m->o));
    TRY(config_take(c, model_option_group(), "model", &m->data));
    TRY(sections_skip(c)); /* meant for `fans train` */
    TRY(config_check_taken(c));
    count_factors(m);
    TRY(find_window(m));
    if (m->task->info.factor_count > EVAL_FACTORS)
        TRY(fans_fail(FANS_EINVAL, "%s has %d factors; a model can have at most %d",
                      m->task->def->name, m->task->info.factor_count, EVAL_FACTORS));
out:
    return rc;
}

int model_run_load(model_run *m, const char *path, const char *preset, const text_list *settings)
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

static fnvae_dims dims_of(const model_run *m)
{
    fnvae_dims z = m->truth;
    if (m->o.p > 0 && !m->o.observed) z.p = m->o.p;
    if (m->o.q > 0 && !m->o.observed) z.q = m->o.q;
    if (z.p < 1) z.p = 1; /* a factor that never moves, if the task has none */
    if (z.q < 1) z.q = 1;
    return z;
}

/* The model and its belief, on the data's tables. */
static int record(model_run *m)
{
    int rc = 0;
    replay_record(m->data_rows, m->graph);
    TRY(fnvae_new(&m->f, m->graph, m->data_rows, &m->o, dims_of(m)));
    TRY(belief_new(&m->belief, m->f, 0, NULL));
    TRY(fnvae_plan(m->f));
    TRY(belief_plan(m->belief));
    TRY(nn_graph_commit(m->graph));
    TRY(fnvae_ready(m->f));
    TRY(belief_ready(m->belief));
out:
    return rc;
}

int model_run_make(model_run *m, const char *device, nn_precision precision, int threads)
{
    int rc = 0;
    uint64_t seed = (uint64_t)m->data.seed | (uint64_t)m->start << 32;
    TRY(pool_new(&m->pool, threads));
    TRY(nn_device_new(&m->backend, device, precision, m->pool, NULL, 0));
    if (!m->data_rows) TRY(model_run_replay(m, &m->data_rows, 1));
    TRY(nn_graph_new(&m->graph, m->backend, 1, &seed));
    TRY(record(m));
out:
    return rc;
}

void model_run_free(model_run *m)
{
    belief_free(m->belief);
    fnvae_free(m->f);
    nn_graph_free(m->graph);
    replay_free(m->data_rows);
    nn_backend_free(m->backend);
    pool_free(m->pool);
    task_free(m->task);
    *m = (model_run){0};
}

void model_run_observe(model_run *m)
{
    for (int i = 0; i + 1 < replay_rows(m->data_rows, 0); i++) {
        replay_row here = replay_at(m->data_rows, 0, i), next = replay_at(m->data_rows, 0, i + 1);
        if (here.last) continue;
        fnvae_observe(m->f, 0, here.obs, here.reward, next.obs);
        if (m->o.observed)
            fnvae_observe_factors(m->f, 0, replay_beside(m->data_rows, 0, i, FNVAE_COLUMN_THETA_S),
                                  replay_beside(m->data_rows, 0, i, FNVAE_COLUMN_THETA_R));
    }
    fnvae_set_units(m->f);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int settle(model_run *m, const mechanism *x)
{
    causal_graph *g;
    int rc = causal_graph_new(&g, m->f->z);
    if (rc < 0) return rc;
    causal_graph_of(g, m->f, 0);
    mechanism_graph(x, m->o.observed, g);
    causal_graph_to(g, m->f, 0);
    causal_graph_free(g);
    return 0;
}

int model_run_settle(model_run *m)
{
    int rc = 0;
    blocks *b = NULL;
    mechanism *x = NULL;
    if (m->data.edges == EDGES_BY_GATES || !m->o.structure || m->o.gate == NN_GATE_ERF) return 0;
    TRY(blocks_new(&b, m->data_rows, 0));
    if (!mechanism_possible(b)) goto out;
    TRY(mechanism_find(&x, b));
    TRY(settle(m, x));
out:
    mechanism_free(x);
    blocks_free(b);
    return rc;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void path_in(char *out, size_t size, const char *folder, const char *name)
{
    snprintf(out, size, "%s/%s", folder, name);
}

static int print_config(const model_run *m, text *t)
{
    task_dump(m->task, t);
    text_add(t, "\n");
    options_dump(fnvae_option_group(), "fnvae", &m->o, t);
    text_add(t, "\n");
    options_dump(model_option_group(), "model", &m->data, t);
    return text_done(t);
}

static int write_config(const model_run *m, const char *path)
{
    text t = {0};
    int rc = print_config(m, &t);
    if (rc == 0) rc = os_write_file(path, t.s, t.length);
    text_free(&t);
    return rc;
}

int model_run_may_save(const char *folder)
{
    char path[4096];
    path_in(path, sizeof path, folder, "metrics.csv");
    int there = os_exists(path);
    if (there > 0)
        return fans_fail(FANS_EINVAL, "%s: holds a training run; choose another --out", folder);
    return there < 0 ? there : folder_check(folder);
}

static int check_graph(void *graph)
{
    return nn_graph_check(graph); /* waits for an asynchronous backend, and checks it */
}

static void list_state(const model_run *m, state_list *s)
{
    int n;
    uint64_t *counters = nn_graph_counters(m->graph, &n);
    state_on_save(s, check_graph, m->graph);
    fnvae_state(m->f, 0, s);
    state_add_number(s, "fit/start", FANS_I64, (void *)&m->start);
    state_range(s, 0, m->data.starts - 1);
    state_add(s, "fnvae/counters", FANS_U64, 1, (int64_t[]){n}, counters);
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
    TRY(state_refresh(&s));
    checkpoint_gather(c, &s);
    TRY(checkpoint_write(c, &s, "fnvae", path));
out:
    checkpoint_free(c);
    state_free(&s);
    return rc;
}

static int read_state(model_run *m, const char *folder)
{
    int rc = 0;
    char path[4096];
    state_list s = {0};
    list_state(m, &s);
    TRY(state_done(&s));
    path_in(path, sizeof path, folder, "model.safetensors");
    TRY(checkpoint_read(&s, "fnvae", path));
out:
    state_free(&s);
    return rc;
}

int model_run_find_start(model_run *m, const char *folder)
{
    char path[4096];
    path_in(path, sizeof path, folder, "model.safetensors");
    return checkpoint_peek(path, "fit/start", &m->start);
}

int model_run_open(model_run *m, const char *folder, const char *device, int threads)
{
    int rc = 0;
    char path[4096];
    path_in(path, sizeof path, folder, "model.safetensors");
    TRY(folder_check(folder));
    TRY(os_exists(path));
    if (rc == 0)
        TRY(fans_fail(FANS_EIO, "%s: holds no model (it has no model.safetensors)", folder));
    path_in(path, sizeof path, folder, "config.ini");
    TRY(model_run_load(m, path, "standard", NULL));
    TRY(model_run_find_start(m, folder));
    TRY(model_run_make(m, device, NN_FP32, threads));
    TRY(read_state(m, folder));
out:
    return rc;
}

int model_run_resume(model_run *m, const char *folder)
{
    int rc = 0;
    char path[4096];
    text t = {0};
    void *kept = NULL;
    size_t n;
    TRY(print_config(m, &t));
    path_in(path, sizeof path, folder, "config.ini");
    TRY(os_read_file(&kept, &n, path));
    const char *old = kept, *new = t.s;
    text_line x[2];
    if (text_differ(&old, &new, x))
        TRY(fans_fail(FANS_EINVAL,
                      "%s: holds a different fit; its config has '%.*s', this one '%.*s'", path,
                      x[0].n, x[0].s, x[1].n, x[1].s));
    TRY(read_state(m, folder));
out:
    mem_free(kept);
    text_free(&t);
    return rc;
}
