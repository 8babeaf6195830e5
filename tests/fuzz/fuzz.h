/* fuzz.h - what the fuzz targets share.
 *
 * A target reads one input, whatever it is: it may refuse it, by one line, but it must not crash,
 * hang or keep memory. With clang, libFuzzer finds the inputs (./dev fuzz NAME); in the quick tests
 * standalone.c changes those of tests/fuzz/corpus/NAME at random for a few seconds. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_demand(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "FUZZ: %s; the last message is '%s'\n", what, fans_error());
    abort();
}

/* A folder of this process, in memory if there is such a place. */
static inline const char *fuzz_folder(void)
{
    static char path[64];
    if (*path) return path;
    snprintf(path, sizeof path, "%s/fans-fuzz-%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
             (long)getpid());
    fuzz_demand(mkdir(path, 0700) == 0 || errno == EEXIST, "cannot make a folder");
    return path;
}

static inline const char *fuzz_file(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

static inline void fuzz_put(const char *name, const void *bytes, size_t n)
{
    int fd = open(fuzz_file(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_demand(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "cannot write a file");
    close(fd);
}

/* A result is 0, or an error with one line. */
static inline int fuzz_result(int rc, unsigned before)
{
    if (rc == 0) return 1;
    fuzz_demand(rc < 0 && fans_error_count() != before, "fails without a message");
    fuzz_demand(*fans_error() && !strchr(fans_error(), '\n'), "the message is not one line");
    return 0;
}

/* Calls BODY and demands that nothing is held afterwards. */
#define FUZZ_TARGET(body)                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
    {                                                            \
        uint64_t held = mem_held();                              \
        body(data, size);                                        \
        fuzz_demand(mem_held() == held, "memory is held");       \
        return 0;                                                \
    }                                                            \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)

#endif
