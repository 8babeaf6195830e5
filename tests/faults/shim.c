/* shim.c - preloaded into the tool: makes one call fail. FAULT is KIND:N, for the N-th call counted
 * from 1; FAULT_COUNT names a file that gets the number of calls, "memory N" and "files N".
 *
 *     memory    an allocation, of a library's too, returns NULL
 *     EIO, ENOSPC, ESTALE    a call on a file fails so
 *     short     a write writes half of its bytes
 *     kill      the process is killed before the call
 *     torn      half is written, then the process is killed */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static enum { NONE, MEMORY, ERROR, SHORT, KILL, TORN } kind;
static int error_number;
static atomic_long at, memory_calls, file_calls;

__attribute__((constructor)) static void prepare(void)
{
    static const struct {
        const char *name;
        int kind, error;
    } kinds[] = {{"memory", MEMORY, 0},     {"EIO", ERROR, EIO}, {"ENOSPC", ERROR, ENOSPC},
                 {"ESTALE", ERROR, ESTALE}, {"short", SHORT, 0}, {"kill", KILL, 0},
                 {"torn", TORN, 0}};
    const char *fault = getenv("FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == (size_t)(colon - fault) &&
            !strncmp(fault, kinds[i].name, (size_t)(colon - fault))) {
            error_number = kinds[i].error;
            at = strtol(colon + 1, NULL, 10);
            kind = (unsigned)kinds[i].kind;
        }
    memory_calls = file_calls = 0;
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAULT_COUNT");
    if (!path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(fd, "memory %ld\nfiles %ld\n", memory_calls, file_calls - 1);
    close(fd);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int out_of_memory(void)
{
    long n = ++memory_calls;
    if (kind != MEMORY || n != at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return out_of_memory() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return out_of_memory() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return out_of_memory() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return out_of_memory() ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    void *got = out_of_memory() ? NULL : __libc_memalign(align, n);
    if (got) *p = got;
    return got ? 0 : ENOMEM;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The process's own output is not a file. */
static int strikes(int fd)
{
    if (fd >= 0 && fd <= 2) return 0;
    long n = ++file_calls;
    if (kind <= MEMORY || n != at) return 0;
    if (kind == KILL) kill(getpid(), SIGKILL);
    return 1;
}

static int fails(int fd)
{
    if (!strikes(fd) || kind != ERROR) return 0;
    errno = error_number;
    return 1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(-1) ? -1 : REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (strikes(fd)) {
        if (kind == ERROR) {
            errno = error_number;
            return -1;
        }
        n /= 2;
        if (kind == TORN) {
            ssize_t written = REAL(write)(fd, bytes, n);
            (void)written;
            kill(getpid(), SIGKILL);
        }
    }
    return REAL(write)(fd, bytes, n);
}

ssize_t read(int fd, void *bytes, size_t n)
{
    if (fails(fd)) return -1;
    return REAL(read)(fd, bytes, n);
}

int fsync(int fd)
{
    return fails(fd) ? -1 : REAL(fsync)(fd);
}

int close(int fd)
{
    int failed = fails(fd), rc = REAL(close)(fd);
    if (failed) errno = error_number;
    return failed ? -1 : rc;
}

int ftruncate(int fd, off_t n)
{
    return fails(fd) ? -1 : REAL(ftruncate)(fd, n);
}

int rename(const char *from, const char *to)
{
    return fails(-1) ? -1 : REAL(rename)(from, to);
}

int access(const char *path, int mode)
{
    return fails(-1) ? -1 : REAL(access)(path, mode);
}
