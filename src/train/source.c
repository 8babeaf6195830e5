/* source.c - reads a config for training. */
#include "train/source.h"

#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/config.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "learn/pixels.h"
#include "learn/retina.h"
#include "train/sections.h"

static void name_source(source *s)
{
    const char *path = s->path ? s->path : "config";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    if (n > 4 && !strcmp(name + n - 4, ".ini")) n -= 4;
    snprintf(s->name, sizeof s->name, "%.*s", (int)n, name);
}

static int add_settings(config *c, const char *settings)
{
    int rc = 0;
    text one = {0};
    for (const char *at = settings; rc == 0 && at && *at; at += strspn(at, "\n")) {
        size_t n = strcspn(at, "\n");
        one.length = 0;
        text_add_n(&one, at, n);
        rc = text_done(&one);
        if (rc == 0) rc = config_add_setting(c, one.s);
        at += n;
    }
    text_free(&one);
    return rc;
}

int source_layers(config **out, const char *path, const char *preset, const char *settings)
{
    config *c = NULL;
    int rc = 0;
    TRY(config_new(&c));
    if (preset) TRY(preset_add(c, preset));
    if (path) TRY(config_add_file(c, path));
    TRY(add_settings(c, settings));
    *out = c;
    return 0;
out:
    config_free(c);
    return rc;
}

int source_load_algo(const char *path, const char *settings)
{
    const fans_algo_def *found;
    config *first = NULL;
    int rc = 0;
    TRY(source_layers(&first, path, NULL, settings));
    TRY(plugin_check(first, "train", "algo"));
    const char *named = config_get(first, "train", "algo");
    if (named) TRY(algo_find(&found, named));
out:
    config_free(first);
    return rc;
}

int source_read(source *s, const char *path, const char *preset, const char *settings)
{
    int rc = 0;
    *s = (source){.path = path, .preset = preset, .settings = settings};
    name_source(s);
    TRY(source_layers(&s->config, path, preset, settings));
    TRY(config_take(s->config, train_option_group(), "train", &s->options));
    TRY(task_load(&s->task, s->config));
out:
    return rc;
}

void source_free(source *s)
{
    task_free(s->task);
    config_free(s->config);
    *s = (source){0};
}

int source_check(source *s)
{
    int rc = 0;
    TRY(sections_skip(s->config)); /* of another algorithm, or already taken */
    TRY(config_check_taken(s->config));
out:
    return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

static int count_groups(const fans_algo_def *a)
{
    int n = 0;
    while (a->groups && a->groups[n]) n++;
    return n;
}

int source_take(const fans_algo_def *a, config *c, fans_taken **out)
{
    int rc = 0, n = count_groups(a);
    fans_taken *taken = *out = mem_alloc((size_t)(n + 1) * sizeof *taken);
    if (!taken) return FANS_ENOMEM;
    for (int i = 0; i < n; i++) {
        const option_group *g = a->groups[i]();
        void *options = mem_alloc(g->size);
        if (!options) return FANS_ENOMEM;
        taken[i] = (fans_taken){g, options};
        TRY(config_take(c, g, g->section, options));
    }
out:
    return rc;
}

void source_give_back(fans_taken *taken)
{
    for (fans_taken *k = taken; k && k->group; k++) mem_free(k->options);
    mem_free(taken);
}

/* Without pixels, their sections are not listed: a run is then written, and called, as before there
 * were such sections. */
static bool is_listed(const option_group *g, const task *t)
{
    return t->options->pixels || (g != pixels_option_group() && g != retina_option_group());
}

/* A library may be built anew: a run must not resume with other factors. */
static void dump_factors(const fans_env_info *info, text *out)
{
    for (int k = 0; k < info->factor_count; k++) {
        const fans_factor *f = &info->factors[k];
        text_add(out, "# factor %s: %s, %g to %g, initially %g\n", f->name,
                 f->kind == FANS_DYNAMICS ? "dynamics" : "reward", f->low, f->high, f->initial);
    }
}

void source_dump(const train_options *o, const task *t, const fans_taken *taken, const char *id,
                 text *out)
{
    text_add(out, CONFIG_OF_RUN "%s\n# agent revision %d\n" CONFIG_ASKED "%s\n", fans_version(),
             AGENT_REVISION, id);
    options_dump(train_option_group(), "train", o, out);
    task_dump(t, out);
    if (t->source.library) dump_factors(&t->info, out);
    for (const fans_taken *k = taken; k->group; k++)
        if (is_listed(k->group, t)) options_dump(k->group, k->group->section, k->options, out);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

/* The options that differ from their defaults: an option that is added later, with a default that
 * changes nothing, leaves every identity as it was. */
static int add_changes(const option_group *g, const void *options, text *out)
{
    void *initial = mem_alloc(g->size);
    text now = {0}, then = {0};
    text_line x[2];
    int rc = initial ? 0 : FANS_ENOMEM;
    TRY(rc);
    options_default(g, initial);
    options_dump(g, g->section, options, &now);
    options_dump(g, g->section, initial, &then);
    TRY(text_done(&now));
    TRY(text_done(&then));
    const char *a = now.s, *b = then.s;
    text_add(out, "[%s]\n", g->section);
    while (text_differ(&a, &b, x)) text_add(out, "%.*s\n", x[0].n, x[0].s);
out:
    mem_free(initial);
    text_free(&now);
    text_free(&then);
    return rc;
}

int source_identity(const fans_algo_def *a, config *c, const train_options *o, const task *t,
                    char *out)
{
    train_options same = *o;
    fans_taken *taken = NULL;
    text all = {0};
    int rc = 0;
    same.seed = same.checkpoint_every = 0;
    TRY(source_take(a, c, &taken));
    text_add(&all, "%s, revision %d\n", a->name, AGENT_REVISION);
    TRY(add_changes(train_option_group(), &same, &all));
    task_dump(t, &all);
    for (const fans_taken *k = taken; k->group; k++)
        if (is_listed(k->group, t)) TRY(add_changes(k->group, k->options, &all));
    TRY(text_done(&all));
    snprintf(out, SOURCE_IDENTITY, "%016llx", (unsigned long long)hash(all.s));
out:
    source_give_back(taken);
    text_free(&all);
    return rc;
}
