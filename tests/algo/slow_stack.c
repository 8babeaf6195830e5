/* slow_stack.c - the flip test: five steps of memory are enough. */
#include "flip.h"

static void it_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    flip_is_found_out("stack", "--set stack.steps=5 --set sac.width=256");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_finds_out_how_the_motor_is_wired)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
