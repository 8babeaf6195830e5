/* fuzz.h - what the fuzz targets share.
 *
 * A target reads one input, whatever it is: it may refuse it, by one line, but it must not crash,
 * hang or keep memory. With clang, libFuzzer finds the inputs (./dev fuzz NAME); in the quick tests
 * standalone.c changes those of tests/fuzz/corpus/NAME at random for a few seconds. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_demand(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "FUZZ: %s; the last message is '%s'\n", what, fans_error());
    abort();
}

/* The files of an input, in memory: files.c. Bytes are not copied. */
#define FUZZ_FOLDER "/fuzz"
void fuzz_put(const char *name, const void *bytes, size_t n);
void fuzz_clear(void);

/* Puts what comes before the first line of five equals signs, if it is not empty; returns how many
 * bytes that takes. */
size_t fuzz_put_piece(const char *name, const uint8_t *data, size_t size);

/* The page is complete, and nothing in it would run. */
void fuzz_check_page(const char *page);

extern long fuzz_accepted; /* inputs: a target that refuses them all tests nothing */

/* An input that begins with FF and a number n of two bytes, little end first, is the rest of it,
 * where an allocation fails between fuzz_begin and fuzz_result: if n is even, FANS's n/2-th, else a
 * library's, counted from 0. fuzz_begin returns the number of errors so far. */
void fuzz_starve(const uint8_t **data, size_t *size);
unsigned fuzz_begin(void);
void fuzz_feed(void);

/* A result is 0, or an error with one line. */
static inline int fuzz_result(int rc, unsigned before)
{
    fuzz_feed();
    if (rc == 0) return ++fuzz_accepted > 0;
    fuzz_demand(rc < 0 && fans_error_count() != before, "fails without a message");
    fuzz_demand(*fans_error() && !strchr(fans_error(), '\n'), "the message is not one line");
    return 0;
}

/* Calls BODY and demands that nothing is held afterwards. */
#define FUZZ_TARGET(body)                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
    {                                                            \
        uint64_t held = mem_held();                              \
        fuzz_clear();                                            \
        fuzz_starve(&data, &size);                               \
        body(data, size);                                        \
        fuzz_feed();                                             \
        fuzz_demand(mem_held() == held, "memory is held");       \
        return 0;                                                \
    }                                                            \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)

#endif
