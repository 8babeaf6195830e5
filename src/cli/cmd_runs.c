/* cmd_runs.c - fans runs: a table of the runs below a folder. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "rl/run.h"

enum { DEPTH = 4 };

/* A run that has ended tells by its result; another only that it is there. */
static int add_run(const char *path, table *out, json_t *list)
{
    char file[RUN_PATH + 32], value[2][32];
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

/* The folders in `path`, by name. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct names {
    char **list;
    size_t count, capacity;
} names;

static int list_folders(const char *path, names *n)
{
    DIR *d = opendir(path);
    if (!d) return 0; /* not ours to read */
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(d));) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
        rc = mem_grow(&n->list, &n->capacity, n->count + 1, sizeof *n->list);
        if (rc == 0 && !(n->list[n->count++] = mem_text(e->d_name))) rc = FANS_ENOMEM;
    }
    closedir(d);
    if (rc == 0 && n->count) qsort(n->list, n->count, sizeof *n->list, by_name);
    return rc;
}

static int look_into(const char *path, int depth, table *out, json_t *list)
{
    char below[RUN_PATH];
    names n = {0};
    int rc = 0;
    snprintf(below, sizeof below, "%s/config.ini", path);
    if (os_exists(below)) return add_run(path, out, list);
    if (depth > 0) TRY(list_folders(path, &n));
    for (size_t i = 0; i < n.count; i++)
        if (snprintf(below, sizeof below, "%s/%s", path, n.list[i]) < RUN_PATH)
            TRY(look_into(below, depth - 1, out, list));
out:
    for (size_t i = 0; i < n.count; i++) mem_free(n.list[i]);
    mem_free(n.list);
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
    if (!os_exists(folder)) TRY(fans_fail(FANS_EIO, "%s: there is no such folder", folder));
    table_row(&out, "run", "algo", "env", "seed", "return", "status");
    TRY(look_into(folder, DEPTH, &out, list));
    TRY(cli_write_json(json, json_pack("{s:O}", "runs", list)));
    TRY(table_print(&out));
out:
    json_decref(list);
    table_free(&out);
    return rc;
}
