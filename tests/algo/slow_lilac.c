/* slow_lilac.c - LILAC foresees what follows a rule, and nothing else. On a pendulum whose motor is
 * wired the wrong way round in every other episode it must be far better than where chance decides;
 * there no method that infers nothing within an episode can beat soft actor-critic. On the
 * synthetic FN-MDP, where factors are waves over episodes, it must lie between SAC and the oracle.
 */
#include "flip.h"

#define SMALL                                                                          \
    "--set lilac.initial=2000 --set lilac.updates=2000 --set lilac.episodes=16 --set " \
    "lilac.gain=true"

static void it_foresees_what_alternates(void **state)
{
    (void)state;
    double rule = flip_train("pendulum_alternating", "lilac", SMALL, FLIP_STEPS);
    double chance = flip_train("pendulum_flip", "lilac", SMALL, FLIP_STEPS);
    double blind = flip_train("pendulum_flip", "sac", "", FLIP_STEPS);
    assert_true(rule > chance + 300);
    assert_true(fabs(chance - blind) < 300);
}

static void it_foresees_waves(void **state)
{
    (void)state;
    double sac = flip_train("fnmdp_aep", "sac", "--set sac.width=64", 20000);
    double lilac = flip_train("fnmdp_aep", "lilac", SMALL " --set sac.width=64", 20000);
    double oracle = flip_train("fnmdp_aep", "oracle", "--set sac.width=64", 20000);
    assert_true(lilac > sac + 1 && lilac < oracle + 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_foresees_what_alternates),
        cmocka_unit_test(it_foresees_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
