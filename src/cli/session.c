/* session.c - puts together what a training needs. */
#include "cli/session.h"

#include <mujoco/mujoco.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/os.h"
#include "base/version.h"

static int read_config(session *s, const session_wish *w)
{
    char setting[512];
    int rc = 0;
    TRY(config_new(&s->config));
    TRY(config_add_file(s->config, w->config));
    for (int i = 0; w->settings && i < w->settings->count; i++)
        TRY(config_add_setting(s->config, w->settings->items[i]));
    if (w->algo) {
        snprintf(setting, sizeof setting, "train.algo=%s", w->algo);
        TRY(config_add_setting(s->config, setting));
    }
    if (w->seed >= 0) {
        snprintf(setting, sizeof setting, "train.seed=%d", w->seed);
        TRY(config_add_setting(s->config, setting));
    }
    TRY(config_take(s->config, train_option_group(), "train", &s->setup.options));
    TRY(task_load(&s->task, s->config));
out:
    return rc;
}

/* The software and the machine, for the run folder. */
static char *describe_system(const char *device)
{
    char cpu[128];
    const dnnl_version_t *v = dnnl_version();
    os_cpu_name(cpu, sizeof cpu);
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:i, s:s}", "version", fans_version(), "commit",
                  version_commit(), "compiler", version_compiler(), "mujoco", mj_versionString(),
                  "onednn", json_sprintf("%d.%d.%d", v->major, v->minor, v->patch), "cpu", cpu,
                  "cores", os_cores(), "device", device);
    char *s = json_text(all);
    json_decref(all);
    return s;
}

/* --steps says how long; a run's length is kept in episodes. */
static int shorten(session *s, int steps)
{
    int horizon = s->task->info.horizon;
    if (steps % horizon)
        return fans_fail(FANS_EINVAL, "--steps %d: not a whole number of episodes of %d steps",
                         steps, horizon);
    s->setup.options.episodes = steps / horizon;
    return 0;
}

int session_open(session *s, const session_wish *w)
{
    int rc = 0;
    *s = (session){0};
    TRY(read_config(s, w));
    if (w->steps > 0) TRY(shorten(s, w->steps));
    TRY(algo_find(&s->setup.algo, s->setup.options.algo));
    TRY(pool_new(&s->pool, w->threads));
    TRY(nn_device_new(&s->backend, w->device, NN_FP32, s->pool, NULL, 0));
    TRY((s->system = describe_system(nn_backend_name(s->backend))) ? 0 : FANS_ENOMEM);
    s->setup.task = s->task;
    s->setup.config = s->config;
    s->setup.pool = s->pool;
    s->setup.backend = s->backend;
    s->setup.seeds = w->seeds;
    s->setup.out = w->out;
    s->setup.command = w->command;
    s->setup.system_json = s->system;
    s->setup.look_only = w->look_only;
    TRY(training_new(&s->training, &s->setup));
out:
    if (rc < 0) session_close(s);
    return rc;
}

int session_look(session *s, const char *folder, int threads)
{
    char file[RUN_PATH];
    session_wish w = SESSION_WISH;
    if (snprintf(file, sizeof file, "%s/config.ini", folder) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    if (!os_exists(file))
        return fans_fail(FANS_EIO, "%s: is not the folder of a run (it has no config.ini)", folder);
    w.config = file;
    w.out = folder;
    w.threads = threads;
    w.look_only = true;
    return session_open(s, &w);
}

void session_close(session *s)
{
    training_free(s->training);
    nn_backend_free(s->backend);
    pool_free(s->pool);
    task_free(s->task);
    config_free(s->config);
    mem_free(s->system);
    *s = (session){0};
}
