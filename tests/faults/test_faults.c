/* test_faults.c - some calls fail, each in a training or a command of its own. */
#include "faults.h"

static void files_that_fail_lose_nothing(void **state)
{
    (void)state;
    faults_of_files("sac", "", 40);
    faults_of_files("fans", TINY_FANS, 50);
    faults_of_files("lilac", TINY_LILAC, 150);
    faults_of_files("zeus", TINY_ZEUS, 150);
}

static void exit_status_0_is_for_the_right_result(void **state)
{
    (void)state;
    faults_of_memories(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_fail_lose_nothing),
        cmocka_unit_test(exit_status_0_is_for_the_right_result),
    };
    return faults_main(tests, COUNT(tests), argc, argv);
}
