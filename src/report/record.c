/* record.c - reads the folder of a run. Its config.ini was written by us and is read line by line:
 * options that this version does not know are kept, so that old runs can be compared as well. */
#include "report/record.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os.h"
#include "report/folders.h"
#include "report/stats.h"

int record_file(const record *r, const char *name, char *out)
{
    assert(folder_has(name));
    if (snprintf(out, FOLDERS_PATH, "%s/%s", r->path, name) >= FOLDERS_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", r->path);
    return 0;
}

static int read_text(const record *r, const char *name, char **out, bool must)
{
    char file[FOLDERS_PATH];
    void *bytes;
    size_t n;
    int rc = 0;
    TRY(record_file(r, name, file));
    if (!must) TRY(os_exists(file));
    if (!must && rc == 0) return 0;
    TRY(os_read_file(&bytes, &n, file));
    *out = bytes;
out:
    return rc;
}

/* ---- config.ini ------------------------------------------------------------------------------ */

static char *trim(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1])) s[--n] = 0;
    return s;
}

static int add_setting(record *r, setting s)
{
    if (mem_grow(&r->settings, &r->setting_capacity, r->setting_count + 1, sizeof *r->settings) < 0)
        return FANS_ENOMEM;
    r->settings[r->setting_count++] = s;
    return 0;
}

static int add_line(record *r, int number, char *line, const char **section)
{
    line = trim(line);
    size_t n = strlen(line);
    if (n == 0 || *line == '#' || *line == ';') return 0;
    if (*line == '[' && line[n - 1] == ']') {
        line[n - 1] = 0;
        *section = line + 1;
        return 0;
    }
    char *equals = strchr(line, '=');
    if (!equals || !*section)
        return fans_fail(FANS_EFORMAT,
                         "%s/config.ini, line %d: neither '[section]' nor 'key = value'", r->path,
                         number);
    *equals = 0;
    if (r->setting_count == CONFIG_MOST)
        return fans_fail(FANS_EFORMAT, "%s/config.ini: more than %d settings", r->path,
                         CONFIG_MOST);
    return add_setting(r, (setting){*section, trim(line), trim(equals + 1)});
}

static int number_of(const record *r, const char *key, long *out)
{
    const char *value = record_get(r, "train", key);
    char *end = NULL;
    if (value) *out = strtol(value, &end, 10);
    if (!value || end == value || *end)
        return fans_fail(FANS_EFORMAT, "%s/config.ini: [train] %s is not a number: not a run",
                         r->path, key);
    return 0;
}

/* An algorithm of one's own is named by its library: ./mine.so is mine. */
static const char *name_of_algo(char *algo)
{
    char *slash = algo ? strrchr(algo, '/') : NULL, *name = slash ? slash + 1 : algo;
    size_t n = name ? strlen(name) : 0;
    if (n > 3 && !strcmp(name + n - 3, ".so")) name[n - 3] = 0;
    return name;
}

static int read_config(record *r)
{
    const char *section = NULL;
    int rc = 0, number = 1;
    TRY(read_text(r, "config.ini", &r->config, true));
    if (!(r->lines = mem_text(r->config))) TRY(FANS_ENOMEM);
    for (char *line = r->lines, *next; line; line = next, number++) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        TRY(add_line(r, number, line, &section));
    }
    r->algo = name_of_algo((char *)record_get(r, "train", "algo")); /* in r->lines */
    if (!r->algo || !record_get(r, "env", "name"))
        TRY(fans_fail(FANS_EFORMAT,
                      "%s/config.ini: names no [train] algo on an [env] name: not a run", r->path));
    TRY(number_of(r, "seed", &r->seed));
    TRY(number_of(r, "episodes", &r->planned));
out:
    return rc;
}

/* ---- metrics.csv ----------------------------------------------------------------------------- */

static int find_columns(const csv *t, const char *file, int *at)
{
    static const char *const names[] = {"step", "return", "length"};
    for (int i = 0; i < 3; i++)
        if ((at[i] = csv_column(t, names[i])) < 0)
            return fans_fail(FANS_EFORMAT, "%s: has no column '%s'", file, names[i]);
    return 0;
}

/* The mean return of the last `window` episodes up to one. */
static double trailing(const record *r, int episode, int window)
{
    int from = episode + 1 < window ? 0 : episode + 1 - window;
    return stats_mean(r->gain + from, episode + 1 - from);
}

/* Each mean is summed afresh: a running sum would accumulate rounding errors. */
void record_smooth(record *r, int window)
{
    double share = (double)r->planned / RECORD_SHARE;
    r->window = window > 0 ? window : (int)fmin(fmax(share, RECORD_LEAST), RECORD_MOST);
    for (int i = 0; i < r->episodes; i++) r->smooth[i] = trailing(r, i, r->window);
}

void record_end(record *r, int share)
{
    int window = r->episodes / share;
    if (r->episodes) r->final = trailing(r, r->episodes - 1, window > 0 ? window : 1);
}

/* Episodes of the first world; runs of version 0.1 may have no other. */
static void find_first(record *r, const csv *t)
{
    int world = csv_column(t, "world");
    for (int i = 0; i < r->episodes; i++) {
        if (world >= 0 && csv_at(t, (size_t)i, world) != 0) continue;
        r->first_episodes++;
        r->first_length = r->length[i];
    }
}

int record_room(record *r, size_t episodes)
{
    double *memory = mem_alloc(5 * episodes * sizeof *memory);
    if (!memory) return FANS_ENOMEM;
    r->step = memory;
    r->gain = memory + episodes;
    r->length = memory + 2 * episodes;
    r->smooth = memory + 3 * episodes;
    r->clock = memory + 4 * episodes;
    for (size_t i = 0; i < episodes; i++) r->clock[i] = NAN;
    return 0;
}

static void average_loss(const record *r, const csv *t, int column, record_loss *to)
{
    double last = r->step[r->episodes - 1], sum[RECORD_LOSS] = {0};
    int n[RECORD_LOSS] = {0};
    snprintf(to->name, sizeof to->name, "%s", t->names[column]);
    for (int i = 0; i < r->episodes; i++) {
        double x = csv_at(t, (size_t)i, column), share = r->step[i] / last;
        if (!isfinite(x) || !(share >= 0 && share <= 1)) continue;
        int at = (int)fmin(share * RECORD_LOSS, RECORD_LOSS - 1);
        sum[at] += x;
        n[at]++;
    }
    for (int k = 0; k < RECORD_LOSS; k++) to->mean[k] = n[k] ? sum[k] / n[k] : NAN;
}

/* Whatever the algorithm wrote; the number of updates is no loss. */
static int read_losses(record *r, const csv *t)
{
    int success = csv_column(t, "success"), count = csv_column(t, "n_updates");
    if (success < 0 || !r->episodes) return 0;
    r->losses = mem_alloc((size_t)(t->columns - success) * sizeof *r->losses);
    if (!r->losses) return FANS_ENOMEM;
    for (int c = success + 1; c < t->columns; c++)
        if (c != count) average_loss(r, t, c, &r->losses[r->loss_count++]);
    return 0;
}

static int read_metrics(record *r)
{
    char file[FOLDERS_PATH];
    csv t = {0};
    int rc = 0, at[3] = {0};
    TRY(record_file(r, "metrics.csv", file));
    TRY(csv_read(&t, file));
    TRY(find_columns(&t, file, at));
    TRY(record_room(r, t.rows));
    for (size_t i = 0; i < t.rows; i++) {
        double *to[] = {&r->step[i], &r->gain[i], &r->length[i]};
        for (int k = 0; k < 3; k++)
            if (!isfinite(*to[k] = csv_at(&t, i, at[k])))
                TRY(fans_fail(FANS_EFORMAT, "%s: line %zu, column '%s': not a finite number", file,
                              i + 2, t.names[at[k]]));
    }
    r->episodes = (int)t.rows;
    find_first(r, &t);
    TRY(read_losses(r, &t));
    record_smooth(r, 0);
    r->final = r->episodes ? trailing(r, r->episodes - 1, RECORD_FINAL) : NAN;
    r->area = stats_area(r->gain, r->length, r->episodes);
out:
    csv_free(&t);
    return rc;
}

/* ---- times.csv --------------------------------------------------------------------------------
 */

/* Seconds at every episode's end, between rows; before the first from the start of the run. */
static void set_clock(record *r, const csv *t, int step, int seconds)
{
    double s0 = 0, t0 = 0;
    int at = 0;
    for (size_t i = 0; i < t->rows; i++) {
        double s1 = csv_at(t, i, step), t1 = csv_at(t, i, seconds);
        if (!(s1 > s0) || !(t1 >= t0) || !isfinite(t1)) continue;
        for (; at < r->episodes && r->step[at] <= s1; at++)
            r->clock[at] = t0 + (t1 - t0) * fmax((r->step[at] - s0) / (s1 - s0), 0);
        s0 = s1, t0 = t1;
    }
    r->timed = at;
}

static int read_times(record *r)
{
    char file[FOLDERS_PATH];
    csv t = {0};
    int rc = 0;
    TRY(record_file(r, "times.csv", file));
    TRY(os_exists(file));
    if (rc == 0) return 0; /* an older run */
    TRY(csv_read(&t, file));
    int step = csv_column(&t, "step"), seconds = csv_column(&t, "seconds");
    if (step < 0 || seconds < 0)
        TRY(fans_fail(FANS_EFORMAT, "%s: has no columns 'step' and 'seconds'", file));
    set_clock(r, &t, step, seconds);
    rc = 0;
out:
    csv_free(&t);
    return rc;
}

/* ---- segments.csv ---------------------------------------------------------------------------- */

static int check_segments(const csv *t, const char *file)
{
    char name[32];
    for (int k = 0; k < SINCE_BINS; k++) {
        snprintf(name, sizeof name, "reward%d", since_starts[k]);
        if (csv_column(t, name) != 3 + k)
            return fans_fail(FANS_EFORMAT, "%s: column %d is not '%s'", file, 4 + k, name);
    }
    for (size_t i = 0; i < t->rows; i++)
        if (!(csv_at(t, i, 2) >= 0 && csv_at(t, i, 2) <= INT_MAX))
            return fans_fail(FANS_EFORMAT, "%s: line %zu: %g is not a number of steps", file, i + 2,
                             csv_at(t, i, 2));
    return 0;
}

/* Every step of the second half counts the same, whatever its segment. */
static void average_segments(record *r, const csv *t)
{
    double half = t->rows ? csv_at(t, t->rows - 1, 1) / 2 : 0, n[SINCE_BINS] = {0};
    for (size_t i = 0; i < t->rows; i++)
        for (int k = 0; k < SINCE_BINS && csv_at(t, i, 1) >= half; k++) {
            double reward = csv_at(t, i, 3 + k);
            int64_t steps = isnan(reward) ? 0 : since_count(k, (int64_t)csv_at(t, i, 2));
            if (steps <= 0) continue;
            r->after[k] = (n[k] > 0 ? r->after[k] : 0) + reward * (double)steps;
            n[k] += (double)steps;
        }
    for (int k = 0; k < SINCE_BINS; k++) r->after[k] = n[k] > 0 ? r->after[k] / n[k] : NAN;
}

static int read_segments(record *r)
{
    char file[FOLDERS_PATH];
    csv t = {0};
    int rc = 0;
    for (int k = 0; k < SINCE_BINS; k++) r->after[k] = NAN;
    TRY(record_file(r, "segments.csv", file));
    TRY(os_exists(file));
    if (rc == 0) return 0; /* an older run, or nothing changes */
    TRY(csv_read(&t, file));
    TRY(check_segments(&t, file));
    average_segments(r, &t);
    findings_read(&r->found, &t);
out:
    csv_free(&t);
    return rc;
}

static int read_evals(record *r)
{
    char file[FOLDERS_PATH];
    int rc = 0;
    TRY(record_file(r, "evals.csv", file));
    TRY(os_exists(file));
    if (rc > 0) TRY(evals_read(&r->evals, file));
out:
    return rc;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int read_result(record *r)
{
    char file[FOLDERS_PATH];
    json_t *result = NULL;
    int rc = 0;
    r->time = NAN;
    TRY(record_file(r, "result.json", file));
    TRY(os_exists(file));
    if (rc == 0) return 0;
    TRY(json_read_file(&result, file));
    const json_t *one = json_array_get(json_object_get(result, "runs"), 0);
    const char *status = json_string_value(json_object_get(one, "status"));
    if (!status) {
        rc = fans_fail(FANS_EFORMAT, "%s: not the result of a run", file);
        goto out;
    }
    json_int_t episodes = json_integer_value(json_object_get(one, "episodes"));
    if (r->episodes < episodes)
        TRY(fans_fail(FANS_EFORMAT, "%s/metrics.csv: has %d episodes, result.json %lld", r->path,
                      r->episodes, (long long)episodes));
    /* a run that was made longer and resumed still has its old result */
    double steps = json_number_value(json_object_get(one, "steps"));
    r->done = !strcmp(status, "done") && (!r->episodes || steps >= r->step[r->episodes - 1]);
    const json_t *time = json_object_get(one, "busy_s");
    if (!time) time = json_object_get(one, "wall_s");
    if (r->done && json_is_number(time)) r->time = json_number_value(time);
out:
    json_decref(result);
    return rc;
}

/* The commit counts as a setting. */
static int read_system(record *r)
{
    int rc = 0;
    TRY(read_text(r, "system.json", &r->system, false));
    json_error_t why = {0};
    if (r->system && json_parse(&r->machine, r->system, strlen(r->system), &why) == FANS_ENOMEM)
        TRY(FANS_ENOMEM);
    const char *commit = json_string_value(json_object_get(r->machine, "commit"));
    if (commit) {
        r->commit = mem_text(commit);
        rc = r->commit ? add_setting(r, (setting){"system", "commit", r->commit}) : FANS_ENOMEM;
    }
out:
    return rc;
}

int record_read(record *r, const char *path)
{
    int rc = 0;
    *r = (record){.path = mem_text(path)};
    if (!r->path) return FANS_ENOMEM;
    TRY(folder_check(path));
    TRY(read_config(r));
    TRY(read_metrics(r));
    TRY(read_times(r));
    TRY(read_segments(r));
    TRY(read_evals(r));
    TRY(read_result(r));
    TRY(read_text(r, "command.txt", &r->command, false));
    TRY(read_system(r));
out:
    if (rc < 0) record_free(r);
    return rc;
}

void record_free(record *r)
{
    mem_free(r->path);
    mem_free(r->config);
    mem_free(r->command);
    mem_free(r->system);
    json_decref(r->machine);
    mem_free(r->lines);
    mem_free(r->commit);
    mem_free(r->settings);
    mem_free(r->losses);
    mem_free(r->step);
    evals_free(&r->evals);
    *r = (record){0};
}

const char *record_get(const record *r, const char *section, const char *key)
{
    for (size_t i = 0; i < r->setting_count; i++)
        if (!strcmp(r->settings[i].section, section) && !strcmp(r->settings[i].key, key))
            return r->settings[i].value;
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

bool setting_of_task(const setting *s)
{
    return !strcmp(s->section, "env") || !strncmp(s->section, "change.", 7);
}

bool setting_of_method(const setting *s)
{
    static const char *const loose[] = {"seed", "episodes", "checkpoint_every"};
    if (setting_of_task(s) || !strcmp(s->section, "system")) return false;
    for (int i = 0; i < 3; i++)
        if (!strcmp(s->section, "train") && !strcmp(s->key, loose[i])) return false;
    return true;
}

bool setting_of_commit(const setting *s)
{
    return setting_of_method(s) || !strcmp(s->section, "system");
}

bool record_has(const record *r, const setting *s)
{
    const char *value = record_get(r, s->section, s->key);
    return value && !strcmp(value, s->value);
}

static bool same_setting(const setting *a, const setting *b)
{
    return !strcmp(a->key, b->key) && !strcmp(a->value, b->value) &&
           !strcmp(a->section, b->section);
}

/* Configs mostly have the same lines in the same places: only what has moved is searched for. */
static bool covers(const record *a, const record *b, setting_fn *by)
{
    for (size_t i = 0; i < b->setting_count; i++) {
        const setting *s = &b->settings[i];
        if (i < a->setting_count && same_setting(&a->settings[i], s)) continue;
        if (by(s) && !record_has(a, s)) return false;
    }
    return true;
}

bool records_agree(const record *a, const record *b, setting_fn *by)
{
    return covers(a, b, by) && covers(b, a, by);
}
