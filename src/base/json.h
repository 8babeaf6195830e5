/* json.h - jansson, with our errors and atomic writing. Its memory is its own.
 *
 * Building a value takes many calls, each of which may fail. Nobody need look at them one by one:
 * a failed allocation is remembered by its thread, and the next writing of any value reports it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/text.h"

/* A number; null where it is not finite, which JSON cannot say and jansson would leave out. */
json_t *json_number(double x);

/* Fails if a value of this thread was not built completely; for values that are not written. */
int json_check(void);

/* Writes `value` to `path` as indented JSON, atomically. A NULL value (a failed jansson call) is
 * reported as out of memory. */
int json_write_file(const char *path, const json_t *value);

/* The same as text, to be freed with mem_free; NULL on failure, with the error noted. */
char *json_text(const json_t *value);

/* Appends it in one line, keys in the order in which they were set, six digits per number. */
int json_add_line(text *out, const json_t *value);

/* Parses a text; free with json_decref. What is no JSON is FANS_EFORMAT without a message: `why`
 * has the reason. */
int json_parse(json_t **out, const void *bytes, size_t n, json_error_t *why);

/* Reads a JSON file; free with json_decref. Errors name the file, the line and what is wrong. */
int json_read_file(json_t **out, const char *path);

#endif
