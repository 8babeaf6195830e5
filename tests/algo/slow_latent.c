/* slow_latent.c - the flip test for methods with a memory or a latent; and on the synthetic FN-MDP,
 * where factors are waves over episodes, VariBAD's belief at the end of an episode tells them all.
 */
#include "flip.h"
#include "report/beliefs.h"

static void varibad_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    flip_is_found_out("varibad", "--set varibad.gain=true --set varibad.initial=2000 --set "
                                 "varibad.latents=4 --set varibad.lstm=64");
}

static void trio_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    flip_is_found_out("trio", "--set trio.initial=2000");
}

static void rsac_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    flip_is_found_out("rsac", "--preset small");
}

static void varibads_belief_tells_the_factors(void **state)
{
    (void)state;
    char folder[64], line[512];
    beliefs b;
    rig_folder(folder, sizeof folder);
    snprintf(line, sizeof line,
             TOOL " train " SOURCE_DIR "/configs/fnmdp_aep.ini --algo varibad --set sac.width=64 "
                  "--steps 20000 --quiet --out %s >/dev/null",
             folder);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "%s/seed-0/beliefs.csv", folder);
    if (beliefs_read(&b, line) < 0) fail_msg("%s", fans_error());
    assert_int_equal(b.factors, 3);
    for (int i = 0; i < b.factors; i++) {
        double r2 = b.r2[i * BELIEF_MOMENTS + BELIEF_LAST];
        print_message("%s: R² %.2f\n", beliefs_name(&b, i), r2);
        assert_true(r2 > 0.8);
    }
    beliefs_free(&b);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varibads_belief_tells_the_factors),
        cmocka_unit_test(varibad_finds_out_how_the_motor_is_wired),
        cmocka_unit_test(trio_finds_out_how_the_motor_is_wired),
        cmocka_unit_test(rsac_finds_out_how_the_motor_is_wired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
