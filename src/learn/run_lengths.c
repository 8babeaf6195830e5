/* run_lengths.c - probabilities of a few times of the last change. */
#include "learn/run_lengths.h"

#include <math.h>
#include <stdbool.h>

static const float NEVER = -1000; /* the log of no probability */

void run_lengths_start(run_lengths *x)
{
    for (int j = 0; j < RUN_MOST; j++) x->age[j] = j ? -1 : 0;
    for (int k = 0; k < RUN_KINDS; k++)
        for (int j = 0; j < RUN_MOST; j++) x->log_w[k][j] = j ? NEVER : 0;
}

/* How likely a hypothesis is for that kind of factor to which it matters most. */
static float worth(const run_lengths *x, int j)
{
    float most = -INFINITY;
    for (int k = 0; k < RUN_KINDS; k++) most = fmaxf(most, x->log_w[k][j]);
    return most;
}

/* A free place, or that of the least likely. */
static int find_place(const run_lengths *x)
{
    int place = 0;
    for (int j = 0; j < RUN_MOST; j++) {
        if (x->age[j] < 0) return j;
        if (worth(x, j) < worth(x, place)) place = j;
    }
    return place;
}

/* Probabilities sum to 1. */
static void normalise(run_lengths *x, int kind)
{
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0) most = fmax(most, (double)x->log_w[kind][j]);
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0) sum += exp((double)x->log_w[kind][j] - most);
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0)
            x->log_w[kind][j] = fmaxf((float)((double)x->log_w[kind][j] - most - log(sum)), NEVER);
}

int run_lengths_add(run_lengths *x, double hazard)
{
    int place = find_place(x);
    x->age[place] = 0;
    for (int k = 0; k < RUN_KINDS; k++) {
        x->log_w[k][place] = NEVER; /* what makes place leaves its share to the others … */
        normalise(x, k);
        for (int j = 0; j < RUN_MOST; j++) x->log_w[k][j] += (float)log1p(-hazard);
        x->log_w[k][place] = (float)log(hazard);
    }
    return place;
}

/* ---- CUSUM ----------------------------------------------------------------------------------- */

/* Place 0 has the accepted hypothesis, place 1 its rival. */
int run_lengths_add_cusum(run_lengths *x, double hazard)
{
    double odds = log(hazard / (1 - hazard));
    bool rises = false;
    for (int k = 0; k < RUN_KINDS; k++)
        rises = rises || (double)(x->log_w[k][1] - x->log_w[k][0]) > odds;
    if (x->age[1] >= 0 && rises) return -1;
    x->age[1] = 0;
    for (int k = 0; k < RUN_KINDS; k++) {
        x->log_w[k][0] = (float)log1p(-hazard);
        x->log_w[k][1] = (float)log(hazard);
    }
    return 1;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void run_lengths_weigh(run_lengths *x, int kind, const double *l)
{
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0) x->log_w[kind][j] += (float)l[j];
    normalise(x, kind);
}

void run_lengths_join(run_lengths *x, int kind, int older, int younger)
{
    float *a = &x->log_w[kind][older], *b = &x->log_w[kind][younger];
    *a += (float)log1p(exp((double)(*b - *a)));
    *b = NEVER;
}

void run_lengths_grow(run_lengths *x)
{
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0) x->age[j]++;
}

int run_lengths_best(const run_lengths *x, int kind)
{
    int best = -1;
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] > 0 && (best < 0 || x->log_w[kind][j] > x->log_w[kind][best])) best = j;
    return best < 0 ? 0 : best;
}

double run_lengths_recent(const run_lengths *x, int kind, double steps)
{
    double sum = 0;
    for (int j = 0; j < RUN_MOST; j++)
        if (x->age[j] >= 0 && (double)x->age[j] <= steps) sum += exp((double)x->log_w[kind][j]);
    return sum;
}
