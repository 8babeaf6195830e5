/* testing.h - cmocka and the few things that several tests need. */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Leaves a test that cannot run here; ./dev counts and shows the reason. */
#define SKIP(reason)                            \
    do {                                        \
        print_message("skipped: %s\n", reason); \
        skip();                                 \
    } while (0)

/* The call failed with `code`, and this thread's message says `part`. */
#define assert_fails(call, code, part)                                                    \
    do {                                                                                  \
        assert_int_equal(call, code);                                                     \
        if (!strstr(fans_error(), part)) fail_msg("'%s' lacks '%s'", fans_error(), part); \
    } while (0)

/* Runs `attempt` with its 1st, 2nd, ... allocation failing, until it gets through. Each failure
 * must be reported as such and leave nothing behind. */
static inline void fail_every_allocation(int (*attempt)(void))
{
    for (uint64_t n = 1;; n++) {
        uint64_t held = mem_held();
        mem_fail_at(n);
        int rc = attempt();
        mem_fail_at(0);
        assert_int_equal(mem_held(), held);
        if (rc == 0) {
            assert_true(n > 1); /* something was allocated at all */
            return;
        }
        assert_int_equal(rc, FANS_ENOMEM);
        assert_non_null(strstr(fans_error(), "out of memory"));
    }
}

/* Appends a line to the table `name` in the folder RESULTS, with `head` on top; nothing without it.
 */
static inline void note_result(const char *name, const char *head, const char *format, ...)
{
    char path[512];
    const char *folder = getenv("RESULTS");
    va_list args;
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fresh = access(path, F_OK);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    if (fresh) fprintf(f, "%s\n", head);
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    assert_int_equal(fclose(f), 0);
}

/* A new folder below TMPDIR. */
static inline const char *temporary_folder(char *out, size_t size)
{
    const char *base = getenv("TMPDIR");
    snprintf(out, size, "%s/fans-test-XXXXXX", base ? base : P_tmpdir);
    return mkdtemp(out);
}

/* A folder of the test's own, as cmocka's group setup and teardown. */
static char test_folder[64];

static inline int make_test_folder(void **state)
{
    (void)state;
    return temporary_folder(test_folder, sizeof test_folder) ? 0 : -1;
}

static inline int remove_test_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    return system(command);
}

/* "folder/name"; the last four results stay valid. */
static inline const char *in_test_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

#endif
