/* test_oracle.c - what the oracle sees of the factors, as stored in its replay. */
#include "train_rig.h"

enum { STEPS = 50, BLOCK = 7 };

static const state_item *find(const training *t, const char *name)
{
    const state_list *s = training_state(t, 0);
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name)) return &s->items[i];
    fail_msg("the state has no '%s'", name);
    return NULL;
}

/* One episode of a pendulum whose gravity moves in blocks; returns the stored context of each step.
 */
static void live(float shown[STEPS], int delay)
{
    char ini[512], folder[64];
    rig t;
    snprintf(ini, sizeof ini,
             "[train]\nepisodes = 1\n[env]\nname = pendulum\nhorizon = %d\n[oracle]\ndelay = %d\n"
             "[change.gravity]\nclock = block\nlength = %d\nfunction = sine\noffset = 10\n"
             "amplitude = 5\nfrequency = 0.5\nphase = 1\n",
             STEPS, delay, BLOCK);
    rig_folder(folder, sizeof folder);
    if (rig_open(&t, ini, "oracle", folder, 1, 1, 1) < 0) fail_msg("%s", fans_error());
    if (training_run(t.training, NULL, NULL) < 0) fail_msg("%s", fans_error());
    float *all = rig_bytes(find(t.training, "replay.0/context"));
    memcpy(shown, all, STEPS * sizeof *shown);
    mem_free(all);
    rig_close(&t);
    rig_remove(folder);
}

static void it_sees_the_factors(void **state)
{
    (void)state;
    float shown[STEPS];
    live(shown, 0);
    for (int t = 0; t < STEPS; t++)
        assert_float_equal(shown[t], sin(0.5 * (double)(t / BLOCK) + 1), 1e-6);
}

static void with_a_delay_it_sees_them_later(void **state)
{
    (void)state;
    float all[STEPS], late[STEPS];
    live(all, 0);
    live(late, 3);
    for (int t = 0; t < STEPS; t++) assert_true(late[t] == (t < 3 ? 0 : all[t - 3]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_sees_the_factors),
        cmocka_unit_test(with_a_delay_it_sees_them_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
