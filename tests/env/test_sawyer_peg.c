/* test_sawyer_peg.c - the peg, the boxes, the cameras; and an expert that shows the task can be
 * done.
 */
#include "mj_cases.h"

extern const fans_env_def env_sawyer_peg;
static const fans_env_def *const def = &env_sawyer_peg;

enum { JOINTS = 7, VIEW = 64 * 64 * 3 };

static const double *tip_of(const trial *w)
{
    return w->s->d->site_xpos + 3 * sim_find(w->s, mjOBJ_SITE, "tip");
}

/* ---- the world ------------------------------------------------------------------------------- */

static void it_starts_above_the_boxes(void **state)
{
    (void)state;
    trial w = trial_open(def);
    assert_int_equal(w.info.obs_dim, 17);
    assert_int_equal(w.info.act_dim, 7);
    assert_int_equal(w.info.horizon, 40);
    assert_int_equal(w.info.views, 2);
    trial_reset(&w);
    assert_true(fabsf(w.obs[3] - 1.7046f) < 1e-6f);
    for (int i = 0; i < JOINTS; i++) assert_true(w.obs[JOINTS + i] == 0);
    for (int i = 0; i < 3; i++) assert_true(w.obs[14 + i] == (float)tip_of(&w)[i]);
    assert_true(w.obs[16] > 0.06f && w.obs[16] < 0.12f); /* over the walls */
    trial_close(&w);
}

static void boxes_stand_where_they_should_and_move(void **state)
{
    (void)state;
    static const double low[2][2] = {{0.44, 0.60}, {-0.08, 0.07}};
    static const double high[2][2] = {{0.45, 0.61}, {-0.07, 0.08}};
    trial w = trial_open(def);
    double first[12];
    for (int round = 0; round < 50; round++) {
        trial_reset(&w);
        for (int i = 0; i < 4; i++) {
            const double *at = w.s->d->mocap_pos + 3 * i;
            int far = i >= 2, left = i % 2 == 0;
            assert_true(at[0] > low[0][far] && at[0] < high[0][far]);
            assert_true(at[1] > low[1][left] && at[1] < high[1][left]);
            assert_true(at[2] == 0);
        }
        if (round) assert_memory_not_equal(first, w.s->d->mocap_pos, sizeof first);
        memcpy(first, w.s->d->mocap_pos, sizeof first);
    }
    trial_close(&w);
}

/* The table of the published formula, at places along a line to the goal. */
static void the_reward_has_its_published_values(void **state)
{
    (void)state;
    static const double table[][2] = {
        {0.01, 0.97}, {0.03, 0}, {0.05, -0.48}, {0.1, -1.27}, {0.2, -2.63}};
    trial w = trial_open(def);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        trial_reset(&w);
        memset(w.action, 0, sizeof w.action);
        /* move the goal, not the arm; lifted out of the way of the peg */
        for (int k = 0; k < 3; k++) w.s->d->mocap_pos[k] = tip_of(&w)[k];
        w.s->d->mocap_pos[2] -= 0.1 + table[i][0];
        trial_step(&w);
        double away = mju_dist3(tip_of(&w), w.s->d->mocap_pos);
        /* without moving, correct the distance by shifting the goal and asking again */
        w.s->d->mocap_pos[2] += away - table[i][0];
        w.s->m->opt.disableflags |= mjDSBL_CONTACT;
        trial_step(&w);
        away = mju_dist3(tip_of(&w), w.s->d->mocap_pos);
        assert_true(fabs(away - table[i][0]) < 1e-4);
        assert_true(fabs(w.result.reward - table[i][1]) < 0.02);
        assert_true(w.result.success == (away < 0.05));
    }
    trial_close(&w);
}

static void the_box_changes_the_reward_and_nothing_else(void **state)
{
    (void)state;
    enum { STEPS = 40 };
    trial w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = trial_open(def);
        trial_set(&w[i], "box", i);
        trial_reset(&w[i]);
    }
    static uint8_t a[2 * VIEW], b[2 * VIEW];
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < 4; i++) trial_drive(&w[i], t);
        for (int i = 1; i < 4; i++) {
            assert_memory_equal(w[0].obs, w[i].obs, 17 * sizeof(float));
            assert_true(w[0].result.reward != w[i].result.reward);
        }
        assert_int_equal(def->draw(w[0].env, a), 0);
        assert_int_equal(def->draw(w[3].env, b), 0);
        assert_memory_equal(a, b, sizeof a); /* nor can it be seen */
    }
    assert_int_equal(def->set_factor(w[0].env, 0, 3.5), FANS_EINVAL);
    for (int i = 0; i < 4; i++) trial_close(&w[i]);
}

/* A joint asked for 0.04 rad moves by most of it within the step. */
static void joints_follow_their_targets(void **state)
{
    (void)state;
    trial w = trial_open(def);
    for (int i = 0; i < JOINTS; i++) {
        trial_reset(&w);
        double before = w.s->d->qpos[i];
        memset(w.action, 0, sizeof w.action);
        w.action[i] = -9; /* clipped to -1 */
        trial_step(&w);
        double moved = w.s->d->qpos[i] - before;
        assert_true(moved < -0.015 && moved > -0.041);
    }
    trial_close(&w);
}

/* ---- an expert ------------------------------------------------------------------------------- */

/* The joint changes that move the tip by `go` and keep the peg upright and square to the boxes:
 * damped least squares, dq = J' (J J' + k I)^-1 e. */
static void solve(const trial *w, const double go[3], double dq[JOINTS])
{
    static const double want[3][3] = {{0, -1, 0}, {-1, 0, 0}, {0, 0, -1}}; /* the tip's axes */
    const mjModel *m = w->s->m;
    mjData *d = w->s->d;
    int tip = sim_find(w->s, mjOBJ_SITE, "tip");
    double J[6 * JOINTS], e[6] = {go[0], go[1], go[2]}, A[36], y[6];
    mj_forward(m, d);
    mj_jacSite(m, d, J, J + 3 * JOINTS, tip);
    for (int k = 0; k < 3; k++) {
        const double *mat = d->site_xmat + 9 * tip, axis[3] = {mat[k], mat[3 + k], mat[6 + k]};
        double turn[3];
        mju_cross(turn, axis, want[k]);
        for (int i = 0; i < 3; i++) e[3 + i] += 0.5 * turn[i];
    }
    mju_mulMatMatT(A, J, J, 6, JOINTS, 6);
    for (int i = 0; i < 6; i++) A[7 * i] += 1e-3;
    mju_cholFactor(A, 6, 1e-12);
    mju_cholSolve(y, A, e, 6);
    mju_mulMatTVec(dq, J, y, 6, JOINTS);
}

/* Servos make about 0.7 of what they are asked for; the direction stays when the size is limited.
 */
static void follow(trial *w, const double dq[JOINTS])
{
    double most = 1;
    for (int i = 0; i < JOINTS; i++) most = fmax(most, fabs(1.4 * dq[i] / 0.04));
    for (int i = 0; i < JOINTS; i++) w->action[i] = (float)(1.4 * dq[i] / 0.04 / most);
    trial_step(w);
}

/* Over the box first, then down into it. */
static void aim(const trial *w, int box, double go[3])
{
    const double *tip = tip_of(w), *goal = w->s->d->mocap_pos + 3 * box;
    double aside = hypot(goal[0] - tip[0], goal[1] - tip[1]);
    double height = aside > 0.004 ? 0.08 : 0;
    if (tip[2] < 0.055 && aside < 0.008) height = 0; /* once inside, stay inside */
    go[0] = goal[0] - tip[0];
    go[1] = goal[1] - tip[1];
    go[2] = height - tip[2];
}

static double expert(trial *w, int box, double *away)
{
    double total = 0;
    trial_set(w, "box", box);
    trial_reset(w);
    for (int t = 0; t < w->info.horizon; t++) {
        double go[3], dq[JOINTS];
        aim(w, box, go);
        solve(w, go, dq);
        follow(w, dq);
        total += w->result.reward;
    }
    *away = mju_dist3(tip_of(w), w->s->d->mocap_pos + 3 * box);
    return total;
}

static void an_expert_puts_the_peg_into_every_box(void **state)
{
    (void)state;
    trial w = trial_open(def);
    for (int box = 0; box < 4; box++) {
        double away, total = expert(&w, box, &away);
        print_message("box %d: final distance %.1f mm, return %.1f\n", box, 1e3 * away, total);
        assert_true(away < 0.01);
        assert_true(w.result.success == 1);
        assert_true(tip_of(&w)[2] < 0.02); /* inside, between the walls */
    }
    trial_close(&w);
}

static void walls_are_solid(void **state)
{
    (void)state;
    trial w = trial_open(def);
    trial_reset(&w);
    /* press down onto the wall between hole and edge of box 2 */
    for (int t = 0; t < 60; t++) {
        const double *goal = w.s->d->mocap_pos + 6, *tip = tip_of(&w);
        double go[3] = {goal[0] + 0.03 - tip[0], goal[1] - tip[1], 0}, dq[JOINTS];
        go[2] = hypot(go[0], go[1]) > 0.005 && t < 30 ? 0.09 - tip[2] : -0.02;
        solve(&w, go, dq);
        follow(&w, dq);
    }
    print_message("pressed onto a wall of 60 mm, the tip rests at %.1f mm\n", 1e3 * tip_of(&w)[2]);
    assert_true(tip_of(&w)[2] > 0.05);
    trial_close(&w);
}

/* ---- the cameras ----------------------------------------------------------------------------- */

static int count_colour(const uint8_t *view, int (*is)(const uint8_t *))
{
    int n = 0;
    for (int i = 0; i < VIEW; i += 3) n += is(view + i);
    return n;
}

static int is_blue(const uint8_t *p)
{
    return p[2] > 1.3 * p[0] && p[2] > 1.2 * p[1];
}

static int is_yellow(const uint8_t *p)
{
    return p[0] > 2.5 * p[2] && p[1] > 2 * p[2];
}

static void peg_and_boxes_are_in_both_views(void **state)
{
    (void)state;
    static uint8_t views[2 * VIEW], again[2 * VIEW];
    trial w = trial_open(def);
    trial_reset(&w);
    uint64_t before = mem_count();
    assert_int_equal(def->draw(w.env, views), 0);
    assert_int_equal(mem_count(), before);
    for (int k = 0; k < 2; k++) {
        int boxes = count_colour(views + k * VIEW, is_blue);
        int peg = count_colour(views + k * VIEW, is_yellow);
        print_message("view %d: %d pixels of boxes, %d of the peg\n", k, boxes, peg);
        assert_true(boxes >= 100);
        assert_true(peg >= 4);
    }
    /* looking does not disturb */
    size_t n = def->state_bytes(w.env);
    char *x = mem_alloc(n), *y = mem_alloc(n);
    def->save(w.env, x);
    def->draw(w.env, again);
    def->save(w.env, y);
    assert_memory_equal(x, y, n);
    assert_memory_equal(views, again, sizeof views);
    for (int t = 0; t < 5; t++) trial_drive(&w, t);
    def->draw(w.env, again);
    assert_memory_not_equal(views, again, VIEW);
    assert_memory_not_equal(views + VIEW, again + VIEW, VIEW);
    mem_free(x);
    mem_free(y);
    trial_close(&w);
}

static void common_cases(void **state)
{
    (void)state;
    case_restore_is_exact(def);
    case_nan_is_an_error(def);
    case_stepping_allocates_nothing(def);
    case_failed_allocations_are_reported(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_above_the_boxes),
        cmocka_unit_test(boxes_stand_where_they_should_and_move),
        cmocka_unit_test(the_reward_has_its_published_values),
        cmocka_unit_test(the_box_changes_the_reward_and_nothing_else),
        cmocka_unit_test(joints_follow_their_targets),
        cmocka_unit_test(an_expert_puts_the_peg_into_every_box),
        cmocka_unit_test(walls_are_solid),
        cmocka_unit_test(peg_and_boxes_are_in_both_views),
        cmocka_unit_test(common_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
