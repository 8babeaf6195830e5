/* watch.h - what the commands that train share: progress on the terminal, signals, time limits. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <signal.h>
#include <stdbool.h>

#include "base/text.h"
#include "cli/pace.h"
#include "train/session.h"

typedef struct watch {
    const session *session;
    sigset_t held;
    int signal; /* the one received, or 0 */
    bool late;  /* the time is up */
    bool terminal, quiet;
    double until; /* when to stop; 0: at the end */
    double next;  /* time of the next message */
    pace pace;
} watch;

/* Does the standard output go to a terminal on which lines can be written over? */
bool on_terminal(void);

/* Call it before any thread is started. */
void watch_signals(watch *w);

/* Has a signal asked to stop? Which is then in w->signal. */
bool watch_signalled(watch *w);

/* Trains a session. 0 when all is done, CLI_SIGNAL + a signal when that stopped it, CLI_LEFT when
 * the time was up. */
int watch_train(watch *eye, session *s);

/* Runs that failed, a line each; the last one is the command's error. */
int tell_faults(const session *s);

/* The final returns of an entry so far: mean and standard deviation over the seeds that have not
 * failed. */
typedef struct spread {
    double mean, sd;
    int count;
} spread;
spread spread_of(const session *s, int entry);

/* "fans NAME ...", quoted for a shell. */
int join_command(const char *name, int argc, char **argv, text *out);
void add_word(text *out, const char *word); /* with a space before it */

#endif
