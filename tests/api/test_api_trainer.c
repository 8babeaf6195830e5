/* test_api_trainer.c - learning in one's own loop is learning: the same bytes as `fans train`
 * leaves, also after a resume, and for worlds that FANS has never seen. */
#include <math.h>

#include "base/os.h"
#include "fans/fans.h"
#include "testing.h"

static const char FLIP[] = SOURCE_DIR "/configs/pendulum_flip.ini";

/* As small as tests/train/train_rig.h has it. */
static const struct {
    const char *key, *value;
} SMALL[] = {
    {"train.episodes", "6"}, {"env.horizon", "25"},  {"train.seed", "3"},
    {"sac.width", "16"},     {"sac.batch", "8"},     {"sac.random_steps", "30"},
    {"replay.steps", "60"},  {"fans.initial", "80"}, {"fans.model_every", "7"},
    {"fans.refresh", "20"},  {"fnvae.window", "5"},  {"fnvae.batch", "2"},
    {"fnvae.updates", "6"},  {"fnvae.encoder", "6"}, {"fnvae.lstm", "6"},
    {"fnvae.prior", "4"},    {"fnvae.bank", "4"},    {"fnvae.dense", "6"},
    {"fnvae.encode", "3"},
};
enum { SMALL_COUNT = sizeof SMALL / sizeof *SMALL };

static fans_config *small_config(const char *ini, const char *algo)
{
    fans_config *c = NULL;
    if (fans_config_new(&c, ini, "standard") < 0) fail_msg("%s", fans_error());
    assert_int_equal(fans_config_set(c, "train.algo", algo), 0);
    for (int i = 0; i < SMALL_COUNT; i++)
        if (ini || strncmp(SMALL[i].key, "env.", 4))
            assert_int_equal(fans_config_set(c, SMALL[i].key, SMALL[i].value), 0);
    return c;
}

static void train_by_tool(const char *algo, const char *out)
{
    char command[2048];
    int n = snprintf(command, sizeof command,
                     "%s train %s --algo %s --device cpu --threads 1 --quiet --out %s >/dev/null",
                     TOOL, FLIP, algo, out);
    for (int i = 0; i < SMALL_COUNT; i++)
        n += snprintf(command + n, sizeof command - (size_t)n, " --set %s=%s", SMALL[i].key,
                      SMALL[i].value);
    assert_int_equal(system(command), 0);
}

static void assert_same_file(const char *a, const char *b)
{
    void *x, *y;
    size_t n, m;
    assert_int_equal(os_read_file(&x, &n, a), 0);
    assert_int_equal(os_read_file(&y, &m, b), 0);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    mem_free(x);
    mem_free(y);
}

static void loop(fans_trainer *t, fans_worlds *w, int *steps)
{
    fans_view v = {.size = sizeof v};
    int rc;
    assert_int_equal(fans_worlds_view(w, &v), 0);
    for (*steps = 0; (rc = fans_trainer_act(t, v.obs, v.change, v.factors, v.action)) == 0;
         ++*steps) {
        assert_int_equal(fans_trainer_update(t), 0);
        assert_int_equal(fans_worlds_step(w), 0);
        assert_int_equal(
            fans_trainer_observe(t, NULL, v.reward, v.terminated, v.truncated, v.final_obs), 0);
    }
    assert_int_equal(rc, FANS_ESTOP);
}

static void same_bytes_as_the_tool(void **state)
{
    static const char *const algos[] = {"sac", "fans", "oracle"};
    (void)state;
    for (size_t k = 0; k < COUNT(algos); k++) {
        char theirs[96], ours[96], a[128], b[128];
        fans_config *c = small_config(FLIP, algos[k]);
        fans_worlds *w = NULL;
        fans_trainer *t = NULL;
        fans_task task = {.size = sizeof task, .threads = 1, .device = "cpu"};
        int steps;
        snprintf(theirs, sizeof theirs, "%s/tool-%s", test_folder, algos[k]);
        snprintf(ours, sizeof ours, "%s/api-%s", test_folder, algos[k]);
        train_by_tool(algos[k], theirs);
        assert_int_equal(fans_worlds_open(&w, c, 1, 1), 0);
        assert_int_equal(fans_worlds_task(w, &task), 0);
        if (fans_trainer_new(&t, &task, c, ours) < 0) fail_msg("%s", fans_error());
        loop(t, w, &steps);
        assert_int_equal(steps, 150);
        assert_int_equal(fans_trainer_steps(t), 150);
        static const char *const files[] = {"metrics.csv", "config.ini", "beliefs.csv"};
        for (int i = 0; i < 2 + !strcmp(algos[k], "fans"); i++) {
            snprintf(a, sizeof a, "%s/seed-3/%s", theirs, files[i]);
            snprintf(b, sizeof b, "%s/%s", ours, files[i]);
            assert_same_file(a, b);
        }
        fans_trainer_free(t);
        fans_worlds_free(w);
        fans_config_free(c);
    }
}

/* ---- a world of one's own: a point that a hidden wind pushes --------------------------------- */

typedef struct point {
    double x, wind;
    int step, episode;
} point;

static fans_trainer *own_trainer(const char *algo, const char *run)
{
    static const char *const names[] = {"wind"};
    fans_config *c = small_config(NULL, algo);
    fans_trainer *t = NULL;
    fans_task task = {sizeof task, 2, 1, 25, 1, 1, names, 1, "cpu"};
    assert_int_equal(fans_config_set(c, "change.wind.function", "uniform"), 0);
    assert_int_equal(fans_config_set(c, "change.wind.low", "-1"), 0);
    if (fans_trainer_new(&t, &task, c, run) < 0) fail_msg("%s", fans_error());
    fans_config_free(c);
    return t;
}

/* Until `until` steps; true where the run is done. */
static bool live(fans_trainer *t, point *p, int until)
{
    while (fans_trainer_steps(t) < until) {
        float obs[] = {(float)p->x, 1}, action, next[2], reward;
        if (p->step == 0) p->wind = sin(p->episode);
        int rc = fans_trainer_act(t, obs, NULL, &p->wind, &action);
        if (rc == FANS_ESTOP) return true;
        assert_int_equal(rc, 0);
        assert_true(fabsf(action) <= 1);
        assert_int_equal(fans_trainer_update(t), 0);
        p->x += 0.1 * ((double)action + p->wind);
        next[0] = (float)p->x;
        next[1] = 1;
        reward = (float)-fabs(p->x);
        uint8_t truncated = ++p->step == 25;
        assert_int_equal(fans_trainer_observe(t, NULL, &reward, NULL, &truncated, next), 0);
        if (truncated) *p = (point){.episode = p->episode + 1};
    }
    return false;
}

static void own_worlds_resume(void **state)
{
    static const char *const algos[] = {"sac", "fans", "oracle"};
    (void)state;
    for (size_t k = 0; k < COUNT(algos); k++) {
        char whole[96], parts[96], a[128], b[128];
        size_t bytes;
        point p = {0}, q = {0};
        snprintf(whole, sizeof whole, "%s/whole-%s", test_folder, algos[k]);
        snprintf(parts, sizeof parts, "%s/parts-%s", test_folder, algos[k]);
        fans_trainer *t = own_trainer(algos[k], whole);
        assert_true(live(t, &p, 1000));
        fans_trainer_free(t);
        t = own_trainer(algos[k], parts);
        fans_trainer_yours(t, &bytes);
        assert_int_equal(bytes, 0);
        live(t, &q, 40);
        assert_int_equal(fans_trainer_save(t, &q, 3), 0); /* any size, each time anew */
        live(t, &q, 92);
        assert_int_equal(fans_trainer_save(t, &q, sizeof q), 0);
        live(t, &q, 110); /* lost */
        fans_trainer_free(t);
        t = own_trainer(algos[k], parts);
        assert_int_equal(fans_trainer_steps(t), 92);
        const void *yours = fans_trainer_yours(t, &bytes);
        assert_int_equal(bytes, sizeof q);
        memcpy(&q, yours, sizeof q);
        assert_true(live(t, &q, 1000));
        fans_trainer_free(t);
        snprintf(a, sizeof a, "%s/metrics.csv", whole);
        snprintf(b, sizeof b, "%s/metrics.csv", parts);
        assert_same_file(a, b);
    }
}

static float first_action(const fans_policy *p)
{
    fans_life *l = NULL;
    float obs[] = {0.5f, 1}, action;
    assert_int_equal(fans_life_new(&l, p, 1, 0), 0);
    assert_int_equal(fans_life_act(l, obs, NULL, false, &action), 0);
    fans_life_free(l);
    return action;
}

/* Copies taken on the way do not disturb the learner; the last one is what the folder holds. */
static void a_copy_changes_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const char *algo = k ? "fans" : "sac";
        char whole[96], copied[96];
        point p = {0};
        fans_policy *early = NULL, *late = NULL, *kept = NULL;
        fans_trainer *t = own_trainer(algo, in_test_folder(algo));
        live(t, &p, 90);
        if (fans_trainer_policy(&early, t) < 0) fail_msg("%s", fans_error());
        float before = first_action(early);
        assert_true(live(t, &p, 1000));
        assert_int_equal(fans_trainer_policy(&late, t), 0);
        fans_trainer_free(t);
        assert_int_equal(fans_policy_open(&kept, in_test_folder(algo), NULL), 0);
        assert_true(first_action(early) == before);
        assert_true(first_action(late) != before);
        assert_true(first_action(late) == first_action(kept));
        fans_policy_free(early);
        fans_policy_free(late);
        fans_policy_free(kept);
        snprintf(whole, sizeof whole, "%s/whole-%s/metrics.csv", test_folder, algo);
        snprintf(copied, sizeof copied, "%s/%s/metrics.csv", test_folder, algo);
        assert_same_file(whole, copied);
    }
}

/* A robot never stops: its episodes are as long as the horizon. */
static void endless_episodes_are_cut(void **state)
{
    fans_trainer *t = own_trainer("sac", in_test_folder("endless"));
    float obs[] = {0, 0}, action, reward = 1;
    void *metrics;
    size_t n;
    (void)state;
    while (fans_trainer_act(t, obs, NULL, NULL, &action) == 0)
        assert_int_equal(fans_trainer_observe(t, NULL, &reward, NULL, NULL, obs), 0);
    fans_trainer_free(t);
    assert_int_equal(os_read_file(&metrics, &n, in_test_folder("endless/metrics.csv")), 0);
    assert_non_null(strstr(metrics, "\n5,150,0,25,25,"));
    mem_free(metrics);
}

static void mistakes_are_told(void **state)
{
    fans_config *c = small_config(NULL, "sac");
    fans_trainer *t = NULL, *u = NULL;
    fans_task task = {.size = sizeof task, .obs = 2, .act = 1, .horizon = 25, .worlds = 1};
    static const char *const names[] = {"wind"};
    float obs[] = {0, 0}, bad[] = {0, NAN}, action, reward = 0;
    uint8_t ended = 1;
    (void)state;
    assert_fails(fans_trainer_new(&t, NULL, c, NULL), FANS_EINVAL, "must not be NULL");
    assert_fails(fans_trainer_new(&t, &task, NULL, NULL), FANS_EINVAL, "the config is NULL");
    task.factors = 1;
    assert_fails(fans_trainer_new(&t, &task, c, NULL), FANS_EINVAL, "factor 0 has no name");
    task.names = names;
    assert_fails(fans_trainer_new(&t, &task, c, NULL), FANS_EINVAL, "no section [change.wind]");
    task.factors = 0;
    task.device = "abacus";
    assert_fails(fans_trainer_new(&t, &task, c, NULL), FANS_EINVAL, "abacus");
    task.device = NULL;
    assert_int_equal(fans_config_set(c, "env.name", "pendulum"), 0);
    assert_fails(fans_trainer_new(&t, &task, c, NULL), FANS_EINVAL, "leave env.name out");
    assert_int_equal(fans_config_set(c, "env.pixels", "true"), 0);
    assert_fails(fans_trainer_new(&t, NULL, c, NULL), FANS_ENOSUP, "give no pixels");
    fans_config_free(c);
    c = small_config(NULL, "sac");
    assert_int_equal(fans_trainer_new(&t, &task, c, NULL), 0);
    assert_fails(fans_trainer_update(t), FANS_EINVAL, "it is time for fans_trainer_act");
    assert_fails(fans_trainer_observe(t, NULL, &reward, NULL, NULL, obs), FANS_EINVAL, "time for");
    assert_fails(fans_trainer_act(t, bad, NULL, NULL, &action), FANS_EINVAL, "obs[1] of world 0");
    assert_fails(fans_trainer_save(t, NULL, 0), FANS_EINVAL, "has no folder");
    assert_int_equal(fans_trainer_act(t, obs, NULL, NULL, &action), 0);
    assert_fails(fans_trainer_act(t, obs, NULL, NULL, &action), FANS_EINVAL, "_observe");
    assert_int_equal(fans_trainer_update(t), 0);
    assert_fails(fans_trainer_update(t), FANS_EINVAL, "time for fans_trainer_observe");
    assert_fails(fans_trainer_observe(t, bad + 1, &reward, NULL, NULL, obs), FANS_EINVAL, "did[0]");
    assert_int_equal(fans_trainer_observe(t, obs, &reward, &ended, NULL, obs), 0);
    fans_trainer_free(t);
    assert_int_equal(fans_trainer_new(&t, &task, c, in_test_folder("held")), 0);
    assert_fails(fans_trainer_new(&u, &task, c, in_test_folder("held")), FANS_EIO,
                 "is training it");
    fans_trainer_free(t);
    fans_config_free(c);
}

/* One step of a task with one factor. */
static int tell(const char *algo, const double *truth)
{
    static const char *const names[] = {"wind"};
    fans_task task = {.size = sizeof task, .obs = 2, .act = 1, .horizon = 25, .worlds = 1};
    fans_config *c = small_config(NULL, algo);
    fans_trainer *t = NULL;
    float obs[] = {0, 0}, action;
    task.factors = 1;
    task.names = names;
    assert_int_equal(fans_config_set(c, "change.wind.function", "uniform"), 0);
    if (fans_trainer_new(&t, &task, c, NULL) < 0) fail_msg("%s", fans_error());
    int rc = fans_trainer_act(t, obs, NULL, truth, &action);
    fans_trainer_free(t);
    fans_config_free(c);
    return rc;
}

static void the_truth_is_a_number_and_not_left_out(void **state)
{
    (void)state;
    assert_int_equal(tell("sac", NULL), 0);
    assert_int_equal(tell("oracle", (double[]){0.5}), 0);
    assert_fails(tell("oracle", NULL), FANS_EINVAL, "truth is NULL, but oracle must be told");
    assert_fails(tell("sac", (double[]){NAN}), FANS_EINVAL, "truth[0] of world 0 is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_as_the_tool),
        cmocka_unit_test(own_worlds_resume),
        cmocka_unit_test(a_copy_changes_nothing), /* from the run above */
        cmocka_unit_test(endless_episodes_are_cut),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(the_truth_is_a_number_and_not_left_out),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
