/* evals.h - evals.csv: the evaluations of a run on the way, a row for each value of a factor that
 * is chosen among some (one row, and no value, where none is). */
#ifndef BASE_EVALS_H
#define BASE_EVALS_H

#include "base/csv.h"
#include "base/json.h"

#define EVALS_COLUMNS(X) X(step) X(value) X(episodes) X(return ) X(success) X(reached)
enum {
#define X(name) EVALS_##name,
    EVALS_COLUMNS(X)
#undef X
        EVALS_COLUMN_COUNT
};
extern const char *const evals_columns[EVALS_COLUMN_COUNT];

typedef struct evals {
    csv table;
    int values, count; /* rows of an evaluation; whole evaluations */
} evals;

int evals_read(evals *e, const char *path);
void evals_free(evals *e);

/* Of evaluation k: a column for value i, and its mean over values. */
double evals_at(const evals *e, int k, int i, int column);
double evals_mean(const evals *e, int k, int column);

/* The mean returns of the best and of the last evaluation, and what the last says of each value;
 * NULL where there is none. */
json_t *evals_json(const evals *e);

#endif
