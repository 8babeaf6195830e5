/* cmd_runs.c - fans runs: lists the runs in a folder, damaged ones included. */
#include <stdio.h>

#include "base/log.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "report/folders.h"
#include "report/page.h"

typedef struct listing {
    table out;
    json_t *list;
    int damage;     /* 0, or the error of the last run that could not be read */
    char why[1024]; /* ... in words */
} listing;

static void add_record(listing *l, const record *r)
{
    char seed[32], final[32], status[64];
    const char *env = record_get(r, "env", "name");
    snprintf(seed, sizeof seed, "%ld", r->seed);
    snprintf(final, sizeof final, "%.2f", r->final);
    snprintf(status, sizeof status, "unfinished, %d of %ld episodes", r->episodes, r->planned);
    table_row(&l->out, r->path, r->algo, env, seed, final, r->done ? "done" : status);
    json_array_append_new(
        l->list,
        json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:o, s:o, s:s}", "run", page_name(r->path),
                  "algo", r->algo, "env", env, "seed", (int)r->seed, "episodes", r->episodes,
                  "steps", r->episodes ? r->step[r->episodes - 1] : 0, "final_return",
                  page_number(r->final), "wall_s", page_number(r->wall), "status",
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

int cmd_runs(int argc, char **argv)
{
    const char *folder = "runs", *json = NULL;
    const arg args[] = {
        ARG_MAYBE("DIR", &folder, "folder to search (runs)"),
        ARG_JSON(&json),
    };
    listing l = {.list = json_array()};
    int rc = args_parse("runs", ARGS(args), argc, argv);
    if (rc) goto out;
    table_row(&l.out, "run", "algo", "env", "seed", "return", "status");
    TRY(folders_find(folder, add_run, &l));
    TRY(cli_write_json(json, json_pack("{s:O}", "runs", l.list)));
    TRY(table_print(&l.out));
    if (l.damage) TRY(fans_fail(l.damage, "%s", l.why));
out:
    json_decref(l.list);
    table_free(&l.out);
    return rc;
}
