/* watch.c - a training on the terminal: progress, signals, and what came of it. */
#include "cli/watch.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/cli.h"

/* Signals that end a training wait until the loop looks for them, after every step. They are not
 * caught by a handler: its frame on the stack of a thread that is inside oneDNN's sgemm damages
 * memory. A hangup that the caller ignores, as nohup does, stays ignored. Threads inherit this, so
 * call it before any is started. */
void watch_signals(watch *w)
{
    static const int more[] = {SIGHUP, SIGUSR1, SIGPIPE};
    struct sigaction now;
    sigset_t *held = &w->held;
    sigemptyset(held);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (sigaction(more[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(held, more[i]);
    pthread_sigmask(SIG_BLOCK, held, NULL);
}

bool watch_signalled(watch *w)
{
    int got = sigtimedwait(&w->held, NULL, &(struct timespec){0});
    if (got > 0) w->signal = got;
    return w->signal;
}

bool on_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(kind && !strcmp(kind, "dumb"));
}

/* ---- progress -------------------------------------------------------------------------------- */

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
    double steps, total;
    int64_t episodes; /* of the run with the fewest */
} sums;

static sums sum_up(const session *s)
{
    sums all = {.episodes = INT64_MAX};
    for (int i = 0; i < s->training_count; i++) {
        if (!s->trainings[i]) continue; /* its only run has failed */
        train_progress p = training_progress(s->trainings[i]);
        double runs = training_count(s->trainings[i]);
        all.steps += (double)p.steps * runs;
        all.total += (double)p.total * runs;
        if (p.episodes < all.episodes) all.episodes = p.episodes;
    }
    return all;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static double final_of(const session *s, int entry, int i)
{
    return session_final(s, session_run_of(s, entry, i));
}

spread spread_of(const session *s, int entry)
{
    spread x = {0};
    int seeds = s->entries[entry].count;
    for (int i = 0; i < seeds; i++) x.count += !session_run_of(s, entry, i)->fault[0];
    for (int i = 0; i < seeds; i++)
        if (!session_run_of(s, entry, i)->fault[0]) x.mean += final_of(s, entry, i) / x.count;
    for (int i = 0; x.count > 1 && i < seeds; i++) {
        double d = final_of(s, entry, i) - x.mean;
        if (!session_run_of(s, entry, i)->fault[0]) x.sd += d * d / (x.count - 1);
    }
    x.sd = sqrt(x.sd);
    if (x.count == 0) x.mean = NAN;
    return x;
}

static void add_return(const session *s, int e, text *out)
{
    double mean = spread_of(s, e).mean;
    text_add(out, "%s ", s->entry_count == 1 ? "return" : s->entries[e].name);
    text_add(out, isnan(mean) ? "-" : "%.1f", mean);
}

/* Percent, episode, pace and time left. */
static void add_head(const watch *w, text *out)
{
    sums all = sum_up(w->session);
    pace_mark now = {os_now(), all.steps};
    double seconds = pace_left(&w->pace, now, all.total);
    char left[32] = "?";
    if (!isnan(seconds)) duration(seconds, left, sizeof left);
    text_add(out, "%3d%%  episode %lld", (int)(100 * fmin(all.steps / all.total, 1)),
             (long long)all.episodes);
    if (w->session->run_count > 1) text_add(out, "  %d runs", w->session->run_count);
    text_add(out, "  %.0f steps/s  %s left", pace_rate(&w->pace, now), left);
}

/* On a terminal all is one line that is written over, so it must not be wider than that. */
static void say_on_terminal(const watch *w)
{
    const session *s = w->session;
    size_t most = (size_t)columns() - 1;
    text line = {0}, more = {0};
    add_head(w, &line);
    for (int e = 0; e < s->entry_count; e++) {
        more.length = 0;
        text_add(&more, "  ");
        add_return(s, e, &more);
        if (line.length + more.length > most) break;
        text_add_n(&line, more.s, more.length);
    }
    if (text_done(&line) == 0) printf("\r%-*.*s", (int)most, (int)most, line.s);
    text_free(&line);
    text_free(&more);
}

/* Elsewhere a line for all, and with several methods one for each. */
static void say_in_lines(const watch *w)
{
    const session *s = w->session;
    text out = {0};
    add_head(w, &out);
    for (int e = 0; e < s->entry_count; e++) {
        text_add(&out, s->entry_count == 1 ? "  " : "\n      ");
        add_return(s, e, &out);
    }
    if (text_done(&out) == 0) printf("%s\n", out.s);
    text_free(&out);
}

static void say(const watch *w)
{
    if (w->terminal)
        say_on_terminal(w);
    else
        say_in_lines(w);
    fflush(stdout);
}

static bool look(void *user, const training *t)
{
    watch *w = user;
    double now = os_now();
    (void)t;
    pace_note(&w->pace, (pace_mark){now, sum_up(w->session).steps});
    if (!w->quiet && now >= w->next) {
        if (w->next > 0) say(w);
        w->next = now + (w->terminal ? 0.2 : 10);
    }
    w->late = w->until > 0 && now >= w->until;
    return watch_signalled(w) || w->late;
}

/* ---- training -------------------------------------------------------------------------------- */

int tell_faults(const session *s)
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

int watch_train(watch *eye, session *s)
{
    eye->session = s;
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
        return eye->late ? CLI_LEFT : CLI_SIGNAL + eye->signal;
    }
    if (rc < 0) return rc;
    if (!eye->quiet) say(eye);
    if (eye->terminal && !eye->quiet) printf("\n");
    if (!eye->quiet) report_times(s);
    return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A word, quoted for a shell where needed. */
void add_word(text *out, const char *word)
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

int join_command(const char *name, int argc, char **argv, text *out)
{
    text_add(out, "fans %s", name);
    for (int i = 0; i < argc; i++) add_word(out, argv[i]);
    return text_done(out);
}
