/* task.c - from a config to an environment and its schedule.
 *
 * What [env] may hold depends on the environment that it names, so the option table is put together
 * here: the common rows, then one row per option of the environment. Which factors exist may in
 * turn depend on those options; therefore an environment is opened before [change.X] is read, and
 * stays open as the owner of the factor list. */
#include "env/task.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "env/call.h"

OPTIONS_GROUP(env_option_group, env_options, "env", "the world", ENV_OPTIONS);

/* The keys of [env]: common ones, then the environment's own. */
typedef struct env_values {
    env_options common;
    double own[];
} env_values;

static int build_group(task *t)
{
    const option_group *common = env_option_group();
    size_t own = (size_t)t->def->option_count, count = common->count + own;
    t->rows = mem_alloc(count * sizeof *t->rows);
    env_values *values = mem_alloc(sizeof *values + own * sizeof(double));
    if (values) t->options = &values->common;
    if (!t->rows || !values) return FANS_ENOMEM;
    memcpy(t->rows, common->options, common->count * sizeof *t->rows);
    for (size_t i = 0; i < own; i++) {
        const fans_env_option *o = &t->def->options[i];
        t->rows[common->count + i] = (option){
            .name = o->name,
            .kind = FANS_OPTION_REAL,
            .offset = offsetof(env_values, own) + i * sizeof(double),
            .initial = o->initial,
            .low = o->low,
            .high = o->high,
            .help = o->help,
        };
    }
    t->values = values->own;
    t->group = (option_group){"env", common->help, t->rows, count};
    return 0;
}

/* Catches a wrong description before anything relies on it. */
static int check_info(const fans_env_info *info)
{
    if (info->obs_dim < 1 || info->act_dim < 1 || info->horizon < 1)
        return fans_fail(FANS_EINVAL, "obs_dim %d, act_dim %d, horizon %d: must all be positive",
                         info->obs_dim, info->act_dim, info->horizon);
    if (info->factor_count < 0 || (info->factor_count > 0 && !info->factors))
        return fans_fail(FANS_EINVAL, "factor_count = %d without a list", info->factor_count);
    for (int i = 0; i < info->factor_count; i++) {
        const fans_factor *f = &info->factors[i];
        if (!f->name) return fans_fail(FANS_EINVAL, "factor %d has no name", i);
        if (!(f->low <= f->initial && f->initial <= f->high))
            return fans_fail(FANS_EINVAL, "factor '%s' starts at %g, outside its range %g to %g",
                             f->name, f->initial, f->low, f->high);
    }
    return 0;
}

/* ---- names of observations and actions ------------------------------------------------------- */

static int check_names(const char *list, const char *const *names, int n)
{
    for (int i = 0; names && i < n; i++) {
        if (!names[i]) return fans_fail(FANS_EINVAL, "%s[%d] is NULL", list, i);
        if (!text_is_name(names[i]))
            return fans_fail(FANS_EINVAL, "%s[%d] = '%.40s': not 1 to %d of a-z, 0-9, '_' and '.'",
                             list, i, names[i], TEXT_NAME - 1);
        for (int k = 0; k < i; k++)
            if (!strcmp(names[i], names[k]))
                return fans_fail(FANS_EINVAL, "%s[%d] and %s[%d] are both '%s'", list, k, list, i,
                                 names[i]);
    }
    return 0;
}

/* Gives the list that an environment left out: prefix0, prefix1, ... */
static int default_names(task *t, const char *const **list, const char *prefix, int n)
{
    char name[TEXT_NAME];
    if (*list) return 0;
    *list = (const char *const *)(t->names + t->name_count);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%d", prefix, i);
        if (!(t->names[t->name_count] = mem_text(name))) return FANS_ENOMEM;
        t->name_count++;
    }
    return 0;
}

static int settle_names(task *t)
{
    fans_env_info *info = &t->info;
    int rc = 0;
    TRY(check_names("obs_names", info->obs_names, info->obs_dim));
    TRY(check_names("act_names", info->act_names, info->act_dim));
    t->names = mem_alloc(((size_t)info->obs_dim + (size_t)info->act_dim) * sizeof *t->names);
    if (!t->names) return FANS_ENOMEM;
    TRY(default_names(t, &info->obs_names, "obs", info->obs_dim));
    TRY(default_names(t, &info->act_names, "act", info->act_dim));
out:
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

int task_open(const task *t, void **env)
{
    fans_env_info info = {0};
    int rc = call_open(t->def, env, &info, t->values, (uint64_t)t->options->world_seed);
    return rc < 0 ? fans_fail_within(rc, "%s", t->def->name) : 0;
}

static int open_sample(task *t)
{
    int rc = call_open(t->def, &t->sample, &t->info, t->values, (uint64_t)t->options->world_seed);
    if (rc == 0) rc = check_info(&t->info);
    if (rc == 0) rc = settle_names(t);
    if (rc < 0) return fans_fail_within(rc, "%s", t->def->name);
    if (t->options->horizon > 0) t->info.horizon = t->options->horizon;
    return 0;
}

/* The factors of another program's worlds are what the config says of them. */
static int own_factors(task *t, const config *c)
{
    static const char CHANGE[] = "change.";
    static const double BOUND = 1e9;
    const char *section;
    int n = 0;
    while (config_section(c, CHANGE, n)) n++;
    t->factors = mem_alloc((size_t)n * sizeof *t->factors);
    if (!t->factors) return FANS_ENOMEM;
    t->info.factors = t->factors;
    for (; (section = config_section(c, CHANGE, t->info.factor_count)); t->info.factor_count++) {
        const char *name = mem_text(section + strlen(CHANGE));
        if (!name) return FANS_ENOMEM;
        t->factors[t->info.factor_count] =
            (fans_factor){.name = name, .low = -BOUND, .high = BOUND, .help = ""};
    }
    return 0;
}

static void free_factors(task *t)
{
    for (int i = 0; t->factors && i < t->info.factor_count; i++)
        mem_free((char *)t->factors[i].name);
    mem_free(t->factors);
}

/* What cameras see, if agents are to see it; else the option is not listed. */
static int settle_pixels(task *t)
{
    size_t at = 0;
    if (t->options->pixels && t->info.views < 1)
        return fans_fail(FANS_EINVAL, "%s has no camera; set it to false", t->def->name);
    if (t->options->pixels) return 0;
    while (strcmp(t->rows[at].name, "pixels") != 0) at++;
    t->group.count--;
    memmove(t->rows + at, t->rows + at + 1, (t->group.count - at) * sizeof *t->rows);
    return 0;
}

/* A run finds its library again from any folder. */
static void make_absolute(env_options *o)
{
    char path[PATH_MAX];
    if (realpath(o->name, path) && strlen(path) < sizeof o->name)
        memcpy(o->name, path, strlen(path) + 1);
}

int task_load(task **out, config *c)
{
    int rc = 0;
    task *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    const char *name = config_get(c, "env", "name");
    if (!name) TRY(fans_fail(FANS_EINVAL, "the config names no environment: [env] name = ..."));
    TRY(plugin_check(c, "env", "name"));
    if ((rc = env_load(&t->source, name)) < 0) TRY(config_blame(c, "env", "name", rc));
    t->def = t->source.def;
    TRY(build_group(t));
    TRY(config_take(c, &t->group, "env", t->options));
    if (t->source.library) make_absolute(t->options);
    TRY(open_sample(t));
    if ((rc = settle_pixels(t)) < 0) TRY(config_blame(c, "env", "pixels", rc));
    if (t->def == &env_own) TRY(own_factors(t, c));
    TRY(schedule_load(&t->change, c, &t->info, t->def->name));
    *out = t;
out:
    if (rc < 0) task_free(t);
    return rc;
}

void task_free(task *t)
{
    if (!t) return;
    schedule_free(t->change);
    if (t->sample) t->def->close(t->sample);
    for (int i = 0; i < t->name_count; i++) mem_free(t->names[i]);
    mem_free(t->names);
    free_factors(t);
    mem_free(t->options);
    mem_free(t->rows);
    env_unload(&t->source);
    mem_free(t);
}

void task_dump(const task *t, text *out)
{
    options_dump(&t->group, "env", t->options, out);
    if (schedule_rules(t->change) > 0) text_add(out, "\n");
    schedule_dump(t->change, out);
}

/* ---- the true graph -------------------------------------------------------------------------- */

/* Lays the masks out one after the other from `memory` on; returns how many bytes they take. */
static size_t lay_out(task_graph *g, uint8_t *memory)
{
    size_t d = (size_t)g->d, m = (size_t)g->m, p = (size_t)g->p, q = (size_t)g->q, total = 0;
    uint8_t **slots[] = {&g->C_ss, &g->C_as, &g->C_ts, &g->c_sr, &g->c_ar, &g->C_tt_s, &g->C_tt_r};
    const size_t sizes[] = {d * d, d * m, d * p, d, m, p * p, q * q};
    g->memory = memory;
    for (int i = 0; i < 7; i++) {
        if (memory) *slots[i] = memory + total;
        total += sizes[i];
    }
    return total;
}

/* Factors are counted within their kind: the k-th dynamics factor is row k of C_tt_s. */
static void set_factor_memory(const task *t, task_graph *g)
{
    size_t p = (size_t)g->p, q = (size_t)g->q;
    memset(g->C_tt_s, 0, p * p);
    memset(g->C_tt_r, 0, q * q);
    int s = 0, r = 0;
    for (int i = 0; i < t->info.factor_count; i++) {
        bool memory = true;
        for (int k = 0; k < schedule_rules(t->change); k++)
            if (schedule_factor(t->change, k) == i) memory = schedule_has_memory(t->change, k);
        if (t->info.factors[i].kind == FANS_DYNAMICS) {
            g->C_tt_s[s * g->p + s] = memory;
            s++;
        } else {
            g->C_tt_r[r * g->q + r] = memory;
            r++;
        }
    }
}

int task_truth(const task *t, task_graph *out)
{
    if (!t->def->truth)
        return fans_fail(FANS_ENOSUP, "%s: the true graph is not known", t->def->name);
    task_graph g = {.d = t->info.obs_dim, .m = t->info.act_dim};
    for (int i = 0; i < t->info.factor_count; i++)
        *(t->info.factors[i].kind == FANS_DYNAMICS ? &g.p : &g.q) += 1;
    uint8_t *memory = mem_alloc(lay_out(&g, NULL));
    if (!memory) return FANS_ENOMEM;
    lay_out(&g, memory);
    int rc =
        call_truth(t->def, t->sample, g.C_ss, g.C_as, g.C_ts, g.c_sr, g.c_ar, g.C_tt_s, g.C_tt_r);
    if (rc < 0) {
        mem_free(memory);
        return fans_fail_within(rc, "%s", t->def->name);
    }
    set_factor_memory(t, &g);
    *out = g;
    return 0;
}

void task_graph_free(task_graph *g)
{
    mem_free(g->memory);
    *g = (task_graph){0};
}
