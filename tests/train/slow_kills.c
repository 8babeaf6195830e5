/* slow_kills.c - the tool is killed a thousand times, at random moments, over all algorithms:
 * whatever is killed is resumed, and killed again, until a run ends by itself; then it is
 * bit-identical to an undisturbed one. Where RESULTS names a folder, kills.csv there gets what was
 * done; KILLS_OF leaves only one name of that table. */
#include <signal.h>
#include <sys/wait.h>

#include "same_run.h"

enum { KILLS = 1000 };

static const char TASK[] =
    "[env]\nname = pendulum\nhorizon = 10\n[train]\nepisodes = 40\ncheckpoint_every = 30\n"
    "[change.gravity]\nclock = episode\nfunction = uniform\nlow = 5\nhigh = 15\n";

/* The task with small networks, in the test's folder. */
static void write_task(const char *algo, const char *more)
{
    FILE *f = fopen(in_test_folder("task.ini"), "w");
    assert_non_null(f);
    fputs(TASK, f);
    for (int k = 0; k < RIG_PART_COUNT; k++)
        if (rig_takes(algo, RIG_PARTS[k].section)) fputs(RIG_PARTS[k].ini, f);
    fputs(more, f);
    assert_int_equal(fclose(f), 0);
}

static pid_t start(const char *algo, const char *out)
{
    pid_t child = fork();
    if (child != 0) return child;
    if (chdir(test_folder) || !freopen("/dev/null", "w", stdout) || !freopen("err", "w", stderr))
        _exit(126);
    execl(TOOL, "fans", "train", "task.ini", "--algo", algo, "--out", out, "--threads", "1",
          "--quiet", NULL);
    _exit(127);
}

static void must_end(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        size_t n;
        fail_msg("a run fails: %s", (char *)rig_read(test_folder, "err", &n));
    }
}

/* Kills it after some time, unless it has ended by then. Returns whether it was killed. */
static bool kill_after(pid_t child, int wait_us)
{
    int status;
    usleep((useconds_t)wait_us);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static void remove_runs(void)
{
    rig_remove(in_test_folder("parts"));
}

static void compare_runs(void)
{
    char whole[256], parts[256];
    snprintf(whole, sizeof whole, "%s", in_test_folder("whole/seed-0"));
    snprintf(parts, sizeof parts, "%s", in_test_folder("parts/seed-0"));
    same_run(whole, parts);
}

/* `more` ends the config. */
static void kill_often(const char *algo, const char *more, int kills)
{
    const char *name = *more ? "fans with doubt" : algo, *only = getenv("KILLS_OF");
    rng r = rng_stream(1, algo, 0);
    int compared = 0, done = 0;
    if (only && strcmp(only, name)) return;
    write_task(algo, more);
    rig_remove(in_test_folder("whole"));
    remove_runs();
    double begin = os_now();
    must_end(start(algo, "whole"));
    uint32_t life = (uint32_t)((os_now() - begin) * 1e6);
    while (done < kills) {
        if (kill_after(start(algo, "parts"), 1000 + (int)rng_below(&r, life))) {
            done++;
            continue;
        }
        compare_runs();
        compared++;
        remove_runs();
    }
    must_end(start(algo, "parts"));
    compare_runs();
    print_message("%s: %d kills, %d runs compared\n", name, done, compared + 1);
    note_result("kills.csv", "algorithm,kills,runs compared", "%s,%d,%d\n", name, done,
                compared + 1);
}

static void killed_runs_equal_undisturbed_ones(void **unused)
{
    (void)unused;
    int each = (KILLS + algo_count() - 1) / algo_count();
    for (int a = 0; a < algo_count(); a++) kill_often(algo_at(a)->name, "", each);
    kill_often("fans", "[fans]\ndoubt = 0.2\n", each);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_runs_equal_undisturbed_ones)};
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
