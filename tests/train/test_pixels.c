/* test_pixels.c - agents see what cameras draw, and a training from pixels keeps the contract:
 * resumed, side by side, on any number of threads and from a copy of the replay it is the same. */
#include "env/call.h"
#include "env/frames.h"
#include "train/scene.h"
#include "train_rig.h"

/* The rod's length moves within episodes and can be seen; replays are overwritten. */
#define TASK                                                                                     \
    "[train]\nepisodes = 10\ncheckpoint_every = 31\nworlds = 2\n[env]\nname = pendulum\n"        \
    "pixels = true\nhorizon = 25\n[change.length]\nclock = block\nlength = 7\nfunction = sine\n" \
    "offset = 1\namplitude = 0.5\nfrequency = 0.5\n"                                             \
    "[pixels]\nchannels = 3\nfeatures = 5\nframes = 2\nshift = 2\nrefresh = 60\n"                \
    "[sac]\nbatch = 4\nn_step = 2\nrandom_steps = 40\n"

static const struct {
    const char *name, *ini;
} ALGOS[] = {
    {"sac", TASK},
    {"oracle", TASK},
    {"stack", TASK},
    {"zeus", TASK "[zeus]\nsteps = 3\nlatents = 3\ncoder = 5\nwidth = 6\n"},
    {"fans", TASK "[fans]\ninitial = 112\nmodel_every = 30\nrefresh = 60\n"
                  "[fnvae]\np = 1\nq = 1\nwindow = 7\nbatch = 2\nupdates = 4\nencoder = 4\n"
                  "lstm = 4\nprior = 3\nbank = 2\ndense = 3\nencode = 2\n"
                  "[retina]\nstate = 4\nchannels = 1\nbatch = 3\nupdates = 5\nevery = 20\n"},
};
enum { SAC, ORACLE, STACK, ZEUS, FANS };

/* ThreadSanitizer takes 25 times as long to look for races, which all methods would share. */
#ifdef __SANITIZE_THREAD__
static const int TRIED[] = {FANS}, BESIDE[] = {FANS}, EVALUATED[] = {FANS};
#else
static const int TRIED[] = {SAC, ORACLE, STACK, ZEUS, FANS}, BESIDE[] = {SAC, ZEUS, FANS},
                 EVALUATED[] = {SAC, FANS};
#endif
enum { SEEDS = 2, SIDE = 64, FRAME = SIDE * SIDE * 3, FRAMES = 2, WORLDS = 2 };

static void open_rig(rig *t, int algo, const char *folder, int seed, int seeds, int threads)
{
    if (rig_open(t, ALGOS[algo].ini, ALGOS[algo].name, folder, seed, seeds, threads) < 0)
        fail_msg("%s", fans_error());
}

static void run_through(rig *t, int algo, const char *folder, int seed, int seeds, int threads)
{
    open_rig(t, algo, folder, seed, seeds, threads);
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

/* Stopped every `every` steps. */
static void run_in_parts(rig *t, int algo, const char *folder, int every)
{
    for (int64_t at = every;; at += every) {
        rig_stop stop = {at};
        open_rig(t, algo, folder, 1, SEEDS, 1);
        int rc = training_run(t->training, rig_stops, &stop);
        if (rc == 0) return;
        assert_int_equal(rc, FANS_ESTOP);
        rig_close(t);
    }
}

static void compare(rig *x, rig *y)
{
    for (int r = 0; r < SEEDS; r++) {
        rig_same_state(x->training, r, y->training, r);
        rig_same_file(x->folders[r], y->folders[r], "metrics.csv");
    }
    rig_close(y);
}

static void resumed_equals_uninterrupted(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(TRIED); k++) {
        char whole[64], parts[64];
        rig x, y;
        int i = TRIED[k];
        rig_copies = i > 0; /* then networks learn from a copy of the replay, as on a GPU */
        run_in_parts(&y, i, rig_folder(parts, sizeof parts), 87);
        rig_copies = false;
        run_through(&x, i, rig_folder(whole, sizeof whole), 1, SEEDS, 2);
        compare(&x, &y);
        rig_close(&x);
        rig_remove(whole);
        rig_remove(parts);
    }
}

static void side_by_side(int algo)
{
    char together[64], alone[64];
    rig x, y;
    run_through(&x, algo, rig_folder(together, sizeof together), 5, SEEDS, 2);
    for (int r = 0; r < SEEDS; r++) {
        run_through(&y, algo, rig_folder(alone, sizeof alone), 5 + r, 1, 1);
        rig_same_state(x.training, r, y.training, 0);
        rig_same_file(x.folders[r], alone, "metrics.csv");
        rig_same_file(x.folders[r], alone, "config.ini");
        rig_close(&y);
        rig_remove(alone);
    }
    rig_close(&x);
    rig_remove(together);
}

static void seeds_side_by_side_equal_runs_of_their_own(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(BESIDE); k++) side_by_side(BESIDE[k]);
}

/* … nor does learning allocate. */
static void evaluate_on_the_way(int algo)
{
    enum { EPISODES = 2 };
    char folders[2][64];
    rig x[2];
    double returns[EPISODES * SEEDS];
    for (int k = 0; k < 2; k++) {
        rig_stop stop = {130};
        open_rig(&x[k], algo, rig_folder(folders[k], sizeof folders[k]), 3, SEEDS, 1);
        assert_int_equal(training_run(x[k].training, rig_stops, &stop), FANS_ESTOP);
        if (k) assert_int_equal(training_eval(x[k].training, EPISODES, 9, returns), 0);
        uint64_t made = mem_count();
        stop.at = 180;
        assert_int_equal(training_run(x[k].training, rig_stops, &stop), FANS_ESTOP);
        assert_int_equal(mem_count(), made);
        assert_int_equal(training_run(x[k].training, NULL, NULL), 0);
    }
    compare(&x[0], &x[1]);
    rig_close(&x[0]);
    for (int k = 0; k < 2; k++) rig_remove(folders[k]);
}

static void evaluation_on_the_way_changes_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(EVALUATED); k++) evaluate_on_the_way(EVALUATED[k]);
}

/* ---- what is seen ---------------------------------------------------------------------------- */

/* What the environment draws in a world's present state. */
static void draw_again(const task *t, world *w, uint8_t *pixels)
{
    static uint8_t bytes[4096];
    void *env;
    assert_int_equal(task_open(t, &env), 0);
    size_t n = world_state_bytes(w), own = t->def->state_bytes(env);
    assert_true(n <= sizeof bytes);
    world_save(w, bytes);
    assert_int_equal(call_restore(t->def, env, bytes + n - own), 0);
    assert_int_equal(call_draw(t->def, env, pixels), 0);
    t->def->close(env);
}

/* The picture of the moment is of its state and its factors, before and after a resume. */
static void a_moment_shows_what_is_drawn(void **state)
{
    (void)state;
    static uint8_t drawn[FRAME];
    const uint64_t seed = 4;
    train_options o;
    rig t = {0};
    scene s;
    assert_int_equal(rig_read_task(&t, 0, TASK, "sac", &o), 0);
    const task *tasks[] = {t.tasks[0]};
    assert_int_equal(scene_new(&s, tasks, NULL, &seed, 1, WORLDS), 0);
    assert_int_equal(scene_start(&s), 0);
    for (int step = 0; step < 60; step++) {
        const fans_moment *now = scene_moment(&s);
        for (int w = 0; w < WORLDS; w++) {
            draw_again(tasks[0], worlds_at(s.worlds, w), drawn);
            assert_memory_equal(now->pixels + w * FRAME, drawn, FRAME);
            s.action[w] = 1;
        }
        assert_int_equal(scene_step(&s), 0);
        fans_outcome out = scene_outcome(&s);
        bool stays = !scene_ended(&s, 0) && !s.now.change[0];
        assert_int_equal(memcmp(out.next_pixels, s.now.pixels, FRAME) == 0, stays);
    }
    scene_free(&s);
    rig_close(&t);
}

static const state_item *item_of(const training *t, const char *name)
{
    const state_list *s = training_state(t, 0);
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name)) return &s->items[i];
    fail_msg("there is no '%s'", name);
    return NULL;
}

/* The frames that an agent acted on are those that it learns from. */
static void frames_online_are_those_of_the_replay(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    open_rig(&t, SAC, rig_folder(folder, sizeof folder), 1, 1, 1);
    for (int64_t at = 40; at < 60; at += 2) {
        rig_stop stop = {at};
        assert_int_equal(training_run(t.training, rig_stops, &stop), FANS_ESTOP);
        const uint8_t *here = item_of(t.training, "pixels/here")->data;
        const uint8_t *rows = item_of(t.training, "replay.0/pixels")->data;
        const uint8_t *kind = item_of(t.training, "replay.0/kind")->data;
        int newest = (int)*(int64_t *)item_of(t.training, "replay.0/head")->data - 1;
        if (kind[newest]) newest--; /* of the episode's end: not acted on */
        int before = kind[newest - 1] ? newest : newest - 1;
        assert_memory_equal(here, rows + (size_t)before * FRAME, FRAME);
        assert_memory_equal(here + FRAME, rows + (size_t)newest * FRAME, FRAME);
    }
    rig_close(&t);
    rig_remove(folder);
}

/* ---- plug-ins and refusals ------------------------------------------------------------------- */

#define PLUGIN "[env]\nname = " PLUGIN_DIR "/faulty_env.so\npixels = true\n"

static void cameras_of_plugins_are_seen(void **state)
{
    (void)state;
    char folder[64];
    rig t;
    const char *ini = "[train]\nepisodes = 2\n" PLUGIN "side = 16\n[pixels]\nchannels = 2\n";
    if (rig_open(&t, ini, "sac", rig_folder(folder, sizeof folder), 1, 1, 1) < 0)
        fail_msg("%s", fans_error());
    assert_int_equal(training_run(t.training, NULL, NULL), 0);
    rig_close(&t);
    rig_remove(folder);
}

static void what_cannot_see_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *algo, *ini, *why;
    } cases[] = {
        {"lilac", "[env]\nname = pendulum\npixels = true\n",
         "lilac learns from the state, not from pixels; set env.pixels = false"},
        {"fans", "[env]\nname = pendulum\npixels = true\n[fans]\nrelabel = 0.5\n",
         "fans.relabel = 0.5: its models read the state, not pixels; set it to 0"},
        {"fans", PLUGIN "side = 24\n",
         "a camera of 24 x 24 pixels: fans needs multiples of 16 to draw them again"},
        {"sac", "[env]\nname = fnmdp\npixels = true\n", "fnmdp has no camera; set it to false"},
        {"sac", PLUGIN, "a camera of 2 x 2 pixels is too small: networks need 15 x 15"},
        {"oracle",
         "[env]\nname = sawyer_peg\npixels = true\n[oracle]\nrelabel = 0.5\n[change.box]\n"
         "clock = episode\nfunction = choice\nvalues = 0, 1\n",
         "oracle.relabel = 0.5: its reward model reads the state, not pixels; set it to 0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig t;
        assert_true(rig_open(&t, cases[i].ini, cases[i].algo, NULL, 1, 1, 1) < 0);
        assert_non_null(strstr(fans_error(), cases[i].why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_shows_what_is_drawn),
        cmocka_unit_test(frames_online_are_those_of_the_replay),
        cmocka_unit_test(resumed_equals_uninterrupted),
        cmocka_unit_test(seeds_side_by_side_equal_runs_of_their_own),
        cmocka_unit_test(evaluation_on_the_way_changes_nothing),
        cmocka_unit_test(cameras_of_plugins_are_seen),
        cmocka_unit_test(what_cannot_see_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
