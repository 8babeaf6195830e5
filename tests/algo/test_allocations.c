/* test_allocations.c - every allocation that opening an agent makes fails once, for every algorithm
 * in the list: each failure is reported, and nothing leaks. */
#include "train_rig.h"

static const char *algo;

static int open_once(void)
{
    char ini[256] = "[env]\nname = pendulum\nhorizon = 25\n[change.gravity]\nclock = episode\n"
                    "function = sine\noffset = 10\namplitude = 5\nfrequency = 0.5\n";
    rig t;
    if (!strcmp(algo, "oracle")) strcat(ini, "[oracle]\nrelabel = 0.5\n");
    if (!strcmp(algo, "fans")) strcat(ini, "[fans]\nrelabel = 0.5\n");
    int rc = rig_open(&t, ini, algo, NULL, 1, 1, 1);
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
