/* registry.c - the list of built-in environments, and dlopen for the others. */
#include "env/registry.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/plugin.h"
#include "base/text.h"

#define X(name) extern const fans_env_def env_##name;
#include "env/list.h"
#undef X

static const fans_env_def *const builtin[] = {
#define X(name) &env_##name,
#include "env/list.h"
#undef X
    NULL};

const fans_env_def *env_builtin(int i)
{
    return builtin[i];
}

/* The first required part that a definition lacks; NULL when it is complete. */
static const char *missing_part(const fans_env_def *d)
{
    if (!d->name) return "name";
    if (!d->help) return "help";
    if (d->option_count > 0 && !d->options) return "options";
    if (!d->open) return "open";
    if (!d->close) return "close";
    if (!d->reset) return "reset";
    if (!d->step) return "step";
    if (!d->set_factor) return "set_factor";
    if (!d->state_bytes) return "state_bytes";
    if (!d->save) return "save";
    if (!d->restore) return "restore";
    return NULL;
}

static int load_library(env_source *out, const char *path)
{
    void *library;
    int rc = plugin_open(&library, path);
    if (rc < 0) return rc;
    const fans_env_def *def = dlsym(library, "fans_env");
    const char *part;
    if (!def)
        rc = fans_fail(FANS_EFORMAT, "%s: exports no 'const fans_env_def fans_env'", path);
    else if (def->abi != FANS_ENV_ABI)
        rc =
            fans_fail(FANS_ENOSUP, "%s: built for environment ABI %d, this FANS has %d: rebuild it",
                      path, def->abi, FANS_ENV_ABI);
    else if ((part = missing_part(def)))
        rc = fans_fail(FANS_EFORMAT, "%s: fans_env.%s is missing", path, part);
    if (rc < 0)
        dlclose(library);
    else
        *out = (env_source){def, library};
    return rc;
}

int env_load(env_source *out, const char *name)
{
    if (plugin_is_path(name)) return load_library(out, name);
    nearest near = {.word = name};
    const fans_env_def *def;
    *out = (env_source){&env_own, NULL};
    if (!strcmp(name, env_own.name)) return 0;
    for (int i = 0; (def = env_builtin(i)); i++) {
        if (!strcmp(def->name, name)) {
            *out = (env_source){def, NULL};
            return 0;
        }
        nearest_offer(&near, def->name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(FANS_EINVAL,
                     "no environment '%s'%s (a library of your own is named by its path)", name,
                     *hint ? hint : "; `fans list envs` lists them");
}

void env_unload(env_source *source)
{
    if (source->library) dlclose(source->library);
    *source = (env_source){0};
}
