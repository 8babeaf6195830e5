/* test_api_allocations.c - every allocation of a life with the library fails once: a config,
 * worlds, a trainer in its folder, a policy copied and opened, lives. Each failure is told, and
 * nothing of it stays. (slow_faults does the same to what oneDNN allocates.) */
#include "fans/fans.h"
#include "testing.h"

static const char *algo;

static fans_config *make_config(void)
{
    static const char *const small[][2] = {
        {"env.horizon", "5"},   {"train.episodes", "9"},   {"sac.width", "8"},
        {"sac.batch", "4"},     {"sac.random_steps", "6"}, {"replay.steps", "30"},
        {"fans.initial", "34"}, {"fnvae.p", "1"},          {"fnvae.q", "1"},
        {"fnvae.window", "4"},  {"fnvae.batch", "2"},      {"fnvae.updates", "2"},
        {"fnvae.encoder", "4"}, {"fnvae.lstm", "4"},       {"fnvae.prior", "4"},
        {"fnvae.bank", "2"},    {"fnvae.dense", "4"},      {"fnvae.encode", "2"}};
    fans_config *c = NULL;
    int rc = fans_config_new(&c, SOURCE_DIR "/configs/pendulum_flip.ini", NULL);
    if (rc == 0) rc = fans_config_set(c, "train.algo", algo);
    for (size_t i = 0; rc == 0 && i < COUNT(small); i++)
        rc = fans_config_set(c, small[i][0], small[i][1]);
    if (rc == 0) return c;
    fans_config_free(c);
    return NULL;
}

static int learn(fans_trainer *t, fans_worlds *w)
{
    fans_view v = {.size = sizeof v};
    int rc = fans_worlds_view(w, &v);
    while (rc == 0 && (rc = fans_trainer_act(t, v.obs, v.change, v.factors, v.action)) == 0) {
        rc = fans_trainer_update(t);
        if (rc == 0) rc = fans_worlds_step(w);
        if (rc == 0)
            rc = fans_trainer_observe(t, NULL, v.reward, v.terminated, v.truncated, v.final_obs);
    }
    return rc == FANS_ESTOP ? 0 : rc;
}

static int act(const fans_policy *p, fans_worlds *w)
{
    fans_view v = {.size = sizeof v};
    fans_life *l = NULL;
    int rc = fans_life_new(&l, p, 1, 0);
    if (rc == 0) rc = fans_worlds_view(w, &v);
    for (int i = 0; rc == 0 && i < 3; i++) {
        rc = fans_life_act(l, v.obs, v.change, true, v.action);
        if (rc == 0) rc = fans_worlds_step(w);
        if (rc == 0) rc = fans_life_observe(l, NULL, v.reward, v.terminated, v.final_obs);
    }
    fans_life_free(l);
    return rc;
}

static const fans_config *config; /* made once: its failures are test_api_config's */

static int live(void)
{
    fans_worlds *w = NULL;
    fans_trainer *t = NULL;
    fans_policy *copy = NULL, *kept = NULL;
    const char *run = in_test_folder("run");
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", run);
    if (system(command) != 0) return FANS_EIO;
    int rc = fans_worlds_open(&w, config, 1, 1);
    if (rc == 0) rc = fans_trainer_new(&t, NULL, config, run);
    if (rc == 0) rc = learn(t, w);
    if (rc == 0) rc = fans_trainer_save(t, "mine", 4);
    if (rc == 0) rc = fans_trainer_policy(&copy, t);
    if (rc == 0) rc = fans_policy_open(&kept, run, NULL);
    if (rc == 0) rc = act(copy, w);
    if (rc == 0) rc = act(kept, w);
    fans_policy_free(copy);
    fans_policy_free(kept);
    fans_trainer_free(t);
    fans_worlds_free(w);
    return rc;
}

static void failures_are_told(void **state)
{
    static const char *const algos[] = {"sac", "fans"};
    (void)state;
    for (size_t k = 0; k < COUNT(algos); k++) {
        fans_config *c = NULL;
        algo = algos[k];
        config = c = make_config();
        if (!c) fail_msg("%s", fans_error());
        if (live() < 0) fail_msg("%s", fans_error()); /* what is kept for good is there now */
        fail_every_allocation(live);
        fans_config_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failures_are_told)};
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
