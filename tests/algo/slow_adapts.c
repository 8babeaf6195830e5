/* slow_adapts.c - on Half-Cheetah whose target speed moves with every episode, methods that
 * remember, infer or are taught what changes must be above soft actor-critic, which is told nothing
 * and remembers nothing. Three seeds of each by the tool itself, 300 episodes; their medians count.
 */
#include "flip.h"

enum { STEPS = 300 * 50 };

static double of(const char *algo)
{
    return flip_train("half_cheetah_aep_r", algo, "", STEPS);
}

static int train_blind(void **state)
{
    static double blind;
    blind = of("sac");
    *state = &blind;
    return 0;
}

static void stack_is_above_sac(void **state)
{
    assert_true(of("stack") > *(double *)*state);
}

static void rsac_is_above_sac(void **state)
{
    assert_true(of("rsac") > *(double *)*state);
}

static void varibad_is_above_sac(void **state)
{
    assert_true(of("varibad") > *(double *)*state);
}

static void trio_is_above_sac(void **state)
{
    assert_true(of("trio") > *(double *)*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_is_above_sac),
        cmocka_unit_test(rsac_is_above_sac),
        cmocka_unit_test(varibad_is_above_sac),
        cmocka_unit_test(trio_is_above_sac),
    };
    return cmocka_run_group_tests(tests, train_blind, NULL);
}
