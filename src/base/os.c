/* os.c - files, folders, time and the machine, on Linux. */
#define _GNU_SOURCE
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, bytes, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        bytes += k;
        n -= (size_t)k;
    }
    return 0;
}

static int sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash && slash > path ? (int)(slash - path) : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int rc = fsync(fd);
    close(fd);
    return rc;
}

static int cannot_write(const char *path, int why)
{
    return fans_fail(FANS_EIO, "%s: cannot write: %s", path, strerror(why));
}

/* For what cannot be replaced: /dev/stdout, a named pipe. */
static int write_in_place(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return cannot_write(path, errno);
    int why = write_all(fd, bytes, n) ? errno : 0;
    if (close(fd) && !why) why = errno;
    return why ? cannot_write(path, why) : 0;
}

/* A new file PATH.PID.tmp; another process's that died with our number may still be there. */
static int make_temporary(const char *path, char temporary[PATH_MAX], int *fd)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int i = 0; i < 100; i++) {
        if (snprintf(temporary, PATH_MAX, i ? "%s.%ld-%d.tmp" : "%s.%ld.tmp", path, (long)getpid(),
                     i) >= PATH_MAX)
            return fans_fail(FANS_EIO, "the path is too long: %s", path);
        *fd = open(temporary, flags, 0644);
        if (*fd >= 0) return 0;
        if (errno != EEXIST) break;
    }
    return cannot_write(path, errno);
}

static int replace(const char *path, const void *bytes, size_t n)
{
    char temporary[PATH_MAX];
    int fd = -1, rc = make_temporary(path, temporary, &fd);
    if (rc < 0) return rc;
    int why = write_all(fd, bytes, n) || fsync(fd) ? errno : 0;
    if (close(fd) && !why) why = errno;
    if (!why && (rename(temporary, path) || sync_folder_of(path))) why = errno;
    if (!why) return 0;
    unlink(temporary);
    return cannot_write(path, why);
}

int os_write_file(const char *path, const void *bytes, size_t n)
{
    struct stat st;
    char target[PATH_MAX];
    if (stat(path, &st)) return replace(path, bytes, n);
    if (S_ISDIR(st.st_mode)) return cannot_write(path, EISDIR);
    if (!S_ISREG(st.st_mode)) return write_in_place(path, bytes, n);
    if (!realpath(path, target)) return write_in_place(path, bytes, n); /* it was unlinked */
    return replace(target, bytes, n);
}

static int read_fd(char **out, size_t *n, int fd)
{
    size_t capacity = 0, length = 0;
    *out = NULL;
    for (;;) {
        if (length > OS_MOST) return FANS_EFORMAT;
        if (mem_grow(out, &capacity, length + 4097, 1) < 0) return FANS_ENOMEM;
        ssize_t k = read(fd, *out + length, capacity - length - 1);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return FANS_EIO;
        if (k == 0) break;
        length += (size_t)k;
    }
    (*out)[length] = 0;
    *n = length;
    return 0;
}

int os_read_file(void **out, size_t *n, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(errno));
    char *bytes = NULL;
    int rc = read_fd(&bytes, n, fd);
    if (rc == FANS_EIO) fans_fail(rc, "%s: cannot read: %s", path, strerror(errno));
    if (rc == FANS_EFORMAT) fans_fail(rc, "%s: has more than %zu bytes", path, OS_MOST);
    close(fd);
    if (rc < 0)
        mem_free(bytes);
    else
        *out = bytes;
    return rc;
}

int os_cut(int fd, const char *path, int64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st)) return cannot_write(path, errno);
    if (st.st_size < bytes)
        return fans_fail(FANS_EFORMAT, "%s: has %lld bytes, but had %lld: something cut it off",
                         path, (long long)st.st_size, (long long)bytes);
    return ftruncate(fd, bytes) ? cannot_write(path, errno) : 0;
}

int os_make_folders(const char *path)
{
    char part[PATH_MAX];
    if (!*path) return fans_fail(FANS_EIO, "a folder needs a name");
    if (snprintf(part, sizeof part, "%s", path) >= PATH_MAX)
        return fans_fail(FANS_EIO, "the path is too long: %s", path);
    for (char *c = part + 1;; c++) {
        if (*c && *c != '/') continue;
        char end = *c;
        *c = 0;
        if (mkdir(part, 0755) && errno != EEXIST)
            return fans_fail(FANS_EIO, "%s: cannot make the folder: %s", part, strerror(errno));
        *c = end;
        if (!end) break;
    }
    struct stat st;
    if (stat(path, &st) || !S_ISDIR(st.st_mode))
        return fans_fail(FANS_EIO, "%s: is not a folder", path);
    return 0;
}

int os_exists(const char *path)
{
    if (access(path, F_OK) == 0) return 1;
    if (errno == ENOENT || errno == ENOTDIR) return 0;
    return fans_fail(FANS_EIO, "%s: cannot tell whether it exists: %s", path, strerror(errno));
}

int os_open_append(const char *path, int *fd)
{
    struct stat st;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    *fd = open(path, flags, 0644);
    if (*fd < 0) return cannot_write(path, errno);
    int why = fstat(*fd, &st) ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    if (!why) return 0;
    close(*fd);
    *fd = -1;
    return cannot_write(path, why);
}

void os_open_many(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void os_hold_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void os_release_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int os_identify(const char *path, os_identity *out)
{
    struct stat at;
    if (stat(path, &at))
        return fans_fail(FANS_EIO, "%s: cannot be read: %s", path, strerror(errno));
    *out = (os_identity){at.st_dev, at.st_ino};
    return 0;
}

bool os_has_room(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at != MAP_FAILED && munmap(at, bytes) == 0;
}

double os_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int os_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

void os_cpu_name(char *out, size_t size)
{
    snprintf(out, size, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f) return;
    char line[512];
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(out, size, "%s", colon + 2);
        break;
    }
    fclose(f);
}

int os_program_folder(char *out, size_t size)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) return fans_fail(FANS_EIO, "cannot find the running program: %s", strerror(errno));
    path[n] = 0;
    *strrchr(path, '/') = 0;
    if ((size_t)snprintf(out, size, "%s", path) >= size)
        return fans_fail(FANS_EIO, "the path is too long: %s", path);
    return 0;
}

/* std::set_terminate */
__attribute__((weak)) extern os_uncaught *_ZSt13set_terminatePFvvE(os_uncaught *handler);

os_uncaught *os_on_uncaught(os_uncaught *handler)
{
    return _ZSt13set_terminatePFvvE ? _ZSt13set_terminatePFvvE(handler) : NULL;
}
