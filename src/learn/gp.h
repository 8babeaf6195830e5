/* gp.h - Gaussian-process regression of a sequence: what comes after y_0 … y_n-1?
 *
 *     k(i, j) = c exp(-(i - j)² / 2 l²) + s0² + i j + 0.01 [i = j]
 *
 * A smooth function, a linear trend and noise. Indices are centred: otherwise a long life would
 * make the trend's variance explode. */
#ifndef LEARN_GP_H
#define LEARN_GP_H

enum { GP_MOST = 100 }; /* values of a sequence */

typedef struct gp_hyper {
    double c, l, s0;
} gp_hyper;
#define GP_HYPER_DEFAULT ((gp_hyper){1, 1, 1})

/* Memory for one sequence at a time; any content. */
typedef struct gp_scratch {
    double K[GP_MOST * GP_MOST], y[GP_MOST], k[GP_MOST];
} gp_scratch;

typedef struct gp_answer {
    double mean, sd; /* sd includes the noise */
} gp_answer;

/* What y[n] would be; and the log likelihood of y_0 … y_n-1. */
gp_answer gp_next(gp_scratch *x, gp_hyper h, const double *y, int n);
double gp_likelihood(gp_scratch *x, gp_hyper h, const double *y, int n);

/* Maximises the likelihood by Nelder and Mead's method over the logarithms, within 1e-5 … 1e5. */
gp_hyper gp_fit(gp_scratch *x, const double *y, int n);

#endif
