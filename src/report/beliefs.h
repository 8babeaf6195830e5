/* beliefs.h - the beliefs of an agent against the truth: beliefs.csv of a run.
 *
 *     episode,step,tau,true.NAME…,theta0…
 *
 * One row per recorded moment; tau counts steps in the episode. Beliefs are latent: they may be any
 * mixture of the truth, so they are judged by the best linear map to it. The model learns during
 * the run, so only its second half counts: the map is fitted to every other episode and judged on
 * the rest. */
#ifndef REPORT_BELIEFS_H
#define REPORT_BELIEFS_H

#include <stdbool.h>

#include "base/csv.h"

typedef enum { BELIEF_FIRST, BELIEF_TENTH, BELIEF_LAST, BELIEF_MOMENTS } belief_moment;

typedef struct beliefs {
    csv table;
    int factors, thetas; /* columns 3 .. 3 + factors - 1, then the thetas */
    int count;           /* episodes */
    int *last;           /* [count] the last row of each */
    double *r2;          /* [factors][BELIEF_MOMENTS]; NaN where there is too little */
} beliefs;

int beliefs_read(beliefs *b, const char *path);
void beliefs_free(beliefs *b);

const char *beliefs_name(const beliefs *b, int factor);

/* At the end of every episode: its number, the truth, and what the map makes of the belief; NaN for
 * episodes that the map was fitted to. Returns 1; 0 where there are too few to fit; or an error. */
int beliefs_trace(const beliefs *b, int factor, double *episode, double *truth, double *guess);

/* Distances between the ends of up to BELIEF_MAP episodes of the second half, evenly picked: of the
 * truth (each factor scaled to its range) and of the belief, [n][n] each. Fills in `episodes`;
 * returns n. */
enum { BELIEF_MAP = 64 };
int beliefs_distances(const beliefs *b, double *episodes, double *truth, double *belief);

/* Pearson's correlation between two such maps, the diagonals left out. */
double beliefs_correlation(const double *a, const double *b, int n);

#endif
