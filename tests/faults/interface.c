/* interface.c - acts by a run and learns like it, through the C interface, and prints what came of
 * it: numbers that depend on all that was computed. Nothing is written to files. */
#include <fans/fans.h>
#include <stdio.h>

enum { STEPS = 60 };

static fans_config *config;
static fans_worlds *worlds;
static fans_trainer *trainer;
static fans_policy *policy;
static fans_life *life;

static int act(const char *run, const fans_view *v)
{
    fans_shape z = {.size = sizeof z};
    int rc = fans_policy_open(&policy, run, &z);
    if (rc == 0) rc = fans_life_new(&life, policy, 1, 0);
    for (int i = 0; rc == 0 && i < 15; i++) {
        rc = fans_life_act(life, v->obs, v->change, false, v->action);
        if (rc == 0) rc = fans_worlds_step(worlds);
        if (rc == 0) rc = fans_life_observe(life, NULL, v->reward, v->terminated, v->final_obs);
        printf("%a ", (double)v->reward[0]);
    }
    return rc;
}

static int learn(const fans_view *v)
{
    int rc = fans_trainer_new(&trainer, NULL, config, NULL);
    for (int i = 0; rc == 0 && i < STEPS; i++) {
        rc = fans_trainer_act(trainer, v->obs, v->change, NULL, v->action);
        if (rc == 0) rc = fans_trainer_update(trainer);
        if (rc == 0) rc = fans_worlds_step(worlds);
        if (rc == 0)
            rc = fans_trainer_observe(trainer, NULL, v->reward, v->terminated, v->truncated,
                                      v->final_obs);
        printf("%a ", (double)v->action[0]);
    }
    return rc;
}

static int use(const char *run)
{
    char ini[256];
    fans_view v = {.size = sizeof v};
    snprintf(ini, sizeof ini, "%s/config.ini", run);
    int rc = fans_config_new(&config, ini, NULL);
    if (rc == 0) rc = fans_worlds_open(&worlds, config, 1, 1);
    if (rc == 0) rc = fans_worlds_view(worlds, &v);
    if (rc == 0) rc = act(run, &v);
    if (rc == 0) rc = fans_worlds_start(worlds, -1, 0);
    if (rc == 0) rc = learn(&v);
    return rc;
}

int main(int argc, char **argv)
{
    static char line[1 << 13];
    setvbuf(stdout, line, _IOFBF, sizeof line);
    int rc = argc == 2 ? use(argv[1]) : FANS_EINVAL;
    if (rc < 0) fprintf(stderr, "%s\n", fans_error());
    fans_trainer_free(trainer);
    fans_life_free(life);
    fans_policy_free(policy);
    fans_worlds_free(worlds);
    fans_config_free(config);
    return rc < 0;
}
