/* test_allocations.c - every allocation that opening an agent makes fails once, for every algorithm
 * in the list: each failure is reported, and nothing leaks. */
#include "train_rig.h"

static const char *algo;

static int open_once(void)
{
    rig t;
    int rc = rig_open(&t, "[env]\nname = pendulum\nhorizon = 25\n", algo, NULL, 1, 1, 1);
    if (rc == 0) rig_close(&t);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    for (int i = 0; i < algo_count(); i++) {
        algo = algo_at(i)->name;
        fail_every_allocation(open_once);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failed_allocations_are_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
