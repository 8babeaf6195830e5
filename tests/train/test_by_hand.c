/* test_by_hand.c - worlds in play that somebody changes by hand. */
#include <math.h>

#include "train_rig.h"

static const char FLIP[] =
    "[env]\nname = pendulum\nhorizon = 20\n"
    "[change.torque]\nfunction = choice\nvalues = -1, 1\n[train]\nepisodes = 4\n";
enum { TORQUE = 1 }; /* among the pendulum's factors */

typedef struct stage {
    rig rig;
    play *play;
} stage;

static void open_stage(stage *s, const char *algo)
{
    assert_int_equal(rig_open(&s->rig, FLIP, algo, NULL, 3, 1, 1), 0);
    assert_int_equal(play_new(&s->play, s->rig.training, 17), 0);
}

static void close_stage(stage *s)
{
    assert_int_equal(play_end(s->play), 0);
    rig_close(&s->rig);
}

static play_view step(stage *s)
{
    assert_int_equal(play_step(s->play), 0);
    return play_look(s->play, 0);
}

static void a_factor_is_held_and_let_go(void **state)
{
    stage s;
    (void)state;
    open_stage(&s, "random");
    double before = step(&s).factors[TORQUE];
    assert_int_equal(play_hold(s.play, 0, TORQUE, 0.25), 0);
    assert_true(play_factors(s.play, 0)[TORQUE] == 0.25);
    for (int i = 0; i < 50; i++)
        assert_true(step(&s).factors[TORQUE] == 0.25); /* and new episodes */
    assert_int_equal(play_hold(s.play, 0, TORQUE, NAN), 0);
    assert_true(fabs(step(&s).factors[TORQUE]) == fabs(before));
    assert_fails(play_hold(s.play, 0, TORQUE, 9), FANS_EINVAL, "torque = 9: not from -2 to 2");
    close_stage(&s);
}

/* A change by hand begins a segment, as one of the schedule does: once, and only where it is one.
 */
static void agents_are_told_unless_they_are_not(void **state)
{
    stage s;
    (void)state;
    open_stage(&s, "random");
    assert_false(step(&s).change);
    assert_int_equal(play_hold(s.play, 0, TORQUE, 0.5), 0);
    assert_true(step(&s).change);
    assert_false(step(&s).change);
    assert_int_equal(play_hold(s.play, 0, TORQUE, 0.5), 0); /* where it is already */
    assert_false(step(&s).change);
    play_tell(s.play, false);
    assert_int_equal(play_hold(s.play, 0, TORQUE, -0.5), 0);
    for (int i = 0; i < 50; i++) assert_false(step(&s).change); /* nor of the schedule's */
    play_tell(s.play, true);
    int told = 0;
    for (int i = 0; i < 40; i++) told += step(&s).change;
    assert_int_equal(told, 2); /* of each episode */
    close_stage(&s);
}

static void a_restart_repeats_the_lifetime(void **state)
{
    double rewards[30];
    stage s;
    (void)state;
    open_stage(&s, "sac");
    for (int i = 0; i < 30; i++) rewards[i] = step(&s).reward;
    assert_int_equal(play_restart(s.play), 0);
    for (int i = 0; i < 30; i++) assert_true(step(&s).reward == rewards[i]);
    close_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_is_held_and_let_go),
        cmocka_unit_test(agents_are_told_unless_they_are_not),
        cmocka_unit_test(a_restart_repeats_the_lifetime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
