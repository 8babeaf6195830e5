/* since.h - bins of steps since the last change of a world: narrow at first, then wider. */
#ifndef BASE_SINCE_H
#define BASE_SINCE_H

#include <stdint.h>

enum { SINCE_BINS = 16 };

/* The least number of steps in a bin; the last one has everything beyond. */
static const int since_starts[SINCE_BINS] = {0,  1,  2,  3,   5,   7,   10,  15,
                                             20, 30, 50, 100, 200, 300, 500, 1000};

static inline int since_bin(double since)
{
    int bin = SINCE_BINS - 1;
    while (bin > 0 && since < since_starts[bin]) bin--;
    return bin;
}

/* How many of a stretch's first `length` steps are in a bin. */
static inline int64_t since_count(int bin, int64_t length)
{
    int64_t from = since_starts[bin];
    int64_t to =
        bin + 1 < SINCE_BINS && length > since_starts[bin + 1] ? since_starts[bin + 1] : length;
    return to > from ? to - from : 0;
}

#endif
