/* slow_extreme.c [COUNT] - many checkpoints with wrong numbers, of every algorithm. */
#include "extreme.h"

static int count = 500;

static void wrong_numbers_are_refused_or_harmless(void **state)
{
    (void)state;
    extreme_all(count);
}

int main(int argc, char **argv)
{
    if (argc > 1) count = (int)strtol(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_numbers_are_refused_or_harmless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
