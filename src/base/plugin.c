/* plugin.c - finds and loads shared libraries, the only place that does so for users' code. */
#include "base/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { TRUSTED_MOST = 16 };
static char trusted[TRUSTED_MOST][PATH_MAX]; /* without links */
static int trusted_count;

bool plugin_is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 3 && !strcmp(name + n - 3, ".so"));
}

int plugin_trust(const char *path)
{
    if (trusted_count == TRUSTED_MOST)
        return fans_fail(FANS_EINVAL, "--plugin %s: more than %d libraries", path, TRUSTED_MOST);
    if (!realpath(path, trusted[trusted_count]))
        return fans_fail(FANS_EINVAL, "--plugin %s: %s", path, strerror(errno));
    trusted_count++;
    return 0;
}

static bool is_trusted(const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real)) return false;
    for (int i = 0; i < trusted_count; i++)
        if (!strcmp(trusted[i], real)) return true;
    return false;
}

int plugin_check(const config *c, const char *section, const char *key)
{
    const char *path = config_get(c, section, key);
    if (!path || !plugin_is_path(path) || !config_is_of_run(c, section, key) || is_trusted(path))
        return 0;
    fans_fail(FANS_EINVAL,
              "names the library %s, and a run's files are not trusted with code: add "
              "--plugin %s if you know it",
              path, path);
    return config_blame(c, section, key, FANS_EINVAL);
}

int plugin_open(void **library, const char *path)
{
    char here[PATH_MAX]; /* without a slash, dlopen would search the system's libraries */
    if (snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path) >=
        (int)sizeof here)
        return fans_fail(FANS_EIO, "%s: the path is too long", path);
    if (!(*library = dlopen(here, RTLD_NOW | RTLD_LOCAL)))
        return fans_fail(FANS_EIO, "%s: cannot load: %s", path, dlerror());
    return 0;
}
