/* files.c - the files of the fuzz targets, in memory, and allocations that fail. The linker puts
 * the __wrap_ functions in the place of those that reach the file system (tests/CMakeLists.txt
 * lists them), so an input costs no system call; what real files add is tested by
 * train/test_hostile.sh. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdbool.h>

#include "base/folder.h"
#include "base/json.h"
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

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t fails_at;     /* which allocation of the next reading: as the input says, plus 1 */
static long library_fails_in; /* allocations; 0: none */

void fuzz_starve(const uint8_t **data, size_t *size)
{
    fails_at = 0;
    if (*size < 3 || (*data)[0] != 0xff) return;
    fails_at = ((*data)[1] | (uint64_t)(*data)[2] << 8) + 1;
    *data += 3;
    *size -= 3;
}

unsigned fuzz_begin(void)
{
    if (fails_at % 2)
        mem_fail_at(fails_at / 2 + 1);
    else
        library_fails_in = (long)fails_at / 2;
    return fans_error_count();
}

void fuzz_feed(void)
{
    mem_fail_at(0);
    library_fails_in = 0;
    json_check(); /* forgets the allocations that failed */
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

/* jansson's; FANS's own are others, see mem.c. */
void *__wrap_malloc(size_t n)
{
    if (library_fails_in > 0 && --library_fails_in == 0) return NULL;
    return __real_malloc(n);
}

/* ---- pages ----------------------------------------------------------------------------------- */

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

/* ---- functions of others --------------------------------------------------------------------- */

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
int __real_os_write_file(const char *path, const void *bytes, size_t n);
int __wrap_os_write_file(const char *path, const void *bytes, size_t n);
int __real_os_exists(const char *path);
int __wrap_os_exists(const char *path);
int __real_os_identify(const char *path, os_identity *out);
int __wrap_os_identify(const char *path, os_identity *out);
int __real_folder_check(const char *path);
int __wrap_folder_check(const char *path);
int __wrap_folders_find(const char *path, folders_fn *fn, void *user);
char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
char *__wrap___realpath_chk(const char *path, char *out,
                            size_t size); /* what FORTIFY makes of it */

/* The corpus is real, and so are the runs of some targets. */
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
    if (!is_ours(path)) return __real_os_write_file(path, bytes, n);
    fuzz_demand(n <= sizeof kept, "a file cannot be kept");
    memcpy(kept, bytes, n);
    fuzz_put(path + strlen(FUZZ_FOLDER "/"), kept, n);
    return 0;
}

int __wrap_os_exists(const char *path)
{
    return is_ours(path) ? find(path) != NULL : __real_os_exists(path);
}

int __wrap_os_identify(const char *path, os_identity *out)
{
    if (!is_ours(path)) return __real_os_identify(path, out);
    *out = (os_identity){0};
    for (; *path; path++) out->inode = out->inode * 31 + (unsigned char)*path;
    return 0;
}

int __wrap_folder_check(const char *path)
{
    return is_ours(path) ? 0 : __real_folder_check(path);
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
    if (!is_ours(path)) return __real_realpath(path, out);
    snprintf(out, PATH_MAX, "%s", path);
    return out;
}

char *__wrap___realpath_chk(const char *path, char *out, size_t size)
{
    (void)size;
    return __wrap_realpath(path, out);
}
