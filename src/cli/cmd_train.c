/* cmd_train.c - fans train: trains an algorithm on a task; on an existing folder, goes on. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/table.h"

/* Set by Ctrl-C and by a polite kill; the loop looks at it after every step. */
static volatile sig_atomic_t stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = 1;
}

static void listen(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct watch {
    bool terminal, quiet;
    double next; /* when to say something again */
} watch;

static void duration(double seconds, char *out, size_t size)
{
    int s = (int)seconds;
    if (s >= 3600)
        snprintf(out, size, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%d:%02d", s / 60, s % 60);
}

static void say(const watch *w, const training *t)
{
    train_progress p = training_progress(t);
    char left[32], gain[32] = "-";
    double rate = (double)(p.steps - p.since) / fmax(p.seconds, 1e-9);
    duration((double)(p.total - p.steps) / fmax(rate, 1e-9), left, sizeof left);
    if (!isnan(p.recent)) snprintf(gain, sizeof gain, "%.1f", p.recent);
    printf("%s%3d%%  episode %lld  return %s  %.0f steps/s  %s left%s", w->terminal ? "\r" : "",
           (int)(100 * p.steps / p.total), (long long)p.episodes, gain, rate * training_seeds(t),
           left, w->terminal ? "   " : "\n");
    fflush(stdout);
}

static bool look(void *user, const training *t)
{
    watch *w = user;
    double now = os_now();
    if (!w->quiet && now >= w->next) {
        if (w->next > 0) say(w, t);
        w->next = now + (w->terminal ? 0.2 : 10);
    }
    return stop_wanted;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int join_command(int argc, char **argv, text *out)
{
    text_add(out, "fans train");
    for (int i = 0; i < argc; i++) text_add(out, " %s", argv[i]);
    return text_done(out);
}

/* runs/CONFIG-ALGO, unless --out says otherwise */
static const char *default_folder(const char *file, const char *algo, char *out, size_t size)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    size_t n = strlen(name);
    if (n > 4 && !strcmp(name + n - 4, ".ini")) n -= 4;
    snprintf(out, size, "runs/%.*s-%s", (int)n, name, algo ? algo : "run");
    return out;
}

static int report(const training *t, const char *json)
{
    json_t *all = json_array();
    for (int r = 0; r < training_seeds(t); r++)
        json_array_append_new(all, json_pack("{s:s, s:f}", "run", training_folder(t, r),
                                             "final_return", training_final(t, r)));
    int rc = cli_write_json(json, json_pack("{s:o}", "runs", all));
    for (int r = 0; rc == 0 && r < training_seeds(t); r++)
        printf("%s: return %.2f over the last 100 episodes\n", training_folder(t, r),
               training_final(t, r));
    return rc;
}

int cmd_train(int argc, char **argv)
{
    session_wish w = SESSION_WISH;
    arg_list settings = {0};
    const char *json = NULL;
    bool quiet = false;
    const arg args[] = {
        ARG_WORD("CONFIG", &w.config, "an .ini file: the task, and whatever else it sets"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &settings, "set one key, over the file"),
        ARG_TEXT("algo", "A", &w.algo, "the algorithm: see `fans list algos`"),
        ARG_INT("seed", &w.seed, 0, 2147483647, "seed of the run"),
        ARG_INT("seeds", &w.seeds, 1, 1024, "that many seeds at once, from --seed on"),
        ARG_TEXT("out", "DIR", &w.out, "folder of the run (runs/CONFIG-ALGO)"),
        ARG_INT("steps", &w.steps, 1, 2000000000, "length of the run in steps"),
        ARG_TEXT("device", "D", &w.device, "auto, cpu or cuda"),
        ARG_INT("threads", &w.threads, 0, 256, "threads to use; 0 = one per core"),
        ARG_FLAG("quiet", &quiet, "no progress"),
        ARG_JSON(&json),
    };
    text command = {0};
    char folder[512];
    session s = {0};
    int rc = args_parse("train", ARGS(args), argc, argv);
    if (rc) return rc;
    TRY(join_command(argc, argv, &command));
    w.settings = &settings;
    w.command = command.s;
    if (!w.out) w.out = default_folder(w.config, w.algo, folder, sizeof folder);
    TRY(session_open(&s, &w));
    listen();
    watch eye = {.terminal = isatty(STDOUT_FILENO), .quiet = quiet};
    rc = training_run(s.training, look, &eye);
    if (eye.terminal && !quiet && rc != 0) printf("\n");
    if (rc == FANS_ESTOP) {
        train_progress p = training_progress(s.training);
        printf("%sstopped at step %lld of %lld; the same command goes on from here\n",
               eye.terminal ? "\n" : "", (long long)p.steps, (long long)p.total);
        rc = 0;
        goto out;
    }
    TRY(rc);
    if (!quiet) say(&eye, s.training);
    if (eye.terminal && !quiet) printf("\n");
    TRY(report(s.training, json));
out:
    session_close(&s);
    text_free(&command);
    return rc;
}
