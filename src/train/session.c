/* session.c - prepares what a command needs to train, or to look at a run. */
#include "train/session.h"

#include <math.h>
#include <mujoco/mujoco.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/os.h"
#include "base/version.h"
#include "learn/sac.h"

/* ---- what the plan names ----------------------------------------------------------------------
 */

static int load_algos(const session_wish *w)
{
    const fans_algo_def *found;
    int rc = 0;
    for (int i = 0; i < w->count; i++) {
        const plan_run *r = &w->runs[i];
        TRY(r->algo ? algo_find(&found, r->algo) : source_load_algo(r->config, r->settings));
    }
out:
    return rc;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int find_source(session *s, const plan_run *r, source **out)
{
    for (int i = s->source_count - 1; i >= 0; i--) {
        *out = &s->sources[i];
        if (same((*out)->path, r->config) && same((*out)->preset, r->preset) &&
            same((*out)->settings, r->settings))
            return 0;
    }
    *out = &s->sources[s->source_count++];
    return source_read(*out, r->config, r->preset, r->settings);
}

/* The folder above a run's. */
static void name_above(const char *folder, char *out)
{
    const char *slash = folder ? strrchr(folder, '/') : NULL;
    snprintf(out, RUN_PATH, "%.*s", slash ? (int)(slash - folder) : 1, slash ? folder : ".");
}

/* An entry's runs follow each other. */
static int find_entry(session *s, const plan_run *r, source *from, session_entry **out)
{
    const char *algo = r->algo ? r->algo : from->options.algo;
    char folder[RUN_PATH];
    name_above(r->folder, folder);
    session_entry *e = *out = &s->entries[s->entry_count - (s->entry_count > 0)];
    if (s->entry_count && e->from == from && !strcmp(e->given, algo) && !strcmp(e->folder, folder))
        return 0;
    e = *out = &s->entries[s->entry_count++];
    e->from = from;
    e->first = s->run_count;
    int rc = algo_find(&e->algo, algo);
    if (rc < 0) return rc;
    snprintf(e->given, sizeof e->given, "%s", algo);
    snprintf(e->name, sizeof e->name, "%s-%s", from->name, e->algo->name);
    snprintf(e->folder, sizeof e->folder, "%s", folder);
    return 0;
}

static int add_run(session *s, const plan_run *r)
{
    session_entry *entry;
    source *from;
    int rc = 0;
    TRY(find_source(s, r, &from));
    TRY(find_entry(s, r, from, &entry));
    entry->count++;
    s->runs[s->run_count++] = (session_run){.entry = entry,
                                            .seed = r->seed >= 0 ? r->seed : from->options.seed,
                                            .folder = r->folder,
                                            .claimed = r->claimed,
                                            .training = -1};
out:
    return rc;
}

int session_list(session *s, const session_wish *w)
{
    size_t n = (size_t)w->count;
    int rc = 0;
    *s = (session){.wish = *w};
    TRY(load_algos(w));
    TRY((s->sources = mem_alloc(n * sizeof *s->sources)) ? 0 : FANS_ENOMEM);
    TRY((s->entries = mem_alloc(n * sizeof *s->entries)) ? 0 : FANS_ENOMEM);
    TRY((s->runs = mem_alloc(n * sizeof *s->runs)) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < w->count; i++) TRY(add_run(s, &w->runs[i]));
out:
    if (rc < 0) session_close(s);
    return rc;
}

const session_run *session_run_of(const session *s, int entry, int i)
{
    return &s->runs[s->entries[entry].first + i];
}

/* ---- finished runs --------------------------------------------------------------------------- */

/* What result.json says of its only run: whether it is done, after so many steps. */
static int read_result(const char *folder, int64_t *steps)
{
    char file[RUN_PATH];
    json_t *all = NULL;
    *steps = -1;
    if (snprintf(file, sizeof file, "%s/result.json", folder) >= RUN_PATH) return 0;
    int rc = os_exists(file);
    if (rc <= 0 || (rc = json_read_file(&all, file)) < 0) return rc;
    const json_t *one = json_array_get(json_object_get(all, "runs"), 0);
    const char *status = json_string_value(json_object_get(one, "status"));
    if (status && !strcmp(status, "done"))
        *steps = json_integer_value(json_object_get(one, "steps"));
    json_decref(all);
    return 0;
}

/* What a run is asked to be, but for its seed and algorithm. */
static train_options options_of(const session_run *r)
{
    train_options o = r->entry->from->options;
    o.seed = r->seed;
    snprintf(o.algo, sizeof o.algo, "%s", r->entry->given);
    return o;
}

int session_identity(const session *s, int i, char *out)
{
    const session_run *r = &s->runs[i];
    train_options o = options_of(r);
    return source_identity(r->entry->algo, r->entry->from->config, &o, r->entry->from->task, out);
}

/* Its config must be what is asked for. An agent may have completed it: the identity tells. */
static int compare_run(const session_run *r)
{
    const source *from = r->entry->from;
    train_options o = options_of(r);
    fans_taken *taken = NULL;
    char id[SOURCE_IDENTITY];
    text ini = {0};
    int rc = 0;
    TRY(source_identity(r->entry->algo, from->config, &o, from->task, id));
    TRY(run_is(r->folder, id, r->seed));
    if (rc > 0) goto out;
    TRY(source_take(r->entry->algo, from->config, &taken));
    source_dump(&o, from->task, taken, id, &ini);
    TRY(text_done(&ini));
    TRY(run_compare(r->folder, ini.s));
out:
    source_give_back(taken);
    text_free(&ini);
    return rc < 0 ? rc : 0;
}

int session_is_done(const session *s, int i, bool *done)
{
    const session_run *r = &s->runs[i];
    const source *from = r->entry->from;
    int64_t steps;
    int rc = read_result(r->folder, &steps);
    *done = rc == 0 && steps >= (int64_t)from->options.episodes * from->task->info.horizon;
    return *done ? compare_run(r) : rc;
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

static double number_or(const config *c, const char *key, double otherwise)
{
    const char *value = config_get(c, "sac", key);
    return value ? text_number(value, NULL) : otherwise;
}

/* Threads for a wish of 0. Small networks spend more on waiting for each other than they gain:
 * below some millions of multiplications in a hidden layer's product, one thread is faster. */
static int choose_threads(const session *s, int wished)
{
    const double small = 4e6;
    double most = 0;
    for (int i = 0; i < s->entry_count; i++) {
        const session_entry *e = &s->entries[i];
        double width = number_or(e->from->config, "width", SAC_WIDTH);
        double batch = number_or(e->from->config, "batch", SAC_BATCH);
        most = fmax(most, width * width * batch * e->count * e->from->options.worlds);
    }
    return wished > 0 ? wished : most < small ? 1 : 0;
}

int session_open(session *s, const session_wish *w)
{
    int rc = session_list(s, w);
    if (rc < 0) return rc;
    os_open_many(); /* every run has open files */
    TRY(nn_precision_find(&s->precision, w->precision));
    TRY(pool_new(&s->pool, choose_threads(s, w->threads)));
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

/* The names of the factors that move, as "a, b". */
static int name_movers(const char *file, const text_list *settings, text *out)
{
    config *c = NULL;
    task *t = NULL;
    int rc = 0;
    TRY(config_new(&c));
    TRY(config_add_file(c, file));
    for (int i = 0; settings && i < settings->count; i++)
        TRY(config_add_setting(c, settings->items[i]));
    TRY(task_load(&t, c));
    for (int k = 0; k < schedule_rules(t->change); k++) {
        fans_moving m = schedule_moving(t->change, k);
        if (m.low < m.high)
            text_add(out, "%s%s", out->length ? ", " : "", t->info.factors[m.factor].name);
    }
    if (!out->length) text_add(out, "none");
    TRY(text_done(out));
out:
    task_free(t);
    config_free(c);
    return rc;
}

/* Who is told the factors has an input for each that moved in training, and for no other. */
static int check_factors(const char *file, const text_list *settings)
{
    train_options o;
    text then = {0}, now = {0};
    config *c = NULL;
    int rc = 0;
    TRY(config_new(&c));
    TRY(config_add_file(c, file));
    TRY(config_take(c, train_option_group(), "train", &o));
    const char *told = algo_told_of(o.algo);
    if (!settings->count || (strcmp(told, "labels") && strcmp(told, "truth"))) goto out;
    TRY(name_movers(file, NULL, &then));
    TRY(name_movers(file, settings, &now));
    if (strcmp(then.s, now.s))
        rc = fans_fail(FANS_EINVAL,
                       "--set: %s is told the factors that move: in its training %s, here %s",
                       o.algo, then.s, now.s);
out:
    text_free(&then);
    text_free(&now);
    config_free(c);
    return rc;
}

int session_look(session *s, const char *folder, const text_list *settings, int threads)
{
    char file[RUN_PATH], found[RUN_PATH];
    session_wish w = SESSION_WISH;
    run_plan one = {0};
    text lines = {0};
    int rc = 0;
    TRY(check_settings(settings));
    TRY(run_find(folder, found));
    if (snprintf(file, sizeof file, "%s/config.ini", found) >= RUN_PATH)
        TRY(fans_fail(FANS_EIO, "%s: the path is too long", found));
    TRY(check_factors(file, settings));
    for (int i = 0; i < settings->count; i++) text_add(&lines, "%s\n", settings->items[i]);
    TRY(text_done(&lines));
    TRY(run_plan_add(&one, &(plan_run){.folder = found,
                                       .config = file,
                                       .settings = lines.length ? lines.s : NULL,
                                       .seed = -1}));
    w.runs = one.runs;
    w.count = 1;
    w.threads = threads;
    w.device = "cpu"; /* a GPU has no use for a row at a time */
    w.look_only = true;
    TRY(session_open(s, &w));
    s->looked_at = one;
out:
    if (rc < 0) run_plan_free(&one);
    text_free(&lines);
    return rc;
}

void session_close(session *s)
{
    for (int i = 0; s->trainings && i < s->training_count; i++) training_free(s->trainings[i]);
    for (int i = 0; s->backends && i < s->run_count; i++) nn_backend_free(s->backends[i]);
    for (int i = 0; i < s->entry_count; i++) text_free(&s->entries[i].key);
    for (int i = 0; i < s->source_count; i++) source_free(&s->sources[i]);
    for (int i = 0; s->pools && i < s->run_count; i++) pool_free(s->pools[i]);
    pool_free(s->pool);
    mem_free(s->pools);
    mem_free(s->members);
    mem_free(s->trainings);
    mem_free(s->backends);
    mem_free(s->runs);
    mem_free(s->entries);
    mem_free(s->sources);
    mem_free(s->system);
    run_plan_free(&s->looked_at);
    *s = (session){0};
}
