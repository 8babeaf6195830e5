/* table.h - text in aligned columns, and the same figures as JSON. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* Start from {0}. Cells are copied. Rows may differ in length; the last cell of a row is never
 * padded. A failed allocation is reported by table_print. */
typedef struct table {
    int indent;   /* spaces in front of every row */
    char **cells; /* NULL ends a row */
    size_t count, capacity;
    bool failed;
} table;

/* table_row(&t, "a", "b"): one row. */
#define table_row(t, ...) table_row_of(t, __VA_ARGS__, (const char *)NULL)
void table_row_of(table *t, ...) __attribute__((sentinel));

int table_print(const table *t);
void table_free(table *t);

/* What --json asks for: writes `figures` to `path` and releases it. Nothing to do where path is
 * NULL. Call it before printing, so that a failure leaves no partial output. */
int cli_write_json(const char *path, json_t *figures);

/* Keeps the standard output for JSON (`--json -`): nothing else that is printed reaches it. */
int cli_json_to_stdout(void);

#endif
