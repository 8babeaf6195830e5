/* os.h - files, folders, time and the machine. */
#ifndef BASE_OS_H
#define BASE_OS_H

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

/* Seconds on a monotonic clock. */
double os_now(void);

/* Cores that this process may run on. */
int os_cores(void);

/* "AMD EPYC 9654", or "unknown". */
void os_cpu_name(char *out, size_t size);

/* The folder of the running executable, without a slash at its end. */
int os_program_folder(char *out, size_t size);

#endif
