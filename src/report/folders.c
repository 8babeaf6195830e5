/* folders.c - a walk through folders, by name. */
#include "report/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

typedef struct names {
    char **list;
    size_t count, capacity;
} names;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Not every file system gives the type of an entry. */
static bool is_folder(DIR *d, const struct dirent *e)
{
    struct stat s;
    if (e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    return fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode);
}

static int list_folders(const char *path, names *n)
{
    DIR *d = opendir(path);
    int rc = 0;
    if (!d && (errno == EACCES || errno == ENOENT))
        return 0; /* not ours to read, or just removed */
    if (!d) return fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(errno));
    for (struct dirent *e; rc == 0 && (errno = 0, e = readdir(d));) {
        if (e->d_name[0] == '.' || !is_folder(d, e)) continue;
        rc = mem_grow(&n->list, &n->capacity, n->count + 1, sizeof *n->list);
        if (rc == 0 && !(n->list[n->count++] = mem_text(e->d_name))) rc = FANS_ENOMEM;
    }
    if (rc == 0 && errno) rc = fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(errno));
    closedir(d);
    if (rc == 0 && n->count) qsort(n->list, n->count, sizeof *n->list, by_name);
    return rc;
}

static int holds(const char *path, const char *name)
{
    char file[FOLDERS_PATH + 32];
    struct stat st;
    snprintf(file, sizeof file, "%s/%s", path, name);
    if (stat(file, &st) && errno == EACCES) return 0; /* not ours to read */
    return os_exists(file);
}

static int look_into(const char *path, int depth, folders_fn *fn, void *user)
{
    char below[FOLDERS_PATH];
    names n = {0};
    int rc = 0;
    TRY(holds(path, "config.ini"));
    if (rc > 0) TRY(holds(path, "metrics.csv"));
    if (rc > 0) return fn(user, path);
    if (depth > 0) TRY(list_folders(path, &n));
    for (size_t i = 0; i < n.count; i++)
        if (snprintf(below, sizeof below, "%s/%s", path, n.list[i]) < FOLDERS_PATH)
            TRY(look_into(below, depth - 1, fn, user));
out:
    for (size_t i = 0; i < n.count; i++) mem_free(n.list[i]);
    mem_free(n.list);
    return rc;
}

int folders_find(const char *path, folders_fn *fn, void *user)
{
    DIR *d = opendir(path);
    if (!d)
        return fans_fail(FANS_EIO, "%s: %s", path,
                         errno == ENOENT ? "there is no such folder" : strerror(errno));
    closedir(d);
    char trimmed[FOLDERS_PATH];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n >= sizeof trimmed) return fans_fail(FANS_EIO, "%s: the path is too long", path);
    snprintf(trimmed, sizeof trimmed, "%.*s", (int)n, path);
    return look_into(trimmed, FOLDERS_DEPTH, fn, user);
}
