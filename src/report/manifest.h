/* manifest.h - a table or figure to reproduce, as a file says it: tables/NAME.ini.
 *
 *     [table]
 *     title = Final return on tasks that change
 *     where = Table A1
 *     methods = sac,fans,oracle
 *
 *     [row.aep_r]
 *     label = Half-Cheetah A-EP(R)
 *     config = half_cheetah_aep_r
 *     paper = sac -131.5 16.9, fans -38.7 33.3
 *
 *     [column.ma]
 *     algo = fans
 *     set = fnvae.smooth=ma
 *
 * Every row is a task, every column a method: an algorithm of `methods`, or a column of its own.
 * A cell is the runs of its column on its row, one per seed. */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include "base/options.h"

enum { FIGURE_FINALS, FIGURE_CURVES, FIGURE_BELIEFS }; /* figure */

#define MANIFEST_OPTIONS(X)                                                        \
    X(TEXT, title, "", "what it shows")                                            \
    X(TEXT, where, "", "its place in the paper; none: ours")                       \
    X(TEXT, note, "", "what a reader must know to compare")                        \
    X(TEXT, missing, "", "why it cannot be reproduced yet; none: it can")          \
    X(TEXT, data, "", "a CSV of results/ that is the table: it has no runs")       \
    X(TEXT, command, "", "what measures its data")                                 \
    X(TEXT, cost, "", "what a measured run of it took, on which machine")          \
    X(TEXT, methods, "", "algorithms, a column each: sac,fans,oracle")             \
    X(TEXT, preset, "standard", "preset of every run; --preset replaces it")       \
    X(INT, seeds, 10, 1, 100000, "seeds per cell, from 0 on; --seeds replaces it") \
    X(INT, small, 0, 0, 1000000000,                                                \
      "its reduced form: steps of a run with --preset small; 0: there is none")    \
    X(CHOICE, figure, 0, "finals|curves|beliefs", "what its figure draws")         \
    X(TEXT, varied, "", "what `x` of rows or columns is; finals are drawn over it")
OPTIONS_STRUCT(manifest_options, MANIFEST_OPTIONS)

#define MANIFEST_ROW_OPTIONS(X)                                                        \
    X(TEXT, label, "", "the task's name in the table; none: the config's")             \
    X(TEXT, config, "", "the task: a file of configs/, without .ini")                  \
    X(TEXT, set, "", "settings of all its runs: section.key=value; section.key=value") \
    X(TEXT, x, "", "its place on the figure's x axis, a word; see `varied`")           \
    X(TEXT, paper, "", "printed figures: COLUMN MEAN [SD], COLUMN MEAN [SD]")
OPTIONS_STRUCT(manifest_row_options, MANIFEST_ROW_OPTIONS)

#define MANIFEST_COLUMN_OPTIONS(X)                                            \
    X(TEXT, label, "", "the method's name in the table; none: the section's") \
    X(TEXT, algo, "", "its algorithm")                                        \
    X(TEXT, preset, "", "its preset; none: the table's")                      \
    X(TEXT, x, "", "its place on the figure's x axis, a word; see `varied`")  \
    X(TEXT, set, "", "settings of all its runs: section.key=value; section.key=value")
OPTIONS_STRUCT(manifest_column_options, MANIFEST_COLUMN_OPTIONS)

/* What the paper printed for a cell; NaN: nothing. */
typedef struct manifest_figure {
    double mean, sd;
} manifest_figure;

typedef struct manifest_row {
    char name[OPTION_TEXT]; /* NAME of [row.NAME] */
    manifest_row_options o;
    manifest_figure *paper; /* [column_count] */
} manifest_row;

typedef struct manifest_column {
    char name[OPTION_TEXT];
    manifest_column_options o;
} manifest_column;

typedef struct manifest {
    char name[64];
    manifest_options o;
    manifest_row *rows;
    manifest_column *columns;
    int row_count, column_count;
    size_t column_capacity;
} manifest;

/* Reads a file. Errors name the line. */
int manifest_read(manifest **out, const char *path);
void manifest_free(manifest *m);

/* Does it consist of runs, and can these be trained? */
bool manifest_has_runs(const manifest *m);

/* Sets chosen[row] or chosen[column] for the names in a list: "flip, speed"; NULL: all of them. */
int manifest_choose_rows(const manifest *m, const char *names, bool *chosen);
int manifest_choose_columns(const manifest *m, const char *names, bool *chosen);

/* Adds the settings of a cell, row first, to a list of words that borrow from `memory`. */
int manifest_settings(const manifest *m, int row, int column, text *memory, text_list *out);

/* Where tables, configs and results lie: the folder that holds tables/, found from the current
 * folder or from the program's. out[size] ends without a slash; "." is empty. */
int manifest_root(char *out, size_t size);

/* The tables there are, by name; each is freed by the caller with the list. */
typedef struct manifest_list {
    manifest **items;
    int count;
    size_t capacity;
} manifest_list;
int manifest_list_read(manifest_list *l, const char *folder);
void manifest_list_free(manifest_list *l);

#endif
