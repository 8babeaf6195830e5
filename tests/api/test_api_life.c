/* test_api_life.c - lives act as the agent that was trained, for every method that can; and they
 * allocate nothing and make no system call. */
#include <linux/seccomp.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "deploy/export_rig.h"
#include "fans/fans.h"

/* ---- as the agent ---------------------------------------------------------------------------- */

static void assert_close(const char *name, const float *x, const float *y, int n, double bound)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= bound))
            fail_msg("%s: %g, not %g", name, (double)x[i], (double)y[i]);
}

/* One step of the agent and of a life with two equal rows, in the same world. */
static void step(const export_case *c, session *s, fans_life *l, fans_worlds *w)
{
    const fans_algo_def *algo = s->entries[0].algo;
    void *agent = training_agent(s->trainings[0]);
    fans_view v = {.size = sizeof v};
    float obs[6], action[2], best, next[6];
    double factors[8];
    int n = 0;
    assert_int_equal(fans_worlds_view(w, &v), 0);
    for (int i = 0; i < 6; i++) obs[i] = v.obs[i % 3];
    memcpy(factors, v.factors, 3 * sizeof *factors);
    int64_t segment = v.segment[0];
    uint8_t change[] = {v.change[0], v.change[0]};
    fans_moment now = {obs, factors, &segment, change};
    assert_int_equal(algo->act(agent, &now, false, &best), 0);
    if (fans_life_act(l, obs, change, false, action) < 0) fail_msg("%s", fans_error());
    assert_close(c->name, action, &best, 1, 1e-5);
    assert_memory_equal(&action[0], &action[1], sizeof *action);
    if (algo->belief) {
        const float *theta = algo->belief(agent, 0, &n);
        assert_close(c->name, fans_life_belief(l), theta, n, 1e-4);
    }
    *v.action = best;
    assert_int_equal(fans_worlds_step(w), 0);
    fans_outcome o = {v.reward, v.terminated, v.truncated, v.final_obs};
    assert_int_equal(algo->observe(agent, &now, &best, &o, false), 0);
    for (int i = 0; i < 6; i++) next[i] = v.final_obs[i % 3];
    float did[] = {best, best}, reward[] = {*v.reward, *v.reward};
    assert_int_equal(fans_life_observe(l, did, reward, NULL, next), 0);
}

static fans_worlds *worlds_of(const char *folder)
{
    char ini[128];
    fans_config *c = NULL;
    fans_worlds *w = NULL;
    snprintf(ini, sizeof ini, "%s/config.ini", folder);
    assert_int_equal(fans_config_new(&c, ini, NULL), 0);
    assert_int_equal(fans_worlds_open(&w, c, 1, 1), 0);
    fans_config_free(c);
    return w;
}

static void live_as(const export_case *c)
{
    char folder[64];
    session s = {0};
    fans_policy *p = NULL;
    fans_life *l = NULL;
    fans_shape z = {.size = sizeof z};
    export_train(c, rig_folder(folder, sizeof folder), &s);
    if (!strcmp(c->algo, "oracle")) {
        assert_fails(fans_policy_open(&p, folder, &z), FANS_ENOSUP, "told the true factors");
    } else {
        if (fans_policy_open(&p, folder, &z) < 0) fail_msg("%s: %s", c->name, fans_error());
        assert_int_equal(z.obs, 3);
        assert_int_equal(z.act, 1);
        assert_int_equal(z.horizon, 40);
        assert_int_equal(fans_life_new(&l, p, 2, 0), 0);
        fans_policy_free(p); /* the life keeps it */
        fans_worlds *w = worlds_of(folder);
        if (s.entries[0].algo->start) /* it remembers its training */
            s.entries[0].algo->start(training_agent(s.trainings[0]));
        for (int t = 0; t < 3 * 40 + 5; t++) step(c, &s, l, w);
        fans_life_free(l);
        fans_worlds_free(w);
    }
    session_close(&s);
    rig_remove(folder);
}

static void lives_act_as_their_agents(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(EXPORT_CASES); k++) live_as(&EXPORT_CASES[k]);
}

/* ---- of their own ---------------------------------------------------------------------------- */

static char trained[64]; /* a run of fans */

static int train_once(void **state)
{
    session s = {0};
    (void)state;
    export_train(&(export_case){"fans", "fans", ""}, rig_folder(trained, sizeof trained), &s);
    session_close(&s);
    return 0;
}

static int remove_it(void **state)
{
    (void)state;
    rig_remove(trained);
    return 0;
}

static fans_life *open_life(int n, uint64_t seed)
{
    fans_policy *p = NULL;
    fans_life *l = NULL;
    if (fans_policy_open(&p, trained, NULL) < 0) fail_msg("%s", fans_error());
    assert_int_equal(fans_life_new(&l, p, n, seed), 0);
    fans_policy_free(p);
    return l;
}

static void live(fans_life *l, int t, bool explore, const float *reward, float *action)
{
    float obs[3] = {(float)cos(0.1 * t), (float)sin(0.1 * t), 0.1f};
    float next[3] = {(float)cos(0.1 * t + 0.1), (float)sin(0.1 * t + 0.1), 0.1f};
    if (fans_life_act(l, obs, NULL, explore, action) < 0) fail_msg("%s", fans_error());
    assert_int_equal(fans_life_observe(l, NULL, reward, NULL, next), 0);
}

static void a_restart_forgets_all(void **state)
{
    fans_life *l = open_life(1, 4);
    float reward = -1, first[20], again;
    (void)state;
    for (int t = 0; t < 20; t++) live(l, t, false, &reward, &first[t]);
    assert_int_equal(fans_life_restart(l, 0), 0);
    for (int t = 0; t < 20; t++) {
        live(l, t, false, &reward, &again);
        assert_memory_equal(&again, &first[t], sizeof again);
    }
    live(l, 0, false, &reward, &again); /* now it has a past */
    assert_true(again != first[0]);
    fans_life_free(l);
}

/* Seeds decide what is sampled; rewards that nobody measured leave theta_r as it was. */
static void seeds_and_missing_rewards(void **state)
{
    fans_life *a = open_life(1, 1), *b = open_life(1, 1), *other = open_life(1, 2);
    float x, y, z, reward = NAN;
    (void)state;
    int differ = 0;
    for (int t = 0; t < 30; t++) {
        live(a, t, true, &reward, &x);
        live(b, t, true, NULL, &y);
        live(other, t, true, &reward, &z);
        assert_memory_equal(&x, &y, sizeof x);
        differ += x != z;
        assert_true(fabsf(x) <= 1);
    }
    assert_true(differ > 25);
    fans_life_free(a);
    fans_life_free(b);
    fans_life_free(other);
}

/* ---- in real time ---------------------------------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static bool armed; /* from now on no memory is to be had */

#    define REFUSE()                         \
        do {                                 \
            if (armed) syscall(SYS_exit, 3); \
        } while (0)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    REFUSE();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    REFUSE();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    REFUSE();
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    REFUSE();
    return __libc_memalign(align, n);
}

/* In a child, since there is no way back: only read, write and exit are left. */
static void act_or_die(fans_life *l)
{
    float action, reward = -1;
    armed = true;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) < 0) syscall(SYS_exit, 77);
    for (int t = 0; t < 1000; t++) live(l, t, t % 2, t % 3 ? &reward : NULL, &action);
    syscall(SYS_exit, fans_life_act(l, NULL, NULL, false, &action) == FANS_EINVAL ? 0 : 1);
}

static void acting_needs_neither_memory_nor_system(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) act_or_die(open_life(1, 0));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("seccomp is not available");
    if (status) fail_msg("the child ended with status %x", (unsigned)status);
}

/* The traps above do spring. */
static void the_test_can_fail(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        armed = true;
        mem_free(mem_alloc(1));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

#else

static void acting_needs_neither_memory_nor_system(void **state)
{
    (void)state;
    SKIP("the sanitizer has its own allocator");
}

static void the_test_can_fail(void **state)
{
    (void)state;
    SKIP("the sanitizer has its own allocator");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_act_as_their_agents),
        cmocka_unit_test(a_restart_forgets_all),
        cmocka_unit_test(seeds_and_missing_rewards),
        cmocka_unit_test(acting_needs_neither_memory_nor_system),
        cmocka_unit_test(the_test_can_fail),
    };
    return cmocka_run_group_tests(tests, train_once, remove_it);
}
