/* cmd_check.c - fans check: tests an environment, built in or of the user's, against its contract.
 */
#include <string.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/check.h"
#include "env/registry.h"

typedef struct report {
    table lines;
    json_t *rows;
    int checks;
} report;

static void add_line(void *user, const char *check, bool passed, const char *detail)
{
    report *r = user;
    r->checks++;
    table_row(&r->lines, passed ? "ok" : "FAILED", check, detail);
    json_array_append_new(r->rows, json_pack("{ss sb ss}", "check", check, "passed", passed,
                                             "detail", detail)); /* a NULL array is told below */
}

/* A name that is none is a mistake of the command line; a library may be anything. */
static int check_name(const char *env)
{
    env_source source;
    if (env_is_path(env) || env_load(&source, env) == 0) return 0;
    return fans_fail_within(CLI_USAGE, "check");
}

int cmd_check(int argc, char **argv)
{
    const char *env, *json = NULL;
    text_list settings = {0};
    const arg args[] = {
        ARG_WORD("ENV", &env,
                 "an environment of `fans list envs`, or the path of a shared library"),
        ARG_MANY("set", "env.KEY=VALUE", &settings, "an option of the environment"),
        ARG_JSON(&json),
    };
    int rc = args_parse("check", ARGS(args), argc, argv);
    if (rc || (rc = check_name(env)) < 0) return rc;
    report r = {.rows = json_array()};
    int failed = env_check(env, settings.items, settings.count, add_line, &r);
    rc = failed < 0 ? failed : cli_write_json(json, json_incref(r.rows));
    if (rc == 0) rc = table_print(&r.lines);
    if (rc == 0 && failed > 0)
        rc = fans_fail(FANS_EINVAL, "%s: %d of %d checks failed", env, failed, r.checks);
    json_decref(r.rows);
    table_free(&r.lines);
    return rc;
}
