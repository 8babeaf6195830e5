/* config.c - collects INI entries (parsed by libinih) and hands them out by section. */
#include "base/config.h"

#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/os.h"

/* A file, a text or a setting. */
typedef struct layer {
    char *name;  /* what messages call it */
    bool of_run; /* a run's config.ini, which may come from elsewhere */
} layer;

typedef struct entry {
    char *section, *key, *value;
    int layer, line;
    bool taken;
} entry;

struct config {
    entry *entries;
    size_t count, capacity;
    layer *layers;
    size_t layer_count, layer_capacity;
    char **known; /* sections that were taken, for hints */
    size_t known_count, known_capacity;
};

int config_new(config **out)
{
    config *c = mem_alloc(sizeof *c);
    if (!c) return FANS_ENOMEM;
    *out = c;
    return 0;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++) mem_free(texts[i]);
    mem_free(texts);
}

static void free_entry(entry *e)
{
    mem_free(e->section);
    mem_free(e->key);
    mem_free(e->value);
}

void config_free(config *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->count; i++) free_entry(&c->entries[i]);
    mem_free(c->entries);
    for (size_t i = 0; i < c->layer_count; i++) mem_free(c->layers[i].name);
    mem_free(c->layers);
    free_texts(c->known, c->known_count);
    mem_free(c);
}

static int push_text(char ***list, size_t *count, size_t *capacity, const char *s)
{
    if (mem_grow(list, capacity, *count + 1, sizeof **list) < 0) return FANS_ENOMEM;
    if (!((*list)[*count] = mem_text(s))) return FANS_ENOMEM;
    (*count)++;
    return 0;
}

/* "file.ini, line 3", or the setting itself for the command line. */
static const char *place(const config *c, int which, int line, char *out, size_t size)
{
    if (line > 0)
        snprintf(out, size, "%s, line %d", c->layers[which].name, line);
    else
        snprintf(out, size, "%s", c->layers[which].name);
    return out;
}

/* A layer being read: the position, and the first error. */
typedef struct reading {
    config *c;
    const char *rest; /* of the text */
    int layer, line, rc;
    int pieces;    /* that libinih was handed: lines, or parts of long ones */
    size_t most;   /* characters of a piece */
    bool open;     /* the last value ended in a comma: it may go on */
    bool goes_on;  /* this piece is part of the value before it */
    bool unbroken; /* the rest of this line is to come */
    int gap;       /* blanks before this piece, where it is such a rest */
} reading;

static int add_entry(reading *r, const char *section, const char *key, const char *value)
{
    config *c = r->c;
    char at[512];
    place(c, r->layer, r->line, at, sizeof at);
    if (!*section)
        return fans_fail(FANS_EINVAL, "%s: '%s' comes before the first [section]", at, key);
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->entries[i];
        if (e->layer == r->layer && !strcmp(e->section, section) && !strcmp(e->key, key))
            return fans_fail(FANS_EINVAL, "%s: '%s' was already set in [%s] at line %d", at, key,
                             section, e->line);
    }
    if (c->count == CONFIG_MOST)
        return fans_fail(FANS_EFORMAT, "%s: more than %d settings", at, CONFIG_MOST);
    if (mem_grow(&c->entries, &c->capacity, c->count + 1, sizeof *c->entries) < 0)
        return FANS_ENOMEM;
    entry e = {mem_text(section), mem_text(key), mem_text(value), r->layer, r->line, false};
    if (!e.section || !e.key || !e.value) {
        free_entry(&e);
        return FANS_ENOMEM;
    }
    c->entries[c->count++] = e;
    return 0;
}

/* Appends a piece to the value that ended in a comma. */
static int extend_entry(reading *r, const char *more)
{
    entry *e = &r->c->entries[r->c->count - 1];
    size_t size = strlen(e->value) + (size_t)r->gap + strlen(more) + 1;
    char at[512], *both;
    if (size > OPTION_LIST)
        return fans_fail(FANS_EFORMAT, "%s: '%s' is longer than %d characters",
                         place(r->c, r->layer, r->line, at, sizeof at), e->key, OPTION_LIST - 1);
    if (!(both = mem_alloc(size))) return FANS_ENOMEM;
    snprintf(both, size, "%s%*s%s", e->value, r->gap, "", more);
    mem_free(e->value);
    e->value = both;
    return 0;
}

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
    reading *r = user;
    size_t n = strlen(value);
    if (r->rc == 0) r->rc = r->goes_on ? extend_entry(r, value) : add_entry(r, section, key, value);
    r->open = n > 0 && value[n - 1] == ',';
    return r->rc == 0;
}

enum { LINE_MOST = 1024 };

/* How much of a line of n characters libinih can take: all of it, or a list up to a comma. */
static size_t piece(const char *line, size_t n, size_t most)
{
    if (n <= most) return n;
    while (most > 0 && line[most - 1] != ',') most--;
    return most;
}

static bool is_comment(const char *line)
{
    return *line == '#' || *line == ';';
}

/* How much of a line of n characters is before its comment, which begins with a blank and a ';',
 * and before the blanks at its end. */
static size_t before_comment(const char *line, size_t n)
{
    size_t end = 0;
    while (end < n && !(end > 0 && line[end] == ';' && strchr(" \t", line[end - 1]))) end++;
    while (end > 0 && strchr(" \t\r", line[end - 1])) end--;
    return end;
}

/* Hands libinih one line at a time, which is how we know its number, or a long one in pieces.
 * libinih takes an indented line as part of the value before it. Here indentation means nothing: a
 * list continues where the line before it ends in a comma. */
static char *next_line(char *out, int size, void *stream)
{
    reading *r = stream;
    if (r->rc < 0 || !*r->rest) return NULL;
    size_t blanks = strspn(r->rest, " \t"), whole = strcspn(r->rest += blanks, "\n");
    bool comment = is_comment(r->rest);
    size_t n = comment ? 0 : before_comment(r->rest, whole);
    r->most = (size_t)(size < LINE_MOST ? size : LINE_MOST) - 3; /* an indent, a newline, a zero */
    size_t taken = piece(r->rest, n, r->most);
    r->gap = r->unbroken ? (int)blanks : 1;
    r->pieces++;
    r->line += !r->unbroken;
    r->goes_on = r->open && taken > 0 && *r->rest != '[';
    if ((taken == 0 && n > 0) || (r->unbroken && (comment || !r->open)))
        r->rc = fans_fail(FANS_EFORMAT, "%s, line %d: longer than %zu characters, and no list",
                          r->c->layers[r->layer].name, r->line, r->most);
    else if (r->goes_on && memchr(r->rest, '=', taken))
        r->rc = fans_fail(FANS_EFORMAT,
                          "%s, line %d: the value before ends in a comma, so it "
                          "continues here, but this is another key",
                          r->c->layers[r->layer].name, r->line);
    if (r->rc < 0) return NULL;
    r->open &= comment;
    r->unbroken = taken < n;
    snprintf(out, (size_t)size, "%s%.*s\n", r->goes_on ? " " : "", (int)taken, r->rest);
    r->rest += r->unbroken ? taken : whole + (r->rest[whole] == '\n');
    return out;
}

static int begin_layer(config *c, const char *name, reading *r)
{
    if (mem_grow(&c->layers, &c->layer_capacity, c->layer_count + 1, sizeof *c->layers) < 0)
        return FANS_ENOMEM;
    if (!(c->layers[c->layer_count].name = mem_text(name))) return FANS_ENOMEM;
    c->layers[c->layer_count].of_run = false;
    *r = (reading){.c = c, .layer = (int)c->layer_count++};
    return 0;
}

/* The line of a piece that libinih did not understand. */
static int line_of_piece(config *c, const char *ini, size_t most, int wanted)
{
    char line[LINE_MOST];
    reading r = {.c = c, .rest = ini};
    do {
        r.open = r.unbroken;
    } while (next_line(line, (int)most + 3, &r) && r.pieces < wanted);
    return r.line;
}

int config_add_text(config *c, const char *name, const char *ini)
{
    reading r;
    int rc = begin_layer(c, name, &r);
    if (rc < 0) return rc;
    r.rest = ini;
    int bad = ini_parse_stream(next_line, &r, on_entry, &r);
    bool refused = r.rc < 0 && (bad <= 0 || bad == r.pieces);
    if (refused) return r.rc;
    if (bad > 0)
        return fans_fail(FANS_EFORMAT, "%s, line %d: neither '[section]' nor 'key = value'", name,
                         line_of_piece(c, ini, r.most, bad));
    return bad < 0 ? fans_fail(FANS_ENOMEM, "%s: out of memory", name) : 0;
}

/* Text only, so that messages can quote from it. */
static bool is_text(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)bytes[i] < 32 && !strchr("\t\n\r", bytes[i])) || !bytes[i])
            return false;
    return true;
}

/* A run's config.ini is known by its name, or by its first line. */
static bool has_name_of_run(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, "config.ini");
}

static bool is_of_run(const char *path, const char *ini)
{
    return has_name_of_run(path) || !strncmp(ini, CONFIG_OF_RUN, strlen(CONFIG_OF_RUN));
}

static int check_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    if (!has_name_of_run(path) ||
        snprintf(folder, sizeof folder, "%.*s", n, path) >= (int)sizeof folder)
        return 0;
    if (n > 1) folder[n - 1] = 0;
    return folder_check(n ? folder : ".");
}

int config_add_file(config *c, const char *path)
{
    void *ini;
    size_t n, at = c->layer_count;
    int rc = check_folder_of(path);
    if (rc < 0 || (rc = os_read_file(&ini, &n, path)) < 0) return rc;
    rc = is_text(ini, n) ? config_add_text(c, path, ini)
                         : fans_fail(FANS_EFORMAT, "%s: not a text file", path);
    if (rc == 0) c->layers[at].of_run = is_of_run(path, ini);
    mem_free(ini);
    return rc;
}

int config_add_setting(config *c, const char *setting)
{
    char path[OPTION_TEXT];
    const char *equals = strchr(setting, '=');
    size_t length = equals ? (size_t)(equals - setting) : 0;
    if (length == 0 || length >= sizeof path)
        return fans_fail(FANS_EINVAL, "--set %.200s: a setting is written SECTION.KEY=VALUE",
                         setting);
    snprintf(path, sizeof path, "%.*s", (int)length, setting);
    char *dot = strrchr(path, '.');
    if (!dot || dot == path || !dot[1])
        return fans_fail(FANS_EINVAL, "--set %.200s: a setting is written SECTION.KEY=VALUE",
                         setting);
    *dot = 0;
    reading r;
    char name[OPTION_TEXT + 16];
    snprintf(name, sizeof name, "--set %s.%s", path, dot + 1);
    int rc = begin_layer(c, name, &r);
    return rc < 0 ? rc : add_entry(&r, path, dot + 1, equals + 1);
}

/* The first entry of the highest layer that sets the key, or any key where `key` is NULL. */
static const entry *highest(const config *c, const char *section, const char *key)
{
    const entry *best = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (strcmp(e->section, section) || (key && strcmp(e->key, key))) continue;
        if (!best || e->layer > best->layer) best = e;
    }
    return best;
}

const char *config_get(const config *c, const char *section, const char *key)
{
    const entry *e = highest(c, section, key);
    return e ? e->value : NULL;
}

bool config_is_of_run(const config *c, const char *section, const char *key)
{
    const entry *e = highest(c, section, key);
    return e && c->layers[e->layer].of_run;
}

int config_blame(const config *c, const char *section, const char *key, int code)
{
    char at[512];
    const entry *e = highest(c, section, key);
    if (!e) return code;
    return fans_fail_within(code, "%s", place(c, e->layer, e->line, at, sizeof at));
}

int config_take(config *c, const option_group *g, const char *section, void *options)
{
    char at[512];
    options_default(g, options);
    if (push_text(&c->known, &c->known_count, &c->known_capacity, section) < 0) return FANS_ENOMEM;
    for (size_t i = 0; i < c->count; i++) { /* entries are in order of layers */
        entry *e = &c->entries[i];
        if (strcmp(e->section, section)) continue;
        e->taken = true;
        int rc = options_set(g, options, e->key, e->value);
        if (rc < 0)
            return fans_fail_within(rc, "%s: [%s]", place(c, e->layer, e->line, at, sizeof at),
                                    section);
    }
    return 0;
}

int config_skip(config *c, const char *section)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->entries[i].section, section)) c->entries[i].taken = true;
    return push_text(&c->known, &c->known_count, &c->known_capacity, section);
}

static int by_name(const void *a, const void *b)
{
    const entry *x = *(const entry *const *)a, *y = *(const entry *const *)b;
    int order = strcmp(x->section, y->section);
    return order ? order : strcmp(x->key, y->key);
}

int config_rest(const config *c, text *out)
{
    size_t n = 0;
    const entry **list = mem_alloc((c->count + 1) * sizeof *list);
    if (!list) return FANS_ENOMEM;
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (!e->taken && config_get(c, e->section, e->key) == e->value) list[n++] = e;
    }
    if (n > 0) qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++)
        text_add(out, "%s.%s=%s\n", list[i]->section, list[i]->key, list[i]->value);
    mem_free(list);
    return text_done(out);
}

const char *config_section(const config *c, const char *prefix, int i)
{
    size_t length = strlen(prefix);
    for (size_t k = 0; k < c->count; k++) {
        const char *section = c->entries[k].section;
        if (strncmp(section, prefix, length)) continue;
        bool first = true;
        for (size_t j = 0; j < k && first; j++) first = strcmp(c->entries[j].section, section) != 0;
        if (first && i-- == 0) return section;
    }
    return NULL;
}

int config_check_taken(const config *c)
{
    char at[512];
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (e->taken) continue;
        nearest near = {.word = e->section};
        for (size_t k = 0; k < c->known_count; k++) nearest_offer(&near, c->known[k]);
        return fans_fail(FANS_EINVAL, "%s: unknown section [%s]%s",
                         place(c, e->layer, e->line, at, sizeof at), e->section,
                         nearest_hint(&near));
    }
    return 0;
}
