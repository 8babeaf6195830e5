/* test_hindsight.c - in the first steps of a segment critics see the belief after them, policies
 * the belief at the time; where a segment ends within an episode, the belief persists in targets.
 * It includes the file that draws batches, because they are private. */
#include "learn/agent.c" // NOLINT: on purpose

#include "train/train_parts.h"
#include "train_rig.h"

enum { STEPS = 2 };

/* Segment of a row, by its number, and how many rows of it came before. */
typedef struct spot {
    int64_t segment;
    int lane, i;
} spot;

static spot find(const replay *r, int32_t at)
{
    int lane = at / replay_capacity(r);
    int64_t segment = -1;
    for (int i = 0, first = 0; i < replay_rows(r, lane); i++) {
        replay_row row = replay_at(r, lane, i);
        if (row.segment != segment) first = i;
        segment = row.segment;
        if (row.number == at) return (spot){segment, lane, i - first};
    }
    fail_msg("no row %d", (int)at);
    return (spot){0};
}

/* How many successors keep the step's context: those at the end of a segment, within the episode.
 */
static int count_persistent(agent *who)
{
    const int32_t *at = rows_of(&who->at, 0), *next = rows_of(&who->next, 0);
    const int32_t *context_next = rows_of(&who->context_next, 0);
    int count = 0;
    for (int k = 0; k < who->so->batch; k++) {
        spot here = find(who->replay, at[k]), there = find(who->replay, next[k]);
        bool ends = here.segment != there.segment && here.i > 0;
        assert_int_equal(context_next[k], ends ? at[k] : next[k]);
        count += ends;
    }
    return count;
}

/* A horizon of 25 in blocks of 7: some segments end within an episode, others at its end. */
static void critics_see_later_rows_in_first_steps(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    rig_stop stop = {200};
    int moved = 0, stayed = 0;
    if (rig_open(&t,
                 "[train]\nepisodes = 40\nworlds = 2\n[env]\nname = pendulum\nhorizon = 25\n"
                 "[change.gravity]\nclock = block\nlength = 7\nfunction = sine\noffset = 10\n"
                 "amplitude = 5\nfrequency = 0.5\n[fans]\ninitial = 120\nhindsight = 2\n",
                 "fans", rig_folder(folder, sizeof folder), 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
    agent *who = t.training->agent;
    int batch = who->so->batch;
    draw_batch(who, 0);
    const int32_t *at = rows_of(&who->at, 0), *next = rows_of(&who->context_next, 0);
    const int32_t *critic_at = rows_of(&who->critic_at, 0);
    const int32_t *critic_next = rows_of(&who->critic_next, 0);
    for (int k = 0; k < 2 * batch; k++) {
        int n = k / 2;
        spot a = find(who->replay, k % 2 ? next[n] : at[n]);
        spot z = find(who->replay, k % 2 ? critic_next[n] : critic_at[n]);
        assert_int_equal(a.lane, z.lane);
        assert_true(a.segment == z.segment);
        if (a.i >= STEPS)
            assert_int_equal(z.i, a.i);
        else
            assert_in_range(z.i, a.i, STEPS);
        moved += z.i > a.i;
        stayed += z.i == a.i;
    }
    assert_true(moved > batch / 4 && stayed > batch / 2);
    assert_true(count_persistent(who) > batch / 20);
    rig_close(&t);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(critics_see_later_rows_in_first_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
