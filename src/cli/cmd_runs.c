/* cmd_runs.c - fans runs: lists the runs in a folder, damaged ones included; over and over with
 * --watch, and then with small learning curves. */
#define _GNU_SOURCE /* strcasestr */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "report/curve.h"
#include "report/folders.h"
#include "report/page.h"

enum { SPARKS = 24, LEVELS = 8, PERIOD_MS = 2000 };

typedef struct listing {
    table out;
    json_t *list;
    bool curves;
    int damage;     /* 0, or the error of the last run that could not be read */
    char why[1024]; /* ... in words */
} listing;

/* Eight heights of a character, where the terminal knows them. */
static const char *spark(int level)
{
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[LEVELS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    static const char *const names[] = {"LC_ALL", "LC_CTYPE",
                                        "LANG"}; /* the first one set counts */
    const char *locale = NULL;
    for (int i = 0; i < 3 && (!locale || !*locale); i++) locale = getenv(names[i]);
    bool unicode = locale && (strcasestr(locale, "UTF-8") || strcasestr(locale, "UTF8"));
    return (unicode ? blocks : plain)[level];
}

/* Smoothed returns from the first episode to the last, from the lowest to the highest. */
static void draw_curve(const record *r, text *out)
{
    double low = INFINITY, high = -INFINITY, x[SPARKS];
    for (int i = 0; i < SPARKS; i++) {
        double last = r->episodes ? r->step[r->episodes - 1] : 0;
        x[i] = curve_at(r, r->smooth, last * (i + 1) / SPARKS);
        if (isnan(x[i])) continue;
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int i = 0; i < SPARKS; i++) {
        double share = high > low ? (x[i] - low) / (high - low) : 0;
        text_add(out, "%s", isnan(x[i]) ? " " : spark((int)fmin(share * LEVELS, LEVELS - 1)));
    }
}

static void add_row(listing *l, const record *r, const char *env, const char *seed,
                    const char *final, const char *status)
{
    text drawn = {0};
    if (!l->curves) {
        table_row(&l->out, r->path, r->algo, env, seed, final, status);
        return;
    }
    draw_curve(r, &drawn);
    l->out.failed = l->out.failed || drawn.failed;
    table_row(&l->out, r->path, r->algo, env, seed, final, status, drawn.s ? drawn.s : "");
    text_free(&drawn);
}

static void add_record(listing *l, const record *r)
{
    char seed[32], final[32], status[64];
    const char *env = record_get(r, "env", "name");
    snprintf(seed, sizeof seed, "%ld", r->seed);
    snprintf(final, sizeof final, "%.2f", r->final);
    snprintf(status, sizeof status, "unfinished, %d of %ld episodes", r->episodes, r->planned);
    add_row(l, r, env, seed, final, r->done ? "done" : status);
    json_array_append_new(
        l->list,
        json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:o, s:o, s:s}", "run", page_name(r->path),
                  "algo", r->algo, "env", env, "seed", (int)r->seed, "episodes", r->episodes,
                  "steps", r->episodes ? r->step[r->episodes - 1] : 0, "final_return",
                  json_number(r->final), "time_s", json_number(r->time), "status",
                  r->done ? "done" : "unfinished"));
}

/* Every damaged run gets a line on stderr: the last one's is the error of the command, the others
 * are warnings. */
static void note_damage(listing *l, const char *path, int rc)
{
    if (l->damage) log_warning("%s", l->why);
    l->damage = rc;
    snprintf(l->why, sizeof l->why, "%s", fans_error());
    table_row(&l->out, path, "", "", "", "", "damaged");
    json_array_append_new(l->list,
                          json_pack("{s:o, s:s}", "run", page_name(path), "status", "damaged"));
}

static int add_run(void *user, const char *path)
{
    listing *l = user;
    record r;
    int rc = record_read(&r, path);
    if (rc == FANS_ENOMEM) return rc;
    if (rc < 0) {
        note_damage(l, path, rc);
        return 0;
    }
    add_record(l, &r);
    record_free(&r);
    return 0;
}

/* Everything in the folder, as it is now. */
static int gather(listing *l, const char *folder)
{
    l->list = json_array();
    if (l->curves)
        table_row(&l->out, "run", "algo", "env", "seed", "return", "status", "learning");
    else
        table_row(&l->out, "run", "algo", "env", "seed", "return", "status");
    return folders_find(folder, add_run, l);
}

static void release(listing *l)
{
    json_decref(l->list);
    table_free(&l->out);
    *l = (listing){.curves = l->curves};
}

/* On a terminal, until a signal ends it; long lines are cut at its edge. A run that is damaged for
 * a moment, while it is written, is no reason to stop. */
static int watch_runs(listing *l, const char *folder)
{
    watch eye = {0};
    int rc = 0;
    watch_signals(&eye);
    while (!watch_signalled(&eye)) {
        TRY(gather(l, folder));
        printf("\033[?7l\033[H\033[J");
        rc = table_print(&l->out);
        printf("\033[?7h");
        fflush(stdout);
        if (rc < 0) goto out;
        release(l);
        for (int i = 0; i < 20 && !watch_signalled(&eye); i++) poll(NULL, 0, PERIOD_MS / 20);
    }
    rc = CLI_SIGNAL + eye.signal;
out:
    return rc;
}

int cmd_runs(int argc, char **argv)
{
    const char *folder = "runs", *json = NULL;
    listing l = {0};
    const arg args[] = {
        ARG_MAYBE("DIR", &folder, "folder to search (runs)"),
        ARG_FLAG("watch", &l.curves,
                 "with learning curves, and on a terminal anew every two seconds"),
        ARG_JSON(&json),
    };
    int rc = args_parse("runs", ARGS(args), argc, argv);
    if (rc) return rc;
    if (l.curves && !json && on_terminal()) {
        rc = watch_runs(&l, folder);
        goto out;
    }
    TRY(gather(&l, folder));
    TRY(cli_write_json(json, json_pack("{s:O}", "runs", l.list)));
    TRY(table_print(&l.out));
    if (l.damage) TRY(fans_fail(l.damage, "%s", l.why));
out:
    release(&l);
    return rc;
}
