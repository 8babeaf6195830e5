/* table.c - collects cells, then prints each column as wide as its widest cell; JSON output. */
#include "cli/table.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { MOST_COLUMNS = 16 };

/* How many columns a text takes: bytes that do not continue a UTF-8 character. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static int put_cell(table *t, const char *s)
{
    if (mem_grow(&t->cells, &t->capacity, t->count + 1, sizeof *t->cells) < 0) return FANS_ENOMEM;
    char *copy = NULL;
    if (s && !(copy = mem_text(s))) return FANS_ENOMEM;
    if (copy) text_plain(copy); /* names of folders, and what configs hold */
    t->cells[t->count++] = copy;
    return 0;
}

void table_row_of(table *t, ...)
{
    va_list args;
    va_start(args, t);
    const char *s;
    do {
        s = va_arg(args, const char *);
        if (!t->failed && put_cell(t, s) < 0) t->failed = true;
    } while (s);
    va_end(args);
}

int table_print(const table *t)
{
    if (t->failed) return FANS_ENOMEM;

    /* every column as wide as its widest cell */
    int widths[MOST_COLUMNS] = {0};
    for (size_t i = 0, column = 0; i < t->count; i++) {
        if (t->cells[i] && column < MOST_COLUMNS) {
            int width = width_of(t->cells[i]);
            if (width > widths[column]) widths[column] = width;
        }
        column = t->cells[i] ? column + 1 : 0;
    }
    for (size_t i = 0, column = 0; i < t->count; i++) {
        const char *cell = t->cells[i];
        if (!cell) {
            printf("\n");
            column = 0;
            continue;
        }
        bool last = !t->cells[i + 1];
        int padding = last || column >= MOST_COLUMNS ? 0 : widths[column] - width_of(cell) + 2;
        printf("%*s%s%*s", column == 0 ? t->indent : 0, "", cell, padding, "");
        column++;
    }
    return 0;
}

void table_free(table *t)
{
    for (size_t i = 0; i < t->count; i++) mem_free(t->cells[i]);
    mem_free(t->cells);
    *t = (table){0};
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int json_fd = -1; /* the standard output, once it is kept for JSON */

/* From here on, what commands print for people is dropped. */
int cli_json_to_stdout(void)
{
    if (json_fd >= 0) return 0;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    json_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    bool bad = nowhere < 0 || json_fd < 0 || dup2(nowhere, STDOUT_FILENO) < 0;
    if (nowhere >= 0) close(nowhere);
    return bad ? fans_fail(FANS_EIO, "cannot write to the standard output") : 0;
}

static int write_to_stdout(const json_t *figures)
{
    char *s = json_text(figures);
    if (!s) return FANS_ENOMEM;
    int bad = dprintf(json_fd, "%s\n", s) < 0;
    mem_free(s);
    return bad ? fans_fail(FANS_EIO, "cannot write to the standard output") : 0;
}

int cli_write_json(const char *path, json_t *figures)
{
    int rc = !path                ? json_check()
             : !strcmp(path, "-") ? write_to_stdout(figures)
                                  : json_write_file(path, figures);
    json_decref(figures);
    return rc;
}
