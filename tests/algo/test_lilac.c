/* test_lilac.c - latents of episodes and their predictions: what is found while the agent lives
 * equals what a refresh finds in the replay; what it acts on stays for an episode; what the prior
 * learns from; how the weight of the KL divergence grows. It includes the file itself, because
 * contexts are private. */
#include "algo/lilac.c" // NOLINT: on purpose

#include "train/train_parts.h"
#include "train_rig.h"

#define CHANGES                                                         \
    "[train]\nepisodes = 9\n[env]\nname = pendulum\nhorizon = 6\n"      \
    "[change.gravity]\nclock = episode\nfunction = sine\noffset = 10\n" \
    "amplitude = 5\nfrequency = 0.5\n[replay]\nsteps = 200\n[lilac]\n"  \
    "initial = 1000\nupdates = 0\nrefresh = 0\nrecall = 20\n"
enum { EPISODES = 9, EACH = 6, ROWS = EPISODES * (EACH + 1), N = 3 };

/* Lives without learning. */
static lilac *live(rig *t, const char *ini, char *folder, size_t size)
{
    rig_folder(folder, size);
    if (rig_open(t, ini, "lilac", folder, 1, 1, 1) < 0 || training_run(t->training, NULL, NULL) < 0)
        fail_msg("%s", fans_error());
    lilac *l = agent_context(t->training->agent);
    assert_int_equal(replay_rows(l->replay, 0), ROWS);
    assert_int_equal(l->n, N);
    return l;
}

static void leave(rig *t, const char *folder)
{
    rig_close(t);
    rig_remove(folder);
}

/* What is stored with a step of an episode. */
static float *stored(const lilac *l, int episode, int step)
{
    return replay_beside(l->replay, 0, episode * (EACH + 1) + step, 0);
}

static bool same(const float *x, const float *y)
{
    for (int k = 0; k < N; k++)
        if (fabs((double)(x[k] - y[k])) > 1e-5) return false;
    return true;
}

static void it_acts_on_one_prediction_per_episode(void **state)
{
    (void)state;
    static const float nothing[N];
    char folder[64];
    rig t;
    lilac *l = live(&t, CHANGES "history = 20\n", folder, sizeof folder);
    for (int e = 0; e < EPISODES; e++) {
        for (int i = 1; i < EACH; i++) assert_true(same(stored(l, e, i), stored(l, e, 0)));
        assert_true(same(stored(l, e, 0), nothing) == (e == 0));
        if (e > 0) assert_false(same(stored(l, e, 0), stored(l, e - 1, 0)));
    }
    assert_true(same(agent_numbers(l->agent, 0),
                     foresight_of(&l->foresight, 0))); /* of the episode to come */
    leave(&t, folder);
}

static void a_refresh_finds_what_was_lived(void **state)
{
    (void)state;
    char folder[64];
    float acted[EPISODES][N], z[EPISODES][N];
    rig t;
    lilac *l = live(&t, CHANGES "history = 20\n", folder, sizeof folder);
    assert_int_equal(episodes_known(&l->foresight.episodes, 0), EPISODES);
    for (int e = 0; e < EPISODES; e++) {
        memcpy(z[e], episodes_at(&l->foresight.episodes, 0, e), sizeof z[e]);
        memcpy(acted[e], stored(l, e, 0), sizeof acted[e]);
        memset(episodes_at(&l->foresight.episodes, 0, e), 0, sizeof z[e]);
        for (int i = 0; i < EACH; i++) memset(stored(l, e, i), 0, sizeof acted[e]);
    }
    assert_int_equal(refresh(l), 0);
    for (int e = 0; e < EPISODES; e++) {
        assert_true(same(episodes_at(&l->foresight.episodes, 0, e), z[e]));
        for (int i = 0; i < EACH; i++) assert_true(same(stored(l, e, i), acted[e]));
        assert_true(e == 0 || !same(z[e], z[e - 1]));
    }
    leave(&t, folder);
}

static void steps_of_forgotten_episodes_keep_their_codes(void **state)
{
    (void)state;
    enum { KEPT = 4 };
    char folder[64];
    rig t;
    lilac *l = live(&t, CHANGES "history = 4\n", folder, sizeof folder);
    assert_int_equal(episodes_known(&l->foresight.episodes, 0), KEPT);
    assert_int_equal(refresh(l), 0);
    for (int e = 0; e < EPISODES; e++)
        assert_true(same(stored(l, e, 0), stored(l, e, 1)) == (e > EPISODES - KEPT));
    leave(&t, folder);
}

/* Makes the latents of so many episodes 0, 1, 2, … */
static void count_episodes(lilac *l, int count)
{
    episodes_clear(&l->foresight.episodes, 0);
    for (int e = 0; e < count; e++) episodes_add(&l->foresight.episodes, 0, (float[N]){(float)e});
}

/* Rows of window 0 that count; each of them asks for the next latent. */
static int counted(lilac *l, rng *r, int *first)
{
    int count = 0;
    draw_window(l, 0, 0, r);
    for (int t = 0; t < WINDOW; t++) {
        if (numbers_of(&l->count, 0)[t * WINDOWS] == 0) continue;
        const float *past = numbers_of(&l->past, 0) + t * WINDOWS * N;
        assert_true(numbers_of(&l->coming, 0)[t * WINDOWS * N] == *past + 1);
        if (count++ == 0) *first = (int)*past;
    }
    return count;
}

static void the_prior_learns_from_windows_of_latents(void **state)
{
    (void)state;
    char folder[64];
    int first = -1, least = 100, most = 0;
    rig t;
    rng r = rng_stream(1, "test", 0);
    lilac *l = live(&t, CHANGES "history = 100\n", folder, sizeof folder);
    count_episodes(l, 1);
    assert_int_equal(counted(l, &r, &first), 0); /* nothing follows */
    count_episodes(l, 5);
    assert_int_equal(counted(l, &r, &first), 4);
    assert_int_equal(first, 0); /* the state before it is empty indeed */
    count_episodes(l, 120);     /* 20 of them are forgotten */
    for (int i = 0; i < 200; i++) {
        assert_int_equal(counted(l, &r, &first), WINDOW - FORESIGHT_WARM_UP);
        if (first < least) least = first;
        if (first > most) most = first;
    }
    assert_int_equal(least, 20 + FORESIGHT_WARM_UP);
    assert_int_equal(most, 120 - 1 - (WINDOW - FORESIGHT_WARM_UP));
    leave(&t, folder);
}

static void the_weight_of_the_divergence_grows(void **state)
{
    (void)state;
    const lilac_options o = {.initial = 1000, .beta = 0.5, .beta_rise = 1e-3};
    assert_true(beta_at(&o, 0) == 0 && beta_at(&o, 1000) == 0);
    assert_float_equal(beta_at(&o, 1100), 0.1, 1e-9);
    assert_float_equal(beta_at(&o, 9000), 0.5, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_acts_on_one_prediction_per_episode),
        cmocka_unit_test(a_refresh_finds_what_was_lived),
        cmocka_unit_test(steps_of_forgotten_episodes_keep_their_codes),
        cmocka_unit_test(the_prior_learns_from_windows_of_latents),
        cmocka_unit_test(the_weight_of_the_divergence_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
