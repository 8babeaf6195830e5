/* test_signals.c [UPDATES] - a host's signal handlers disturb nothing: updates under 5,000 signals
 * a second are bit-identical to quiet ones. Networks have their usual sizes here, so that products
 * go through the library that moves the stack pointer into the heap (nn/gemm.h). */
#include <signal.h>
#include <sys/time.h>

#include "train_rig.h"

static const char TASK[] =
    "[train]\nepisodes = %d\n[env]\nname = pendulum\nhorizon = 10\n"
    "[sac]\nwidth = 256\nbatch = 256\nrandom_steps = 10\n[replay]\nsteps = 1000\n";
static int updates = 80;

static volatile sig_atomic_t signals;

/* As deep as an interpreter's or a profiler's. */
static void on_signal(int number)
{
    volatile char frame[8192];
    for (size_t i = 0; i < sizeof frame; i += 64) frame[i] = (char)number;
    signals = signals + 1;
}

static void set_alarm(int microseconds)
{
    struct timeval every = {0, microseconds};
    assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){every, every}, NULL), 0);
}

static void train(rig *t, int threads)
{
    char ini[256];
    snprintf(ini, sizeof ini, TASK, updates / 10 + 1);
    if (rig_open(t, ini, "sac", NULL, 1, 1, threads) < 0) fail_msg("%s", fans_error());
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

/* What the host had blocked, and only that, is blocked afterwards. */
static void check_mask(void)
{
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&after, SIGUSR2));
    assert_false(sigismember(&after, SIGALRM));
}

static void signals_change_nothing(void **state)
{
    rig quiet, disturbed;
    struct sigaction handle = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)state;
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer delivers signals when it sees fit");
#endif
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &own, NULL), 0);
    train(&quiet, 2);
    assert_int_equal(sigaction(SIGALRM, &handle, NULL), 0);
    set_alarm(200);
    train(&disturbed, 2);
    set_alarm(0);
    check_mask();
    assert_true(signals > updates);
    rig_same_state(quiet.training, 0, disturbed.training, 0);
    note_result("signals.csv", "updates,signals", "%d,%d\n", updates, (int)signals);
    rig_close(&quiet);
    rig_close(&disturbed);
}

int main(int argc, char **argv)
{
    if (argc > 1) updates = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
