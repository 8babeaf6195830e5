/* slow_faults.c - every call of a file fails, for a method without a model, one with, and a
 * recurrent one, and every fifth for two more; and every allocation of some commands and of a
 * program that uses the C interface. FAULTS_OF chooses, and FAULTS_PART. */
#include "faults.h"

static void files_that_fail_lose_nothing(void **state)
{
    (void)state;
    faults_of_files("sac", "", 1);
    faults_of_files("fans", TINY_FANS, 1);
    faults_of_files("rsac", TINY_RSAC, 1);
    faults_of_files("lilac", TINY_LILAC, 5);
    faults_of_files("zeus", TINY_ZEUS, 5);
}

static void exit_status_0_is_for_the_right_result(void **state)
{
    (void)state;
    faults_of_memories(false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_status_0_is_for_the_right_result),
        cmocka_unit_test(files_that_fail_lose_nothing),
    };
    return faults_main(tests, COUNT(tests), argc, argv);
}
