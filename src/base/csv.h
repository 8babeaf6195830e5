/* csv.h - a table of numbers from a file whose first line names the columns. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stddef.h>

/* Start from {0}. */
typedef struct csv {
    char *head;   /* the first line, cut into names */
    char **names; /* [columns], in `head` */
    int columns;
    size_t rows, capacity;
    double *cells; /* [rows][columns]; an empty cell is NaN */
} csv;

/* Reads all complete lines; a last line without an end is still being written and is left out.
 * Errors name the file, the line and the column. */
int csv_read(csv *t, const char *path);
void csv_free(csv *t);

/* The column of that name, or -1. */
int csv_column(const csv *t, const char *name);
double csv_at(const csv *t, size_t row, int column);

#endif
