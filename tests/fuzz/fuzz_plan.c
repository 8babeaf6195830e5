/* fuzz_plan.c - plans of runs: what is read can be written, and reads back to the same. */
#include "fuzz.h"
#include "train/run_plan.h"

static int differ(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : a != b;
}

static void same_plan(const run_plan *a, const run_plan *b)
{
    fuzz_demand(a->count == b->count, "a plan reads back to another number of runs");
    for (int i = 0; i < a->count; i++) {
        const plan_run *x = &a->runs[i], *y = &b->runs[i];
        fuzz_demand(!differ(x->folder, y->folder) && !differ(x->config, y->config) &&
                        !differ(x->algo, y->algo) && !differ(x->preset, y->preset) &&
                        !differ(x->settings, y->settings) && x->seed == y->seed,
                    "a run reads back to another");
    }
}

static void read_plan(const uint8_t *data, size_t size)
{
    run_plan p = {0}, again = {0};
    unsigned before = fuzz_begin();
    fuzz_put("plan.csv", data, size);
    if (fuzz_result(run_plan_read(&p, FUZZ_FOLDER "/plan.csv"), before)) {
        fuzz_demand(run_plan_write(&p, FUZZ_FOLDER "/again.csv") == 0, "a plan cannot be written");
        fuzz_demand(run_plan_read(&again, FUZZ_FOLDER "/again.csv") == 0,
                    "a plan does not read back");
        same_plan(&p, &again);
    }
    run_plan_free(&again);
    run_plan_free(&p);
}

FUZZ_TARGET(read_plan);
