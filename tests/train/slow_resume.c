/* slow_resume.c - hundreds of interruptions, over algorithms and tasks: clean stops, Ctrl-C and
 * kill -9 of the tool itself, at random moments; some while it runs several trainings. The result
 * is bit-identical to that of an undisturbed run. */
#include <signal.h>
#include <sys/wait.h>

#include "same_run.h"

static const char *const CONFIGS[] = {"pendulum_gravity",   "half_cheetah_aep_rd",
                                      "half_cheetah_wep_d", "minitaur_cont_d",
                                      "sawyer_reach_aep_r", "fnmdp_random"};
enum { CONFIG_COUNT = 6, INTERRUPTIONS = 9 }; /* of each algorithm in the list on each config */

static pid_t start(const char *name, const char *algo, const char *folder)
{
    pid_t child = fork();
    if (child != 0) return child;
    char path[256], episodes[64];
    snprintf(path, sizeof path, SOURCE_DIR "/configs/%s.ini", name);
    snprintf(episodes, sizeof episodes, "train.episodes=%d", strstr(name, "cheetah") ? 24 : 8);
    if (!freopen("/dev/null", "w", stdout)) _exit(126);
    bool learns = rig_takes(algo, "sac");
    if (rig_takes(algo, "fnvae"))
        execl(TOOL, "fans", "train", path, "--algo", algo, "--out", folder, "--seeds", "2",
              "--quiet", "--set", episodes, "--set", "train.checkpoint_every=70", "--set",
              "sac.width=16", "--set", "sac.batch=16", "--set", "fans.initial=320", "--set",
              "fans.refresh=90", "--set", "fnvae.window=20", "--set", "fnvae.updates=40", NULL);
    else if (learns)
        execl(TOOL, "fans", "train", path, "--algo", algo, "--out", folder, "--seeds", "2",
              "--quiet", "--set", episodes, "--set", "train.checkpoint_every=70", "--set",
              "sac.width=16", "--set", "sac.batch=16", "--set", "sac.random_steps=50", NULL);
    else
        execl(TOOL, "fans", "train", path, "--algo", algo, "--out", folder, "--seeds", "2",
              "--quiet", "--set", episodes, "--set", "train.checkpoint_every=70", NULL);
    _exit(127);
}

/* Two configs under three algorithms: four trainings in one process. */
static pid_t start_many(const char *folder)
{
    pid_t child = fork();
    if (child != 0) return child;
    if (!freopen("/dev/null", "w", stdout)) _exit(126);
    execl(TOOL, "fans", "train", SOURCE_DIR "/configs/half_cheetah_aep_r.ini",
          SOURCE_DIR "/configs/half_cheetah_aep_a.ini", "--algo", "sac,oracle,null", "--out",
          folder, "--seeds", "2", "--quiet", "--set", "train.episodes=24", "--set",
          "train.checkpoint_every=70", "--set", "sac.width=16", "--set", "sac.batch=16", "--set",
          "sac.random_steps=50", NULL);
    _exit(127);
}

/* Returns true if the run finished by itself. */
static bool disturb(pid_t child, int how, int wait_us)
{
    int status;
    usleep((useconds_t)wait_us);
    kill(child, how);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + how) return false;
    assert_int_equal(WEXITSTATUS(status), 0);
    return true;
}

static void finish(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static const int HOW[] = {SIGINT, SIGKILL, SIGTERM};

static void same_runs(const char *whole, const char *parts, const char *below)
{
    char x[160], y[160];
    snprintf(x, sizeof x, "%s/%s", whole, below);
    snprintf(y, sizeof y, "%s/%s", parts, below);
    same_run(x, y);
}

static bool applies(const char *name, const char *algo)
{
    char leaf[64];
    size_t n;
    snprintf(leaf, sizeof leaf, "%s.ini", name);
    char *ini = rig_read(SOURCE_DIR "/configs", leaf, &n);
    bool yes = rig_applies(algo, ini);
    mem_free(ini);
    return yes;
}

static void interrupted_runs_equal_undisturbed_ones(void **unused)
{
    (void)unused;
    int count = 0, early = 0;
    for (int c = 0; c < CONFIG_COUNT; c++) {
        for (int a = 0; a < algo_count(); a++) {
            char whole[64], parts[64];
            if (!applies(CONFIGS[c], algo_at(a)->name)) continue;
            rng r = rng_stream(1, CONFIGS[c], (uint32_t)a);
            rig_folder(whole, sizeof whole);
            rig_folder(parts, sizeof parts);
            double begin = os_now();
            finish(start(CONFIGS[c], algo_at(a)->name, whole));
            int life = (int)((os_now() - begin) * 1e6);
            for (int k = 0; k < INTERRUPTIONS; k++, count++)
                early += disturb(start(CONFIGS[c], algo_at(a)->name, parts), HOW[k % 3],
                                 2000 + (int)rng_below(&r, (uint32_t)life / 3 + 1));
            finish(start(CONFIGS[c], algo_at(a)->name, parts));
            same_runs(whole, parts, "seed-0");
            same_runs(whole, parts, "seed-1");
            rig_remove(whole);
            rig_remove(parts);
        }
    }
    print_message("%d interruptions, %d of them clean stops or after the end\n", count, early);
}

static void interrupted_trainings_in_turn_equal_undisturbed_ones(void **unused)
{
    (void)unused;
    enum { TIMES = 24 };
    static const char *const runs[] = {"aep_r-sac", "aep_r-oracle", "aep_r-null",
                                       "aep_a-sac", "aep_a-oracle", "aep_a-null"};
    char whole[64], parts[64], below[64];
    rng r = rng_stream(1, "many", 0);
    rig_folder(whole, sizeof whole);
    rig_folder(parts, sizeof parts);
    double begin = os_now();
    finish(start_many(whole));
    int life = (int)((os_now() - begin) * 1e6);
    for (int k = 0; k < TIMES; k++)
        disturb(start_many(parts), HOW[k % 3], 2000 + (int)rng_below(&r, (uint32_t)life / 3 + 1));
    finish(start_many(parts));
    for (int i = 0; i < 12; i++) {
        snprintf(below, sizeof below, "half_cheetah_%s/seed-%d", runs[i / 2], i % 2);
        same_runs(whole, parts, below);
    }
    rig_remove(whole);
    rig_remove(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_runs_equal_undisturbed_ones),
        cmocka_unit_test(interrupted_trainings_in_turn_equal_undisturbed_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
