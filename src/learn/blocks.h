/* blocks.h - short stretches of a lifetime in which hidden factors hardly move. */
#ifndef LEARN_BLOCKS_H
#define LEARN_BLOCKS_H

#include "base/mem.h"
#include "data/replay.h"

enum { BLOCKS_LONGEST = 50 }; /* rows of a block, at most */

/* Block b has rows [begin[b], begin[b + 1]). A row is one transition. */
typedef struct blocks {
    int d, m, rows, count;
    float *s, *a, *s1, *r; /* (rows, d), (rows, m), (rows, d), [rows] */
    int *begin;            /* [count + 1] */
    arena *memory;
} blocks;

/* The stretches of a segment and an episode, of at most that many rows; where segments are shorter
 * than 5 rows, 25 rows whatever their segment. */
int blocks_new(blocks **out, const replay *r, int lane);
void blocks_free(blocks *x);

#endif
