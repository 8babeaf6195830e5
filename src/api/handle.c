/* handle.c - the checks at the door. */
#include "api/handle.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static atomic_uint forks;
static bool watched;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    watched = pthread_atfork(NULL, NULL, count_fork) == 0;
}

int handle_begin(handle *h, handle_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!watched) return fans_fail(FANS_ENOMEM, "out of memory for a fork handler");
    h->kind = kind;
    h->process = atomic_load(&forks);
    atomic_flag_clear(&h->busy);
    return 0;
}

static const char *name_of(handle_kind kind)
{
    static const char *const names[] = {"config", "set of worlds", "trainer", "policy", "life"};
    return names[kind - HANDLE_CONFIG];
}

int handle_check(const void *h_, handle_kind kind, const char *function)
{
    const handle *h = h_;
    if (!h) return fans_fail(FANS_EINVAL, "%s: the %s is NULL", function, name_of(kind));
    if (h->kind != kind)
        return fans_fail(FANS_EINVAL, "%s: this is no %s, or it was freed", function,
                         name_of(kind));
    if (h->process != atomic_load(&forks))
        return fans_fail(FANS_EINVAL, "%s: the %s was made before a fork; make another", function,
                         name_of(kind));
    return 0;
}

int handle_enter(void *h_, handle_kind kind, const char *function)
{
    handle *h = h_;
    int rc = handle_check(h, kind, function);
    if (rc < 0) return rc;
    if (atomic_flag_test_and_set_explicit(&h->busy, memory_order_acquire))
        return fans_fail(FANS_EINVAL, "%s: another thread is using this %s", function,
                         name_of(kind));
    return 0;
}

int handle_leave(void *h, int rc)
{
    atomic_flag_clear_explicit(&((handle *)h)->busy, memory_order_release);
    return rc;
}

bool handle_end(void *h, handle_kind kind)
{
    if (!h || handle_enter(h, kind, "free") < 0) return false;
    ((handle *)h)->kind = 0;
    return true;
}

int check_size(const void *s, size_t least, const char *function)
{
    size_t size;
    if (!s) return fans_fail(FANS_EINVAL, "%s: the struct is NULL", function);
    memcpy(&size, s, sizeof size);
    if (size >= least) return 0;
    return fans_fail(FANS_EINVAL, "%s: the struct's size is %zu, less than %zu; set it to sizeof",
                     function, size, least);
}

void copy_known(void *to, const void *from, size_t size)
{
    size_t own = sizeof size;
    memcpy((char *)to + own, (const char *)from + own, size - own);
}

int check_index(int i, int first, int end, const char *function)
{
    if (i >= first && i < end) return 0;
    return fans_fail(FANS_EINVAL, "%s: %d: not from %d to %d", function, i, first, end - 1);
}
