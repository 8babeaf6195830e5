/* csv.c - numbers between commas. What we read is what we wrote, so there are no quotes. */
#include "base/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"

static int read_head(csv *t, const char *line, size_t length)
{
    if (length && line[length - 1] == '\r') length--;
    if (!(t->head = mem_text_n(line, length))) return FANS_ENOMEM;
    int columns = 1;
    for (const char *c = t->head; *c; c++) columns += *c == ',';
    if (!(t->names = mem_alloc((size_t)columns * sizeof *t->names))) return FANS_ENOMEM;
    char *at = t->head;
    for (t->columns = 0; t->columns < columns; t->columns++) {
        t->names[t->columns] = at;
        at += strcspn(at, ",");
        *at++ = 0;
    }
    return 0;
}

/* One cell; returns its end, or NULL where it is not a number. strtod alone would skip an end of
 * line before a number. */
static const char *read_cell(const char *at, double *value)
{
    char *end;
    *value = NAN;
    if (strchr(",\r\n", *at)) return at;
    if (strchr(" \t\v\f", *at)) return NULL;
    *value = text_number(at, &end);
    return end == at ? NULL : end;
}

static int read_row(csv *t, const char *path, size_t line, const char *at)
{
    int rc = mem_grow(&t->cells, &t->capacity, (t->rows + 1) * (size_t)t->columns, sizeof(double));
    if (rc < 0) return rc;
    double *cells = t->cells + t->rows * (size_t)t->columns;
    for (int i = 0; i < t->columns; i++) {
        const char *ends = i + 1 < t->columns ? "," : "\r\n";
        at = read_cell(at, &cells[i]);
        if (!at || !*at || !strchr(ends, *at))
            return fans_fail(FANS_EFORMAT, "%s: line %zu, column %d: not a number", path, line,
                             i + 1);
        at++;
    }
    t->rows++;
    return 0;
}

int csv_read(csv *t, const char *path)
{
    void *bytes = NULL;
    size_t n, line = 1;
    int rc = 0;
    TRY(os_read_file(&bytes, &n, path));
    if (strlen(bytes) < n)
        TRY(fans_fail(FANS_EFORMAT, "%s: is damaged: it holds a zero byte", path));
    const char *at = bytes, *end = strchr(at, '\n');
    if (end)
        TRY(read_head(t, at, (size_t)(end - at)));
    else
        TRY(fans_fail(FANS_EFORMAT, "%s: has no line of names at its top", path));
    for (; end && (at = end + 1, end = strchr(at, '\n'));) TRY(read_row(t, path, ++line, at));
out:
    mem_free(bytes);
    if (rc < 0) csv_free(t);
    return rc;
}

void csv_free(csv *t)
{
    mem_free(t->head);
    mem_free(t->names);
    mem_free(t->cells);
    *t = (csv){0};
}

int csv_column(const csv *t, const char *name)
{
    for (int i = 0; i < t->columns; i++)
        if (!strcmp(t->names[i], name)) return i;
    return -1;
}

double csv_at(const csv *t, size_t row, int column)
{
    return t->cells[row * (size_t)t->columns + (size_t)column];
}
