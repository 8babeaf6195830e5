/* fuzz_schedule.c - how factors move: what is read can be lived, and what is dumped reads back to
 * the same. The world is a pendulum, or with a # in front one that has options of its own. */
#include <math.h>

#include "env/task.h"
#include "fuzz.h"

static int load(task **t, const char *ini)
{
    config *c = NULL;
    int rc = config_new(&c);
    if (rc == 0) rc = config_add_text(c, "fuzz", ini);
    if (rc == 0) rc = task_load(t, c);
    config_free(c);
    return rc;
}

/* What agents are told of rule k is in order. */
static void check_moving(const task *t, int k)
{
    fans_moving m = schedule_moving(t->change, k);
    fuzz_demand(m.factor == schedule_factor(t->change, k) && m.low <= m.high && !isnan(m.every),
                "a movement makes no sense");
}

static void live(const task *t)
{
    enum { RULES = 64 };
    sched_state states[RULES];
    double values[RULES];
    sched_time now = {0};
    if (schedule_rules(t->change) > RULES) return;
    memset(states, 0, sizeof states);
    for (int k = 0; k < schedule_rules(t->change); k++) check_moving(t, k);
    for (; now.t < 300; now.t++) {
        schedule_advance(t->change, (sched_life){7, 0}, &now, states, values);
        for (int k = 0; k < schedule_rules(t->change); k++)
            fuzz_demand(isfinite(values[k]), "a factor is not finite");
        now.tau = (now.tau + 1) % 25;
        now.episode += now.tau == 0;
    }
}

static void read_schedule(const uint8_t *data, size_t size)
{
    task *t = NULL, *again = NULL;
    text ini = {0}, dump = {0}, second = {0};
    text_add(&ini, "[env]\nname = %s\n", size && *data == '#' ? "fnmdp" : "pendulum");
    for (size_t i = 0; i < size; i++)
        if (data[i]) text_add_n(&ini, (const char *)data + i, 1);
    unsigned before = fuzz_begin();
    if (fuzz_result(load(&t, ini.s), before)) {
        live(t);
        task_dump(t, &dump);
        fuzz_demand(text_done(&dump) == 0 && load(&again, dump.s) == 0,
                    "a dump does not read back");
        task_dump(again, &second);
        fuzz_demand(!strcmp(dump.s, second.s), "a dump reads back to something else");
    }
    text_free(&ini);
    text_free(&dump);
    text_free(&second);
    task_free(t);
    task_free(again);
}

FUZZ_TARGET(read_schedule);
