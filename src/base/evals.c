/* evals.c - reads evaluations. */
#include "base/evals.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

const char *const evals_columns[EVALS_COLUMN_COUNT] = {
#define X(name) #name,
    EVALS_COLUMNS(X)
#undef X
};

/* Every evaluation has as many rows as the first. */
static int find_shape(evals *e, const char *path)
{
    const csv *t = &e->table;
    for (int k = 0; k < EVALS_COLUMN_COUNT; k++)
        if (k >= t->columns || strcmp(t->names[k], evals_columns[k]) != 0)
            return fans_fail(FANS_EFORMAT, "%s: column %d is not '%s'", path, k + 1,
                             evals_columns[k]);
    if (t->rows > INT_MAX) return fans_fail(FANS_EFORMAT, "%s: too long", path);
    int rows = (int)t->rows;
    while (e->values < rows && csv_at(t, (size_t)e->values, EVALS_step) == csv_at(t, 0, EVALS_step))
        e->values++;
    e->count = e->values > 0 ? rows / e->values : 0;
    for (int i = 0; i < e->count * e->values; i++)
        if (csv_at(t, (size_t)i, EVALS_step) != evals_at(e, i / e->values, 0, EVALS_step))
            return fans_fail(FANS_EFORMAT, "%s: line %d: not an evaluation of %d values", path,
                             i + 2, e->values);
    return 0;
}

int evals_read(evals *e, const char *path)
{
    *e = (evals){0};
    int rc = csv_read(&e->table, path);
    if (rc == 0) rc = find_shape(e, path);
    if (rc < 0) evals_free(e);
    return rc;
}

void evals_free(evals *e)
{
    csv_free(&e->table);
    *e = (evals){0};
}

double evals_at(const evals *e, int k, int i, int column)
{
    return csv_at(&e->table, (size_t)k * (size_t)e->values + (size_t)i, column);
}

double evals_mean(const evals *e, int k, int column)
{
    double sum = 0;
    for (int i = 0; i < e->values; i++) sum += evals_at(e, k, i, column);
    return sum / e->values;
}

static json_t *values_json(const evals *e, int k)
{
    json_t *list = json_array();
    for (int i = 0; i < e->values; i++) {
        json_t *one = json_object();
        for (int c = EVALS_value; c < EVALS_COLUMN_COUNT; c++)
            json_object_set_new(one, evals_columns[c], json_number(evals_at(e, k, i, c)));
        json_array_append_new(list, one);
    }
    return list;
}

json_t *evals_json(const evals *e)
{
    int best = 0, last = e->count - 1;
    if (e->count == 0) return NULL;
    for (int k = 1; k < e->count; k++)
        if (evals_mean(e, k, EVALS_return) > evals_mean(e, best, EVALS_return)) best = k;
    return json_pack("{s:o, s:o, s:o, s:o}", "last", json_number(evals_mean(e, last, EVALS_return)),
                     "best", json_number(evals_mean(e, best, EVALS_return)), "best_step",
                     json_number(evals_at(e, best, 0, EVALS_step)), "values", values_json(e, last));
}
