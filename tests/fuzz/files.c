/* files.c - the files of the fuzz targets, in memory. The linker puts the __wrap_ functions in the
 * place of those that reach the file system (tests/CMakeLists.txt lists them), so an input costs no
 * system call; what real files add is tested by train/test_hostile.sh. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdbool.h>

#include "base/folder.h"
#include "base/os.h"
#include "fuzz.h"
#include "report/folders.h"

enum { MOST_FILES = 32 };

static struct file {
    char name[64];
    const uint8_t *bytes;
    size_t size;
} files[MOST_FILES];
static int file_count;
long fuzz_accepted;

void fuzz_clear(void)
{
    file_count = 0;
}

void fuzz_put(const char *name, const void *bytes, size_t n)
{
    fuzz_demand(file_count < MOST_FILES, "too many files");
    struct file *f = &files[file_count++];
    *f = (struct file){.bytes = bytes, .size = n};
    snprintf(f->name, sizeof f->name, FUZZ_FOLDER "/%s", name);
}

size_t fuzz_put_piece(const char *name, const uint8_t *data, size_t size)
{
    static const char between[] = "=====\n";
    const uint8_t *end = memmem(data, size, between, sizeof between - 1);
    size_t n = end ? (size_t)(end - data) : size;
    if (n) fuzz_put(name, data, n);
    return end ? n + sizeof between - 1 : n;
}

/* No tag that a browser would run, and no address that is a script. */
static bool is_harmless(const char *page)
{
    for (const char *c = page; (c = strpbrk(c, "<=")); c++)
        if (!strncasecmp(c, "<script", 7) || !strncasecmp(c, "<img", 4) ||
            !strncasecmp(c, "=\"javascript:", 13))
            return false;
    return true;
}

void fuzz_check_page(const char *page)
{
    fuzz_demand(is_harmless(page), "markup has survived");
    fuzz_demand(strstr(page, "</html>") != NULL, "the page is not complete");
}

static const struct file *find(const char *path)
{
    for (int i = 0; i < file_count; i++)
        if (!strcmp(files[i].name, path)) return &files[i];
    return NULL;
}

static bool is_ours(const char *path)
{
    return !strncmp(path, FUZZ_FOLDER, strlen(FUZZ_FOLDER));
}

int __real_os_read_file(void **out, size_t *n, const char *path);
int __wrap_os_read_file(void **out, size_t *n, const char *path);
int __wrap_os_write_file(const char *path, const void *bytes, size_t n);
int __wrap_os_exists(const char *path);
int __wrap_os_identify(const char *path, os_identity *out);
int __wrap_folder_check(const char *path);
int __wrap_folders_find(const char *path, folders_fn *fn, void *user);
char *__wrap_realpath(const char *path, char *out);
char *__wrap___realpath_chk(const char *path, char *out,
                            size_t size); /* what FORTIFY makes of it */

/* The corpus is real. */
int __wrap_os_read_file(void **out, size_t *n, const char *path)
{
    const struct file *f = find(path);
    if (!is_ours(path)) return __real_os_read_file(out, n, path);
    if (!f) return fans_fail(FANS_EIO, "%s: cannot read: %s", path, strerror(ENOENT));
    char *bytes = mem_alloc(f->size + 1);
    if (!bytes) return FANS_ENOMEM;
    memcpy(bytes, f->bytes, f->size);
    *out = bytes;
    *n = f->size;
    return 0;
}

/* Into the one file that can be written. */
int __wrap_os_write_file(const char *path, const void *bytes, size_t n)
{
    static char kept[1 << 18];
    fuzz_demand(is_ours(path) && n <= sizeof kept, "a file cannot be kept");
    memcpy(kept, bytes, n);
    fuzz_put(path + strlen(FUZZ_FOLDER "/"), kept, n);
    return 0;
}

int __wrap_os_exists(const char *path)
{
    return find(path) != NULL;
}

int __wrap_os_identify(const char *path, os_identity *out)
{
    *out = (os_identity){0};
    for (; *path; path++) out->inode = out->inode * 31 + (unsigned char)*path;
    return 0;
}

int __wrap_folder_check(const char *path)
{
    (void)path;
    return 0;
}

/* Every folder with a config.ini, in the order in which they were put. */
int __wrap_folders_find(const char *path, folders_fn *fn, void *user)
{
    static const char last[] = "/config.ini";
    int rc = 0;
    for (int i = 0; rc == 0 && i < file_count; i++) {
        char folder[64];
        size_t n = strlen(files[i].name), tail = sizeof last - 1;
        if (n < tail || strcmp(files[i].name + n - tail, last)) continue;
        snprintf(folder, sizeof folder, "%.*s", (int)(n - tail), files[i].name);
        if (!strncmp(folder, path, strlen(path))) rc = fn(user, folder);
    }
    return rc;
}

char *__wrap_realpath(const char *path, char *out)
{
    snprintf(out, PATH_MAX, "%s", path);
    return out;
}

char *__wrap___realpath_chk(const char *path, char *out, size_t size)
{
    (void)size;
    return __wrap_realpath(path, out);
}
