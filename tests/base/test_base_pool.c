/* test_base_pool.c - every item exactly once, whatever the number of threads. */
#include "testing.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/os.h"
#include "base/pool.h"

enum { MOST_ITEMS = 1000 };

typedef struct job {
    int runs[MOST_ITEMS]; /* plain ints: a race would be seen by ThreadSanitizer */
    int input;
    int output[MOST_ITEMS];
} job;

static void work(void *arg, int item)
{
    job *j = arg;
    j->runs[item]++;
    j->output[item] = j->input * item;
}

static void every_item_runs_once(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 4, 9}, items[] = {0, 1, 2, 3, 8, 9, 10, 100, MOST_ITEMS};
    static job j;
    for (size_t t = 0; t < COUNT(threads); t++) {
        pool *p;
        assert_int_equal(pool_new(&p, threads[t]), 0);
        assert_int_equal(pool_threads(p), threads[t]);
        for (size_t k = 0; k < COUNT(items); k++) {
            memset(&j, 0, sizeof j);
            j.input = (int)k + 1;
            pool_run(p, items[k], work, &j);
            for (int i = 0; i < MOST_ITEMS; i++) {
                assert_int_equal(j.runs[i], i < items[k]);
                assert_int_equal(j.output[i], i < items[k] ? j.input * i : 0);
            }
        }
        pool_free(p);
    }
}

/* Many short jobs, back to back and after pauses long enough to sleep in. Each reads what the one
 * before it wrote: results must be complete and visible when pool_run returns. */
static void jobs_follow_each_other(void **state)
{
    (void)state;
    static const int threads[] = {2, 4, 9};
    static job j;
    for (size_t t = 0; t < COUNT(threads); t++) {
        pool *p;
        assert_int_equal(pool_new(&p, threads[t]), 0);
        memset(&j, 0, sizeof j);
        int rounds = 2000;
        for (int round = 0; round < rounds; round++) {
            int sum = 0;
            pool_run(p, 7, work, &j);
            for (int i = 0; i < 7; i++) sum += j.output[i];
            assert_int_equal(sum, j.input * 21);
            j.input++;
            if (round % 200 == 0) usleep(3000);
        }
        for (int i = 0; i < 7; i++) assert_int_equal(j.runs[i], rounds);
        pool_free(p);
    }
}

static void sleep_a_little(void *arg, int item)
{
    (void)item;
    usleep(20000);
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void items_run_at_the_same_time(void **state)
{
    (void)state;
    atomic_int done = 0;
    pool *p;
    assert_int_equal(pool_new(&p, 4), 0);
    double best = 1;
    for (int round = 0; round < 5; round++) {
        double start = os_now();
        pool_run(p, 8, sleep_a_little, &done);
        double seconds = os_now() - start;
        if (seconds < best) best = seconds;
    }
    assert_int_equal(done, 40);
    assert_true(best < 8 * 0.020 * 0.75); /* one after the other it would take 160 ms */
    pool_free(p);
}

static void several_pools_live_side_by_side(void **state)
{
    (void)state;
    static job a, b;
    pool *p, *q;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    assert_int_equal(pool_new(&p, 3), 0);
    assert_int_equal(pool_new(&q, 2), 0);
    for (int i = 0; i < 100; i++) {
        pool_run(p, 20, work, &a);
        pool_run(q, 30, work, &b);
    }
    for (int i = 0; i < 20; i++) assert_int_equal(a.runs[i], 100);
    for (int i = 0; i < 30; i++) assert_int_equal(b.runs[i], 100);
    pool_free(p);
    pool_free(q);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    pool *p;
    assert_fails(pool_new(&p, -1), FANS_EINVAL, "threads = -1: not a whole number from 1 to 256");
    assert_fails(pool_new(&p, 257), FANS_EINVAL, "threads = 257");
    assert_int_equal(pool_new(&p, 0), 0);
    assert_int_equal(pool_threads(p), os_cores() < 256 ? os_cores() : 256);
    pool_free(p);
    pool_free(NULL);
}

static void running_does_not_allocate(void **state)
{
    (void)state;
    static job j;
    pool *p;
    assert_int_equal(pool_new(&p, 4), 0);
    uint64_t count = mem_count();
    for (int i = 0; i < 100; i++) pool_run(p, 50, work, &j);
    assert_int_equal(mem_count(), count);
    pool_free(p);
}

static int make_a_pool(void)
{
    pool *p = NULL;
    int rc = pool_new(&p, 3);
    pool_free(p);
    return rc;
}

static void every_allocation_of_a_pool_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(make_a_pool);
}

/* With little address space left, some of 256 stacks will not fit. Sanitizers take more than that
 * for themselves. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#    define CAN_LIMIT_SPACE
static void threads_that_cannot_start_are_an_error(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pool *p;
        setrlimit(RLIMIT_AS, &(struct rlimit){600u << 20, 600u << 20});
        int rc = pool_new(&p, 256);
        _exit(rc == FANS_ENOMEM && strstr(fans_error(), "cannot start thread") && mem_held() == 0
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(jobs_follow_each_other),
        cmocka_unit_test(items_run_at_the_same_time),
        cmocka_unit_test(several_pools_live_side_by_side),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(running_does_not_allocate),
        cmocka_unit_test(every_allocation_of_a_pool_may_fail),
#ifdef CAN_LIMIT_SPACE
        cmocka_unit_test(threads_that_cannot_start_are_an_error),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
