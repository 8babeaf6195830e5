/* slow_latent.c - the flip test for methods with a memory or a latent. */
#include "flip.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varibad_finds_out_how_the_motor_is_wired),
        cmocka_unit_test(trio_finds_out_how_the_motor_is_wired),
        cmocka_unit_test(rsac_finds_out_how_the_motor_is_wired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
