/* shim.c - preloaded into the tool: makes one call fail. FAULT is KIND:N, for the N-th call counted
 * from 1.
 *
 *     memory    an allocation, of a library's too, returns NULL
 *     forks     at every N-th allocation a child goes on where it returns NULL, up to the end
 *     EIO, ENOSPC, ESTALE    a call on a file fails so
 *     short     a read or a write stops at half of its bytes
 *     kill      the process is killed before the call
 *     torn      half is written, then the process is killed
 *
 * FAULT_FILES names a file that gets a letter for each call on a file (r read, w write, o any
 * other), FAULT_STACKS one that gets a line for each allocation: a number that stands for who
 * called whom. FAULT_TALLY gets what became of the children: how many allocations there were, how
 * many of their failures were tried, without harm, refused, killed, wrong, and the first that was
 * wrong. FAULT_RIGHT is what a child must have printed to exit with 0; it needs a program with one
 * thread that writes no files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static enum { NONE, MEMORY, FORKS, ERROR, SHORT, KILL, TORN } kind;
static int error_number;
static atomic_long at, memory_calls, file_calls;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

/* ---- records --------------------------------------------------------------------------------- */

enum { MOST_CALLS = 1 << 17, DEPTH = 32 };
static char letters[MOST_CALLS];
static uint64_t stacks[MOST_CALLS];
static const char *stacks_path;
static _Thread_local int busy; /* the unwinder may allocate */

/* Libraries are loaded at pages, so the low bits of an address are the same in every process. */
static uint64_t stack_number(void)
{
    void *frames[DEPTH];
    uint64_t hash = 1469598103934665603u;
    int n = backtrace(frames, DEPTH);
    for (int i = 2; i < n; i++) hash = (hash ^ ((uintptr_t)frames[i] & 0xfff)) * 1099511628211u;
    return hash;
}

static void note_stack(long n)
{
    if (!stacks_path || busy || n > MOST_CALLS) return;
    busy = 1;
    stacks[n - 1] = stack_number();
    busy = 0;
}

static void tell_files(void)
{
    const char *path = getenv("FAULT_FILES");
    long n = file_calls;
    if (!path) return;
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t written = REAL(write)(fd, letters, (size_t)(n < MOST_CALLS ? n : MOST_CALLS));
    (void)written;
}

static void tell_stacks(void)
{
    long n = memory_calls;
    if (!stacks_path) return;
    busy = 1;
    FILE *f = fopen(stacks_path, "w");
    for (long i = 0; f && i < n && i < MOST_CALLS; i++)
        fprintf(f, "%llu\n", (unsigned long long)stacks[i]);
    if (f) fclose(f);
}

static void tell_tally(void);

__attribute__((destructor)) static void tell(void)
{
    tell_tally();
    tell_files();
    tell_stacks();
}

__attribute__((constructor)) static void prepare(void)
{
    static const struct {
        const char *name;
        int kind, error;
    } kinds[] = {{"memory", MEMORY, 0},     {"forks", FORKS, 0},       {"EIO", ERROR, EIO},
                 {"ENOSPC", ERROR, ENOSPC}, {"ESTALE", ERROR, ESTALE}, {"short", SHORT, 0},
                 {"kill", KILL, 0},         {"torn", TORN, 0}};
    const char *fault = getenv("FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == (size_t)(colon - fault) &&
            !strncmp(fault, kinds[i].name, (size_t)(colon - fault))) {
            error_number = kinds[i].error;
            at = strtol(colon + 1, NULL, 10);
            kind = (unsigned)kinds[i].kind;
        }
    busy = 1;
    stack_number(); /* the first one loads a library */
    busy = 0;
    stacks_path = getenv("FAULT_STACKS");
    memory_calls = file_calls = 0;
}

/* ---- children -------------------------------------------------------------------------------- */

enum { PATIENCE = 30, MOST_TEXT = 1 << 14 }; /* seconds; bytes of output */

static struct {
    long tried, unharmed, refused, killed, wrong, first_wrong;
} tally;

/* What was written into a file in memory. */
static size_t read_back(int fd, char *out)
{
    ssize_t n = pread(fd, out, MOST_TEXT, 0);
    return n > 0 ? (size_t)n : 0;
}

static int is_right(int fd)
{
    static char right[MOST_TEXT], got[MOST_TEXT];
    int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULT_RIGHT"), O_RDONLY);
    size_t n = read_back(file, right);
    syscall(SYS_close, file);
    return n && read_back(fd, got) == n && !memcmp(got, right, n);
}

static int is_one_line(int fd)
{
    static char said[MOST_TEXT];
    size_t n = read_back(fd, said), start = n && said[0] == '\n'; /* libgomp's */
    char *end = memchr(said + start, '\n', n - start);
    return end && end == said + n - 1 && end > said + start;
}

static void judge(long call, int status, int out, int err)
{
    int killed = WIFSIGNALED(status), done = !killed && WEXITSTATUS(status) == 0;
    int right = done ? is_right(out) : killed || is_one_line(err);
    tally.tried++;
    tally.killed += killed;
    tally.unharmed += done;
    tally.refused += !killed && !done;
    tally.wrong += !right;
    if (!right && !tally.first_wrong) tally.first_wrong = call;
}

/* Returns 1 in a child, which prints into memory; 0 in the parent, when the child has ended. The
 * bare call skips handlers of forks: FANS refuses its handles after one. */
static int try_child(long call)
{
    int out = memfd_create("out", 0), err = memfd_create("err", 0), status;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        kind = NONE;
        unsetenv("FAULT_TALLY");
        alarm(PATIENCE);
        return 1;
    }
    if (child > 0 && waitpid(child, &status, 0) == child) judge(call, status, out, err);
    syscall(SYS_close, out);
    syscall(SYS_close, err);
    return 0;
}

static void tell_tally(void)
{
    const char *path = getenv("FAULT_TALLY");
    long calls = memory_calls;
    if (!path || kind != FORKS) return;
    kind = NONE;
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f, "%ld %ld %ld %ld %ld %ld %ld\n", calls, tally.tried, tally.unharmed, tally.refused,
            tally.killed, tally.wrong, tally.first_wrong);
    fclose(f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int fails_at(long n)
{
    if (kind == FORKS) return n % at == 0 && try_child(n);
    return kind == MEMORY && n == at;
}

static int out_of_memory(void)
{
    long n = ++memory_calls;
    note_stack(n);
    if (!fails_at(n)) return 0;
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
static int strikes(int fd, char letter)
{
    if (fd >= 0 && fd <= 2) return 0;
    long n = ++file_calls;
    if (n <= MOST_CALLS) letters[n - 1] = letter;
    if (kind <= FORKS || n != at) return 0;
    if (kind == KILL) kill(getpid(), SIGKILL);
    return 1;
}

static int fails(int fd)
{
    if (!strikes(fd, 'o') || kind != ERROR) return 0;
    errno = error_number;
    return 1;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(-1) ? -1 : REAL(open)(path, flags, mode);
}

int __open_2(const char *path, int flags); /* what FORTIFY makes of it */
int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (strikes(fd, 'w')) {
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

/* glibc's own would not call the write above. */
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    char line[1 << 16];
    va_list args;
    (void)flag;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (int done = 0; done < n;) {
        ssize_t k = write(fd, line + done, (size_t)(n - done));
        if (k < 0) return -1;
        done += (int)k;
    }
    return n;
}

ssize_t read(int fd, void *bytes, size_t n)
{
    if (strikes(fd, 'r')) {
        errno = error_number;
        if (kind == ERROR) return -1;
        if (kind == SHORT && n > 1) n /= 2;
    }
    return REAL(read)(fd, bytes, n);
}

int close(int fd)
{
    int failed = fails(fd), rc = REAL(close)(fd);
    if (failed) errno = error_number;
    return failed ? -1 : rc;
}

DIR *opendir(const char *path)
{
    return fails(-1) ? NULL : REAL(opendir)(path);
}

struct dirent *readdir(DIR *d)
{
    return fails(-1) ? NULL : REAL(readdir)(d);
}

char *realpath(const char *path, char *out)
{
    return fails(-1) ? NULL : REAL(realpath)(path, out);
}

char *__realpath_chk(const char *path, char *out, size_t size);
char *__realpath_chk(const char *path, char *out, size_t size)
{
    (void)size;
    return realpath(path, out);
}

/* The rest is alike: -1, or what the real one says. */
#define CALL(name, fd, parameters, ...)                  \
    int name parameters                                  \
    {                                                    \
        return fails(fd) ? -1 : REAL(name)(__VA_ARGS__); \
    }

CALL(fsync, fd, (int fd), fd)
CALL(ftruncate, fd, (int fd, off_t n), fd, n)
CALL(flock, fd, (int fd, int how), fd, how)
CALL(fstat, fd, (int fd, struct stat *st), fd, st)
CALL(fstatat, -1, (int fd, const char *path, struct stat *st, int flags), fd, path, st, flags)
CALL(stat, -1, (const char *path, struct stat *st), path, st)
CALL(rename, -1, (const char *from, const char *to), from, to)
CALL(access, -1, (const char *path, int mode), path, mode)
CALL(mkdir, -1, (const char *path, mode_t mode), path, mode)
CALL(unlink, -1, (const char *path), path)
CALL(unlinkat, -1, (int fd, const char *path, int flags), fd, path, flags)
