/* contest.c - sorts runs into tasks and methods, with labels and colours. */
#include "report/contest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "report/beliefs.h"
#include "report/figures.h"
#include "report/folders.h"

/* ---- collecting ------------------------------------------------------------------------------ */

static int note_damage(contests *c, int rc)
{
    if (c->skip) {
        log_warning("left out: %s", fans_error());
        return 0;
    }
    if (c->damage) log_warning("%s", c->why);
    c->damage = rc;
    snprintf(c->why, sizeof c->why, "%s", fans_error());
    return 0;
}

/* A finished run has all of its beliefs; while it is trained, some may still be on their way. */
static int check_beliefs(const record *r)
{
    char file[FOLDERS_PATH];
    int rc = record_file(r, "beliefs.csv", file);
    if (rc < 0 || !r->done || (rc = os_exists(file)) <= 0) return rc;
    return beliefs_check(file, r->first_episodes, r->first_length);
}

static int read_record(record *r, const char *path)
{
    int rc = record_read(r, path);
    if (rc < 0 || (rc = check_beliefs(r)) == 0) return rc;
    record_free(r);
    return rc;
}

static int add_record(void *user, const char *path)
{
    contests *c = user;
    os_identity id;
    c->found++;
    int rc = os_identify(path, &id);
    if (rc < 0) return rc;
    for (size_t i = 0; i < c->record_count; i++)
        if (c->records[i]->id.inode == id.inode && c->records[i]->id.device == id.device)
            return 0; /* named twice */
    rc = mem_grow(&c->records, &c->record_capacity, c->record_count + 1, sizeof *c->records);
    if (rc < 0) return rc;
    record *r = mem_alloc(sizeof *r);
    if (!r) return FANS_ENOMEM;
    if ((rc = read_record(r, path)) == 0) {
        r->id = id;
        if (c->smooth) record_smooth(r, c->smooth);
        c->records[c->record_count++] = r;
        return 0;
    }
    mem_free(r);
    return rc == FANS_ENOMEM ? rc : note_damage(c, rc);
}

int contests_add(contests *c, const char *folder)
{
    c->found = 0;
    int rc = folders_find(folder, add_record, c);
    if (rc == 0 && c->found == 0)
        rc = fans_fail(FANS_EINVAL,
                       "%s: no run here or below: a run is a folder with config.ini and "
                       "metrics.csv, as `fans train --out` leaves it",
                       folder);
    if (rc == 0 && c->damage)
        rc = fans_fail(c->damage, "%s (--skip leaves damaged runs out)", c->why);
    return rc;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Copies the next word of a command line, as a shell reads it; returns what follows it. */
static const char *next_word(const char *at, char *out, size_t size)
{
    bool quoted = false;
    size_t n = 0;
    for (at += strspn(at, " "); *at && *at != '\n' && (quoted || *at != ' '); at++) {
        if (*at == '\'') {
            quoted = !quoted;
            continue;
        }
        if (*at == '\\' && !quoted && at[1]) at++;
        if (n + 1 < size) out[n++] = *at;
    }
    out[n] = 0;
    return at;
}

/* "name" of ".../name.ini" in the last line of the command, if it was trained from one file with a
 * name of its own. */
static bool name_from_command(const char *command, char *out, size_t size)
{
    int files = 0;
    char word[PATH_MAX];
    const char *at = command;
    for (const char *c = command; c && *c; c++)
        if (*c == '\n' && c[1]) at = c + 1;
    *out = 0;
    while (at && *at && *at != '\n') {
        at = next_word(at, word, sizeof word);
        size_t n = strlen(word);
        if (n <= 4 || strcmp(word + n - 4, ".ini")) continue;
        word[n - 4] = 0;
        const char *slash = strrchr(word, '/');
        snprintf(out, size, "%s", slash ? slash + 1 : word);
        files++;
    }
    return files == 1 && *out && strcmp(out, "config");
}

/* The folder's name without seed-N and -ALGO. */
static void name_from_folder(const record *r, char *out, size_t size)
{
    const char *end = r->path + strlen(r->path), *name;
    for (;;) {
        for (name = end; name > r->path && name[-1] != '/';) name--;
        if (strncmp(name, "seed-", 5) || name == r->path) break;
        end = name - 1;
    }
    size_t n = (size_t)(end - name), tail = strlen(r->algo);
    if (n > tail + 1 && name[n - tail - 1] == '-' && !strncmp(name + n - tail, r->algo, tail))
        n -= tail + 1;
    snprintf(out, size, "%.*s", (int)n, name);
    if (n == 0 || !strcmp(out, ".")) snprintf(out, size, "%s", record_get(r, "env", "name"));
}

/* Adds up to three settings of `r` that not all of the others share. */
static void add_difference(text *t, const record *r, const record *const *others, size_t count,
                           setting_fn *by)
{
    int shown = 0;
    for (size_t i = 0; i < r->setting_count; i++) {
        const setting *s = &r->settings[i];
        bool shared = true;
        for (size_t k = 0; k < count; k++) shared = shared && record_has(others[k], s);
        if (shared || !by(s)) continue;
        if (shown == 3) {
            text_add(t, ", …");
            return;
        }
        text_add(t, "%s%s=%s", shown++ ? ", " : " · ", s->key, *s->value ? s->value : "none");
    }
}

/* Adds to each of `count` labels that occurs more than once what makes it different. */
static int tell_apart(char **labels, const record *const *first, size_t count, setting_fn *by)
{
    const record **others = mem_alloc(count * sizeof *others);
    char **given = mem_alloc(count * sizeof *given);
    int rc = others && given ? 0 : FANS_ENOMEM;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        size_t same = 0, before = 0;
        for (size_t k = 0; k < count; k++)
            if (k != i && !strcmp(labels[i], labels[k])) others[same++] = first[k], before += k < i;
        if (same == 0) continue;
        text t = {0};
        text_add(&t, "%s", labels[i]);
        size_t plain = t.length;
        add_difference(&t, first[i], others, same, by);
        if (t.length == plain && before) text_add(&t, " (%zu)", before + 1);
        rc = text_done(&t);
        given[i] = t.s;
    }
    for (size_t i = 0; given && i < count; i++) {
        if (!given[i]) continue;
        mem_free(labels[i]);
        labels[i] = given[i];
    }
    mem_free(others);
    mem_free(given);
    return rc;
}

static setting_fn *method_by(const contests *c)
{
    return c->by_commit ? setting_of_commit : setting_of_method;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static contest *find_contest(contests *c, const record *r)
{
    for (size_t i = 0; i < c->count; i++)
        if (records_agree(c->list[i].methods[0].runs[0], r, setting_of_task)) return &c->list[i];
    if (mem_grow(&c->list, &c->capacity, c->count + 1, sizeof *c->list) < 0) return NULL;
    contest *new = &c->list[c->count];
    char name[256];
    if (!name_from_command(r->command, name, sizeof name)) name_from_folder(r, name, sizeof name);
    *new = (contest){.label = mem_text(name), .sac = -1, .oracle = -1};
    if (!new->label) return NULL;
    c->count++;
    return new;
}

/* Whoever learned before anything was counted is no rival. */
static bool is_uncounted(const record *r)
{
    const char *prelude = record_get(r, "train", "prelude"),
               *free = record_get(r, "train", "prelude_free");
    return prelude && strcmp(prelude, "0") && free && !strcmp(free, "true");
}

/* Older runs were told the boundaries. */
static const char *told_in(const record *r)
{
    const char *tells = record_get(r, "train", "told");
    return algo_told_in(algo_told_of(r->algo), tells ? tells : "boundaries");
}

static method *find_method(contest *c, const record *r, setting_fn *by)
{
    for (size_t i = 0; i < c->count; i++)
        if (records_agree(c->methods[i].runs[0], r, by)) return &c->methods[i];
    if (mem_grow(&c->methods, &c->capacity, c->count + 1, sizeof *c->methods) < 0) return NULL;
    method *new = &c->methods[c->count];
    char label[256];
    bool uncounted = is_uncounted(r);
    snprintf(label, sizeof label, "%s%s", r->algo, uncounted ? " (not comparable)" : "");
    *new = (method){.label = mem_text(label), .told = told_in(r), .uncounted = uncounted};
    if (!new->label) return NULL;
    c->count++;
    return new;
}

static int place(contests *c, record *r)
{
    contest *t = find_contest(c, r);
    if (!t) return FANS_ENOMEM;
    method *m = find_method(t, r, method_by(c));
    if (!m || mem_grow(&m->runs, &m->capacity, m->count + 1, sizeof *m->runs) < 0)
        return FANS_ENOMEM;
    for (size_t i = 0; i < m->count; i++)
        if (m->runs[i]->seed == r->seed)
            return fans_fail(FANS_EINVAL,
                             "%s and %s: the same task, algorithm, settings and seed %ld: give "
                             "only one of them%s",
                             m->runs[i]->path, r->path, r->seed,
                             records_agree(m->runs[i], r, setting_of_commit)
                                 ? ""
                                 : ", or compare commits with --commits");
    m->runs[m->count++] = r;
    m->unfinished += !r->done;
    return 0;
}

static int by_seed(const void *a, const void *b)
{
    long x = (*(record *const *)a)->seed, y = (*(record *const *)b)->seed;
    return (x > y) - (x < y);
}

/* What does nothing first, the baseline next, the oracle last. */
static int rank_of(const char *algo)
{
    static const char *const order[] = {"null", "random", "sac", "", "oracle"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(algo, order[i])) return i;
    return 3;
}

static int by_rank(const void *a, const void *b)
{
    const method *x = a, *y = b;
    int rank = rank_of(x->runs[0]->algo) - rank_of(y->runs[0]->algo);
    return rank ? rank : strcmp(x->label, y->label);
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const contest *)a)->label, ((const contest *)b)->label);
}

static int label_methods(contest *t, setting_fn *by)
{
    char **labels = mem_alloc(t->count * sizeof *labels);
    const record **first = mem_alloc(t->count * sizeof *first);
    int rc = labels && first ? 0 : FANS_ENOMEM;
    for (size_t i = 0; rc == 0 && i < t->count; i++)
        labels[i] = t->methods[i].label, first[i] = t->methods[i].runs[0];
    if (rc == 0) {
        rc = tell_apart(labels, first, t->count, by);
        for (size_t i = 0; i < t->count; i++) t->methods[i].label = labels[i];
    }
    mem_free(labels);
    mem_free(first);
    return rc;
}

static int label_tasks(contests *c)
{
    char **labels = mem_alloc(c->count * sizeof *labels);
    const record **first = mem_alloc(c->count * sizeof *first);
    int rc = labels && first ? 0 : FANS_ENOMEM;
    for (size_t i = 0; rc == 0 && i < c->count; i++)
        labels[i] = c->list[i].label, first[i] = c->list[i].methods[0].runs[0];
    if (rc == 0) {
        rc = tell_apart(labels, first, c->count, setting_of_task);
        for (size_t i = 0; i < c->count; i++) c->list[i].label = labels[i];
    }
    mem_free(labels);
    mem_free(first);
    return rc;
}

/* ---- colours --------------------------------------------------------------------------------- */

static int colour_of(const contests *c, const char *label, size_t tasks)
{
    for (size_t i = 0; i < tasks; i++)
        for (size_t k = 0; k < c->list[i].count; k++)
            if (!strcmp(c->list[i].methods[k].label, label)) return c->list[i].methods[k].colour;
    return -1;
}

static void paint(contests *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->list[i].count; k++) {
            method *m = &c->list[i].methods[k];
            m->colour = colour_of(c, m->label, i);
            if (m->colour < 0) m->colour = c->colours++;
        }
}

int contests_settle(contests *c)
{
    int rc = 0;
    if (c->record_count == 0) TRY(fans_fail(FANS_EINVAL, "every run is damaged: none is left"));
    for (size_t i = 0; i < c->record_count; i++) TRY(place(c, c->records[i]));
    TRY(label_tasks(c));
    qsort(c->list, c->count, sizeof *c->list, by_label);
    for (size_t i = 0; i < c->count; i++) {
        contest *t = &c->list[i];
        TRY(label_methods(t, method_by(c)));
        qsort(t->methods, t->count, sizeof *t->methods, by_rank);
        for (size_t k = 0; k < t->count; k++)
            qsort(t->methods[k].runs, t->methods[k].count, sizeof(record *), by_seed);
        TRY(figures_of(t));
    }
    paint(c);
    TRY(figures_standings(c));
out:
    return rc;
}

static void free_method(method *m)
{
    mem_free(m->label);
    mem_free(m->runs);
    mem_free(m->final);
}

void contests_free(contests *c)
{
    for (size_t i = 0; i < c->count; i++) {
        contest *t = &c->list[i];
        for (size_t k = 0; k < t->count; k++) free_method(&t->methods[k]);
        mem_free(t->methods);
        mem_free(t->label);
        mem_free(t->p);
    }
    for (size_t i = 0; i < c->record_count; i++) {
        record_free(c->records[i]);
        mem_free(c->records[i]);
    }
    mem_free(c->records);
    mem_free(c->list);
    for (int k = 0; c->standings && k < c->standing_count; k++) mem_free(c->standings[k].scores);
    mem_free(c->standings);
    *c = (contests){0};
}
