/* session.c - prepares what a command needs to train, or to look at a run. */
#include "train/session.h"

#include <limits.h>
#include <mujoco/mujoco.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/os.h"
#include "base/plugin.h"
#include "base/version.h"
#include "train/sections.h"

/* ---- configs --------------------------------------------------------------------------------- */

/* --steps sets the length, which is kept in episodes. */
static int shorten(session_config *c, int steps)
{
    int horizon = c->task->info.horizon;
    if (steps % horizon)
        return fans_fail(FANS_EINVAL, "--steps %d: not a whole number of episodes of %d steps",
                         steps, horizon);
    c->options.episodes = steps / horizon;
    return 0;
}

static void name_config(session_config *c)
{
    const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
    size_t n = strlen(name);
    if (n > 4 && !strcmp(name + n - 4, ".ini")) n -= 4;
    snprintf(c->name, sizeof c->name, "%.*s", (int)n, name);
}

/* Copies the next name of a list with commas; returns the rest of the list. */
static const char *next_algo(const char *list, char name[OPTION_TEXT])
{
    if (!list) return NULL;
    size_t n = strcspn(list, ",");
    snprintf(name, OPTION_TEXT, "%.*s", (int)n, list);
    return list + n + (list[n] == ',');
}

/* The config file, then the settings of the command line. */
static int add_layers(config *to, const session_config *c, const session_wish *w)
{
    int rc = config_add_file(to, c->path);
    for (int i = 0; rc == 0 && w->settings && i < w->settings->count; i++)
        rc = config_add_setting(to, w->settings->items[i]);
    return rc;
}

/* Loads algorithms in libraries before the config is read: they add sections and presets. */
static int load_algos(const session_config *c, const session_wish *w)
{
    const fans_algo_def *found;
    const char *named = w->algos;
    char name[OPTION_TEXT];
    config *first = NULL;
    int rc = 0;
    if (!named) {
        TRY(config_new(&first));
        TRY(add_layers(first, c, w));
        TRY(plugin_check(first, "train", "algo"));
        named = config_get(first, "train", "algo");
    }
    for (; named && *named;) {
        named = next_algo(named, name);
        TRY(algo_find(&found, name));
    }
out:
    config_free(first);
    return rc;
}

static int read_config(session_config *c, const session_wish *w)
{
    char setting[64];
    int rc = 0;
    name_config(c);
    TRY(load_algos(c, w));
    TRY(config_new(&c->config));
    if (w->preset) TRY(preset_add(c->config, w->preset));
    TRY(add_layers(c->config, c, w));
    if (w->seed >= 0) {
        snprintf(setting, sizeof setting, "train.seed=%d", w->seed);
        TRY(config_add_setting(c->config, setting));
    }
    TRY(config_take(c->config, train_option_group(), "train", &c->options));
    rc = task_load(&c->task, c->config);
    if (rc < 0 && w->configs.count > 1) return fans_fail_within(rc, "%s", c->path);
    if (rc == 0 && w->steps > 0) rc = shorten(c, w->steps);
out:
    return rc;
}

static int read_configs(session *s, const session_wish *w)
{
    int rc = 0;
    s->configs = mem_alloc((size_t)w->configs.count * sizeof *s->configs);
    if (!s->configs) return FANS_ENOMEM;
    for (; s->config_count < w->configs.count && rc == 0; s->config_count++) {
        s->configs[s->config_count].path = w->configs.items[s->config_count];
        rc = read_config(&s->configs[s->config_count], w);
    }
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int add_entry(session *s, session_config *from, const char *algo)
{
    session_entry *e = &s->entries[s->entry_count];
    int rc = algo_find(&e->algo, algo);
    if (rc < 0) return rc;
    e->from = from;
    snprintf(e->given, sizeof e->given, "%s", algo);
    snprintf(e->name, sizeof e->name, "%s-%s", from->name, e->algo->name);
    for (int i = 0; i < s->entry_count; i++)
        if (!strcmp(s->entries[i].name, e->name)) {
            if (s->entries[i].from == from)
                return fans_fail(FANS_EINVAL, "--algo: %s is named twice", algo);
            return fans_fail(FANS_EINVAL,
                             "%s and %s: both would use the folder %s; rename one of them",
                             s->entries[i].from->path, from->path, e->name);
        }
    s->entry_count++;
    return 0;
}

/* The algorithms of a list with commas, or the config's. */
static int add_entries(session *s, session_config *from, const char *algos)
{
    char name[OPTION_TEXT];
    int rc = 0;
    if (!algos) return add_entry(s, from, from->options.algo);
    do {
        algos = next_algo(algos, name);
        TRY(add_entry(s, from, name));
    } while (*algos);
out:
    return rc;
}

/* One entry uses the folder DIR, several use DIR/CONFIG-ALGO. */
static int place_entry(const session *s, session_entry *e, const session_wish *w)
{
    int n;
    if (w->out && s->entry_count == 1)
        n = snprintf(e->folder, sizeof e->folder, "%s", w->out);
    else
        n = snprintf(e->folder, sizeof e->folder, "%s/%s", w->out ? w->out : "runs", e->name);
    if (n >= (int)sizeof e->folder) return fans_fail(FANS_EIO, "%s: the path is too long", e->name);
    return 0;
}

static int list_entries(session *s, const session_wish *w)
{
    int most = 1, rc = 0;
    for (const char *c = w->algos; c && *c; c++) most += *c == ',';
    s->entries = mem_alloc((size_t)(s->config_count * most) * sizeof *s->entries);
    if (!s->entries) return FANS_ENOMEM;
    for (int i = 0; i < s->config_count; i++) TRY(add_entries(s, &s->configs[i], w->algos));
    for (int i = 0; i < s->entry_count; i++) TRY(place_entry(s, &s->entries[i], w));
out:
    return rc;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Every seed has a folder in its entry's, also a single one: more can join it later. A run that is
 * only looked at is named itself. */
static int list_runs(session *s)
{
    char folder[RUN_PATH];
    for (int i = 0; i < s->config_count; i++)
        if (s->configs[i].options.seed > INT_MAX - (s->seeds - 1))
            return fans_fail(FANS_EINVAL, "%d seeds from %d on: the largest seed is %d", s->seeds,
                             s->configs[i].options.seed, INT_MAX);
    s->runs = mem_alloc((size_t)(s->entry_count * s->seeds) * sizeof *s->runs);
    if (!s->runs) return FANS_ENOMEM;
    for (; s->run_count < s->entry_count * s->seeds; s->run_count++) {
        session_run *r = &s->runs[s->run_count];
        *r = (session_run){.entry = &s->entries[s->run_count / s->seeds], .training = -1};
        r->seed = r->entry->from->options.seed + s->run_count % s->seeds;
        int n = s->wish.look_only
                    ? snprintf(folder, sizeof folder, "%s", r->entry->folder)
                    : snprintf(folder, sizeof folder, "%s/seed-%d", r->entry->folder, r->seed);
        if (n >= (int)sizeof folder)
            return fans_fail(FANS_EIO, "%s: the path is too long", r->entry->folder);
        if (!(r->folder = mem_text(folder))) return FANS_ENOMEM;
    }
    return 0;
}

const session_run *session_run_of(const session *s, int entry, int seed)
{
    return &s->runs[entry * s->seeds + seed];
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Describes software and machine for the run folders. */
static char *describe_system(const session *s, const session_wish *w)
{
    char cpu[128];
    const dnnl_version_t *v = dnnl_version();
    os_cpu_name(cpu, sizeof cpu);
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:s, s:i, s:s, s:s}", "version", fans_version(), "commit",
        version_commit(), "compiler", version_compiler(), "mujoco", mj_versionString(), "onednn",
        json_sprintf("%d.%d.%d", v->major, v->minor, v->patch), "cpu", cpu, "cores", os_cores(),
        "device", nn_backend_name(s->backends[0]), "precision", w->precision);
    char *out = json_text(all);
    json_decref(all);
    return out;
}

int session_open(session *s, const session_wish *w)
{
    int rc = 0;
    *s = (session){.seeds = w->seeds, .wish = *w};
    os_open_many(); /* every run has open files */
    TRY(nn_precision_find(&s->precision, w->precision));
    TRY(read_configs(s, w));
    TRY(list_entries(s, w));
    TRY(list_runs(s));
    TRY(pool_new(&s->pool, w->threads));
    TRY((s->backends = mem_alloc((size_t)s->run_count * sizeof(nn_backend *))) ? 0 : FANS_ENOMEM);
    TRY((s->pools = mem_alloc((size_t)s->run_count * sizeof(pool *))) ? 0 : FANS_ENOMEM);
    TRY(nn_device_new(&s->backends[0], w->device, s->precision, s->pool, NULL, 0));
    s->threaded = nn_backend_is_async(s->backends[0]);
    TRY((s->system = describe_system(s, w)) ? 0 : FANS_ENOMEM);
    TRY(session_group(s));
out:
    if (rc < 0) session_close(s);
    return rc;
}

/* The task may differ from the training's; the agent may not. */
static int check_settings(const text_list *settings)
{
    for (int i = 0; i < settings->count; i++) {
        const char *set = settings->items[i];
        if (strncmp(set, "env.", 4) && strncmp(set, "change.", 7))
            return fans_fail(FANS_EINVAL,
                             "--set %s: only env.* and change.* can differ from the training", set);
    }
    return 0;
}

int session_look(session *s, const char *folder, const text_list *settings, int threads)
{
    char file[RUN_PATH], found[RUN_PATH];
    session_wish w = SESSION_WISH;
    int rc = check_settings(settings);
    if (rc < 0 || (rc = run_find(folder, found)) < 0) return rc;
    folder = found;
    if (snprintf(file, sizeof file, "%s/config.ini", folder) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    w.configs = (text_list){.items = {file}, .count = 1};
    w.settings = settings;
    w.out = folder;
    w.threads = threads;
    w.preset = NULL;
    w.look_only = true;
    return session_open(s, &w);
}

void session_close(session *s)
{
    for (int i = 0; s->trainings && i < s->training_count; i++) training_free(s->trainings[i]);
    for (int i = 0; s->backends && i < s->run_count; i++) nn_backend_free(s->backends[i]);
    for (int i = 0; i < s->run_count; i++) mem_free(s->runs[i].folder);
    for (int i = 0; i < s->entry_count; i++) text_free(&s->entries[i].key);
    for (int i = 0; i < s->config_count; i++) {
        task_free(s->configs[i].task);
        config_free(s->configs[i].config);
    }
    for (int i = 0; s->pools && i < s->run_count; i++) pool_free(s->pools[i]);
    pool_free(s->pool);
    mem_free(s->pools);
    mem_free(s->members);
    mem_free(s->trainings);
    mem_free(s->backends);
    mem_free(s->runs);
    mem_free(s->entries);
    mem_free(s->configs);
    mem_free(s->system);
    *s = (session){0};
}
