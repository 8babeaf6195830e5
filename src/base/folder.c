/* folder.c - checks and cleans the folder of a run. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MIB (INT64_C(1) << 20)

/* The files of a run or a model, and the most that each may hold. */
static const struct {
    const char *name;
    int64_t most;
} files[] = {
    {"config.ini", MIB},
    {"command.txt", 16 * MIB},
    {"system.json", MIB},
    {"spaces.json", MIB}, /* Python's */
    {"result.json", 16 * MIB},
    {"graph.json", 64 * MIB},
    {"metrics.csv", 4096 * MIB},
    {"beliefs.csv", 4096 * MIB},
    {"segments.csv", 4096 * MIB},
    {"times.csv", 4096 * MIB},
    {"evals.csv", 4096 * MIB},
    {"events.out.tfevents.0000000000.fans", INT64_MAX},
    {"checkpoint.safetensors", 65536 * MIB},
    {"checkpoint.next.safetensors", 65536 * MIB},
    {"model.safetensors", 65536 * MIB},
};

bool folder_has(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strcmp(files[i].name, name)) return true;
    return false;
}

static int check_file(int folder, const char *path, const char *name, int64_t most)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT) return 0;
        return fans_fail(FANS_EIO, "%s/%s: cannot read: %s", path, name, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return fans_fail(FANS_EFORMAT, "%s/%s: is %s; the files of a run must be plain files", path,
                         name, S_ISLNK(st.st_mode) ? "a link" : "not a file");
    if (st.st_size > most)
        return fans_fail(FANS_EFORMAT, "%s/%s: has %lld bytes; more than %lld cannot be right",
                         path, name, (long long)st.st_size, (long long)most);
    return 0;
}

/* The folder, open; -1 if there is none. */
static int open_folder(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd >= 0 || errno == ENOENT || errno == ENOTDIR) return 0;
    return fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(errno));
}

int folder_check(const char *path)
{
    int fd = -1, rc = open_folder(path, &fd);
    if (rc < 0 || fd < 0) return rc;
    for (size_t i = 0; rc == 0 && i < sizeof files / sizeof *files; i++)
        rc = check_file(fd, path, files[i].name, files[i].most);
    close(fd);
    return rc;
}

/* NAME.PID.tmp, of a NAME in the list. */
static bool is_left_over(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n = strlen(files[i].name), digits;
        if (strncmp(name, files[i].name, n) || name[n] != '.') continue;
        digits = strspn(name + n + 1, "0123456789-");
        if (digits > 0 && !strcmp(name + n + 1 + digits, ".tmp")) return true;
    }
    return false;
}

int folder_sweep(const char *path)
{
    int rc = 0;
    DIR *d = opendir(path);
    if (!d) return fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(errno));
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (is_left_over(e->d_name) && unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT)
            rc = fans_fail(FANS_EIO, "%s/%s: cannot remove: %s", path, e->d_name, strerror(errno));
    closedir(d);
    return rc;
}
