/* cmd_check.c - fans check: tests an environment, built-in or the user's, against its contract.
 *
 * The environment's code runs in a child process: it may crash, hang or end the process, and the
 * user is still told what it did and in which check. */
#define _GNU_SOURCE /* sigdescr_np */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/plugin.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/check.h"
#include "env/registry.h"

/* What the child reports: an event of env_check, or its result. Small enough for an atomic write.
 */
typedef struct news {
    bool done;
    int code; /* done: what env_check returned; else the check_event */
    char check[96];
    char detail[1024]; /* done: fans_error() */
} news;

typedef struct report {
    const char *env;
    int limit; /* seconds per check */
    table lines;
    json_t *rows;
    int checks;
    char now[96]; /* the running check */
} report;

/* ---- the child ------------------------------------------------------------------------------- */

static void tell(int fd, const news *n)
{
    if (write(fd, n, sizeof *n) != (ssize_t)sizeof *n) _exit(1); /* the parent is gone */
}

static void tell_event(void *user, const char *check, check_event event, const char *detail)
{
    news n = {.code = (int)event};
    snprintf(n.check, sizeof n.check, "%s", check);
    snprintf(n.detail, sizeof n.detail, "%s", detail);
    tell(*(const int *)user, &n);
}

static void run_child(int fd, const char *env, const text_list *settings)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL); /* the parent says what happened */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    news n = {.done = true};
    n.code = env_check(env, settings->items, settings->count, tell_event, &fd);
    if (n.code < 0) snprintf(n.detail, sizeof n.detail, "%s", fans_error());
    tell(fd, &n);
    fflush(stdout); /* what the environment may have printed */
    _exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void add_line(report *r, bool passed, const char *check, const char *detail)
{
    r->checks++;
    table_row(&r->lines, passed ? "ok" : "FAILED", check, detail);
    json_array_append_new(r->rows,
                          json_pack("{ss sb ss}", "check", check, "passed", passed, "detail",
                                    detail)); /* a NULL array is reported below */
}

static void take_event(report *r, const news *n)
{
    if (n->code == CHECK_BEGINS)
        snprintf(r->now, sizeof r->now, "%s", n->check);
    else
        add_line(r, n->code == CHECK_PASSED, n->check, n->detail);
}

/* Returns 1 with the next news, 0 where the child is gone, -1 after `limit` seconds. */
static int listen(int fd, int limit, news *out)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    double end = os_now() + limit;
    for (;;) {
        double left = end - os_now();
        int ready = left > 0 ? poll(&wait, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        return read(fd, out, sizeof *out) == (ssize_t)sizeof *out;
    }
}

/* How the child ended, in words; kills it first where it is `late`. */
static void describe_end(pid_t child, bool late, int limit, char *out, size_t size)
{
    int status = 0;
    if (late) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (late)
        snprintf(out, size, "did not end within %d s", limit);
    else if (WIFSIGNALED(status))
        snprintf(out, size, "crashed: %s", sigdescr_np(WTERMSIG(status)));
    else
        snprintf(out, size, "ended the process, with exit status %d", WEXITSTATUS(status));
}

/* Returns what env_check did; its events are in `r`. */
static int follow(report *r, int fd, pid_t child)
{
    news n;
    char end[128];
    int more;
    while ((more = listen(fd, r->limit, &n)) > 0 && !n.done) take_event(r, &n);
    describe_end(child, more < 0, r->limit, end, sizeof end);
    if (more > 0) return n.code < 0 ? fans_fail(n.code, "%s", n.detail) : n.code;
    add_line(r, false, r->now, end);
    return fans_fail(FANS_EINVAL, "%s: %s in the check '%s'", r->env, end, r->now);
}

static int check_apart(report *r, const text_list *settings)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends)) return fans_fail(FANS_EIO, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(ends[1], r->env, settings);
    }
    close(ends[1]);
    int rc = child < 0 ? fans_fail(FANS_EIO, "cannot start a process: %s", strerror(errno))
                       : follow(r, ends[0], child);
    close(ends[0]);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* An unknown name is a mistake of the command line; a library is looked at in the child. */
static int check_name(const char *env)
{
    env_source source;
    if (plugin_is_path(env) || env_load(&source, env) == 0) return 0;
    return fans_fail_within(CLI_USAGE, "check");
}

/* Prints the table, also where the environment broke off, then reports the error. */
static int print_report(report *r, const char *json, int result)
{
    int rc = 0;
    if (result < 0 && r->checks == 0) return result;
    char why[1024];
    snprintf(why, sizeof why, "%s", fans_error());
    TRY(cli_write_json(json, json_incref(r->rows)));
    TRY(table_print(&r->lines));
    if (result < 0) TRY(fans_fail(result, "%s", why));
    if (result > 0)
        TRY(fans_fail(FANS_EINVAL, "%s: %d of %d checks failed", r->env, result, r->checks));
out:
    return rc;
}

int cmd_check(int argc, char **argv)
{
    const char *json = NULL;
    text_list settings = {0};
    report r = {.limit = 60};
    const arg args[] = {
        ARG_WORD("ENV", &r.env,
                 "an environment of `fans list envs`, or the path of a shared library"),
        ARG_MANY("set", "env.KEY=VALUE", &settings, "set an option of the environment"),
        ARG_INT("limit", &r.limit, 1, 86400, "seconds that one check may take (60)"),
        ARG_JSON(&json),
    };
    int rc = args_parse("check", ARGS(args), argc, argv);
    if (rc || (rc = check_name(r.env)) < 0) return rc;
    r.rows = json_array();
    rc = print_report(&r, json, check_apart(&r, &settings));
    json_decref(r.rows);
    table_free(&r.lines);
    return rc;
}
