/* run.c - files of a run. */
#include "rl/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

int run_file(const run *r, const char *name, char *out)
{
    if (snprintf(out, RUN_PATH, "%s/%s", r->path, name) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", r->path);
    return 0;
}

/* ---- the config of an old folder ------------------------------------------------------------- */

static bool is_loose(const char *line, const char *const *loose)
{
    for (; *loose; loose++)
        if (!strncmp(line, *loose, strlen(*loose))) return true;
    return false;
}

/* Line by line; messages show the first difference. */
static int compare_config(const char *path, const char *old, const char *new,
                          const char *const *loose)
{
    while (*old || *new) {
        size_t a = strcspn(old, "\n"), b = strcspn(new, "\n");
        bool same = a == b && !memcmp(old, new, a);
        if (!same && !(is_loose(old, loose) && is_loose(new, loose)))
            return fans_fail(FANS_EINVAL,
                             "%s: is another run: it has '%.*s', this one '%.*s' (choose another "
                             "--out, or remove it)",
                             path, (int)a, old, (int)b, new);
        old += a + (old[a] == '\n');
        new += b + (new[b] == '\n');
    }
    return 0;
}

int run_open(run *r, const char *path, const char *config, const char *const *loose, bool look_only)
{
    char file[RUN_PATH];
    void *old;
    size_t n;
    int rc = 0;
    *r = (run){.metrics = -1};
    if ((size_t)snprintf(r->path, sizeof r->path, "%s", path) >= sizeof r->path)
        return fans_fail(FANS_EIO, "%s: the path is too long", path);
    if (!look_only) TRY(os_make_folders(path));
    TRY(run_file(r, "config.ini", file));
    if (os_exists(file)) {
        TRY(os_read_file(&old, &n, file));
        rc = compare_config(path, old, config, loose);
        mem_free(old);
        if (rc < 0) goto out;
    }
    if (!look_only) TRY(os_write_file(file, config, strlen(config)));
out:
    return rc;
}

void run_close(run *r)
{
    if (r->metrics >= 0) close(r->metrics);
    events_close(r->events);
    *r = (run){.metrics = -1};
}

int run_note(const run *r, const char *command, const char *system_json)
{
    char file[RUN_PATH];
    int rc = 0;
    TRY(run_file(r, "system.json", file));
    TRY(os_write_file(file, system_json, strlen(system_json)));
    TRY(run_file(r, "command.txt", file));
    FILE *f = fopen(file, "a");
    if (!f || fprintf(f, "%s\n", command) < 0 || fclose(f))
        rc = fans_fail(FANS_EIO, "%s: cannot write: %s", file, strerror(errno));
out:
    return rc;
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* The events file keeps its name over resumes, so that curves stay in one piece. */
static const char EVENTS[] = "events.out.tfevents.0000000000.fans";

int run_begin(run *r, bool resume)
{
    char file[RUN_PATH];
    int rc = 0;
    TRY(run_file(r, "metrics.csv", file));
    r->metrics = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (!resume) r->metrics_bytes = r->events_bytes = 0;
    if (r->metrics < 0 || ftruncate(r->metrics, r->metrics_bytes) < 0)
        TRY(fans_fail(FANS_EIO, "%s: cannot write: %s", file, strerror(errno)));
    TRY(run_file(r, EVENTS, file));
    TRY(events_open(&r->events, file, resume && os_exists(file) ? r->events_bytes : -1));
out:
    return rc;
}

int run_row(run *r, const text *row)
{
    if (text_done(row) < 0) return FANS_ENOMEM;
    ssize_t n = write(r->metrics, row->s, row->length);
    if (n != (ssize_t)row->length)
        return fans_fail(FANS_EIO, "%s/metrics.csv: cannot write: %s", r->path,
                         n < 0 ? strerror(errno) : "the disk is full");
    r->metrics_bytes += n;
    return 0;
}

void run_mark(run *r)
{
    r->events_bytes = events_length(r->events);
}

int run_sync(const run *r)
{
    if (fsync(r->metrics) < 0)
        return fans_fail(FANS_EIO, "%s/metrics.csv: cannot write: %s", r->path, strerror(errno));
    return events_sync(r->events);
}
