/* json.c - reading and writing JSON files. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static _Thread_local bool failed; /* an allocation of jansson, since a value was last written */

/* What jansson has taken and given back since it began to parse, so that a failed allocation can
 * end the parser: jansson 2.14 leaves out a character that it has no memory for, and later asserts,
 * or writes past the end of a string. Nothing is freed until it has ended, and then all
 * that it has given back, or all that it has taken. */
typedef struct pile {
    void **of;
    size_t count, capacity;
} pile;

static _Thread_local struct {
    bool begun;
    jmp_buf end;
    pile taken, given;
} parser;

static json_malloc_t theirs_malloc; /* what the program has chosen */
static json_free_t theirs_free;

static bool put(pile *p, void *memory)
{
    if (p->count == p->capacity) {
        size_t more = 2 * p->capacity + 64;
        void **of = realloc(p->of, more * sizeof *of);
        if (!of) return false;
        p->of = of;
        p->capacity = more;
    }
    p->of[p->count++] = memory;
    return true;
}

static void drop(pile *p, bool all)
{
    while (all && p->count > 0) theirs_free(p->of[--p->count]);
    free(p->of);
    *p = (pile){0};
}

static void fail(void)
{
    failed = true;
    if (parser.begun) longjmp(parser.end, 1);
}

static void *take(size_t bytes)
{
    void *memory = theirs_malloc(bytes);
    if (memory && (!parser.begun || put(&parser.taken, memory))) return memory;
    theirs_free(memory);
    fail();
    return NULL;
}

static void give(void *memory)
{
    if (!parser.begun)
        theirs_free(memory);
    else if (memory && !put(&parser.given, memory))
        fail();
}

/* NULL where the text is no JSON, or an allocation failed. */
static json_t *parse(const void *bytes, size_t n, json_error_t *why)
{
    json_t *volatile value = NULL;
    volatile bool ended = false;
    if (!setjmp(parser.end)) {
        parser.begun = true;
        value = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, why);
        ended = true;
    }
    parser.begun = false;
    drop(&parser.given, ended);
    drop(&parser.taken, !ended);
    return value;
}

/* Before main, so that no value is older. */
__attribute__((constructor)) static void watch_memory(void)
{
    json_get_alloc_funcs(&theirs_malloc, &theirs_free);
    json_set_alloc_funcs(take, give);
}

/* The library may be closed, and jansson stay. */
__attribute__((destructor)) static void leave_memory(void)
{
    json_set_alloc_funcs(theirs_malloc, theirs_free);
}

static bool has_failed(void)
{
    bool had = failed;
    failed = false;
    return had;
}

json_t *json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

int json_check(void)
{
    return has_failed() ? fans_fail(FANS_ENOMEM, "out of memory while gathering figures") : 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The text of a value, to be freed with free; NULL if it or a part of it could not be made. */
static char *dump(const json_t *value)
{
    /* 17 digits: doubles read back to the same bits */
    char *s = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    if (!has_failed()) return s;
    free(s);
    return NULL;
}

int json_write_file(const char *path, const json_t *value)
{
    char *s = dump(value);
    if (!s) return fans_fail(FANS_ENOMEM, "%s: out of memory while writing JSON", path);
    text line = {0};
    text_add(&line, "%s\n", s);
    free(s);
    int rc = text_done(&line);
    if (rc == 0) rc = os_write_file(path, line.s, line.length);
    text_free(&line);
    return rc;
}

char *json_text(const json_t *value)
{
    char *s = dump(value), *copy = s ? mem_text(s) : NULL;
    if (!s) fans_fail(FANS_ENOMEM, "out of memory while writing JSON");
    free(s);
    return copy;
}

int json_add_line(text *out, const json_t *value)
{
    char *s = value ? json_dumps(value, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) : NULL;
    if (!s || has_failed()) {
        free(s);
        return fans_fail(FANS_ENOMEM, "out of memory while writing JSON");
    }
    text_add(out, "%s", s);
    free(s);
    return 0;
}

int json_parse(json_t **out, const void *bytes, size_t n, json_error_t *why)
{
    *out = parse(bytes, n, why);
    if (!has_failed()) return *out ? 0 : FANS_EFORMAT;
    json_decref(*out);
    *out = NULL;
    return fans_fail(FANS_ENOMEM, "out of memory while reading JSON");
}

int json_read_file(json_t **out, const char *path)
{
    void *bytes;
    size_t n;
    int rc = os_read_file(&bytes, &n, path);
    if (rc < 0) return rc;
    json_error_t why = {0};
    rc = json_parse(out, bytes, n, &why);
    mem_free(bytes);
    if (rc == FANS_ENOMEM) return fans_fail_within(rc, "%s", path);
    if (rc < 0)
        return fans_fail(FANS_EFORMAT, "%s, line %d: not valid JSON: %s", path, why.line, why.text);
    return 0;
}
