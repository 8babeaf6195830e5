/* record.h - one run, read from its folder. */
#ifndef REPORT_RECORD_H
#define REPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"

enum { RECORD_WINDOW = 100 }; /* episodes in a mean */

/* A line of config.ini; pointers into the record. */
typedef struct setting {
    const char *section, *key, *value;
} setting;

typedef struct record {
    char *path;
    char *config, *command, *system; /* as in the folder; the last two may be NULL */
    char *lines;                     /* the config once more, cut into settings */
    setting *settings;
    size_t setting_count, setting_capacity;
    const char *algo;
    long seed, planned; /* episodes to train */
    bool done;
    double wall; /* seconds; NaN while it is not done */

    int episodes;
    double *step, *gain, *length; /* [episodes] steps at its end, return, steps in it */
    double *smooth;               /* [episodes] mean return of the last RECORD_WINDOW */
    double final, area;           /* the last of `smooth`; mean return over all steps */
} record;

int record_read(record *r, const char *path);
void record_free(record *r);

const char *record_get(const record *r, const char *section, const char *key);

/* Which settings two runs are compared by. */
typedef bool setting_fn(const setting *s);
setting_fn setting_of_task;   /* the world and how it changes */
setting_fn setting_of_method; /* the rest, but for seed and length */

bool record_has(const record *r, const setting *s);
bool records_agree(const record *a, const record *b, setting_fn *by);

#endif
