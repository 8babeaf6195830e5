/* store.c - reads and writes results/NAME.json. */
#include "report/store.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "report/folders.h"
#include "report/page.h"

/* ---- reading --------------------------------------------------------------------------------- */

static const char *word_of(const json_t *run, const char *key)
{
    const char *s = json_string_value(json_object_get(run, key));
    return s ? s : "";
}

static double number_of(const json_t *run, const char *key)
{
    const json_t *x = json_object_get(run, key);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static bool is_run(const json_t *run)
{
    const json_t *curve = json_object_get(run, "curve");
    for (size_t i = 0; i < json_array_size(curve); i++)
        if (!json_is_number(json_array_get(curve, i))) return false;
    return *word_of(run, "id") && *word_of(run, "algo") && json_array_size(curve) &&
           json_is_integer(json_object_get(run, "seed")) && isfinite(number_of(run, "final")) &&
           isfinite(number_of(run, "area")) && number_of(run, "steps") > 0;
}

int store_add(store *s, const char *path)
{
    json_t *file = NULL;
    int rc = json_read_file(&file, path);
    if (rc < 0) return rc;
    const json_t *runs = json_object_get(file, "runs");
    if (!json_is_array(runs)) rc = fans_fail(FANS_EFORMAT, "%s: has no list 'runs'", path);
    for (size_t i = 0; rc == 0 && i < json_array_size(runs); i++) {
        json_t *run = json_array_get(runs, i);
        if (!is_run(run))
            rc = fans_fail(FANS_EFORMAT,
                           "%s: run %zu needs id, algo, seed, steps, final, area and a curve", path,
                           i + 1);
        else
            json_array_append(s->runs, run);
    }
    json_decref(file);
    return rc < 0 ? rc : json_check();
}

int store_read(store *s, const char *folder)
{
    char path[PATH_MAX];
    int rc = 0;
    s->runs = json_array();
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT) return json_check();
    if (!d) return fans_fail(FANS_EIO, "%s: cannot read: %s", folder, strerror(errno));
    for (struct dirent *e; rc == 0 && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n <= 5 || strcmp(e->d_name + n - 5, ".json") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        rc = store_add(s, path);
    }
    closedir(d);
    return rc;
}

void store_free(store *s)
{
    json_decref(s->runs);
    *s = (store){0};
}

const json_t *store_nth(const store *s, const char *id, int i)
{
    for (size_t k = 0; k < json_array_size(s->runs); k++) {
        const json_t *run = json_array_get(s->runs, k);
        if (!strcmp(word_of(run, "id"), id) && i-- == 0) return run;
    }
    return NULL;
}

const json_t *store_find(const store *s, const char *id, long seed)
{
    const json_t *run;
    for (int i = 0; (run = store_nth(s, id, i)); i++)
        if (json_integer_value(json_object_get(run, "seed")) == seed) return run;
    return NULL;
}

int store_record(const json_t *run, record *out)
{
    const json_t *curve = json_object_get(run, "curve");
    size_t n = json_array_size(curve);
    double each = number_of(run, "steps") / (double)n;
    *out = (record){.path = mem_text(word_of(run, "id")),
                    .algo = word_of(run, "algo"),
                    .seed = (long)json_integer_value(json_object_get(run, "seed")),
                    .done = true,
                    .time = number_of(run, "wall_s"),
                    .episodes = (int)n,
                    .final = number_of(run, "final"),
                    .area = number_of(run, "area")};
    if (!out->path || record_room(out, n) < 0) {
        record_free(out);
        return FANS_ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        out->step[i] = each * (double)(i + 1);
        out->length[i] = each;
        out->gain[i] = out->smooth[i] = json_number_value(json_array_get(curve, i));
    }
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { CURVE_MOST = 30 };

/* Mean returns of at most CURVE_MOST blocks with equal numbers of episodes. */
static json_t *curve_json(const record *r)
{
    json_t *list = json_array();
    int blocks = r->episodes < CURVE_MOST ? r->episodes : CURVE_MOST;
    for (int b = 0; b < blocks; b++) {
        int from = r->episodes * b / blocks, to = r->episodes * (b + 1) / blocks;
        json_array_append_new(list, json_number(stats_mean(r->gain + from, to - from)));
    }
    return list;
}

/* The last line of command.txt: how the run was started that ended it. */
static json_t *command_json(const char *lines)
{
    if (!lines) return json_null();
    size_t end = strlen(lines);
    while (end && lines[end - 1] == '\n') end--;
    size_t start = end;
    while (start && lines[start - 1] != '\n') start--;
    json_t *words = json_stringn(lines + start, end - start);
    return words ? words : json_string("?"); /* a folder's name need not be UTF-8 */
}

/* A key of system.json; null where there is none. */
static json_t *system_json(const json_t *system, const char *key)
{
    json_t *x = json_object_get(system, key);
    return x ? json_incref(x) : json_null();
}

json_t *store_pack(const store_name *name, const record *r)
{
    json_t *run =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "id", name->id,
                  "config", name->config, "algo", name->algo, "preset", name->preset, "settings",
                  name->settings, "seed", (json_int_t)r->seed, "episodes", r->episodes, "steps",
                  json_number(r->episodes ? r->step[r->episodes - 1] : NAN), "final",
                  json_number(r->final), "area", json_number(r->area), "wall_s",
                  json_number(r->time), "command", command_json(r->command));
    static const char *const machine[] = {"commit", "cpu", "cores", "device", "precision"};
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        json_object_set_new(run, machine[i], system_json(r->machine, machine[i]));
    json_object_set_new(run, "curve", curve_json(r));
    if (r->evals.count > 0) json_object_set_new(run, "evals", evals_json(&r->evals));
    return run;
}

/* ---- beliefs --------------------------------------------------------------------------------- */

int store_beliefs_path(const char *root, const char *table, const char *config, char *path)
{
    if (snprintf(path, FOLDERS_PATH, "%sresults/%s/%s.csv", root, table, config) >= FOLDERS_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", table);
    return 0;
}

/* Does the line that follows begin with the same number of an episode? */
static bool same_episode(const char *line, const char *next)
{
    size_t n = strcspn(line, ",") + 1;
    return !strncmp(line, next, n);
}

int store_beliefs(const char *from, const char *path)
{
    char folder[FOLDERS_PATH];
    void *file = NULL;
    text out = {0};
    size_t size;
    int rc = 0;
    TRY(os_read_file(&file, &size, from)); /* ends with a zero byte */
    for (const char *at = file, *next; *at; at = next) {
        size_t n = strcspn(at, "\n");
        next = at + n + (at[n] == '\n');
        if (!same_episode(at, next)) text_add_n(&out, at, (size_t)(next - at));
    }
    TRY(text_done(&out));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    TRY(os_make_folders(folder));
    TRY(os_write_file(path, out.s, out.length));
out:
    mem_free(file);
    text_free(&out);
    return rc;
}

/* ---- appending ------------------------------------------------------------------------------- */

int store_append(const char *path, const json_t *runs)
{
    store old = {.runs = json_array()};
    text out = {0};
    int rc = os_exists(path);
    if (rc > 0) rc = store_add(&old, path);
    if (rc < 0) goto out;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run = json_array_get(runs, i);
        if (!store_find(&old, word_of(run, "id"), json_integer_value(json_object_get(run, "seed"))))
            json_array_append(old.runs, run);
    }
    text_add(&out, "{\"runs\": [\n");
    for (size_t i = 0; i < json_array_size(old.runs); i++) {
        if (i) text_add(&out, ",\n");
        TRY(json_add_line(&out, json_array_get(old.runs, i)));
    }
    text_add(&out, "\n]}\n");
    TRY(text_done(&out));
    TRY(json_check());
    TRY(os_write_file(path, out.s, out.length));
out:
    text_free(&out);
    store_free(&old);
    return rc;
}
