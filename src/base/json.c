/* json.c - reading and writing JSON files. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static _Thread_local bool failed; /* an allocation of jansson, since a value was last written */

static void *take(size_t bytes)
{
    void *memory = malloc(bytes);
    failed = failed || !memory;
    return memory;
}

/* Before main, so that no value is older. */
__attribute__((constructor)) static void watch_memory(void)
{
    json_set_alloc_funcs(take, free);
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

int json_read_file(json_t **out, const char *path)
{
    void *bytes;
    size_t n;
    int rc = os_read_file(&bytes, &n, path);
    if (rc < 0) return rc;
    json_error_t why;
    json_t *value = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &why);
    mem_free(bytes);
    if (has_failed()) {
        json_decref(value);
        return fans_fail(FANS_ENOMEM, "%s: out of memory while reading JSON", path);
    }
    if (!value)
        return fans_fail(FANS_EFORMAT, "%s, line %d: not valid JSON: %s", path, why.line, why.text);
    *out = value;
    return 0;
}
