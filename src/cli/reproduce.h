/* reproduce.h - from a manifest to runs: which there are, what they are, and what became of them.
 */
#ifndef CLI_REPRODUCE_H
#define CLI_REPRODUCE_H

#include "cli/worker.h"
#include "report/comparison.h"
#include "report/store.h"

/* What a command asks for. */
typedef struct reproduce_wish {
    const char *preset;         /* NULL: the manifest's */
    int seeds;                  /* 0: the manifest's */
    const char *rows, *columns; /* names, separated by commas; NULL: all */
    const char *out;
} reproduce_wish;
#define REPRODUCE_WISH ((reproduce_wish){.out = "runs"})

/* A cell's runs. */
typedef struct reproduce_cell {
    int row, column;
    int first, count; /* of its runs in the plan */
    char *id;         /* in the comparison */
} reproduce_cell;

typedef struct reproduction {
    const manifest *m;
    char root[RUN_PATH]; /* see manifest_root */
    comparison c;
    run_plan plan; /* of all cells, column by column */
    reproduce_cell *cells;
    int cell_count;
    store stored;
} reproduction;

/* Plans all runs of a manifest and reads what is stored of them. A method that does not apply to a
 * task has no runs; the comparison says why. Start from {0}. */
int reproduction_open(reproduction *r, const manifest *m, const reproduce_wish *w);
int reproduction_plan(reproduction *r, const manifest *m, const reproduce_wish *w); /* no more */
void reproduction_close(reproduction *r);

/* Takes the runs that are stored out of the plan. */
int reproduction_skip_stored(reproduction *r);

/* Adds your finished runs to the comparison; `list` is a session of the whole plan. */
int reproduction_collect(reproduction *r, const session *list);

/* Adds your finished runs to results/NAME.json, but for those that are stored; *added counts. */
int reproduction_store(reproduction *r, int *added);

#endif
