/* run.c - the files of a run. */
#include "train/run.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

int run_file(const run *r, const char *name, char *out)
{
    assert(folder_has(name));
    if (snprintf(out, RUN_PATH, "%s/%s", r->path, name) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", r->path);
    return 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

static int has_config(const char *folder)
{
    char file[RUN_PATH];
    if (snprintf(file, sizeof file, "%s/config.ini", folder) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    return os_exists(file);
}

/* Counts the runs right below a folder; `one` is the first by name. */
static int count_below(const char *folder, char *one)
{
    char path[RUN_PATH];
    int count = 0, rc = 0;
    DIR *d = opendir(folder);
    if (!d && (errno == ENOENT || errno == ENOTDIR)) return 0;
    if (!d) return fans_fail(FANS_EIO, "%s: cannot read: %s", folder, strerror(errno));
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= RUN_PATH)
            continue;
        if ((rc = has_config(path)) < 0) break;
        if (rc == 0) continue;
        if (count++ == 0 || strcmp(path, one) < 0) snprintf(one, RUN_PATH, "%s", path);
    }
    closedir(d);
    return rc < 0 ? rc : count;
}

int run_find(const char *folder, char *out)
{
    int there = has_config(folder), below = there == 0 ? count_below(folder, out) : 0;
    if (there < 0 || below < 0) return FANS_EIO;
    if (there > 0) snprintf(out, RUN_PATH, "%s", folder);
    if (there > 0 || below == 1) return folder_check(out);
    if (below > 1)
        return fans_fail(FANS_EIO, "%s: holds %d runs; name one, such as %s", folder, below, out);
    return fans_fail(FANS_EIO, "%s: is not the folder of a run (it has no config.ini)", folder);
}

/* ---- the config of an old folder ------------------------------------------------------------- */

/* Lines that may differ when a run resumes. */
static bool is_loose(const char *line)
{
    static const char *const loose[] = {"# resolved by", CONFIG_ASKED,
                                        "episodes = ", "checkpoint_every = "};
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
        if (!strncmp(line, loose[i], strlen(loose[i]))) return true;
    return false;
}

/* A discount of 0 is a request to choose one, which an agent answers when it is made. */
static bool is_chosen(const text_line x[2])
{
    static const char asked[] = "discount = 0", given[] = "discount = ";
    return x[1].n == (int)strlen(asked) && !strncmp(x[1].s, asked, strlen(asked)) &&
           !strncmp(x[0].s, given, strlen(given));
}

/* Line by line; the message shows the first difference. */
static int compare_config(const char *path, const char *old, const char *new)
{
    text_line x[2];
    while (text_differ(&old, &new, x))
        if (!(is_loose(x[0].s) && is_loose(x[1].s)) && !is_chosen(x))
            return fans_fail(
                FANS_EINVAL,
                "%s: holds a different run; its config has '%.*s', this one '%.*s' (choose "
                "another --out, or remove the folder)",
                path, x[0].n, x[0].s, x[1].n, x[1].s);
    return 0;
}

/* The config begins with the version that wrote it. Checkpoints are read by the same major and
 * minor version only. */
int run_check_version(const char *path)
{
    char file[RUN_PATH], version[32] = "", own[32];
    void *ini;
    size_t n;
    if (snprintf(file, sizeof file, "%s/config.ini", path) >= RUN_PATH) return 0;
    int rc = os_exists(file);
    if (rc <= 0) return rc;
    rc = os_read_file(&ini, &n, file);
    if (rc < 0) return rc;
    const char *line = ini;
    size_t mark = strlen(CONFIG_OF_RUN);
    if (!strncmp(line, CONFIG_OF_RUN, mark))
        snprintf(version, sizeof version, "%.*s", (int)strcspn(line + mark, "\n"), line + mark);
    mem_free(ini);
    snprintf(own, sizeof own, "%d.%d.", FANS_VERSION_MAJOR, FANS_VERSION_MINOR);
    if (!*version || !strncmp(version, own, strlen(own))) return 0;
    return fans_fail(
        FANS_EFORMAT,
        "%s: trained by fans %s, whose checkpoints fans %s cannot read (report, runs and "
        "graph can; to train, choose another --out)",
        path, version, fans_version());
}

/* The lock ends with the process, however that ends. Not every file system has locks. */
int run_lock(const char *path, int *held)
{
    int rc = os_make_folders(path);
    *held = -1;
    if (rc < 0) return rc;
    *held = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*held >= 0 && flock(*held, LOCK_EX | LOCK_NB) == 0) return folder_sweep(path);
    if (*held >= 0 && errno == EWOULDBLOCK) {
        close(*held);
        *held = -1;
        return RUN_BUSY;
    }
    log_warning("%s: cannot be locked (%s): let no other process train it", path, strerror(errno));
    return 0;
}

static int lock(run *r)
{
    int rc = run_lock(r->path, &r->held);
    return rc == RUN_BUSY ? fans_fail(FANS_EIO, "%s: another process is training it", r->path) : rc;
}

int run_is(const char *path, const char *id, int seed)
{
    char file[RUN_PATH], asked[64], line[32];
    void *old;
    size_t n;
    if (snprintf(file, sizeof file, "%s/config.ini", path) >= RUN_PATH) return 0;
    int rc = os_exists(file);
    if (rc <= 0 || (rc = os_read_file(&old, &n, file)) < 0) return rc;
    snprintf(asked, sizeof asked, "\n" CONFIG_ASKED "%s\n", id);
    snprintf(line, sizeof line, "\nseed = %d\n", seed);
    rc = strstr(old, asked) && strstr(old, line);
    mem_free(old);
    return rc;
}

int run_compare(const char *path, const char *ini)
{
    char file[RUN_PATH];
    void *old;
    size_t n;
    if (snprintf(file, sizeof file, "%s/config.ini", path) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", path);
    int rc = os_exists(file);
    if (rc <= 0 || (rc = os_read_file(&old, &n, file)) < 0) return rc;
    rc = compare_config(path, old, ini);
    mem_free(old);
    return rc;
}

int run_open(run *r, const char *path, const char *ini, run_mode mode)
{
    char file[RUN_PATH];
    int rc = 0;
    *r = RUN_CLOSED;
    if ((size_t)snprintf(r->path, sizeof r->path, "%s", path) >= sizeof r->path)
        return fans_fail(FANS_EIO, "%s: the path is too long", path);
    if (mode == RUN_LOCK) TRY(lock(r));
    if (mode == RUN_LOOK) return 0;
    TRY(run_compare(path, ini));
    TRY(run_file(r, "config.ini", file));
    TRY(os_write_file(file, ini, strlen(ini)));
out:
    return rc;
}

void run_close(run *r)
{
    if (r->held >= 0) close(r->held);
    if (r->metrics.fd >= 0) close(r->metrics.fd);
    if (r->beliefs.fd >= 0) close(r->beliefs.fd);
    if (r->segments.fd >= 0) close(r->segments.fd);
    if (r->times.fd >= 0) close(r->times.fd);
    if (r->evals.fd >= 0) close(r->evals.fd);
    events_close(r->events);
    *r = RUN_CLOSED;
}

int run_note(const run *r, const char *command, const char *system_json)
{
    char file[RUN_PATH];
    int rc = 0, fd;
    TRY(run_file(r, "system.json", file));
    TRY(os_write_file(file, system_json, strlen(system_json)));
    TRY(run_file(r, "command.txt", file));
    TRY(os_open_append(file, &fd));
    int bad = dprintf(fd, "%s\n", command) < 0 ? errno : 0;
    if (close(fd) && !bad) bad = errno;
    if (bad) rc = fans_fail(FANS_EIO, "%s: cannot write: %s", file, strerror(bad));
out:
    return rc;
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* The events file keeps its name, so that resumed curves stay in one piece. */
static const char EVENTS[] = "events.out.tfevents.0000000000.fans";

static int begin_table(run *r, run_table *t, bool resume)
{
    char file[RUN_PATH];
    int rc = 0;
    TRY(run_file(r, t->name, file));
    TRY(os_open_append(file, &t->fd));
    if (!resume) t->bytes = 0;
    TRY(os_cut(t->fd, file, t->bytes));
out:
    return rc;
}

/* The bytes of a table's head and of its rows up to a step, which is their first number. */
static int64_t bytes_until(const char *rows, int64_t step)
{
    const char *line = rows;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        if (line > rows && strtoll(line, NULL, 10) > step) break;
    return line - rows;
}

/* A run that is older than this file gets one from here on. */
static int begin_times(run *r, bool resume, int64_t step)
{
    static const char head[] = "step,seconds\n";
    char file[RUN_PATH];
    void *rows = NULL;
    size_t n;
    int rc = 0;
    TRY(run_file(r, r->times.name, file));
    r->times.bytes = 0;
    if (resume) TRY(os_exists(file));
    if (resume && rc > 0) {
        TRY(os_read_file(&rows, &n, file));
        r->times.bytes = bytes_until(rows, step);
    }
    TRY(begin_table(r, &r->times, true));
    if (r->times.bytes == 0)
        rc = run_row(r, &r->times, &(text){.s = (char *)head, .length = sizeof head - 1});
out:
    mem_free(rows);
    return rc;
}

int run_begin(run *r, bool resume, int64_t step, run_wants wants)
{
    char file[RUN_PATH];
    int rc = 0;
    TRY(begin_table(r, &r->metrics, resume));
    if (wants.beliefs) TRY(begin_table(r, &r->beliefs, resume));
    if (wants.segments) TRY(begin_table(r, &r->segments, resume));
    if (wants.evals) TRY(begin_table(r, &r->evals, resume));
    TRY(begin_times(r, resume, step));
    if (!resume) r->events_bytes = 0;
    TRY(run_file(r, EVENTS, file));
    TRY(os_exists(file));
    TRY(events_open(&r->events, file, resume && rc > 0 ? r->events_bytes : -1));
out:
    return rc;
}

int run_row(run *r, run_table *t, const text *row)
{
    if (text_done(row) < 0) return FANS_ENOMEM;
    ssize_t n = write(t->fd, row->s, row->length);
    if (n != (ssize_t)row->length)
        return fans_fail(FANS_EIO, "%s/%s: cannot write: %s", r->path, t->name,
                         n < 0 ? strerror(errno) : "the disk is full");
    t->bytes += n;
    return 0;
}

static int sync_table(const run *r, const run_table *t)
{
    if (t->fd >= 0 && fsync(t->fd) < 0)
        return fans_fail(FANS_EIO, "%s/%s: cannot write: %s", r->path, t->name, strerror(errno));
    return 0;
}

void run_mark(run *r)
{
    r->events_bytes = events_length(r->events);
}

int run_sync(const run *r)
{
    int rc = 0;
    TRY(sync_table(r, &r->metrics));
    TRY(sync_table(r, &r->beliefs));
    TRY(sync_table(r, &r->evals));
    TRY(sync_table(r, &r->segments));
    TRY(sync_table(r, &r->times));
    rc = events_sync(r->events);
out:
    return rc;
}
