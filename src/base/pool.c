/* pool.c - a thread pool with low latency.
 *
 * A training step is some fifty jobs of a tenth of a millisecond, so the threads spin for a while
 * before they sleep. One atomic word, the ticket, holds the job's number and how many of its items
 * are still to be handed out. A thread that takes an item by compare-and-swap knows that the job
 * cannot end before it has run that item, so it may read the job's fields without a lock; a thread
 * that arrives late finds no item and touches nothing. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

enum { SPINS = 20000, MOST_THREADS = 256 };

struct pool {
    _Atomic uint64_t ticket; /* job number << 32 | items left */
    _Atomic int done;
    pool_fn *fn;
    void *arg;

    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t wake;
    _Atomic int sleepers;
    _Atomic bool quit;
    bool spin; /* pointless when threads outnumber cores */

    int threads; /* the caller included */
    int started;
    pthread_t ids[MOST_THREADS];
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Runs items until none is left to take. */
static void help(pool *p)
{
    uint64_t ticket = atomic_load(&p->ticket);
    while ((uint32_t)ticket > 0) {
        if (!atomic_compare_exchange_weak(&p->ticket, &ticket, ticket - 1)) continue;
        p->fn(p->arg, (int)(uint32_t)ticket - 1);
        atomic_fetch_add_explicit(&p->done, 1, memory_order_release);
        ticket = atomic_load(&p->ticket);
    }
}

static bool idle(pool *p)
{
    return (uint32_t)atomic_load(&p->ticket) == 0 && !atomic_load(&p->quit);
}

static void *work(void *arg)
{
    pool *p = arg;
    while (!atomic_load(&p->quit)) {
        for (int i = 0; p->spin && i < SPINS && idle(p); i++) relax();
        if (idle(p)) {
            pthread_mutex_lock(&p->lock);
            atomic_fetch_add(&p->sleepers, 1);
            while (idle(p)) pthread_cond_wait(&p->wake, &p->lock);
            atomic_fetch_sub(&p->sleepers, 1);
            pthread_mutex_unlock(&p->lock);
        }
        help(p);
    }
    return NULL;
}

static void wake_all(pool *p)
{
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_run(pool *p, int items, pool_fn *fn, void *arg)
{
    if (p->threads == 1 || items == 1) {
        for (int i = 0; i < items; i++) fn(arg, i);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    atomic_store(&p->done, 0);
    uint64_t job = (atomic_load(&p->ticket) >> 32) + 1;
    atomic_store(&p->ticket, job << 32 | (uint32_t)items);
    if (atomic_load(&p->sleepers) > 0) wake_all(p);
    help(p);
    for (int i = 0; atomic_load_explicit(&p->done, memory_order_acquire) < items; i++) {
        if (p->spin && i < SPINS)
            relax();
        else
            sched_yield();
    }
}

int pool_threads(const pool *p)
{
    return p->threads;
}

/* Without the host's signals: see gemm_enter. */
static bool start_threads(pool *p)
{
    sigset_t before;
    os_hold_signals(&before);
    while (p->started < p->threads - 1 && pthread_create(&p->ids[p->started], NULL, work, p) == 0)
        p->started++;
    os_release_signals(&before);
    return p->started == p->threads - 1;
}

int pool_new(pool **out, int threads)
{
    int cores = os_cores();
    if (threads == 0) threads = cores < MOST_THREADS ? cores : MOST_THREADS;
    if (threads < 1 || threads > MOST_THREADS)
        return fans_fail(FANS_EINVAL, "threads = %d: not a whole number from 1 to %d", threads,
                         MOST_THREADS);
    pool *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    p->threads = threads;
    p->spin = threads <= cores;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (!start_threads(p)) {
        int reached = p->started + 2;
        pool_free(p);
        return fans_fail(FANS_ENOMEM, "cannot start thread %d of %d", reached, threads);
    }
    *out = p;
    return 0;
}

void pool_free(pool *p)
{
    if (!p) return;
    atomic_store(&p->quit, true);
    wake_all(p);
    for (int i = 0; i < p->started; i++) pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}
