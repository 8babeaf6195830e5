/* os.h - files, folders, time and the machine. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces `path` atomically: temporary file in the same folder, fsync, rename, fsync of the
 * folder. After a crash at any moment either the old or the new content is there, never a part. A
 * link is followed; a device or a pipe is written to in place. */
int os_write_file(const char *path, const void *bytes, size_t n);

/* The whole file, with a zero byte appended; free with mem_free. At most OS_MOST bytes: a device
 * may have no end. */
#define OS_MOST ((size_t)1 << 36)
int os_read_file(void **out, size_t *n, const char *path);

/* Truncates a file that is open for writing; fails where it is shorter. */
int os_cut(int fd, const char *path, int64_t bytes);

int os_make_folders(const char *path);

/* 1 if there is something, 0 if there is not; an error if that cannot be told, as when a network
 * file system does not answer. */
int os_exists(const char *path);

/* Opens a file of a run for appending, or makes it; never what a link leads to. */
int os_open_append(const char *path, int *fd);

/* Raises the limit of open files to the most that the system allows. */
void os_open_many(void);

/* Keep the host's signal handlers off the calling thread, and off threads that it starts meanwhile,
 * which inherit this. Faults of the thread itself, such as SIGSEGV, are still delivered; all others
 * wait. */
void os_hold_signals(sigset_t *before);
void os_release_signals(const sigset_t *before);

/* What runs where a C++ library throws and nobody catches, if a C++ runtime is loaded; returns what
 * ran there before. It must not return. */
typedef void os_uncaught(void);
os_uncaught *os_on_uncaught(os_uncaught *handler);

/* What tells files and folders apart, however their paths are written. */
typedef struct os_identity {
    uint64_t device, inode;
} os_identity;
int os_identify(const char *path, os_identity *out);

/* Whether this process may still have so many bytes of addresses (ulimit -v). */
bool os_has_room(size_t bytes);

/* Seconds on a monotonic clock. */
double os_now(void);

/* Cores that this process may run on. */
int os_cores(void);

/* "AMD EPYC 9654", or "unknown". */
void os_cpu_name(char *out, size_t size);

/* The folder of the running executable, without a slash at its end. */
int os_program_folder(char *out, size_t size);

#endif
