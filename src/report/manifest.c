/* manifest.c - reads tables/NAME.ini. */
#include "report/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

static OPTIONS_GROUP(table_group, manifest_options, "table", "a table", MANIFEST_OPTIONS);
static OPTIONS_GROUP(row_group, manifest_row_options, "row.*", "a row", MANIFEST_ROW_OPTIONS);
static OPTIONS_GROUP(column_group, manifest_column_options, "column.*", "a column",
                     MANIFEST_COLUMN_OPTIONS);

/* ---- words of a line ------------------------------------------------------------------------- */

/* The next part of a list, without the spaces around it; NULL after the last. */
static const char *next_part(const char **at, char separator, int *n)
{
    const char *s = *at + strspn(*at, " ");
    if (!*s) return NULL;
    const char *end = strchr(s, separator);
    size_t length = end ? (size_t)(end - s) : strlen(s);
    *at = s + length + (end != NULL);
    while (length && s[length - 1] == ' ') length--;
    *n = (int)length;
    return s;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int find_column(const manifest *m, const char *name, int n)
{
    for (int i = 0; i < m->column_count; i++)
        if ((int)strlen(m->columns[i].name) == n && !strncmp(m->columns[i].name, name, (size_t)n))
            return i;
    return -1;
}

/* NULL on failure, with the error noted. */
static manifest_column *add_column(manifest *m, const char *name, int n)
{
    if (find_column(m, name, n) >= 0) {
        fans_fail(FANS_EINVAL, "there are two columns %.*s", n, name);
        return NULL;
    }
    if (mem_grow(&m->columns, &m->column_capacity, (size_t)m->column_count + 1,
                 sizeof *m->columns) < 0)
        return NULL;
    manifest_column *new = &m->columns[m->column_count++];
    *new = (manifest_column){0};
    snprintf(new->name, sizeof new->name, "%.*s", n, name);
    return new;
}

/* Names what has no name of its own. */
static void name_column(manifest_column *c)
{
    if (!*c->o.label) snprintf(c->o.label, sizeof c->o.label, "%s", c->name);
    if (!*c->o.algo) snprintf(c->o.algo, sizeof c->o.algo, "%s", c->name);
}

static int read_columns(manifest *m, config *c)
{
    const char *at = m->o.methods, *name, *section;
    int n = 0, rc = 0;
    while ((name = next_part(&at, ',', &n))) {
        manifest_column *new = add_column(m, name, n);
        if (!new) return FANS_EINVAL;
        name_column(new);
    }
    for (int i = 0; (section = config_section(c, "column.", i)); i++) {
        name = strchr(section, '.') + 1;
        manifest_column *new = add_column(m, name, (int)strlen(name));
        if (!new) return FANS_EINVAL;
        TRY(config_take(c, column_group(), section, &new->o));
        name_column(new);
    }
out:
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* "fans -38.7 33.3" */
static int read_figure(const manifest *m, manifest_row *row, const char *s, int n)
{
    char word[OPTION_TEXT], *end, *after;
    snprintf(word, sizeof word, "%.*s", n, s);
    int name = (int)strcspn(word, " "), column = find_column(m, word, name);
    if (column < 0) return fans_fail(FANS_EINVAL, "paper: there is no column '%.*s'", name, word);
    double mean = text_number(word + name, &end), sd = text_number(end, &after);
    if (end == word + name || *after)
        return fans_fail(FANS_EINVAL, "paper: '%s' is not COLUMN MEAN [SD]", word);
    row->paper[column] = (manifest_figure){mean, after == end ? NAN : sd};
    return 0;
}

static int read_row(manifest *m, config *c, const char *section, manifest_row *row)
{
    const char *at, *part;
    int n = 0, rc = 0;
    snprintf(row->name, sizeof row->name, "%s", strchr(section, '.') + 1);
    TRY(config_take(c, row_group(), section, &row->o));
    if (!*row->o.config) TRY(fans_fail(FANS_EINVAL, "[%s]: has no config", section));
    if (!*row->o.label) snprintf(row->o.label, sizeof row->o.label, "%s", row->o.config);
    row->paper = mem_alloc((size_t)m->column_count * sizeof *row->paper);
    if (!row->paper) TRY(FANS_ENOMEM);
    for (int i = 0; i < m->column_count; i++) row->paper[i] = (manifest_figure){NAN, NAN};
    for (at = row->o.paper; (part = next_part(&at, ',', &n));)
        if ((rc = read_figure(m, row, part, n)) < 0) TRY(fans_fail_within(rc, "[%s]", section));
out:
    return rc;
}

static int read_rows(manifest *m, config *c)
{
    const char *section;
    int rc = 0, count = 0;
    while (config_section(c, "row.", count)) count++;
    if (!(m->rows = mem_alloc((size_t)count * sizeof *m->rows))) return FANS_ENOMEM;
    while ((section = config_section(c, "row.", m->row_count)))
        TRY(read_row(m, c, section, &m->rows[m->row_count++]));
out:
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum { MOST_CELLS = 4096 };

bool manifest_has_runs(const manifest *m)
{
    return !*m->o.missing && !*m->o.data;
}

static int check_whole(const manifest *m)
{
    if (m->row_count > MOST_CELLS / (m->column_count ? m->column_count : 1))
        return fans_fail(FANS_EINVAL,
                         "has %d rows and %d columns; more than %d cells cannot be right",
                         m->row_count, m->column_count, MOST_CELLS);
    if (!*m->o.title) return fans_fail(FANS_EINVAL, "[table]: has no title");
    if (!manifest_has_runs(m)) return 0;
    if (!m->row_count) return fans_fail(FANS_EINVAL, "has no [row.NAME]");
    if (!m->column_count) return fans_fail(FANS_EINVAL, "has neither methods nor [column.NAME]");
    return 0;
}

static void name_manifest(manifest *m, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(m->name, sizeof m->name, "%.*s", (int)strcspn(name, "."), name);
}

int manifest_read(manifest **out, const char *path)
{
    manifest *m = *out = mem_alloc(sizeof *m);
    config *c = NULL;
    int rc = 0;
    if (!m) return FANS_ENOMEM;
    name_manifest(m, path);
    TRY(config_new(&c));
    TRY(config_add_file(c, path));
    TRY(config_take(c, table_group(), "table", &m->o));
    TRY(read_columns(m, c));
    TRY(read_rows(m, c));
    TRY(config_check_taken(c));
    TRY(check_whole(m));
out:
    config_free(c);
    if (rc < 0) {
        manifest_free(m);
        *out = NULL;
    }
    return rc < 0 && !strstr(fans_error(), path) ? fans_fail_within(rc, "%s", path) : rc;
}

void manifest_free(manifest *m)
{
    if (!m) return;
    for (int i = 0; i < m->row_count; i++) mem_free(m->rows[i].paper);
    mem_free(m->rows);
    mem_free(m->columns);
    mem_free(m);
}

int manifest_settings(const manifest *m, int row, int column, text *memory, text_list *out)
{
    const char *both[] = {m->rows[row].o.set, m->columns[column].o.set}, *part;
    size_t starts[TEXT_LIST_MOST];
    int n, count = 0;
    memory->length = 0;
    for (int i = 0; i < 2; i++)
        for (const char *at = both[i]; (part = next_part(&at, ';', &n));) {
            if (count == TEXT_LIST_MOST) return fans_fail(FANS_EINVAL, "too many settings");
            if (memchr(part, ',', (size_t)n) || memchr(part, '/', (size_t)n))
                return fans_fail(FANS_EINVAL, "%s: set %.*s: ',' and '/' cannot be in a setting",
                                 m->name, n, part);
            starts[count++] = memory->length;
            text_add_n(memory, part, (size_t)n);
            text_add_n(memory, "", 1);
        }
    if (text_done(memory) < 0) return FANS_ENOMEM;
    *out = (text_list){.count = count};
    for (int i = 0; i < count; i++) out->items[i] = memory->s + starts[i];
    return 0;
}

/* ---- a part of it ---------------------------------------------------------------------------- */

/* The names of rows or columns, as of the first one, at equal distances. */
typedef struct names {
    const char *what, *first;
    size_t step;
    int count;
} names;

static int choose(const manifest *m, names x, const char *list, bool *chosen)
{
    const char *part;
    char word[OPTION_TEXT];
    int n = 0, found;
    for (int i = 0; i < x.count; i++) chosen[i] = !list;
    for (const char *at = list; list && (part = next_part(&at, ',', &n));) {
        snprintf(word, sizeof word, "%.*s", n, part);
        nearest near = {.word = word};
        for (found = 0; found < x.count; found++) {
            const char *name = x.first + (size_t)found * x.step;
            if (!strcmp(name, word)) break;
            nearest_offer(&near, name);
        }
        if (found == x.count)
            return fans_fail(FANS_EINVAL, "%s has no %s '%s'%s", m->name, x.what, word,
                             nearest_hint(&near));
        chosen[found] = true;
    }
    if (list && !memchr(chosen, true, (size_t)x.count))
        return fans_fail(FANS_EINVAL, "%s: name the %ss to train", m->name, x.what);
    return 0;
}

int manifest_choose_rows(const manifest *m, const char *list, bool *chosen)
{
    return choose(m, (names){"row", m->rows->name, sizeof *m->rows, m->row_count}, list, chosen);
}

int manifest_choose_columns(const manifest *m, const char *list, bool *chosen)
{
    return choose(m, (names){"column", m->columns->name, sizeof *m->columns, m->column_count}, list,
                  chosen);
}

/* ---- where they are -------------------------------------------------------------------------- */

int manifest_root(char *out, size_t size)
{
    static const char *const below[] = {"", "/..", "/../share/fans"};
    char program[PATH_MAX], tables[PATH_MAX + 32];
    *out = 0;
    if (os_exists("tables") > 0) return 0;
    int rc = os_program_folder(program, sizeof program);
    for (int i = 0; rc == 0 && i < 3; i++) {
        snprintf(tables, sizeof tables, "%s%s/tables", program, below[i]);
        int n = snprintf(out, size, "%s%s/", program, below[i]);
        if (n < (int)size && os_exists(tables) > 0) return 0;
    }
    return fans_fail(FANS_EIO, "there is no folder tables/ here or with the program");
}

static int by_place(const void *a, const void *b)
{
    const manifest *x = *(manifest *const *)a, *y = *(manifest *const *)b;
    int ours = !*x->o.where - !*y->o.where; /* the paper's first */
    return ours ? ours : strcmp(x->name, y->name);
}

static int add_manifest(manifest_list *l, const char *folder, const char *name)
{
    char path[PATH_MAX];
    size_t n = strlen(name);
    if (n <= 4 || strcmp(name + n - 4, ".ini")) return 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int rc = mem_grow(&l->items, &l->capacity, (size_t)l->count + 1, sizeof *l->items);
    if (rc == 0) rc = manifest_read(&l->items[l->count], path);
    if (rc == 0) l->count++;
    return rc;
}

int manifest_list_read(manifest_list *l, const char *folder)
{
    int rc = 0;
    DIR *d = opendir(folder);
    if (!d) return fans_fail(FANS_EIO, "%s: cannot read: %s", folder, strerror(errno));
    for (struct dirent *e; rc == 0 && (e = readdir(d));) rc = add_manifest(l, folder, e->d_name);
    closedir(d);
    if (rc == 0 && l->count) qsort(l->items, (size_t)l->count, sizeof *l->items, by_place);
    return rc;
}

void manifest_list_free(manifest_list *l)
{
    for (int i = 0; i < l->count; i++) manifest_free(l->items[i]);
    mem_free(l->items);
    *l = (manifest_list){0};
}
