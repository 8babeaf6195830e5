/* cmd_runs.c - fans runs: a table of the runs below a folder. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "report/folders.h"

typedef struct listing {
    table *out;
    json_t *list;
} listing;

/* A run that has ended tells by its result; another only that it is there. */
static int add_run(void *user, const char *path)
{
    table *out = ((listing *)user)->out;
    json_t *list = ((listing *)user)->list;
    char file[FOLDERS_PATH + 32], value[2][32];
    json_t *result = NULL;
    int rc = 0;
    snprintf(file, sizeof file, "%s/result.json", path);
    if (!os_exists(file)) {
        table_row(out, path, "", "", "", "", "unfinished");
        json_array_append_new(list, json_pack("{s:s, s:s}", "run", path, "status", "unfinished"));
        return 0;
    }
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
    table_row(out, path, algo, env, value[0], value[1], status);
    json_object_set_new(one, "run", json_string(path));
    json_array_append(list, one);
out:
    json_decref(result);
    return rc;
}

int cmd_runs(int argc, char **argv)
{
    const char *folder = "runs", *json = NULL;
    const arg args[] = {
        ARG_JSON(&json),
        ARG_MAYBE("DIR", &folder, "where to look (runs)"),
    };
    table out = {0};
    json_t *list = json_array();
    int rc = args_parse("runs", ARGS(args), argc, argv);
    if (rc) goto out;
    table_row(&out, "run", "algo", "env", "seed", "return", "status");
    TRY(folders_find(folder, add_run, &(listing){&out, list}));
    TRY(cli_write_json(json, json_pack("{s:O}", "runs", list)));
    TRY(table_print(&out));
out:
    json_decref(list);
    table_free(&out);
    return rc;
}
