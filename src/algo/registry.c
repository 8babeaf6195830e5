/* registry.c - the list of algorithms, and dlopen for those in shared libraries. */
#include "algo/registry.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/plugin.h"
#include "base/text.h"

#define X(name) &algo_##name,
static const fans_algo_def *const builtin[] = {
#include "algo/list.h"
};
#undef X

enum { BUILTIN = sizeof builtin / sizeof *builtin, LOADED_MOST = 16 };

/* Libraries stay open: agents may live as long as the process. */
static const fans_algo_def *loaded[LOADED_MOST];
static int loaded_count;

int algo_count(void)
{
    return BUILTIN + loaded_count;
}

const fans_algo_def *algo_at(int i)
{
    return i < BUILTIN ? builtin[i] : loaded[i - BUILTIN];
}

const char *algo_told(const fans_algo_def *a)
{
    static const char *const words[] = {"nothing", "boundaries", "labels", "truth"};
    return words[a->told];
}

/* ---- libraries ------------------------------------------------------------------------------- */

static int check_def(const fans_algo_def *d, const char *path)
{
    const char *missing = NULL;
    if (!d)
        return fans_fail(FANS_EFORMAT, "%s: does not export 'const fans_algo_def fans_algo'", path);
    if (d->abi != FANS_ALGO_ABI)
        return fans_fail(FANS_ENOSUP,
                         "%s: built for algorithm ABI %d, this FANS has %d: rebuild it", path,
                         d->abi, FANS_ALGO_ABI);
    if (!d->name) missing = "name";
    if (!d->help) missing = "help";
    if (!d->open) missing = "open";
    if (!d->close) missing = "close";
    if (!d->act) missing = "act";
    if (d->told > FANS_TOLD_TRUTH)
        return fans_fail(FANS_EFORMAT, "%s: fans_algo.told is %d: not a fans_told", path,
                         (int)d->told);
    if (missing) return fans_fail(FANS_EFORMAT, "%s: fans_algo.%s is missing", path, missing);
    for (int i = 0; i < algo_count(); i++)
        if (algo_at(i) != d && !strcmp(algo_at(i)->name, d->name))
            return fans_fail(FANS_EINVAL,
                             "%s: an algorithm '%s' exists already; choose another name", path,
                             d->name);
    return 0;
}

static int keep(const fans_algo_def *d, const char *path)
{
    for (int i = 0; i < loaded_count; i++)
        if (loaded[i] == d) return 0; /* the same library again */
    if (loaded_count == LOADED_MOST)
        return fans_fail(FANS_EINVAL, "%s: cannot load more than %d libraries", path, LOADED_MOST);
    loaded[loaded_count++] = d;
    return 0;
}

static int load(const fans_algo_def **out, const char *path)
{
    void *library;
    int rc = plugin_open(&library, path);
    if (rc < 0) return rc;
    const fans_algo_def *def = dlsym(library, "fans_algo");
    TRY(check_def(def, path));
    TRY(keep(def, path));
    *out = def;
    return 0;
out:
    dlclose(library);
    return rc;
}

int algo_find(const fans_algo_def **out, const char *name)
{
    if (plugin_is_path(name)) return load(out, name);
    nearest near = {.word = name};
    for (int i = 0; i < algo_count(); i++) {
        *out = algo_at(i);
        if (!strcmp((*out)->name, name)) return 0;
        nearest_offer(&near, (*out)->name);
    }
    return fans_fail(FANS_EINVAL, "there is no algorithm '%s'%s (see `fans list algos`)", name,
                     nearest_hint(&near));
}

const char *algo_told_of(const char *name)
{
    for (int i = 0; i < algo_count(); i++)
        if (!strcmp(algo_at(i)->name, name)) return algo_told(algo_at(i));
    return "–";
}

const char *algo_told_in(const char *told, const char *tells)
{
    static const char *const less[] = {"episodes", "nothing"};
    for (int i = 0; i < 2 && !strcmp(told, "boundaries"); i++)
        if (!strncmp(tells, less[i], strlen(less[i]))) return less[i];
    return told;
}
