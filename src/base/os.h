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

/* The whole file, with a zero byte appended; free with mem_free. */
int os_read_file(void **out, size_t *n, const char *path);

/* Truncates a file that is open for writing; fails where it is shorter. */
int os_cut(int fd, const char *path, int64_t bytes);

int os_make_folders(const char *path);
bool os_exists(const char *path);

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
