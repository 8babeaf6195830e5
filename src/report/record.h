/* record.h - one run, read from its folder. */
#ifndef REPORT_RECORD_H
#define REPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "base/evals.h"
#include "base/json.h"
#include "base/os.h"
#include "base/since.h"
#include "report/findings.h"

enum { RECORD_FINAL = 100 }; /* episodes in a final return, at most */

/* Episodes that a curve is smoothed over: a thirtieth of the run, from 5 to 100. */
enum { RECORD_SHARE = 30, RECORD_LEAST = 5, RECORD_MOST = 100 };

/* A loss, or whatever else an algorithm writes beside returns: means over equal shares of the run,
 * NaN where no episode ended. */
enum { RECORD_LOSS = 50 };
typedef struct record_loss {
    char name[64];
    double mean[RECORD_LOSS];
} record_loss;

/* A line of config.ini; pointers into the record. */
typedef struct setting {
    const char *section, *key, *value;
} setting;

typedef struct record {
    char *path;
    os_identity id;                  /* which folder it is, whatever its path */
    char *config, *command, *system; /* as in the folder; the last two may be NULL */
    json_t *machine;                 /* `system` parsed; NULL where it is no JSON */
    char *lines;                     /* the config once more, cut into settings */
    char *commit;                    /* of the program; NULL where it is not known */
    setting *settings;               /* and ("system", "commit") */
    size_t setting_count, setting_capacity;
    const char *algo;
    long seed, planned; /* episodes to train */
    bool done;
    double time; /* seconds spent on it, of older runs of its process; NaN while it is not done */

    int episodes;
    double *step, *gain, *length; /* [episodes] steps at its end, return, steps in it */
    double *clock;                /* [episodes] seconds spent on the run until then; NaN */
    int timed;                    /* episodes for which that is known: the first ones */
    int window;                   /* episodes that `smooth` is a mean of */
    double *smooth;               /* [episodes] mean return of the last `window` */
    int first_episodes;           /* of the first world, … */
    double first_length;          /* … and steps of its last one */
    double final, area; /* mean return of the last RECORD_FINAL episodes; and over all steps */

    record_loss *losses;
    int loss_count;

    /* mean reward of a step by steps since the last change, in the second half of the run; NaN */
    double after[SINCE_BINS];
    findings found; /* changes that its agent found by itself */
    evals evals;    /* evaluations on the way; none in most runs */
} record;

int record_read(record *r, const char *path);

/* The path of one of its files, FOLDERS_PATH long. */
int record_file(const record *r, const char *name, char *out);
void record_free(record *r);

/* Memory for so many episodes, none of them timed. */
int record_room(record *r, size_t episodes);

/* Smooths its curve over so many episodes; 0: by its length. */
void record_smooth(record *r, int window);

/* Takes its final return over the last part of its episodes, 1/`share` of them and at least one. */
void record_end(record *r, int share);

const char *record_get(const record *r, const char *section, const char *key);

/* Which settings two runs are compared by. */
typedef bool setting_fn(const setting *s);
setting_fn setting_of_task;   /* the world and how it changes */
setting_fn setting_of_method; /* the rest, but for seed and length */
setting_fn setting_of_commit; /* likewise, and the commit of the program */

bool record_has(const record *r, const setting *s);
bool records_agree(const record *a, const record *b, setting_fn *by);

#endif
