/* text.h - growing strings, hints for misspelt names, lists of words. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Start from {0}. A failed allocation is remembered in `failed`; later additions do nothing, and
 * text_done reports it. `s` is always a valid string once something was added. */
typedef struct text {
    char *s;
    size_t length, capacity;
    bool failed;
} text;

void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_n(text *t, const char *bytes, size_t n);
int text_done(const text *t);

/* Numbers have a point, whatever the locale of the program, as in text_add: strtod, and "%.*g". */
double text_number(const char *s, char **end);
void text_write_number(char *s, size_t size, int digits, double x);

void text_free(text *t);

/* Replaces what a terminal would obey, control characters of one and of two bytes, by '?'. */
void text_plain(char *s);

/* "did you mean": offer names one by one, then ask for the nearest. Start from {.word = w};
 * `prefix`, such as "--", is written before the name. */
typedef struct nearest {
    const char *word, *prefix;
    const char *best;
    size_t distance;
} nearest;

void nearest_offer(nearest *n, const char *name);

/* `; did you mean 'x'?`, or "" where nothing was near. Points into a buffer of this thread. */
const char *nearest_hint(const nearest *n);

/* Finds the next line in which two texts differ: moves `a` and `b` past it and gives its start and
 * length in each. False where there is none. */
typedef struct text_line {
    const char *s;
    int n;
} text_line;
bool text_differ(const char **a, const char **b, text_line out[2]);

/* Names of columns and nodes: 1 to TEXT_NAME - 1 of a-z, 0-9, '_' and '.'. */
enum { TEXT_NAME = 32 };
bool text_is_name(const char *s);

/* Several borrowed words, in order; start from {0}. */
enum { TEXT_LIST_MOST = 256 };
typedef struct text_list {
    const char *items[TEXT_LIST_MOST];
    int count;
} text_list;

#endif
