/* cmd_runs.c - fans runs: a table of the runs below a folder, damaged ones among them. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "report/folders.h"

typedef struct listing {
    table out;
    json_t *list;
    int damage;     /* 0, or the error of the last run that could not be read */
    char why[1024]; /* ... in words */
} listing;

/* Of a run that has no result, only that it is there. */
static void add_status(listing *l, const char *path, const char *status)
{
    table_row(&l->out, path, "", "", "", "", status);
    json_array_append_new(l->list, json_pack("{s:s, s:s}", "run", path, "status", status));
}

static int add_result(listing *l, const char *path, const char *file)
{
    char value[2][32];
    json_t *result = NULL;
    int rc = 0;
    TRY(json_read_file(&result, file));
    json_t *one = json_array_get(json_object_get(result, "runs"), 0);
    const char *algo = json_string_value(json_object_get(one, "algo"));
    const char *env = json_string_value(json_object_get(one, "env"));
    const char *status = json_string_value(json_object_get(one, "status"));
    if (!algo || !env || !status) TRY(fans_fail(FANS_EFORMAT, "%s: not the result of a run", file));
    snprintf(value[0], sizeof value[0], "%lld",
             (long long)json_integer_value(json_object_get(one, "seed")));
    json_t *final = json_object_get(one, "final_return");
    snprintf(value[1], sizeof value[1], "%.2f",
             json_is_number(final) ? json_number_value(final) : NAN);
    table_row(&l->out, path, algo, env, value[0], value[1], status);
    json_object_set_new(one, "run", json_string(path));
    json_array_append(l->list, one);
out:
    json_decref(result);
    return rc;
}

/* Every damaged run has its line on stderr: the last one's is the error of the command, those of
 * the others are said on the way. */
static void note_damage(listing *l, const char *path, int rc)
{
    if (l->damage) log_warning("%s", l->why);
    l->damage = rc;
    snprintf(l->why, sizeof l->why, "%s", fans_error());
    add_status(l, path, "damaged");
}

static int add_run(void *user, const char *path)
{
    listing *l = user;
    char file[FOLDERS_PATH + 32];
    snprintf(file, sizeof file, "%s/result.json", path);
    if (!os_exists(file)) {
        add_status(l, path, "unfinished");
        return 0;
    }
    int rc = add_result(l, path, file);
    if (rc == FANS_ENOMEM) return rc;
    if (rc < 0) note_damage(l, path, rc);
    return 0;
}

int cmd_runs(int argc, char **argv)
{
    const char *folder = "runs", *json = NULL;
    const arg args[] = {
        ARG_JSON(&json),
        ARG_MAYBE("DIR", &folder, "where to look (runs)"),
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
