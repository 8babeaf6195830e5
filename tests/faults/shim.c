/* shim.c - preloaded into a program: makes one call fail. FAULT is KIND:N, for the N-th call
 * counted from 1.
 *
 *     memory    at every N-th allocation, a library's too, a child goes on where it returns NULL,
 * up to the end; with memory:N:K, at the K-th, and every N-th after it EIO, ENOSPC, ESTALE    a
 * call on a file fails so short     a read or a write stops at half of its bytes kill      the
 * process is killed before the call torn      half is written, then the process is killed
 *
 * FAULT_FILES names a file that gets a letter for each call on a file (r read, w write, o any
 * other). FAULT_TALLY names one that gets what became of the children: how many allocations there
 * were, how many of their failures were tried, without harm, refused, killed and the first that
 * was, wrong and the first that was. Who does not end with 0 must say one line; with FAULT_SILENT,
 * not who is killed. A child goes on in FOLDER.N, a copy of the working folder, which stays if the
 * child ends with 0: what it has made must be right. The program must have one thread, and nothing
 * open but what is in that folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static enum { NONE, MEMORY, ERROR, SHORT, KILL, TORN } kind;
static int error_number;
static atomic_long at, first, memory_calls, file_calls;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

/* ---- records --------------------------------------------------------------------------------- */

enum { MOST_CALLS = 1 << 17 };
static char letters[MOST_CALLS];

static void tell_files(void)
{
    const char *path = getenv("FAULT_FILES");
    long n = file_calls;
    if (!path) return;
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t written = REAL(write)(fd, letters, (size_t)(n < MOST_CALLS ? n : MOST_CALLS));
    (void)written;
}

static void tell_tally(void);

__attribute__((destructor)) static void tell(void)
{
    tell_tally();
    tell_files();
}

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
            char *end;
            at = strtol(colon + 1, &end, 10);
            first = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
            kind = (unsigned)kinds[i].kind;
        }
    memory_calls = file_calls = 0;
}

/* ---- folders of children --------------------------------------------------------------------- */

static void copy_file(int from, int to)
{
    static char bytes[1 << 16];
    for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, (size_t)n) != n) _exit(125);
    close(from);
    close(to);
}

/* Copies an open folder, and what is below it, into a new one. */
static void copy_folder(DIR *from, const char *to)
{
    char path[PATH_MAX];
    struct stat st;
    if (!from || mkdir(to, 0755)) _exit(125);
    for (struct dirent *e; (e = readdir(from));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", to, e->d_name);
        int fd = openat(dirfd(from), e->d_name, O_RDONLY);
        if (fd < 0 || fstat(fd, &st)) _exit(125);
        if (S_ISDIR(st.st_mode))
            copy_folder(fdopendir(fd), path);
        else
            copy_file(fd, open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
    }
    closedir(from);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

/* What is open in the folder `from` is the same file of the folder `to` from now on. */
static void move_descriptors(const char *from, const char *to)
{
    char link[64], path[PATH_MAX], moved[2 * PATH_MAX];
    size_t length = strlen(from);
    for (int fd = 0; fd < 256; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        if (n <= (ssize_t)length || strncmp(path, from, length) || path[length] != '/') continue;
        path[n] = 0;
        snprintf(moved, sizeof moved, "%s%s", to, path + length);
        int flags = fcntl(fd, F_GETFL), fresh = open(moved, flags & (O_ACCMODE | O_APPEND));
        if (fresh < 0) continue; /* it was deleted */
        lseek(fresh, lseek(fd, 0, SEEK_CUR), SEEK_SET);
        dup2(fresh, fd);
        close(fresh);
    }
}

static void move_into(const char *to)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here)) _exit(125);
    copy_folder(opendir("."), to);
    move_descriptors(here, to);
    if (chdir(to)) _exit(125);
}

/* ---- children -------------------------------------------------------------------------------- */

enum { PATIENCE = 30 }; /* seconds */

static struct {
    long tried, unharmed, refused, killed, first_killed, wrong, first_wrong;
} tally;

static int is_one_line(const char *folder)
{
    static char path[PATH_MAX], said[1 << 14];
    snprintf(path, sizeof path, "%s/err", folder);
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, said, sizeof said);
    size_t n = got > 0 ? (size_t)got : 0, start = n && said[0] == '\n'; /* libgomp's */
    char *end = memchr(said + start, '\n', n - start);
    close(fd);
    return end && end == said + n - 1 && end > said + start;
}

static void judge(long call, int status, const char *folder)
{
    int killed = WIFSIGNALED(status), done = !killed && WEXITSTATUS(status) == 0;
    int right = done || is_one_line(folder) || (killed && getenv("FAULT_SILENT"));
    tally.tried++;
    tally.killed += killed;
    tally.unharmed += done;
    tally.refused += !killed && !done;
    tally.wrong += !right;
    if (killed && !tally.first_killed) tally.first_killed = call;
    if (!right && !tally.first_wrong) tally.first_wrong = call;
    if (!done) nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns 1 in a child; 0 in the parent, when the child has ended. The bare call skips handlers of
 * forks: FANS refuses its handles after one. */
static int try_child(long call)
{
    char folder[PATH_MAX];
    int status;
    if (!getcwd(folder, sizeof folder - 32)) return 0;
    snprintf(folder + strlen(folder), 32, ".%ld", call);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        move_into(folder);
        unsetenv("FAULT_TALLY");
        alarm(PATIENCE);
        return 1;
    }
    if (child > 0 && waitpid(child, &status, 0) == child) judge(call, status, folder);
    return 0;
}

/* Nothing fails or counts meanwhile; a child has had its failure. */
static int fails_in_child(long call)
{
    int before = errno, here;
    kind = NONE;
    if ((here = try_child(call))) return 1;
    kind = MEMORY;
    memory_calls = call;
    errno = before;
    return 0;
}

static void tell_tally(void)
{
    const char *path = getenv("FAULT_TALLY");
    long calls = memory_calls;
    if (!path || kind != MEMORY) return;
    kind = NONE;
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f, "%ld %ld %ld %ld %ld %ld %ld %ld\n", calls, tally.tried, tally.unharmed,
            tally.refused, tally.killed, tally.first_killed, tally.wrong, tally.first_wrong);
    fclose(f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int out_of_memory(void)
{
    long n = ++memory_calls;
    if (kind != MEMORY || n % at != first % at || !fails_in_child(n)) return 0;
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
    if (kind <= MEMORY || n != at) return 0;
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
