/* run_plan.c - plans as files. */
#include "train/run_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

static const char HEAD[] = "run,config,algo,preset,seed,settings";
enum { CELLS = 6 };

static void free_run(plan_run *r)
{
    mem_free(r->folder);
    mem_free(r->config);
    mem_free(r->algo);
    mem_free(r->preset);
    mem_free(r->settings);
}

/* NULL stays NULL; `bad` notes a failed allocation. */
static char *copy(const char *s, bool *bad)
{
    char *out = s ? mem_text(s) : NULL;
    *bad = *bad || (s && !out);
    return out;
}

int run_plan_add(run_plan *p, const plan_run *r)
{
    bool bad = false;
    if (mem_grow(&p->runs, &p->capacity, (size_t)p->count + 1, sizeof *p->runs) < 0)
        return FANS_ENOMEM;
    plan_run *to = &p->runs[p->count++];
    *to = (plan_run){copy(r->folder, &bad),
                     copy(r->config, &bad),
                     copy(r->algo, &bad),
                     copy(r->preset, &bad),
                     copy(r->settings, &bad),
                     r->seed,
                     r->claimed};
    return bad ? FANS_ENOMEM : 0;
}

void run_plan_free(run_plan *p)
{
    for (int i = 0; i < p->count; i++) free_run(&p->runs[i]);
    mem_free(p->runs);
    *p = (run_plan){0};
}

int run_plan_cut(int count, int k, int n)
{
    return (int)((int64_t)count * k / n);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_cell(text *out, const char *s, char end)
{
    bool quoted = s && strpbrk(s, ",\"");
    if (quoted) text_add(out, "\"");
    for (; s && *s; s++) {
        if (*s == '"') text_add(out, "\"");
        text_add(out, "%c", *s == '\n' ? ';' : *s);
    }
    text_add(out, quoted ? "\"%c" : "%c", end);
}

/* What the file could not give back. */
static int check_texts(const plan_run *r)
{
    const char *all[] = {r->folder, r->config, r->algo, r->preset};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && strpbrk(all[i], "\n\r"))
            return fans_fail(FANS_EINVAL, "%s: a plan cannot hold a line break", all[i]);
    if (r->settings && strchr(r->settings, ';'))
        return fans_fail(FANS_EINVAL, "%s: a plan cannot hold settings with ';'", r->settings);
    return 0;
}

int run_plan_write(const run_plan *p, const char *path)
{
    text out = {0};
    char seed[16];
    int rc = 0;
    text_add(&out, "%s\n", HEAD);
    for (int i = 0; i < p->count; i++) {
        const plan_run *r = &p->runs[i];
        TRY(check_texts(r));
        snprintf(seed, sizeof seed, "%d", r->seed);
        add_cell(&out, r->folder, ',');
        add_cell(&out, r->config, ',');
        add_cell(&out, r->algo, ',');
        add_cell(&out, r->preset, ',');
        add_cell(&out, seed, ',');
        add_cell(&out, r->settings, '\n');
    }
    TRY(text_done(&out));
    TRY(os_write_file(path, out.s, out.length));
out:
    text_free(&out);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Cuts one cell off a line, in place; returns what follows its comma, or NULL after the last. */
static char *next_cell(char *at, char **cell)
{
    char *to = at;
    bool quoted = *at == '"';
    *cell = at;
    if (quoted) at++;
    for (; *at && (quoted || *at != ','); at++) {
        if (quoted && *at == '"' && at[1] != '"') {
            quoted = false;
            continue;
        }
        if (quoted && *at == '"') at++;
        *to++ = *at;
    }
    bool more = *at == ',';
    *to = 0;
    return more ? at + 1 : NULL;
}

static char *or_null(char *s)
{
    return *s ? s : NULL;
}

static int read_seed(const char *s, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(s, &end, 10);
    *out = (int)n;
    return *s && !*end && !errno && n >= 0 && n <= INT_MAX ? 0 : -1;
}

static int read_line(run_plan *p, char *line)
{
    char *cell[CELLS + 1], *at = line;
    int n = 0, seed;
    if (strchr(line, '\r')) return fans_fail(FANS_EFORMAT, "has a carriage return within");
    while (at && n <= CELLS) at = next_cell(at, &cell[n++]);
    if (n != CELLS)
        return fans_fail(FANS_EFORMAT, "has %s than the %d cells %s", n < CELLS ? "fewer" : "more",
                         CELLS, HEAD);
    if (!*cell[0] || !*cell[1] || !*cell[2])
        return fans_fail(FANS_EFORMAT, "run, config and algo must not be empty");
    if (read_seed(cell[4], &seed) < 0)
        return fans_fail(FANS_EFORMAT, "the seed is '%s', not a number from 0 to %d", cell[4],
                         INT_MAX);
    for (char *c = cell[5]; *c; c++)
        if (*c == ';') *c = '\n';
    return run_plan_add(p, &(plan_run){.folder = cell[0],
                                       .config = cell[1],
                                       .algo = cell[2],
                                       .preset = or_null(cell[3]),
                                       .settings = or_null(cell[5]),
                                       .seed = seed});
}

static int by_folder(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_folders(const run_plan *p)
{
    int rc = 0;
    char **all = mem_alloc((size_t)p->count * sizeof *all);
    if (!all) return FANS_ENOMEM;
    for (int i = 0; i < p->count; i++) all[i] = p->runs[i].folder;
    qsort(all, (size_t)p->count, sizeof *all, by_folder);
    for (int i = 1; rc == 0 && i < p->count; i++)
        if (!strcmp(all[i - 1], all[i]))
            rc = fans_fail(FANS_EFORMAT, "%s is in two lines; every run needs its own folder",
                           all[i]);
    mem_free(all);
    return rc;
}

/* Cuts the next line off a text, in place; NULL after the last. */
static char *next_line(char **at)
{
    char *line = *at;
    if (!*line) return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = 0;
    if (n && line[n - 1] == '\r') line[n - 1] = 0;
    return line;
}

int run_plan_read(run_plan *p, const char *path)
{
    void *file = NULL;
    size_t size;
    int rc = 0, number = 1;
    TRY(os_read_file(&file, &size, path));
    if (memchr(file, 0, size)) TRY(fans_fail(FANS_EFORMAT, "%s: is not a text", path));
    char *at = file, *line = next_line(&at);
    if (!line || strcmp(line, HEAD))
        TRY(fans_fail(FANS_EFORMAT, "%s: is not a plan; its first line must be %s", path, HEAD));
    while ((line = next_line(&at))) {
        number++;
        if (*line && (rc = read_line(p, line)) < 0)
            TRY(fans_fail_within(rc, "%s:%d", path, number));
    }
    if (p->count == 0) TRY(fans_fail(FANS_EFORMAT, "%s: has no runs", path));
    if ((rc = check_folders(p)) < 0) TRY(fans_fail_within(rc, "%s", path));
out:
    mem_free(file);
    return rc;
}
