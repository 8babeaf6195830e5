/* cmd_train.c - fans train: trains algorithms on tasks, or resumes runs. */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "algo/registry.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "train/sections.h"
#include "train/session.h"

/* Signals that end a training wait until the loop looks for them, after every step. They are not
 * caught by a handler: its frame on the stack of a thread that is inside oneDNN's sgemm damages
 * memory. A hangup that the caller ignores, as nohup does, stays ignored. Threads inherit this, so
 * call it before any is started. */
static void hold_signals(sigset_t *held)
{
    static const int more[] = {SIGHUP, SIGUSR1, SIGPIPE};
    struct sigaction now;
    sigemptyset(held);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (sigaction(more[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(held, more[i]);
    pthread_sigmask(SIG_BLOCK, held, NULL);
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct watch {
    const session *session;
    sigset_t held;
    int signal; /* the one received, or 0 */
    bool terminal, quiet;
    double next; /* time of the next message */
} watch;

static void duration(double seconds, char *out, size_t size)
{
    int s = (int)fmin(fmax(seconds, 0), 1e9);
    if (s >= 3600)
        snprintf(out, size, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%d:%02d", s / 60, s % 60);
}

/* Of all runs together. */
typedef struct sums {
    double steps, total, rate; /* rate: steps a second since the start */
    double left;               /* seconds, of the training that takes longest */
    int64_t episodes;          /* of the run with the fewest */
} sums;

static sums sum_up(const session *s)
{
    sums all = {.episodes = INT64_MAX};
    double lived = 0, seconds = 1e-9;
    for (int i = 0; i < s->training_count; i++) {
        if (!s->trainings[i]) continue; /* its only run has failed */
        train_progress p = training_progress(s->trainings[i]);
        double runs = training_count(s->trainings[i]);
        all.steps += (double)p.steps * runs;
        all.total += (double)p.total * runs;
        lived += (double)(p.steps - p.since) * runs;
        seconds = fmax(seconds, p.seconds);
        all.left = fmax(all.left, (double)(p.total - p.steps) * p.seconds /
                                      fmax((double)(p.steps - p.since), 1));
        if (p.episodes < all.episodes) all.episodes = p.episodes;
    }
    all.rate = lived / seconds;
    return all;
}

/* The final returns of an entry so far: mean and standard deviation over the seeds that have not
 * failed. */
typedef struct spread {
    double mean, sd;
    int count;
} spread;

static double final_of(const session *s, int entry, int seed)
{
    return session_final(s, session_run_of(s, entry, seed));
}

/* How many episodes that return is the mean of. */
static int recent_of(const session *s, int seed)
{
    return session_recent(s, session_run_of(s, 0, seed));
}

static spread spread_of(const session *s, int entry)
{
    spread x = {0};
    for (int i = 0; i < s->seeds; i++) x.count += !session_run_of(s, entry, i)->fault[0];
    for (int i = 0; i < s->seeds; i++)
        if (!session_run_of(s, entry, i)->fault[0]) x.mean += final_of(s, entry, i) / x.count;
    for (int i = 0; x.count > 1 && i < s->seeds; i++) {
        double d = final_of(s, entry, i) - x.mean;
        if (!session_run_of(s, entry, i)->fault[0]) x.sd += d * d / (x.count - 1);
    }
    x.sd = sqrt(x.sd);
    if (x.count == 0) x.mean = NAN;
    return x;
}

enum { COLUMNS = 110 }; /* of a line */

/* The return; with several entries, one for each, as long as there is room. */
static void add_returns(const session *s, text *line)
{
    char piece[sizeof s->entries->name + 32];
    for (int e = 0; e < s->entry_count; e++) {
        double mean = spread_of(s, e).mean;
        const char *name = s->entry_count == 1 ? "return" : s->entries[e].name;
        if (isnan(mean))
            snprintf(piece, sizeof piece, "  %s -", name);
        else
            snprintf(piece, sizeof piece, "  %s %.1f", name, mean);
        if (line->length + strlen(piece) > COLUMNS) {
            text_add(line, "  ...");
            break;
        }
        text_add(line, "%s", piece);
    }
}

static void say(const watch *w)
{
    const session *s = w->session;
    sums all = sum_up(s);
    char left[32];
    text line = {0};
    duration(all.left, left, sizeof left);
    text_add(&line, "%3d%%  episode %lld", (int)(100 * fmin(all.steps / all.total, 1)),
             (long long)all.episodes);
    if (s->entry_count == 1) add_returns(s, &line);
    if (s->run_count > 1) text_add(&line, "  %d runs", s->run_count);
    text_add(&line, "  %.0f steps/s  %s left", all.rate, left);
    if (s->entry_count > 1) add_returns(s, &line);
    if (text_done(&line) == 0)
        printf("%s%s%s", w->terminal ? "\r" : "", line.s, w->terminal ? "   " : "\n");
    text_free(&line);
    fflush(stdout);
}

static bool look(void *user, const training *t)
{
    watch *w = user;
    double now = os_now();
    (void)t;
    if (!w->quiet && now >= w->next) {
        if (w->next > 0) say(w);
        w->next = now + (w->terminal ? 0.2 : 10);
    }
    int got = sigtimedwait(&w->held, NULL, &(struct timespec){0});
    if (got > 0) w->signal = got;
    return w->signal;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* A word, quoted for a shell where needed. */
static void add_word(text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./=:,+-@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        text_add(out, " %s", word);
        return;
    }
    text_add(out, " '");
    for (const char *c = word; *c; c++) {
        if (*c == '\'') text_add(out, "'\\'");
        text_add(out, "%c", *c);
    }
    text_add(out, "'");
}

static int join_command(int argc, char **argv, text *out)
{
    text_add(out, "fans train");
    for (int i = 0; i < argc; i++) add_word(out, argv[i]);
    return text_done(out);
}

/* One result.json for several runs, in `folder`. */
static int write_results(const session *s, const char *folder, int first, int count)
{
    char path[RUN_PATH + 16];
    json_t *all = json_array();
    for (int i = first; i < first + count; i++) {
        json_array_append_new(all, session_result(s, &s->runs[i]));
    }
    json_t *file = json_pack("{s:o}", "runs", all);
    snprintf(path, sizeof path, "%s/result.json", folder);
    int rc = json_write_file(path, file);
    json_decref(file);
    return rc;
}

static int gather_results(const session *s, const char *out)
{
    int rc = 0;
    for (int e = 0; s->seeds > 1 && e < s->entry_count; e++)
        TRY(write_results(s, s->entries[e].folder, e * s->seeds, s->seeds));
    if (s->entry_count > 1) TRY(write_results(s, out ? out : "runs", 0, s->run_count));
out:
    return rc;
}

static int report_json(const session *s, const char *json)
{
    json_t *all = json_array();
    for (int i = 0; i < s->run_count; i++) {
        const session_run *r = &s->runs[i];
        double final = session_final(s, r);
        json_t *number = isnan(final) ? json_null() : json_real(final);
        json_array_append_new(all,
                              json_pack("{s:s, s:o}", "run", r->folder, "final_return", number));
    }
    return cli_write_json(json, json_pack("{s:o}", "runs", all));
}

/* With one entry, every run; with several, the mean and standard deviation of each. */
static int report(const session *s, const char *json)
{
    int rc = report_json(s, json);
    if (rc < 0) return rc;
    for (int i = 0; s->entry_count == 1 && i < s->seeds; i++)
        if (!*s->runs[i].fault)
            printf("%s: return %.2f over the last %d episode%s\n", s->runs[i].folder,
                   final_of(s, 0, i), recent_of(s, i), plural(recent_of(s, i)));
    for (int e = 0; s->run_count > 1 && e < s->entry_count; e++) {
        spread x = spread_of(s, e);
        printf("%s: return %.2f", s->entries[e].folder, x.mean);
        if (s->seeds > 1) printf(" ± %.2f over %d seeds", x.sd, x.count);
        printf("\n");
    }
    return 0;
}

/* Runs that failed, a line each; the last one is the command's error. */
static int tell_faults(const session *s)
{
    const char *last = NULL;
    for (int i = 0; i < s->run_count; i++) {
        if (!*s->runs[i].fault) continue;
        if (last) fprintf(stderr, "fans: %s\n", last);
        last = s->runs[i].fault;
    }
    return last ? fans_fail(FANS_ENUMERIC, "%s", last) : 0;
}

/* Where the time went, over all trainings; on a GPU, waiting for updates is acting or observing. */
static void report_times(const session *s)
{
    train_times x = {0};
    double total = 0, each = 0;
    for (int i = 0; i < s->training_count; i++) {
        if (!s->trainings[i]) continue;
        train_times t = training_times(s->trainings[i]);
        double seconds = training_progress(s->trainings[i]).seconds;
        total = fmax(total, seconds);
        each += seconds;
        x.worlds += t.worlds;
        x.acting += t.acting;
        x.updating += t.updating;
        x.observing += t.observing;
        x.saving += t.saving;
    }
    double all = s->threaded ? each : total; /* in turn, they share it */
    double one = all / 100, rest = all - x.worlds - x.acting - x.updating - x.observing - x.saving;
    if (total < 1) return;
    printf(
        "%.0f s: worlds %.0f %%, acting %.0f %%, updating %.0f %%, observing %.0f %%, saving %.0f "
        "%%, rest %.0f %%\n",
        total, x.worlds / one, x.acting / one, x.updating / one, x.observing / one, x.saving / one,
        rest / one);
}

/* 0 when all is done, CLI_SIGNAL + a signal when that stopped it. */
static int train(session *s, watch *eye)
{
    int rc = session_train(s, look, eye);
    if (eye->terminal && !eye->quiet && rc != 0) printf("\n");
    if (rc == FANS_ESTOP) {
        sums all = sum_up(s);
        fprintf(eye->signal == SIGPIPE ? stderr : stdout,
                "stopped at step %.0f of %.0f; run the same command again to resume\n",
                all.steps / s->run_count, all.total / s->run_count);
        if (!eye->quiet) report_times(s);
        fflush(stdout);
        if (tell_faults(s) < 0) fprintf(stderr, "fans: %s\n", fans_error());
        return CLI_SIGNAL + eye->signal;
    }
    if (rc < 0) return rc;
    if (!eye->quiet) say(eye);
    if (eye->terminal && !eye->quiet) printf("\n");
    if (!eye->quiet) report_times(s);
    return 0;
}

/* Mistakes of the command line that show without any config. */
static int check_algos(const char *list)
{
    const fans_algo_def *found;
    char name[OPTION_TEXT];
    for (; list && *list; list += strcspn(list, ",") + (strchr(list, ',') != NULL)) {
        int n = (int)strcspn(list, ",");
        if (n >= OPTION_TEXT)
            return fans_fail(CLI_USAGE, "train: --algo: %.*s: longer than %d characters", n, list,
                             OPTION_TEXT - 1);
        snprintf(name, sizeof name, "%.*s", n, list);
        int rc = algo_find(&found, name);
        if (rc < 0) return fans_fail_within(CLI_USAGE, "train: --algo");
    }
    return 0;
}

static int check_wish(const session_wish *w)
{
    int rc = check_algos(w->algos);
    if (rc < 0) return rc;
    if (preset_check(w->preset) < 0) return fans_fail_within(CLI_USAGE, "train: --preset");
    if (w->seed > INT_MAX - w->seeds + 1)
        return fans_fail(CLI_USAGE, "train: --seed %d --seeds %d: seeds end at %d", w->seed,
                         w->seeds, INT_MAX);
    return 0;
}

int cmd_train(int argc, char **argv)
{
    session_wish w = SESSION_WISH;
    text_list settings = {0};
    const char *json = NULL;
    bool quiet = false;
    const arg args[] = {
        ARG_WORDS("CONFIG", &w.configs,
                  "config file: the task and any other settings; several train together"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &settings, "override a config key"),
        ARG_TEXT("algo", "A[,B...]", &w.algos,
                 "algorithms, see `fans list algos` (train.algo: sac)"),
        ARG_TEXT("preset", "P", &w.preset, "paper, standard (default), small or classic"),
        ARG_INT("seed", &w.seed, 0, 2147483647, "seed of the first run (0)"),
        ARG_INT("seeds", &w.seeds, 1, 1024, "number of seeds to train at once (1)"),
        ARG_TEXT("out", "DIR", &w.out,
                 "folder of the seed-N folders (runs/CONFIG-ALGO); with several configs or "
                 "algorithms, of their CONFIG-ALGO folders (runs)"),
        ARG_INT("steps", &w.steps, 1, 2000000000,
                "steps per run, in whole episodes (train.episodes × horizon)"),
        ARG_TEXT("device", "D", &w.device,
                 "auto (default: a GPU where there is one), cpu, cuda or cuda:N"),
        ARG_PRECISION(&w.precision),
        ARG_INT("threads", &w.threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_FLAG("quiet", &quiet, "print no progress"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    text command = {0};
    session s = {0};
    int rc = args_parse("train", ARGS(args), argc, argv);
    if (rc || (rc = check_wish(&w)) < 0) return rc;
    TRY(join_command(argc, argv, &command));
    w.settings = &settings;
    w.command = command.s;
    watch eye = {.session = &s, .terminal = isatty(STDOUT_FILENO), .quiet = quiet};
    hold_signals(&eye.held);
    TRY(session_open(&s, &w));
    rc = train(&s, &eye);
    if (rc == 0) {
        TRY(gather_results(&s, w.out));
        TRY(report(&s, json));
        TRY(tell_faults(&s));
    }
out:
    session_close(&s);
    text_free(&command);
    return rc;
}
