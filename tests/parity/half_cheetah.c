/* parity_half_cheetah.c - what half_cheetah does from a given state under given actions.
 *
 * Reads qpos (9) and qvel (9), then any number of actions (6 each), as numbers between spaces.
 * Prints MuJoCo's version, then one line per action: qpos[1..8], qvel (9) and the reward, with all
 * digits. The oracle compares the lines with another implementation. */
#include <stdio.h>
#include <string.h>

#include "env/mj.h"
#include "fans/env.h"

extern const fans_env_def env_half_cheetah;

static int read_numbers(double *out, int n)
{
    for (int i = 0; i < n; i++)
        if (scanf("%lf", &out[i]) != 1) return 0;
    return 1;
}

static int trace(void *env)
{
    sim *s = *(sim **)env;
    double given[6];
    float action[6], obs[17];
    fans_env_result result;
    while (read_numbers(given, 6)) {
        for (int i = 0; i < 6; i++) action[i] = (float)given[i];
        if (env_half_cheetah.step(env, NULL, action, obs, &result) < 0) return 1;
        for (int i = 1; i < 9; i++) printf("%.17g ", s->d->qpos[i]);
        for (int i = 0; i < 9; i++) printf("%.17g ", s->d->qvel[i]);
        printf("%.17g\n", result.reward);
    }
    return 0;
}

int main(void)
{
    void *env;
    fans_env_info info;
    double state[18];
    if (env_half_cheetah.open(&env, &info, NULL, 0) < 0 || !read_numbers(state, 18)) {
        fprintf(stderr, "parity_half_cheetah: %s\n", fans_error());
        return 1;
    }
    sim *s = *(sim **)env;
    memcpy(s->d->qpos, state, 9 * sizeof(double));
    memcpy(s->d->qvel, state + 9, 9 * sizeof(double));
    printf("%s\n", mj_versionString());
    int bad = trace(env);
    if (bad) fprintf(stderr, "parity_half_cheetah: %s\n", fans_error());
    env_half_cheetah.close(env);
    return bad;
}
