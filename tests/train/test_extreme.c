/* test_extreme.c - some checkpoints with wrong numbers, of every algorithm. */
#include "extreme.h"

static void wrong_numbers_are_refused_or_harmless(void **state)
{
    (void)state;
    extreme_all(40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_numbers_are_refused_or_harmless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
