/* gp.c - parity_gp C L S0 Y…: what a Gaussian process with these hyper-parameters expects after the
 * values, as JSON; and the likelihood before and after a fit. */
#include <stdio.h>
#include <stdlib.h>

#include "learn/gp.h"

int main(int argc, char **argv)
{
    static gp_scratch x;
    double y[GP_MOST];
    int n = argc - 4;
    if (n < 1 || n > GP_MOST) return 2;
    gp_hyper h = {atof(argv[1]), atof(argv[2]), atof(argv[3])};
    for (int i = 0; i < n; i++) y[i] = atof(argv[i + 4]);
    gp_answer a = gp_next(&x, h, y, n);
    double likelihood = gp_likelihood(&x, h, y, n);
    gp_hyper best = gp_fit(&x, y, n);
    printf("{\"mean\": %.17g, \"sd\": %.17g, \"likelihood\": %.17g, \"fitted\": %.17g}\n", a.mean,
           a.sd, likelihood, gp_likelihood(&x, best, y, n));
    return 0;
}
