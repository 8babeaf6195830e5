/* json.c - reading and writing JSON files. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"

int json_write_file(const char *path, const json_t *value)
{
    /* 17 digits: doubles read back to the same bits */
    char *s = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
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
    char *s = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    char *copy = s ? mem_text(s) : NULL;
    if (!s) fans_fail(FANS_ENOMEM, "out of memory while writing JSON");
    free(s);
    return copy;
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
    if (!value)
        return fans_fail(FANS_EFORMAT, "%s, line %d: not valid JSON: %s", path, why.line, why.text);
    *out = value;
    return 0;
}
