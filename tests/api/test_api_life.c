/* test_api_life.c - lives act as the agent that was trained, for every method that can; and they
 * allocate nothing and make no system call. */
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
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
static void step(const export_case *c, session *s, fans_life *l, const fans_shape *z,
                 fans_worlds *w)
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
    if (z->theta) {
        const float *theta = algo->belief(agent, 0, &n);
        assert_int_equal(n, z->theta);
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
        assert_int_equal(z.theta > 0, !strcmp(c->algo, "fans") || !strcmp(c->algo, "varibad"));
        assert_int_equal(fans_life_new(&l, p, 2, 0), 0);
        fans_policy_free(p); /* the life keeps it */
        fans_worlds *w = worlds_of(folder);
        if (s.entries[0].algo->start) /* it remembers its training */
            s.entries[0].algo->start(training_agent(s.trainings[0]));
        for (int t = 0; t < 3 * 40 + 5; t++) step(c, &s, l, &z, w);
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
    const char *wide = "[sac]\nwidth = 24\n[fnvae]\nencoder = 20\nlstm = 9\ndense = 17\n";
    export_train(&(export_case){"fans", "fans", wide}, rig_folder(trained, sizeof trained), &s);
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

/* ---- many ------------------------------------------------------------------------------------ */

enum { ROWS = 23 }; /* more than run together, and not a multiple of anything */

typedef struct herd {
    float obs[ROWS][3], next[ROWS][3], reward[ROWS], action[ROWS];
    uint8_t change[ROWS], ended[ROWS], seen[ROWS];
} herd;

static void draw_herd(herd *h, rng *r)
{
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < 3; k++) {
            h->obs[i][k] = h->ended[i] ? (float)rng_normal(r) : h->next[i][k];
            h->next[i][k] = (float)rng_normal(r);
        }
        h->reward[i] = rng_below(r, 9) ? (float)rng_normal(r) : NAN;
        h->change[i] = rng_below(r, 5) == 0;
        h->ended[i] = rng_below(r, 7) == 0;
        h->seen[i] = rng_below(r, 6) > 0;
    }
}

/* Rows run together, with the bits that each has alone. */
static void rows_are_lives_of_their_own(void **state)
{
    fans_life *all = open_life(ROWS, 0), *one[ROWS];
    herd h = {0};
    rng r = rng_stream(8, "herd", 0);
    float alone, next[ROWS][3];
    (void)state;
    for (int i = 0; i < ROWS; i++) one[i] = open_life(1, 0);
    for (int t = 0; t < 40; t++) {
        draw_herd(&h, &r);
        assert_int_equal(fans_life_act(all, h.obs[0], h.change, false, h.action), 0);
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal(fans_life_act(one[i], h.obs[i], &h.change[i], false, &alone), 0);
            assert_memory_equal(&alone, &h.action[i], sizeof alone);
            assert_memory_equal(fans_life_belief(one[i]), fans_life_belief(all) + i * 6,
                                6 * sizeof(float));
            if (h.seen[i])
                assert_int_equal(
                    fans_life_observe(one[i], NULL, &h.reward[i], &h.ended[i], h.next[i]), 0);
        }
        memcpy(next, h.next, sizeof next);
        for (int i = 0; i < ROWS; i++)
            if (!h.seen[i]) next[i][0] = next[i][1] = next[i][2] = NAN;
        assert_int_equal(fans_life_observe(all, NULL, h.reward, h.ended, next[0]), 0);
    }
    next[1][0] = 1, next[1][1] = NAN;
    assert_int_equal(fans_life_act(all, h.obs[0], NULL, false, h.action), 0);
    assert_fails(fans_life_observe(all, NULL, NULL, NULL, next[0]), FANS_EINVAL,
                 "next_obs[1] of row 1 is nan");
    for (int i = 0; i < ROWS; i++) fans_life_free(one[i]);
    fans_life_free(all);
}

typedef struct control {
    fans_policy *policy;
    float action; /* the last */
} control;

static void *drive(void *self)
{
    control *c = self;
    fans_life *l = NULL;
    float reward = -1;
    assert_int_equal(fans_life_new(&l, c->policy, 1, 3), 0);
    for (int t = 0; t < 200; t++) live(l, t, true, &reward, &c->action);
    fans_life_free(l);
    return NULL;
}

/* One policy, a life in each of four threads; and lives outlive the policy's owner. */
static void a_policy_serves_many_threads(void **state)
{
    control c[4] = {0};
    pthread_t threads[COUNT(c)];
    fans_policy *p = NULL;
    (void)state;
    assert_int_equal(fans_policy_open(&p, trained, NULL), 0);
    for (size_t k = 0; k < COUNT(c); k++) {
        c[k].policy = p;
        assert_int_equal(pthread_create(&threads[k], NULL, drive, &c[k]), 0);
    }
    for (size_t k = 0; k < COUNT(c); k++) assert_int_equal(pthread_join(threads[k], NULL), 0);
    fans_policy_free(p);
    for (size_t k = 1; k < COUNT(c); k++) assert_true(c[k].action == c[0].action);
}

typedef struct intruder {
    fans_life *life;
    atomic_bool done;
    int refused;
} intruder;

static void *intrude(void *self)
{
    intruder *x = self;
    while (!atomic_load(&x->done)) {
        if (fans_life_restart(x->life, -1) == 0) continue;
        if (strstr(fans_error(), "another thread is using this life")) x->refused++;
    }
    return NULL;
}

/* Two threads with one handle: one of them is refused, and nothing breaks. */
static void a_life_is_for_one_thread(void **state)
{
    intruder x = {.life = open_life(ROWS, 0)};
    float obs[ROWS * 3] = {0}, action[ROWS];
    pthread_t thread;
    int mine = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, intrude, &x), 0);
    for (int t = 0; t < 2000 || (t < 100000 && mine == 0); t++)
        mine += fans_life_act(x.life, obs, NULL, false, action) == FANS_EINVAL;
    atomic_store(&x.done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fans_life_free(x.life);
    assert_true(mine + x.refused > 0);
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
        cmocka_unit_test(rows_are_lives_of_their_own),
        cmocka_unit_test(a_policy_serves_many_threads),
        cmocka_unit_test(a_life_is_for_one_thread),
        cmocka_unit_test(acting_needs_neither_memory_nor_system),
        cmocka_unit_test(the_test_can_fail),
    };
    return cmocka_run_group_tests(tests, train_once, remove_it);
}
