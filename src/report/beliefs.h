/* beliefs.h - the beliefs of an agent against the truth: beliefs.csv of a run.
 *
 *     episode,step,tau,since,changed,true.NAME…,theta0…
 *
 * One row per recorded moment; tau counts steps in the episode, since those since the last change
 * (older files lack it: it is then counted from rows where the truth differs), `changed` (only of
 * agents that find changes by themselves) the probability of a recent one. Beliefs are latent:
 * they may be any mixture of the truth, so they are judged by the best linear map to it. The model
 * learns during the run, so only its second half counts: the map is fitted to every other episode
 * and judged on the rest. */
#ifndef REPORT_BELIEFS_H
#define REPORT_BELIEFS_H

#include <stdbool.h>

#include "base/csv.h"
#include "base/since.h"

typedef enum { BELIEF_FIRST, BELIEF_TENTH, BELIEF_LAST, BELIEF_MOMENTS } belief_moment;

typedef struct beliefs {
    csv table;
    int fixed;           /* columns before the truth: 3, more with `since` and `changed` */
    int changed;         /* that column; -1: there is none */
    int factors, thetas; /* columns fixed .. fixed + factors - 1, then the thetas */
    int count;           /* episodes */
    int *last;           /* [count] the last row of each */
    double *since;       /* [rows] steps since the last change of the truth */
    double *r2;          /* [factors][BELIEF_MOMENTS]; NaN where there is too little */
} beliefs;

int beliefs_read(beliefs *b, const char *path);
void beliefs_free(beliefs *b);

/* Whether the file is whole: its last row must be of the last step of the first world's last
 * episode, number `episodes` - 1 with `length` steps, or of a later one. */
int beliefs_check(const char *path, int episodes, double length);

const char *beliefs_name(const beliefs *b, int factor);

/* At the end of every episode: its number, the truth, and what the map makes of the belief; NaN for
 * episodes that the map was fitted to. Returns 1; 0 where there are too few to fit; or an error. */
int beliefs_trace(const beliefs *b, int factor, double *episode, double *truth, double *guess);

/* How a factor is read from a belief at any moment: one linear map, fitted to beliefs that had time
 * to settle, in every other episode of the second half. The others give the root mean square of its
 * errors, by steps since the last change: how far it may be off. Returns 1, 0 where there is too
 * little to fit, or an error. */
typedef struct belief_reading {
    int factor, thetas;
    double *w;                /* [thetas + 1] */
    double error[SINCE_BINS]; /* NaN where nothing was recorded */
    int count[SINCE_BINS];
} belief_reading;
int beliefs_reading(const beliefs *b, int factor, belief_reading *out);
void belief_reading_free(belief_reading *r);
double belief_read(const belief_reading *r, const float *theta);
double belief_spread(const belief_reading *r, double since);

/* R² by steps since the last change, each with a map of its own: NaN where there is too little. */
int beliefs_r2_since(const beliefs *b, int factor, double r2[SINCE_BINS]);

/* The share of changes after which the belief is nearer to the new value than to the old one, by
 * steps since the change (report/noticing.h; beliefs.csv has not every step, so without its
 * streak). Changes that are smaller than the usual error do not count. NaN where nothing was
 * recorded. */
int beliefs_noticed(const beliefs *b, const belief_reading *r, double share[SINCE_BINS]);

/* Of a factor that takes few values: how often the belief names the right one, by steps since the
 * last change; NaN where there is too little. A value has a linear map for each number of steps;
 * the belief names the one whose map says most. Returns 1; 0 where there are too many values; or an
 * error. */
enum { BELIEF_VALUES = 8 };
int beliefs_named_since(const beliefs *b, int factor, double share[SINCE_BINS]);

/* The last n rows, read by a map: steps, the truth, the guess and the usual error. */
int beliefs_last(const beliefs *b, const belief_reading *r, int n, double *step, double *truth,
                 double *guess, double *error);

/* Distances between the ends of up to BELIEF_MAP episodes of the second half, evenly picked: of the
 * truth (each factor scaled to its range) and of the belief, [n][n] each. Fills in `episodes`;
 * returns n. */
enum { BELIEF_MAP = 48 };
int beliefs_distances(const beliefs *b, double *episodes, double *truth, double *belief);

/* Pearson's correlation between two such maps, the diagonals left out. */
double beliefs_correlation(const double *a, const double *b, int n);

#endif
