/* config.c - public configs. */
#include "api/config.h"

#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "base/mem.h"
#include "train/sections.h"
#include "train/source.h"

/* ---- checking -------------------------------------------------------------------------------- */

/* What [env] and [change.X] may hold depends on the environment, which is not opened here. */
static bool depends(const option_group *g)
{
    return !strcmp(g->section, "env") || strchr(g->section, '*');
}

static int check_section(config *all, const option_group *g)
{
    void *options = mem_alloc(g->size);
    if (!options) return FANS_ENOMEM;
    int rc = config_take(all, g, g->section, options);
    mem_free(options);
    return rc;
}

static int check_all(config *all)
{
    const option_group *g;
    const char *section;
    int rc = 0;
    for (int i = 0; (g = section_at(i)); i++)
        if (!depends(g)) TRY(check_section(all, g));
    TRY(config_skip(all, "env"));
    for (int i = 0; (section = config_section(all, "change.", i)); i++)
        TRY(config_skip(all, section));
    TRY(config_check_taken(all));
out:
    return rc;
}

static int check(const fans_config *c)
{
    config *all = NULL;
    int rc = 0;
    TRY(source_load_algo(c->path, c->settings.s)); /* it may add sections and presets */
    TRY(source_layers(&all, c->path, c->preset, c->settings.s));
    TRY(check_all(all));
out:
    config_free(all);
    return rc;
}

/* ---- making and setting ---------------------------------------------------------------------- */

static int make(fans_config **out, const char *ini, const char *preset)
{
    int rc = 0;
    fans_config *c = mem_alloc(sizeof *c);
    if (!c) return FANS_ENOMEM;
    TRY(handle_begin(&c->handle, HANDLE_CONFIG));
    if (ini) TRY((c->path = mem_text(ini)) ? 0 : FANS_ENOMEM);
    if (preset) TRY((c->preset = mem_text(preset)) ? 0 : FANS_ENOMEM);
    *out = c;
    return 0;
out:
    fans_config_free(c);
    return rc;
}

int fans_config_new(fans_config **out, const char *ini, const char *preset)
{
    fans_config *c = NULL;
    int rc = 0;
    TRY(CHECK_POINTER(out));
    TRY(make(&c, ini, preset));
    TRY(check(c));
    *out = c;
    return 0;
out:
    fans_config_free(c);
    return rc;
}

int config_keep(fans_config **out, const fans_config *c, const char *function)
{
    int rc = handle_check(c, HANDLE_CONFIG, function);
    if (rc == 0) rc = make(out, c->path, c->preset);
    if (rc < 0 || !c->settings.length) return rc;
    text_add(&(*out)->settings, "%s", c->settings.s);
    return text_done(&(*out)->settings); /* the owner frees it */
}

void fans_config_free(fans_config *c)
{
    if (!c || !handle_end(c, HANDLE_CONFIG)) return;
    text_free(&c->settings);
    mem_free(c->path);
    mem_free(c->preset);
    mem_free(c);
}

/* The settings with this one, which replaces an older one of the key. */
static int put_setting(const char *settings, const char *key, const char *value, text *out)
{
    size_t n = strlen(key);
    if (strpbrk(key, "=\n") || strchr(value, '\n'))
        return fans_fail(FANS_EINVAL, "fans_config_set: no line ends, and no '=' in the key");
    for (const char *line = settings ? settings : "", *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!strncmp(line, key, n) && line[n] == '=') continue;
        text_add_n(out, line, (size_t)(end + 1 - line));
    }
    text_add(out, "%s=%s\n", key, value);
    return text_done(out);
}

int fans_config_set(fans_config *c, const char *key, const char *value)
{
    int rc = ENTER(c, HANDLE_CONFIG);
    if (rc < 0) return rc;
    text before = c->settings, after = {0};
    TRY(CHECK_POINTER(key));
    TRY(CHECK_POINTER(value));
    TRY(put_setting(before.s, key, value, &after));
    c->settings = after;
    TRY(check(c));
    after = before;
out:
    if (rc < 0) c->settings = before;
    text_free(&after);
    return handle_leave(c, rc);
}

/* ---- reading --------------------------------------------------------------------------------- */

int config_read(const fans_config *c, source *out)
{
    int rc = source_load_algo(c->path, c->settings.s);
    return rc < 0 ? rc : source_read(out, c->path, c->preset, c->settings.s);
}

/* ---- getting --------------------------------------------------------------------------------- */

static bool is_section(const char *pattern, const char *section)
{
    const char *star = strchr(pattern, '*');
    return star ? !strncmp(pattern, section, (size_t)(star - pattern)) : !strcmp(pattern, section);
}

static int find_default(const char *section, const char *key, text *out)
{
    const option_group *g;
    for (int i = 0; (g = section_at(i)); i++)
        for (size_t k = 0; is_section(g->section, section) && k < g->count; k++)
            if (!strcmp(g->options[k].name, key)) {
                option_print_initial(&g->options[k], out);
                return text_done(out);
            }
    return fans_fail(FANS_EINVAL, "fans_config_get: nothing sets '%s.%s', and no section has it",
                     section, key);
}

static int find_value(const fans_config *c, const char *section, const char *key, text *out)
{
    config *all = NULL;
    int rc = 0;
    TRY(source_layers(&all, c->path, c->preset, c->settings.s));
    const char *set = config_get(all, section, key);
    if (set) text_add(out, "%s", set);
    TRY(set ? text_done(out) : find_default(section, key, out));
out:
    config_free(all);
    return rc;
}

int fans_config_get(const fans_config *c, const char *key, char *out, size_t size)
{
    char section[OPTION_TEXT];
    text value = {0};
    int rc = 0;
    TRY(CHECK(c, HANDLE_CONFIG));
    TRY(CHECK_POINTER(key));
    TRY(CHECK_POINTER(out));
    const char *dot = strrchr(key, '.');
    if (!dot || snprintf(section, sizeof section, "%.*s", (int)(dot - key), key) >= OPTION_TEXT)
        return fans_fail(FANS_EINVAL, "fans_config_get: '%.100s': a key is SECTION.KEY", key);
    TRY(find_value(c, section, dot + 1, &value));
    const char *found = value.s ? value.s : "";
    if (strlen(found) >= size)
        TRY(fans_fail(FANS_EINVAL, "fans_config_get: %s is longer than %zu characters", key, size));
    memcpy(out, found, strlen(found) + 1);
out:
    text_free(&value);
    return rc;
}
