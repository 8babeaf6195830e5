/* act.c - a trained run acts in its world for a few episodes.
 *
 *     cc examples/act.c -o act $(pkg-config --cflags --libs fans)
 *     ./act runs/pendulum_flip-fans/seed-0 5
 *
 * The loop of a robot looks the same: its sensors instead of `v.obs`, its motors instead of
 * fans_worlds_step. */
#include <fans/fans.h>
#include <stdio.h>
#include <stdlib.h>

/* The worlds that the run was trained in. */
static int open_worlds(fans_worlds **out, const char *run)
{
    char ini[4096];
    fans_config *c = NULL;
    snprintf(ini, sizeof ini, "%s/config.ini", run);
    int rc = fans_config_new(&c, ini, NULL);
    if (rc == 0) rc = fans_worlds_open(out, c, 1, 1);
    fans_config_free(c);
    return rc;
}

static int play(fans_life *l, fans_worlds *w, const fans_shape *z, double *gain)
{
    fans_view v = {.size = sizeof v};
    int rc = fans_worlds_view(w, &v);
    *gain = 0;
    for (bool ended = false; rc == 0 && !ended; ended = v.terminated[0] || v.truncated[0]) {
        rc = fans_life_act(l, v.obs, v.change, false, v.action);
        if (rc == 0) rc = fans_worlds_step(w);
        if (rc == 0) rc = fans_life_observe(l, NULL, v.reward, v.terminated, v.final_obs);
        *gain += (double)v.reward[0];
    }
    const float *belief = z->theta ? fans_life_belief(l) : NULL;
    for (int k = 0; rc == 0 && belief && k < z->theta; k++)
        printf("%s%.2f", k ? " " : "belief ", (double)belief[k]);
    return rc;
}

int main(int argc, char **argv)
{
    fans_policy *p = NULL;
    fans_life *l = NULL;
    fans_worlds *w = NULL;
    fans_shape z = {.size = sizeof z};
    if (argc < 2) return fprintf(stderr, "usage: act RUN [EPISODES]\n"), 2;
    int rc = fans_policy_open(&p, argv[1], &z);
    if (rc == 0) rc = fans_life_new(&l, p, 1, 0);
    if (rc == 0) rc = open_worlds(&w, argv[1]);
    if (rc == 0) rc = fans_worlds_start(w, 0, 1000000); /* a lifetime that it never saw */
    for (int i = 0; rc == 0 && i < (argc > 2 ? atoi(argv[2]) : 3); i++) {
        double gain;
        rc = play(l, w, &z, &gain);
        if (rc == 0) printf("%sreturn %.1f\n", z.theta ? ": " : "", gain);
    }
    if (rc < 0) fprintf(stderr, "act: %s\n", fans_error());
    fans_worlds_free(w);
    fans_life_free(l);
    fans_policy_free(p);
    return rc < 0;
}
